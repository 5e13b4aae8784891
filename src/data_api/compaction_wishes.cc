// SPDX-License-Identifier: Apache-2.0
#include "data_api/compaction_wishes.h"

#include "messages/table_environments.h"

namespace arion {
namespace {

// How long after its time of day a daily compaction may still begin.
constexpr int64_t kDailyPatienceSeconds = 3600;

// What `parse` makes of a key's value; `otherwise` where it is not set, or none.
template <class T, class Parse>
// Default and malformed value are the same on purpose: a replica cannot refuse its table's
// settings.
T Take(const std::map<std::string, std::string>& envs, const char* key, T otherwise, Parse parse) {
  const auto it = envs.find(key);
  if (it == envs.end()) return otherwise;
  const auto value = parse(it->second);
  return value.ok() ? static_cast<T>(*value) : otherwise;
}

int64_t Number(const std::map<std::string, std::string>& envs, const char* key) {
  return Take(envs, key, int64_t{0},
              [](const std::string& text) { return ParseWithin(text, 0, INT64_MAX); });
}

Engine::CompactionTerms TermsOf(const std::map<std::string, std::string>& envs, const char* level,
                                const char* bottommost) {
  return {.target_level = Take(envs, level, -1, ParseTargetLevel),
          .bottommost = Take(envs, bottommost, false, ParseBottommost)};
}

}  // namespace

CompactionWishes CompactionWishes::From(const std::map<std::string, std::string>& envs) {
  CompactionWishes wishes{
      .is_disabled = Take(envs, kEnvCompactDisabled, false, ParseBool),
      .running_max = static_cast<int32_t>(Number(envs, kEnvCompactRunningMax)),
      .once_seconds = Number(envs, kEnvCompactOnce),
      .once = TermsOf(envs, kEnvCompactOnceLevel, kEnvCompactOnceBottommost),
      .daily = TermsOf(envs, kEnvCompactDailyLevel, kEnvCompactDailyBottommost)};
  if (const auto it = envs.find(kEnvCompactDaily); it != envs.end())
    wishes.daily_minutes = ParseTimesOfDay(it->second).value_or(std::vector<int>());
  return wishes;
}

std::optional<Engine::CompactionTerms> DueCompaction(const CompactionWishes& wishes,
                                                     int64_t last_ended_ms, int64_t now_seconds,
                                                     int64_t midnight_seconds) {
  if (wishes.is_disabled) return std::nullopt;
  // The last end must lie before the trigger, so one trigger starts one compaction, also after a
  // restart of the server.
  const auto is_due = [&](int64_t trigger_seconds) {
    return now_seconds >= trigger_seconds && last_ended_ms / 1000 < trigger_seconds;
  };
  // `once` goes first: an operator asked for it by name.
  if (wishes.once_seconds > 0 && is_due(wishes.once_seconds)) return wishes.once;
  for (const int minutes : wishes.daily_minutes) {
    const int64_t trigger = midnight_seconds + int64_t{60} * minutes;
    // Past the hour the day's trigger is missed. Otherwise a value that is set in the afternoon for
    // 3:00 would start a compaction at once.
    if (is_due(trigger) && now_seconds < trigger + kDailyPatienceSeconds) return wishes.daily;
  }
  return std::nullopt;
}

int32_t CompactionAfterSplit(bool was_split, const KeyOwnership& owned, int32_t compacted_for) {
  // A table that never was split has no such keys, whatever is checked. While it is not known which
  // keys are the replica's nothing would be dropped.
  return was_split && owned.MayDrop() && compacted_for < owned.count ? owned.count : 0;
}

}  // namespace arion
