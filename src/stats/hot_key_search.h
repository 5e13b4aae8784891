// HotKeySearch: the older tools' way to hot keys, started, asked for and stopped for one replica, over
// what HotKeys samples all the time.
//
// Shapes    A key is hot when it is an outlier among those sampled: (its requests - the others' mean)
//           / the others' deviation >= kDeviations, with a share of at least kShareMin. Found, it is
//           kept until Stop. A search gives up after kPatience.
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

// Pure. nullopt: none stands out.
std::optional<std::string> FindHotKey(const std::vector<HotKeys::Hot>& top, KeyUse use);

class HotKeySearch {
 public:
  static constexpr double kDeviations = 5;
  static constexpr double kShareMin = 0.05;
  static constexpr absl::Duration kPatience = absl::Seconds(150);

  // `top`: what was sampled of that replica.
  DetectHotkeyResponse Answer(const DetectHotkeyRequest& request,
                              const std::vector<HotKeys::Hot>& top, Instant now);

 private:
  struct Search {
    Instant begun;
    std::string found;  // empty: not yet
  };
  Mutex mutex_;
  std::map<std::pair<PartitionId, HotkeyType>, Search> searches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
