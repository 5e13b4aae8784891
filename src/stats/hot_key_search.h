// HotKeySearch: the older tools' way to hot keys, started, asked for and stopped for one replica,
// over what HotKeys samples all the time.
//
// Shapes    A key is hot when it is an outlier among those sampled: (its requests - the others'
//           mean) / the others' deviation >= kDeviations, with a share of at least kShareMin, and
//           at least twice the mean. Once found it is kept until Stop. A search that finds nothing
//           ends after kPatience.
// Errors    In the answer: kBusy with the older tools' text where nothing is found or a search
//           runs.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "messages/tool_messages.h"
#include "stats/hot_keys.h"

namespace arion {

// The key that stands out among `top` (hottest first); nullopt: none does. Pure.
std::optional<std::string> FindHotKey(const std::vector<HotKeys::Hot>& top, KeyUse use);

// One for a server: at most one search for each partition and each of reads and writes.
class HotKeySearch {
 public:
  static constexpr double kDeviations = 5;
  static constexpr double kShareMin = 0.05;
  static constexpr absl::Duration kPatience = absl::Seconds(150);

  // Starts, stops or asks for a search. `top`: what was sampled of that replica.
  DetectHotkeyResponse Answer(const DetectHotkeyRequest& request,
                              const std::vector<HotKeys::Hot>& top, Instant now);

 private:
  // One search, from its start request to its stop, or until kPatience passes without a find.
  struct Search {
    Instant begun;
    // Empty: not yet.
    std::string found;
  };
  Mutex mutex_;
  std::map<std::pair<PartitionId, HotkeyType>, Search> searches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
