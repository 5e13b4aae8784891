// GarbageCollector removes replicas' directories that were set aside, and data that learners set
// aside, when they have been kept long enough: slowly, in the disks' pools.
//
// Shapes    What counts, in the data directories and the log home:
//             <replica>.<us>.err   failed               <replica>.<us>.gar   not needed any more
//             <replica>.disk.migrate.tmp, .ori          an older version's moves between disks
//             <replica>.first.tmp                       a first content that never was complete
//             <replica>/data.<us>.discarded             of a history that its group no longer has
//           Age counts from the name's microseconds, or else from the last change. Everything else,
//           .bak included, is left alone. Where room is short .gar are kept for ten minutes at
//           most, because giving replicas to other servers is to make room. A disk that failed
//           (IO_ERROR) is not touched. Wall clocks jump. Therefore a directory goes only after this
//           process has seen it for an hour, or as long as it is to be kept if that is shorter; and
//           it goes whatever its name says once this process has seen it for as long as it is to be
//           kept. While the time is not agreed upon (env/agreed_time.h) nothing is removed.
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

#include "base/instant.h"
#include "base/mutex.h"
#include "disks/disk_layout.h"
#include "disks/disk_options.h"
#include "env/strand.h"

namespace arion {

// The kinds, in the order of the Shapes above.
enum class GarbageKind { kFailed, kUnneeded, kMoveTarget, kMoveSource, kDiscarded };
// What the name of a directory says.
struct GarbageName {
  GarbageKind kind = GarbageKind::kFailed;
  // Microseconds since 1970. No value: the name has none, as those of an older version's moves.
  std::optional<int64_t> set_aside_us;
  bool operator==(const GarbageName&) const = default;
};
// `name` is relative to the data directory, with one "/" for what lies in a replica's directory.
// nullopt: no garbage.
std::optional<GarbageName> ParseGarbageName(std::string_view name);

// Life cycle: construct, Start, Stop. One removal at a time is under way on each disk, in slices of
// at most 32 files or 256 MiB, with pauses between them.
class GarbageCollector : public std::enable_shared_from_this<GarbageCollector> {
 public:
  GarbageCollector(std::shared_ptr<const ServerDisks> disks, StrandPtr strand,
                   const GarbageOptions& options);

  // Looks at once, then periodically. By position of the data directories, then the log home: false
  // means that it is left alone.
  void Start(std::vector<bool> is_readable);
  // No look or removal begins after this. What was removed in part goes on after the next start.
  void Stop();

  // What lay in each place at the last look.
  struct Count {
    int64_t failed = 0;
    int64_t unneeded = 0;
    int64_t move_targets = 0;
    int64_t move_sources = 0;
    int64_t discarded = 0;
  };
  // By position, as Start's argument.
  std::vector<Count> Counts() const;

 private:
  // What one look found in a place.
  struct Entry {
    // Relative to the place.
    std::string name;
    GarbageKind kind = GarbageKind::kFailed;
    // Microseconds since 1970 from which its age counts.
    int64_t since_us = 0;
  };
  // A data directory or the log home, with what is being removed there.
  struct Place {
    std::string path;
    bool is_readable = false;
    bool is_removing = false;
    // By name: when this process saw it first.
    std::map<std::string, Instant> seen;
    // Names that are to be removed.
    std::set<std::string> due;
  };

  // The steps: list each place in its pool, judge what is due, remove it slice by slice.
  void Look();
  void LookAt(size_t index);
  void OnListed(size_t index, const absl::StatusOr<std::vector<Entry>>& listed);
  void RemoveNext(size_t index);
  void RemoveSlice(size_t index, std::string path);
  // How long that kind is kept now.
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
