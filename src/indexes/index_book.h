// IndexBook: the indexes of all open replicas of a server, for displays.
//
// Threads   Thread-safe.
// Lifetime  It holds none of them: a set that ended is not shown any more.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
    // Where it is built anew, and answers meanwhile.
    int64_t renewed = 0;
  };
  // What builds of one table's replicas have to read yet, and read in a second now: bytes of the
  // data, about. A replica's is for all its indexes.
  struct Pace {
    uint64_t left_bytes = 0;
    double bytes_per_second = 0;
    // At a replica here an index is not defined yet: what it has to read is not among these.
    bool has_undefined = false;
    // nullopt: nothing is read now, or not all is known that is to be read.
    std::optional<double> seconds_left() const;
  };

  // The replica's indexes are these from now on. `wanted`: what is not among them is about to be
  // defined, and counts as a replica where nothing of it is built.
  void Note(PartitionId pid, const std::string& table, std::weak_ptr<const IndexSet> indexes,
            std::vector<NamedIndex> wanted);
  // By table and index.
  std::vector<Row> Rows() const;
  // By table; 0 where all is whole.
  std::map<std::string, Pace> Paces() const;

 private:
  struct Open {
    std::string table;
    std::shared_ptr<const IndexSet> indexes;
    std::vector<NamedIndex> wanted;
  };
  // Of each open replica.
  std::vector<Open> OpenOnes() const;

  struct Entry {
    std::string table;
    std::weak_ptr<const IndexSet> indexes;
    std::vector<NamedIndex> wanted;
  };
  mutable Mutex mutex_;
  std::map<PartitionId, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
