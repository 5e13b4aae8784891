// CompactionWishes: what a table's environments manual_compact.* ask for, and when that is due
// (messages/table_environments.h); and which compaction a split makes due. Pure.
//
// Shapes    `once` is due when its trigger time is reached and the last compaction ended before
//           that. `daily` is due for an hour from each of its times on. A time of day that is set
//           in the afternoon for the night begins at night.
// Errors    A value that can't be read counts as not set: the meta server has checked them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/key_ownership.h"
#include "engine/engine.h"

namespace arion {

// What a table asks of each of its replicas. The default asks for nothing.
struct CompactionWishes {
  // Nothing is due, whatever the other fields say.
  bool is_disabled = false;
  // How many replicas of the table may compact at once on this server; 0: any number.
  int32_t running_max = 0;
  // The trigger time, seconds since 1970; 0: never.
  int64_t once_seconds = 0;
  // How that compaction is to work.
  Engine::CompactionTerms once;
  // Trigger times in minutes after local midnight, ascending.
  std::vector<int> daily_minutes;
  Engine::CompactionTerms daily;

  static CompactionWishes From(const std::map<std::string, std::string>& envs);
  // Whether a compaction is asked for at any time.
  bool Any() const { return once_seconds > 0 || !daily_minutes.empty(); }
  bool operator==(const CompactionWishes&) const = default;
};

// The terms of the compaction that is due now; nullopt: none is. `last_ended_ms`: when the
// replica's last compaction ended, since 1970; 0: never. `midnight_seconds`: when this day began by
// local time, since 1970.
std::optional<Engine::CompactionTerms> DueCompaction(const CompactionWishes& wishes,
                                                     int64_t last_ended_ms, int64_t now_seconds,
                                                     int64_t midnight_seconds);

// The partition count for which a replica's files are to be rewritten, since a split may have left
// keys of other partitions in them; 0: they need not be. `owned`: by what its compactions drop.
// `compacted_for`: as the engine has noted it.
int32_t CompactionAfterSplit(bool was_split, const KeyOwnership& owned, int32_t compacted_for);

}  // namespace arion
