// GarbageCollector removes replicas' directories that were set aside, and data that learners set
// aside, when they have been kept long enough: slowly, in the disks' pools.
//
// Shapes    What counts, in the data directories and the log home:
//             <replica>.<us>.err   failed               <replica>.<us>.gar   not needed any more
//             <replica>.disk.migrate.tmp, .ori          an older version's moves between disks
//             <replica>/data.<us>.discarded             of a history that its group no longer has
//           Age is counted from the name's microseconds, else from the last change. Everything
//           else, .bak included, is left alone. Where room is short .gar are kept for ten
//           minutes at most: what it gave to other servers is to make room. A disk that failed
//           (IO_ERROR) is not touched. Wall clocks jump: besides, a directory goes only after this
//           process has seen it for an hour, or as long as it is to be kept if that is shorter; and
//           it goes whatever its name says once this process has seen it for as long as it is to be
//           kept.
// Threads   Strand-bound, but for Counts: any thread.
// Lifetime  Held by shared_ptr.
// Promises  garbage_collector/G1  What is removed had a name that no scan and no replica loads; a
//               removal that was interrupted goes on under that name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "disks/disk_layout.h"

namespace arion {

// How long what was set aside is kept, and how often it is looked for.
struct GarbageOptions {
  absl::Duration interval = absl::Minutes(10);
  absl::Duration keep_failed = absl::Hours(7 * 24);
  absl::Duration keep_unneeded = absl::Hours(24);
  absl::Duration keep_move_target = absl::Hours(24);
  absl::Duration keep_move_source = absl::Hours(7 * 24);
};

enum class GarbageKind { kFailed, kUnneeded, kMoveTarget, kMoveSource, kDiscarded };
struct GarbageName {
  GarbageKind kind = GarbageKind::kFailed;
  std::optional<int64_t> set_aside_us;  // unix
  bool operator==(const GarbageName&) const = default;
};
// `name`: relative to the data directory. nullopt: no garbage.
std::optional<GarbageName> ParseGarbageName(std::string_view name);

class GarbageCollector : public std::enable_shared_from_this<GarbageCollector> {
 public:
  GarbageCollector(std::shared_ptr<const ServerDisks> disks, StrandPtr strand,
                   const GarbageOptions& options);

  // By position of the data directories, then the log home. Looks at once, then periodically.
  void Start(std::vector<bool> is_readable);
  void Stop();

  // What lay in each place at the last look.
  struct Count {
    int64_t failed = 0;
    int64_t unneeded = 0;
    int64_t move_targets = 0;
    int64_t move_sources = 0;
    int64_t discarded = 0;
  };
  std::vector<Count> Counts() const;

 private:
  struct Entry {
    std::string name;  // relative to the place
    GarbageKind kind = GarbageKind::kFailed;
    int64_t since_us = 0;
  };
  struct Place {
    std::string path;
    bool is_readable = false;
    bool is_removing = false;
    std::map<std::string, Instant> seen;  // since when
    std::set<std::string> due;            // names
  };

  void Look();
  void LookAt(size_t index);
  void OnListed(size_t index, const absl::StatusOr<std::vector<Entry>>& listed);
  void RemoveNext(size_t index);
  void RemoveSlice(size_t index, std::string path);
  absl::Duration KeepOf(GarbageKind kind, bool is_room_short) const;

  const std::shared_ptr<const ServerDisks> disks_;
  const StrandPtr strand_;
  const GarbageOptions options_;
  std::vector<Place> places_;
  TimerId timer_ = kNoTimer;
  bool is_stopped_ = false;

  mutable Mutex mutex_;
  std::vector<Count> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
