// RetryPolicy: what one attempt's error says about the operation, and how long to wait
// (rpc/PROTOCOL.md 4.6). Pure.
//
// Promises  retry_policy/K2  Everything not known to be a refusal may have happened.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <algorithm>
#include <string_view>

#include "base/error_code.h"

namespace arion {

class Random;

// What follows from one attempt's error: whether to try again, what to forget of the routes, and
// whether the server may have done what it was asked.
struct AttemptVerdict {
  // kGiveUp: no repetition can help.
  enum class Next { kGiveUp, kRetry };
  // What the error proves wrong: nothing, this partition's primary, or the table's partition count.
  enum class Routes { kKeep, kForgetPartition, kForgetTable };
  // kNone: the server certainly did nothing.
  enum class Effect { kNone, kMayHaveHappened };

  Next next = Next::kRetry;
  Routes routes = Routes::kKeep;
  Effect effect = Effect::kNone;
  // The status to report when nothing has happened and no attempt follows.
  absl::StatusCode refusal = absl::StatusCode::kUnavailable;
};

// Judges an attempt's RPC-level error, which is not kOk.
AttemptVerdict JudgeAttempt(ErrorCode error);

// How the pauses between attempts grow: from `first`, doubling, up to `most`.
struct RetryPause {
  absl::Duration first = absl::Milliseconds(8);
  // The longest pause where the right server refuses for the moment.
  absl::Duration most = absl::Seconds(1);
  // The longest pause while a partition's primary is gone. It is short, because another server may
  // take over at any moment and one lookup serves all who wait.
  absl::Duration most_without_primary = absl::Milliseconds(100);

  // The pauses to use while there is no primary.
  RetryPause WithoutPrimary() const {
    return {.first = first, .most = std::min(most, most_without_primary)};
  }
};
// The pause before attempt number `attempts` + 1, attempts >= 1. It is drawn between half and the
// whole of the doubled value, so that clients do not come back together.
absl::Duration PauseAfter(int attempts, const RetryPause& pause, Random& random);

// A meta server's error as a status. Its text is `what`, a colon and the error's name. OK for kOk.
absl::Status StatusOfMetaError(ErrorCode error, std::string_view what);

}  // namespace arion
