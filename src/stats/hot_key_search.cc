// SPDX-License-Identifier: Apache-2.0
#include "stats/hot_key_search.h"

#include <absl/strings/escaping.h>

#include <cmath>

#include "base/status.h"

namespace arion {

std::optional<std::string> FindHotKey(const std::vector<HotKeys::Hot>& top, KeyUse use) {
  // One pass: the hottest key apart, mean and deviation of the others from sums.
  const HotKeys::Hot* hottest = nullptr;
  double sum = 0, squares = 0;
  int others = 0;
  for (const HotKeys::Hot& hot : top) {
    if (hot.use != use) continue;
    if (hottest == nullptr) {  // hottest first
      hottest = &hot;
      continue;
    }
    sum += hot.per_second;
    squares += hot.per_second * hot.per_second;
    ++others;
  }
  if (hottest == nullptr || hottest->share < HotKeySearch::kShareMin) return std::nullopt;
  // The only key that was sampled stands out by itself, given its share.
  if (others == 0) return hottest->key;
  const double mean = sum / others;
  // Rounding may bring the variance below 0.
  const double deviation = std::sqrt(std::max(0.0, squares / others - mean * mean));
  const double excess = hottest->per_second - mean;
  // Where all others are alike, twice as much is an outlier.
  if (excess >= HotKeySearch::kDeviations * deviation && excess >= mean) return hottest->key;
  return std::nullopt;
}

DetectHotkeyResponse HotKeySearch::Answer(const DetectHotkeyRequest& request,
                                          const std::vector<HotKeys::Hot>& top, Instant now) {
  // The texts of the answers are those of older versions: tools may look for them.
  const char* const name = request.type == HotkeyType::kRead ? "READ" : "WRITE";
  const std::pair key(request.pid, request.type);
  const MutexLock lock(mutex_);
  // Searches without a find time out here, so no timer is needed. One with a find stays until it is
  // stopped.
  std::erase_if(searches_, [&](const auto& entry) {
    return entry.second.found.empty() && now - entry.second.begun > kPatience;
  });
  const auto it = searches_.find(key);
  const bool has_found = it != searches_.end() && !it->second.found.empty();
  switch (request.action) {
    case DetectAction::kStart:
      if (has_found)
        return {.err = ErrorCode::kBusy,
                .err_hint = absl::StrCat("a ", name, " hotkey was found: stop before a new start")};
      if (it != searches_.end())
        return {.err = ErrorCode::kBusy,
                .err_hint = absl::StrCat("still detecting ", name, " hotkey")};
      searches_[key] = {.begun = now};
      return {.err_hint = absl::StrCat("starting to detect ", name, " hotkey")};
    case DetectAction::kStop:
      if (it != searches_.end()) searches_.erase(it);
      return {};
    case DetectAction::kQuery:
      break;
  }
  if (it == searches_.end())
    return {.err = ErrorCode::kBusy, .err_hint = "Can't get hotkey now, now state: STOPPED"};
  // HotKeys samples all the time, so a query needs no time of its own: it looks at what is there.
  if (!has_found) {
    const auto use = request.type == HotkeyType::kRead ? KeyUse::kRead : KeyUse::kWrite;
    it->second.found = FindHotKey(top, use).value_or("");
  }
  if (it->second.found.empty())
    return {.err = ErrorCode::kBusy, .err_hint = "Can't get hotkey now, now state: FINE_DETECTING"};
  return {.hotkey_result = absl::CHexEscape(it->second.found)};
}

}  // namespace arion
