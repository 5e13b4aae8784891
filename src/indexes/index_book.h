// IndexBook: the indexes of all open replicas of a server, for displays.
//
// Threads   Thread-safe.
// Lifetime  It holds none of them: a set that ended is not shown any more.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "indexes/index_set.h"

namespace arion {

// One for a server.
class IndexBook {
 public:
  // One index of one table, over the replicas that are here.
  struct Row {
    std::string table;
    std::string index;
    std::string definition;
    int64_t replicas = 0;
    int64_t whole = 0;
    bool is_paused = false;
    // Over all of them, those that are whole included: 0 to 100.
    double mean_percent = 0;
    int64_t entries = 0;
    int64_t left_out = 0;
  };

  // The replica's indexes are these from now on.
  void Note(PartitionId pid, const std::string& table, std::weak_ptr<const IndexSet> indexes);
  // By table and index.
  std::vector<Row> Rows() const;

 private:
  struct Entry {
    std::string table;
    std::weak_ptr<const IndexSet> indexes;
  };
  mutable Mutex mutex_;
  std::map<PartitionId, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
