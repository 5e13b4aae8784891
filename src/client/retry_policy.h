// RetryPolicy: what one attempt's error says about the operation, and how long to wait
// (rpc/PROTOCOL.md 4.6). Pure.
//
// Promises retry_policy/K2  Everything not known to be a refusal may have happened.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <algorithm>

#include "base/error_code.h"
#include "env/environment.h"

namespace arion {

struct AttemptVerdict {
  enum class Next { kGiveUp, kRetry };
  enum class Routes { kKeep, kForgetPartition, kForgetTable };
  enum class Effect { kNone, kMayHaveHappened };

  Next next = Next::kRetry;
  Routes routes = Routes::kKeep;
  Effect effect = Effect::kNone;
  absl::StatusCode refusal =
      absl::StatusCode::kUnavailable;  // what to tell when nothing has happened
};

// `error` is an attempt's RPC-level error, not kOk.
AttemptVerdict JudgeAttempt(ErrorCode error);

struct RetryPause {
  absl::Duration first = absl::Milliseconds(8);
  absl::Duration most = absl::Seconds(1);  // where the right server can't take it now
  // While a partition's primary is gone: another may serve at any moment, and one lookup serves all
  // who wait.
  absl::Duration most_without_primary = absl::Milliseconds(100);

  RetryPause WithoutPrimary() const {
    return {.first = first, .most = std::min(most, most_without_primary)};
  }
};
// Before attempt number `attempts` + 1 (attempts >= 1): doubles from `first`, between half and the
// whole of it by chance, so that clients do not come back together.
absl::Duration PauseAfter(int attempts, const RetryPause& pause, Random& random);

// The status of a table administration's or query's error, with its name in the text.
absl::Status StatusOfMetaError(ErrorCode error, std::string_view what);

}  // namespace arion
