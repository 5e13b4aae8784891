// CompactionWishes: what a table's environments manual_compact.* ask for, and when that is due
// (messages/table_environments.h). Pure.
//
// Shapes    `once`: due when its trigger time is reached and the last compaction ended before that.
//           `daily`: due for an hour from each of its times on; one set in the afternoon for the
//           night begins at night.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace arion {

struct CompactionWishes {
  bool is_disabled = false;
  int32_t running_max = 0;   // of the table on this server; 0: any number
  int64_t once_seconds = 0;  // since 1970; 0: never
  Engine::CompactionTerms once;
  std::vector<int> daily_minutes;  // after local midnight, in order
  Engine::CompactionTerms daily;

  static CompactionWishes From(const std::map<std::string, std::string>& envs);
  bool Any() const { return once_seconds > 0 || !daily_minutes.empty(); }
  bool operator==(const CompactionWishes&) const = default;
};

// nullopt: nothing is due. `midnight_seconds`: when this day began, local time, since 1970.
std::optional<Engine::CompactionTerms> DueCompaction(const CompactionWishes& wishes,
                                                     int64_t last_ended_ms, int64_t now_seconds,
                                                     int64_t midnight_seconds);

}  // namespace arion
