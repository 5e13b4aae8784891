// SPDX-License-Identifier: Apache-2.0
#include "data_api/throttle.h"

#include <algorithm>

namespace arion {
namespace {

uint64_t ShareOf(uint64_t table_limit, int32_t partition_count) {
  // 0 stays 0: no limit. The 1 more keeps a small limit above 0 for each of many partitions.
  if (table_limit == 0) return 0;
  return table_limit / static_cast<uint64_t>(std::max(partition_count, 1)) + 1;
}

}  // namespace

void RequestThrottle::Set(const ThrottleRule& rule, int32_t partition_count) {
  rule_ = rule;
  rule_.delay_above = ShareOf(rule.delay_above, partition_count);
  rule_.reject_above = ShareOf(rule.reject_above, partition_count);
}

RequestThrottle::Decision RequestThrottle::Admit(uint64_t units, Instant now,
                                                 absl::Duration client_timeout) {
  if (rule_.delay_above == 0 && rule_.reject_above == 0) return {};
  const int64_t second = absl::ToInt64Seconds(now - Instant(0));
  if (second != second_) {
    second_ = second;
    counted_ = 0;
  }
  // At most half of the client's timeout, so that the answer still reaches it in time.
  const auto pause = [&](absl::Duration wanted) {
    return client_timeout > absl::ZeroDuration() ? std::min(wanted, client_timeout / 2) : wanted;
  };
  // Saturates: one request may claim any number of bytes.
  const uint64_t counted = counted_ + std::min(units, UINT64_MAX - counted_);
  if (rule_.reject_above > 0 && counted > rule_.reject_above)
    return {Verdict::kReject, pause(rule_.reject_delay)};
  // Refused requests do not count, or else a client that tries again would lock itself out.
  counted_ = counted;
  if (rule_.delay_above > 0 && counted > rule_.delay_above)
    return {Verdict::kDelay, pause(rule_.delay)};
  return {};
}

void ByteBudget::Set(uint64_t bytes_per_second, int32_t partition_count) {
  const auto rate = static_cast<double>(ShareOf(bytes_per_second, partition_count));
  // The same limit set again must not fill the budget.
  if (rate == rate_) return;
  rate_ = rate;
  bytes_ = rate;
}

bool ByteBudget::IsSpent(Instant now) {
  if (rate_ == 0) return false;
  Refill(now);
  return bytes_ <= 0;
}

void ByteBudget::Take(uint64_t bytes, Instant now) {
  if (rate_ == 0) return;
  Refill(now);
  bytes_ -= static_cast<double>(bytes);
}

void ByteBudget::Refill(Instant now) {
  // At most one second's worth gathers, so that a table that was idle gets no long burst.
  bytes_ = std::min(rate_, bytes_ + rate_ * absl::ToDoubleSeconds(now - filled_));
  filled_ = now;
}

}  // namespace arion
