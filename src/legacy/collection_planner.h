// Which files of a shared log may go, who holds it back, and who shall flush (legacy/FORMAT.md 4;
// decision 11). Pure.
//
// Shapes    A replica releases a file when its checkpoints hold every decree of it that may lie in
//           it, or when all of the file is void for it, or when it has nothing in it. Files go from
//           the front, as far as every replica releases them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "legacy/shared_log_catalog.h"

namespace arion {

struct CollectionFile {
  int64_t end_offset = 0;
  std::map<PartitionId, Decree> max;  // largest decrees in it and in all earlier files
};
// The newest file's maxima: what its header says and what was seen in it.
std::vector<CollectionFile> CollectionFilesOf(absl::Span<const SharedLogFile> files,
                                              const std::map<PartitionId, Decree>& max_of_newest);

struct CollectionInput {
  struct Loaded {
    Decree safe;                 // in a checkpoint, and before it without a hole in the private log
    int64_t valid_start_offset;  // init_offset_in_shared_log
  };
  std::map<PartitionId, Loaded> loaded;
  // Their directories are there, but they are not open, or failed to open: whatever the log holds of
  // them is kept.
  std::set<PartitionId> unopened;
  // Not in the data directories any more, and known not to be needed.
  std::set<PartitionId> gone;
  // kSomeMissing: a replica that is not found may lie on a disk that can't be read.
  enum class Disks { kAllReadable, kSomeMissing } disks = Disks::kAllReadable;
};

// What the data directories held of replicas when the server started, besides those that are opened.
struct NotLoadedReplicas {
  CollectionInput::Disks disks = CollectionInput::Disks::kAllReadable;
  std::set<PartitionId> unloaded;   // a directory that can't be understood
  std::set<PartitionId> set_aside;  // .err, .gar
};

struct CollectionPlan {
  size_t removable = 0;  // files from the front
  struct Blocking {
    PartitionId pid;
    // kDiskMissing, kNotFound: in no data directory; one of these can't be read, or all can.
    enum class Why { kNotDurable, kUnopened, kDiskMissing, kNotFound } why = Why::kNotDurable;
    int64_t decrees_behind = 0;  // of the newest file it holds back
    bool operator==(const Blocking&) const = default;
  };
  std::vector<Blocking> blocking;  // by partition
};
CollectionPlan PlanCollection(absl::Span<const CollectionFile> files, const CollectionInput& input);

// How many of the blocking replicas are asked to flush in a round, before and limit_before being the
// round before's (0: there was none). `limit_max` 0: as many as there are.
inline constexpr size_t kUnlimited = SIZE_MAX;
size_t FlushLimit(size_t blocking_before, size_t blocking, size_t limit_max, size_t limit_before);

class FlushLimiter {
 public:
  explicit FlushLimiter(size_t limit_max) : limit_max_(limit_max) {}
  size_t Next(size_t blocking) {
    limit_ = FlushLimit(blocking_before_, blocking, limit_max_, limit_);
    blocking_before_ = blocking;
    return limit_ < blocking ? limit_ : blocking;
  }

 private:
  const size_t limit_max_;
  size_t blocking_before_ = 0;
  size_t limit_ = 0;
};

}  // namespace arion
