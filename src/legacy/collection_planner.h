// Which files of a shared log may go, who holds it back, and who is to flush (legacy/FORMAT.md 4;
// decision 11). Pure.
//
// Shapes    A replica releases a file when its checkpoints hold every decree of it that may lie in
//           the file, or when all of the file is void for it, or when it has nothing in it. Files
//           go from the front, as far as every replica releases them.
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

namespace arion {

struct SharedLogFile;

// One file as the plan sees it, by global offsets. Made once by CollectionFilesOf; it goes when the
// file does.
struct CollectionFile {
  int64_t end_offset = 0;
  // The largest decrees in it and in all earlier files.
  std::map<PartitionId, Decree> max;
};
// The files of a catalog, in its order. `max_of_newest`: what the newest file's header says and
// what was seen in it; of the others the next file's header tells.
std::vector<CollectionFile> CollectionFilesOf(absl::Span<const SharedLogFile> files,
                                              const std::map<PartitionId, Decree>& max_of_newest);

// What is known of the replicas that may be in the log, at the moment of one round. A replica that
// is in none of the three is not found: it holds files back.
struct CollectionInput {
  // Of a replica that is open.
  struct Loaded {
    // Everything up to here is in a checkpoint, and between that and the private log there is no
    // hole.
    Decree safe;
    // init_offset_in_shared_log: what is before it in the shared log is void.
    int64_t valid_start_offset;
  };
  std::map<PartitionId, Loaded> loaded;
  // Their directories are there, but they are not open, or failed to open. Whatever the log holds
  // of them is kept.
  std::set<PartitionId> unopened;
  // They are not in the data directories any more, and are known not to be needed.
  std::set<PartitionId> gone;
  // kSomeMissing: a replica that is not found may lie on a disk that can't be read.
  enum class Disks { kAllReadable, kSomeMissing } disks = Disks::kAllReadable;
};

// What the data directories held of replicas when the server started, besides those that are
// opened.
struct NotLoadedReplicas {
  CollectionInput::Disks disks = CollectionInput::Disks::kAllReadable;
  // With a directory that can't be understood.
  std::set<PartitionId> unloaded;
  // With a directory ending in .err or .gar.
  std::set<PartitionId> set_aside;
};

// What may be done now. It holds for the round it was made in.
struct CollectionPlan {
  // How many files may go, from the front.
  size_t removable = 0;
  // A replica that holds files back.
  struct Blocking {
    PartitionId pid;
    // kNotDurable: its checkpoint lacks something. kUnopened: as CollectionInput::unopened.
    // kDiskMissing, kNotFound: it is in no data directory; kDiskMissing where one of these can't be
    // read, else kNotFound.
    enum class Why { kNotDurable, kUnopened, kDiskMissing, kNotFound } why = Why::kNotDurable;
    // Of the newest file it holds back.
    int64_t decrees_behind = 0;
    bool operator==(const Blocking&) const = default;
  };
  // Ordered by partition.
  std::vector<Blocking> blocking;
};
// The plan for files in the order of the log.
CollectionPlan PlanCollection(absl::Span<const CollectionFile> files, const CollectionInput& input);

// No limit.
inline constexpr size_t kUnlimited = SIZE_MAX;
// How many of the `blocking` replicas are asked to flush in this round. `blocking_before` and
// `limit_before` are the round before's (0: there was none). `limit_max` 0: as many as there are.
// The limit begins at limit_max, falls to two where no replica got free, and doubles where flushes
// help.
size_t FlushLimit(size_t blocking_before, size_t blocking, size_t limit_max, size_t limit_before);

// FlushLimit from round to round. The collector has one, and asks it once a round; strand-bound.
class FlushLimiter {
 public:
  explicit FlushLimiter(size_t limit_max) : limit_max_(limit_max) {}
  // How many of them to ask in this round.
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
