// DataModel: what an operation of the data API may do to one hash key and may answer: the
// sequential specification that histories are checked against (rpc/PROTOCOL.md 5, 6). Knows nothing
// of the servers' code.
//
// Shapes   Whether a record near its expiry is still there is open while the servers' wall clocks
//          may be on either side of it: then both are allowed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace arion::sim {

struct DataOperation;

// What the wall clock of whichever server acts may say during an operation, in seconds since 2016.
struct WallWindow {
  int64_t earliest = 0;
  int64_t latest = INT64_MAX;
};

// All records of one hash key at one moment of the order that is searched.
struct DataState {
  struct Row {
    std::string sort_key;
    std::string value;
    int64_t expire_ts = 0;
  };
  // By sort key, each once.
  std::vector<Row> rows;

  const Row* Find(const std::string& sort_key) const;
  void Put(const std::string& sort_key, std::string value, int64_t expire_ts);
  void Remove(const std::string& sort_key);
  uint64_t Hash() const;
};

// A read: whether `state` can have answered this.
bool CanAnswer(const DataState& state, const DataOperation& read, WallWindow wall);
// A write: the states that it can have left behind, given its answer if it has one. None: it can't
// have been answered like that.
std::vector<DataState> StatesAfter(const DataState& state, const DataOperation& write,
                                   WallWindow wall);

}  // namespace arion::sim
