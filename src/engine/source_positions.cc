// SPDX-License-Identifier: Apache-2.0
#include "engine/source_positions.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <algorithm>

#include "base/status.h"

namespace arion {

std::optional<SourcePosition> SourcePositions::Find(Id id) const {
  const auto found = positions_.find(id);
  if (found == positions_.end()) return std::nullopt;
  return found->second;
}

std::vector<SourcePositions::Id> SourcePositions::Note(const SourcePosition& position) {
  const Id id{position.cluster_id, position.duplication_id};
  positions_.insert_or_assign(id, position);
  std::vector<Id> gone;
  while (true) {
    const auto first = positions_.lower_bound({id.first, INT64_MIN});
    auto last = first;
    size_t count = 0;
    for (; last != positions_.end() && last->first.first == id.first; ++last) ++count;
    if (count <= kPerClusterMax) return gone;
    // Not the one that was just noted, whatever its time.
    const auto age = [&](const auto& one) {
      return std::pair(one.first == id, one.second.timestamp_us);
    };
    const auto oldest = std::min_element(
        first, last, [&](const auto& a, const auto& b) { return age(a) < age(b); });
    gone.push_back(oldest->first);
    positions_.erase(oldest);
  }
}

std::string SourceIdText(SourcePositions::Id id) {
  return absl::StrCat(int{id.first}, ".", id.second);
}

std::string SourcePlaceText(const SourcePosition& position) {
  return absl::StrCat(position.decree.value(), " ", position.updates, " ", position.timestamp_us);
}

std::optional<SourcePosition> ParseSourcePosition(std::string_view id, std::string_view place) {
  const std::vector<absl::string_view> ids = absl::StrSplit(Text(id), '.');
  const std::vector<absl::string_view> places = absl::StrSplit(Text(place), ' ');
  SourcePosition position;
  int32_t cluster_id = 0;
  int64_t decree = 0;
  if (ids.size() != 2 || places.size() != 3 || !absl::SimpleAtoi(ids[0], &cluster_id) ||
      cluster_id < 0 || cluster_id > 127 || !absl::SimpleAtoi(ids[1], &position.duplication_id) ||
      !absl::SimpleAtoi(places[0], &decree) || !absl::SimpleAtoi(places[1], &position.updates) ||
      !absl::SimpleAtoi(places[2], &position.timestamp_us))
    return std::nullopt;
  position.cluster_id = static_cast<uint8_t>(cluster_id);
  position.decree = Decree(decree);
  return position;
}

}  // namespace arion
