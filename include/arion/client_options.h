// ClientOptions: what a Client is made with.
//
//   arion::ClientOptions options{.meta_servers = {"10.0.0.1:34601", "10.0.0.2:34601"},
//                                .timeout = absl::Seconds(1),
//                                .threads = 2};
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <string>
#include <vector>

namespace arion {
inline namespace client_v1 {  // names in libraries; the servers have tables too

// What becomes of a write whose attempt ended without an answer, so that it may have happened.
// Incr, CheckAndSet and CheckAndMutate are never sent again after such an attempt, whatever is
// chosen here. Attempts that certainly had no effect are repeated in any case, where a repetition
// can help.
enum class WriteRetries {
  // The write is not sent again. Its status is DeadlineExceeded.
  kAfterRefusals,
  // The write is sent again until its deadline. It may happen twice, and a repetition may overwrite
  // what another client wrote in between.
  kAlways,
};

// Settings of one Client. An operation's own options override `timeout` and `write_retries`.
struct ClientOptions {
  // All meta servers of the cluster, as "IPv4:port", for example "127.0.0.1:34601". At least one.
  // The client finds the leader among them.
  std::vector<std::string> meta_servers = {};
  // The time one operation may take, all its retries included. Above zero.
  absl::Duration timeout = absl::Seconds(5);
  // For writes whose own options do not say.
  WriteRetries write_retries = WriteRetries::kAlways;
  // How many threads run requests and callbacks, 1 to 64. Each thread has its own connections, so
  // another thread also means another connection to each server.
  int threads = 1;
};

}  // namespace client_v1
}  // namespace arion
