// One question to several servers at a time, each over a TCP connection of its own, for services
// that answer in text and close: they are told a word, and what they say until they close is the
// answer.
//
// Errors    Of each server: Unavailable, it could not be reached or broke off; DeadlineExceeded, it
//           has not said all in time; ResourceExhausted, it says too much.
// Threads   Thread-safe. The caller's thread waits: never a loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace arion {

struct TcpQuestionLimits {
  // Of all of it, however many are asked.
  absl::Duration patience = absl::Seconds(1);
  // Of one answer.
  size_t answer_bytes_max = 16 << 10;
};

// One result for each of `servers`, in their order.
std::vector<absl::StatusOr<std::string>> AskByTcp(const std::vector<Endpoint>& servers,
                                                  std::string_view question,
                                                  const TcpQuestionLimits& limits = {});

}  // namespace arion
