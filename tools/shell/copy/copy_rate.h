// CopyRate: a bound of a copy's speed, in records or in bytes a second, and when the next one may
// go.
//
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <string_view>

namespace arion::shell {

struct CopyRate {
  enum class Unit { kRecords, kBytes };
  Unit unit = Unit::kRecords;
  // A second; 0: no bound.
  double most = 0;

  // "5000": records a second. "20MiB": bytes a second; also KiB, GiB and B.
  static absl::StatusOr<CopyRate> Parse(std::string_view text);
};

// Keeps to a rate. What was not used is lost but for a tenth of a second, so that a pause is not
// made up for by a burst.
class CopyPace {
 public:
  explicit CopyPace(CopyRate rate) : rate_(rate) {}
  // From when on the next one may go; the past: at once.
  absl::Time next() const { return next_; }
  // So much goes now.
  void Take(int64_t records, int64_t bytes, absl::Time now);

 private:
  const CopyRate rate_;
  absl::Time next_ = absl::InfinitePast();
};

}  // namespace arion::shell
