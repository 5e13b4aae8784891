// DuplicationBook: how far each duplication of the partitions led here is, and what was sent since
// the start, for displays.
//
// Units     Times are microseconds since 1970, bytes those of the private log; sent bytes those of
//           requests.
// Threads   Thread-safe. Figures of one sender are written by its strand, and read anywhere.
// Lifetime  It holds no sender's figures: one that ended is not shown any more. Totals stay.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"

namespace arion {

// Of one sender: what the other cluster lacks.
struct DuplicationFigures {
  std::atomic<int64_t> decrees_behind{0};
  // -1: not known yet.
  std::atomic<int64_t> bytes_behind{-1};
  // When the oldest of it was ordered, or found to be lacking. 0: it lacks nothing.
  std::atomic<int64_t> behind_since_us{0};
  // It is to send; false: paused, or in preparation.
  std::atomic<bool> is_active{false};
  // It is to send, and does not go on by itself.
  std::atomic<bool> is_stopped{false};
};

// Of one table and other cluster, since the start.
struct DuplicationTotals {
  std::atomic<int64_t> updates{0}, bytes{0};
  // Requests that are sent again later, for whatever reason.
  std::atomic<int64_t> retries{0};
  // Updates that the other cluster does not get.
  std::atomic<int64_t> left_out{0};
};

// One for a server.
class DuplicationBook {
 public:
  struct Row {
    std::string table;
    std::string cluster;
    PartitionId pid;
    std::shared_ptr<const DuplicationFigures> figures;
  };
  // By table and other cluster.
  using Place = std::pair<std::string, std::string>;

  void Note(PartitionId pid, Place place, const std::shared_ptr<const DuplicationFigures>& figures);
  // Of this place; the same for all its partitions.
  std::shared_ptr<DuplicationTotals> TotalsOf(const Place& place);
  // By partition.
  std::vector<Row> Rows() const;
  std::map<Place, std::shared_ptr<const DuplicationTotals>> Totals() const;

 private:
  struct Entry {
    Place place;
    std::weak_ptr<const DuplicationFigures> figures;
  };
  mutable Mutex mutex_;
  std::multimap<PartitionId, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::map<Place, std::shared_ptr<DuplicationTotals>> totals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
