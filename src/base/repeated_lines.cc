// SPDX-License-Identifier: Apache-2.0
#include "base/repeated_lines.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include "base/status.h"

namespace arion {
namespace {

constexpr absl::Duration kSaidAgainAfter = absl::Minutes(10);
constexpr absl::Duration kOverAfter = absl::Minutes(1);

std::string Times(int64_t times, absl::Duration span) {
  return absl::StrCat(times, times == 1 ? " time" : " times", " in ",
                      absl::FormatDuration(absl::Trunc(span, absl::Seconds(1))));
}

}  // namespace

void RepeatedLines::Met(Instant now, std::string_view condition, std::string_view whom) {
  const auto [it, begins] =
      entries_.try_emplace(std::string(condition), Entry{.began = now, .said = now, .met = now});
  Entry& entry = it->second;
  ++entry.times;
  entry.met = now;
  // The first time at once: whoever looks at the log shall not wait ten minutes for the cause.
  if (begins) return say_(absl::StrCat(Text(whom), " ", Text(condition)));
  if (now - entry.said < kSaidAgainAfter) return;
  entry.said = now;
  say_(absl::StrCat(Text(whom), " ", Text(condition), "; ", Times(entry.times, now - entry.began)));
}

void RepeatedLines::Look(Instant now) {
  for (auto it = entries_.begin(); it != entries_.end();) {
    const Entry& entry = it->second;
    if (now - entry.met < kOverAfter) {
      ++it;
      continue;
    }
    // What was met only once was a matter of a moment; its end is no news.
    if (entry.times > 1)
      say_(absl::StrCat("no more: ", it->first, "; ", Times(entry.times, entry.met - entry.began)));
    it = entries_.erase(it);
  }
}

}  // namespace arion
