// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/copy_rate.h"

#include <absl/strings/numbers.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/status.h"

namespace arion::shell {
namespace {

constexpr absl::Duration kBurst = absl::Milliseconds(100);

}  // namespace

absl::StatusOr<CopyRate> CopyRate::Parse(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, int>, 4> kUnits = {
      {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"B", 0}}};
  CopyRate rate;
  std::string_view number = text;
  double factor = 1;
  for (const auto& [unit, bits] : kUnits) {
    if (!number.ends_with(unit)) continue;
    number.remove_suffix(unit.size());
    rate.unit = Unit::kBytes;
    factor = static_cast<double>(int64_t{1} << bits);
    break;
  }
  int64_t count = 0;
  if (!absl::SimpleAtoi(Text(number), &count) || count < 1)
    return absl::InvalidArgumentError(absl::StrCat(
        "a rate is records a second, 5000, or bytes, 20MiB (also KiB, GiB, B), above 0; not ",
        Text(text)));
  rate.most = static_cast<double>(count) * factor;
  return rate;
}

void CopyPace::Take(int64_t records, int64_t bytes, absl::Time now) {
  if (rate_.most <= 0) return;
  const auto taken = static_cast<double>(rate_.unit == CopyRate::Unit::kRecords ? records : bytes);
  next_ = std::max(next_, now - kBurst) + absl::Seconds(taken / rate_.most);
}

}  // namespace arion::shell
