// What a client is made with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <string>
#include <vector>

namespace arion {
inline namespace client_v1 {  // names in libraries; the servers have tables too

// What becomes of a write whose attempt ended without an answer, so that it may have happened.
// (INCR and CHECK_AND_... are never sent again then.)
enum class WriteRetries {
  kAfterRefusals,  // it is not sent again; the status is DeadlineExceeded
  kAlways,         // it is sent again until the deadline: it may happen twice
};

struct ClientOptions {
  std::vector<std::string> meta_servers = {};  // "127.0.0.1:34601"
  absl::Duration timeout = absl::Seconds(5);   // of one operation, retries included
  WriteRetries write_retries = WriteRetries::kAlways;
  int threads = 1;  // each has its own connections; callbacks run on them
};

}  // namespace client_v1
}  // namespace arion
