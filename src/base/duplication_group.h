// DuplicationGroup: the clusters that duplicate tables to each other, and the ids by which records
// name the one that wrote them. All clusters of a group must be told the same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace arion {

struct DuplicationGroup {
  // What a time tag has room for (value_schema.h); 0 is nobody's.
  static constexpr int64_t kIdMin = 1, kIdMax = 127;

  // By the clusters' names; no id stands twice.
  std::map<std::string, uint8_t> ids;
  // Of this cluster, one of `ids`; 0: there is no group.
  uint8_t own_id = 0;

  bool IsSet() const { return own_id != 0; }
  bool Has(int64_t id) const {
    return std::any_of(ids.begin(), ids.end(), [id](const auto& one) { return one.second == id; });
  }
};

}  // namespace arion
