// SourcePositions: how far other clusters' duplications of a partition have come here, so that what
// comes twice is taken once.
//
// Shapes    A place in a duplication's stream is a decree of its source and the number of an update
//           in that. Its time goes along: a source whose history began anew has small decrees
//           again, but no earlier times.
// Threads   One at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace arion {

// Everything up to here was taken.
struct SourcePosition {
  // Of the source (DuplicationGroup), and of its duplication.
  uint8_t cluster_id = 0;
  int64_t duplication_id = 0;
  Decree decree;
  // Of that decree, so many updates.
  int32_t updates = 0;
  // When the last of them was ordered there.
  int64_t timestamp_us = 0;

  bool operator==(const SourcePosition&) const = default;
  // Whether update number `update` of `of`, ordered at that time, was taken.
  bool Covers(Decree of, int32_t update, int64_t at_us) const {
    return at_us <= timestamp_us && std::pair(of, update) <= std::pair(decree, updates);
  }
};

// Of one partition.
class SourcePositions {
 public:
  // Of one cluster. A duplication that was made anew has another id, so the oldest go.
  static constexpr size_t kPerClusterMax = 4;
  // A cluster's id, a duplication's.
  using Id = std::pair<uint8_t, int64_t>;

  std::optional<SourcePosition> Find(Id id) const;
  // Keeps it. Returns those that make room for it: they are no longer known.
  std::vector<Id> Note(const SourcePosition& position);
  const std::map<Id, SourcePosition>& all() const { return positions_; }

 private:
  std::map<Id, SourcePosition> positions_;
};

// As two texts of decimal numbers: "2.1700000000" and "decree updates timestamp".
std::string SourceIdText(SourcePositions::Id id);
std::string SourcePlaceText(const SourcePosition& position);
// nullopt: they are none.
std::optional<SourcePosition> ParseSourcePosition(std::string_view id, std::string_view place);

}  // namespace arion
