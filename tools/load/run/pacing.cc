// SPDX-License-Identifier: Apache-2.0
#include "tools/load/run/pacing.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/status.h"

namespace arion::load {
namespace {

constexpr double kRateMax = 1e7;

bool ReadRate(absl::string_view text, double* rate) {
  return absl::SimpleAtod(text, rate) && *rate > 0 && *rate <= kRateMax;
}

}  // namespace

absl::StatusOr<Pacing> Pacing::Parse(std::string_view profile) {
  Pacing pacing;
  double seconds = 0;
  double count = 0;
  const std::vector<std::string> texts = absl::StrSplit(Text(profile), ',');
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::pair<std::string, std::string> rates_and_length =
        absl::StrSplit(texts[i], absl::MaxSplits('/', 1));
    const std::pair<std::string, std::string> rates =
        absl::StrSplit(rates_and_length.first, absl::MaxSplits('-', 1));
    Stage stage{.begin_seconds = seconds, .begin_count = count};
    const bool has_to = rates_and_length.first.find('-') != std::string::npos;
    bool is_right = ReadRate(rates.first, &stage.from);
    is_right = is_right && (!has_to || ReadRate(rates.second, &stage.to));
    if (!has_to) stage.to = stage.from;
    absl::Duration length;
    if (rates_and_length.second.empty()) {
      is_right = is_right && i + 1 == texts.size() && !has_to;
      stage.seconds = std::numeric_limits<double>::infinity();
    } else {
      is_right = is_right && absl::ParseDuration(rates_and_length.second, &length) &&
                 length > absl::ZeroDuration() && length < absl::InfiniteDuration();
      stage.seconds = absl::ToDoubleSeconds(length);
    }
    if (!is_right) {
      return absl::InvalidArgumentError(
          absl::StrCat("--rate=", Text(profile), ": \"", texts[i],
                       "\": write 5000, or stages as 1000-20000/30s,20000 with rates above 0 up to "
                       "10000000"));
    }
    pacing.stages_.push_back(stage);
    seconds += stage.seconds;
    count += (stage.from + stage.to) / 2 * stage.seconds;
  }
  // The last stage goes on for ever at its last rate.
  if (std::isfinite(seconds)) {
    const double rate = pacing.stages_.back().to;
    pacing.stages_.push_back({.from = rate,
                              .to = rate,
                              .seconds = std::numeric_limits<double>::infinity(),
                              .begin_seconds = seconds,
                              .begin_count = count});
  }
  return pacing;
}

absl::Duration Pacing::StartOf(int64_t index) const {
  const double wanted = static_cast<double>(index);
  auto stage = std::upper_bound(stages_.begin(), stages_.end(), wanted,
                                [](double count, const Stage& s) { return count < s.begin_count; });
  const Stage& at = *std::prev(stage);
  const double count = wanted - at.begin_count;
  double seconds = count / at.from;
  if (at.from != at.to) {
    // count = from t + slope t^2 / 2, solved without the difference of two near numbers.
    const double slope = (at.to - at.from) / at.seconds;
    seconds =
        2 * count / (at.from + std::sqrt(std::max(0.0, at.from * at.from + 2 * slope * count)));
  }
  return absl::Seconds(at.begin_seconds + seconds);
}

int64_t Pacing::StartsBefore(absl::Duration at) const {
  int64_t none = 0;  // this many start before `at`
  int64_t all = 1;
  // StartOf only grows, so a search by halves finds it: first a bound, then the place.
  while (StartOf(all) < at) all *= 2;
  while (none < all) {
    const int64_t middle = none + (all - none) / 2;
    if (StartOf(middle) < at) {
      none = middle + 1;
    } else {
      all = middle;
    }
  }
  return none;
}

absl::Duration Pacing::SlackOf(absl::Duration length) {
  return std::max(absl::Milliseconds(100), length / 100);
}

}  // namespace arion::load
