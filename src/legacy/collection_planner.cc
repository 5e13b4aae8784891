// SPDX-License-Identifier: Apache-2.0
#include "legacy/collection_planner.h"

#include <algorithm>

#include "legacy/shared_log_catalog.h"

namespace arion {
namespace {

using Blocking = CollectionPlan::Blocking;

// What keeps this replica from releasing the file; nullopt: it does.
std::optional<Blocking> Holds(PartitionId pid, Decree max, const CollectionFile& file,
                              const CollectionInput& input) {
  // The order of the questions is the order of trust: a replica that is open knows best, one whose
  // directory is here may still need everything, and only one that is nowhere may be gone.
  if (const auto it = input.loaded.find(pid); it != input.loaded.end()) {
    if (file.end_offset <= it->second.valid_start_offset || max <= it->second.safe)
      return std::nullopt;
    return Blocking{pid, Blocking::Why::kNotDurable, max - it->second.safe};
  }
  // The header names it, but nothing of it was ever written.
  if (max <= Decree(0)) return std::nullopt;
  if (input.unopened.contains(pid)) return Blocking{pid, Blocking::Why::kUnopened, max.value()};
  if (input.gone.contains(pid)) return std::nullopt;
  const bool may_be_elsewhere = input.disks == CollectionInput::Disks::kSomeMissing;
  return Blocking{pid, may_be_elsewhere ? Blocking::Why::kDiskMissing : Blocking::Why::kNotFound,
                  max.value()};
}

}  // namespace

std::vector<CollectionFile> CollectionFilesOf(absl::Span<const SharedLogFile> files,
                                              const std::map<PartitionId, Decree>& max_of_newest) {
  std::vector<CollectionFile> result;
  for (size_t i = 0; i < files.size(); ++i) {
    CollectionFile file{files[i].end_offset(),
                        // The next header says what all files before it hold: so it includes this
                        // one.
                        i + 1 < files.size() ? files[i + 1].earlier : files[i].earlier};
    if (i + 1 == files.size())
      for (const auto& [pid, max] : max_of_newest) file.max[pid] = std::max(file.max[pid], max);
    result.push_back(std::move(file));
  }
  return result;
}

CollectionPlan PlanCollection(absl::Span<const CollectionFile> files,
                              const CollectionInput& input) {
  // From the newest file back: maxima only fall, so a replica that releases a file releases all
  // older ones, and what it needs most is met first.
  CollectionPlan plan{.removable = files.size()};
  std::map<PartitionId, Blocking> blocking;
  std::set<PartitionId> released;  // of this file, so of all older ones
  for (size_t i = files.size(); i-- > 0;) {
    bool is_released = true;
    for (const auto& [pid, max] : files[i].max) {
      if (released.contains(pid)) continue;
      if (const auto holds = Holds(pid, max, files[i], input)) {
        // The first one stays: of the newest file it holds back.
        blocking.try_emplace(pid, *holds);
        is_released = false;
      } else {
        released.insert(pid);
      }
    }
    if (!is_released) plan.removable = i;
  }
  for (const auto& [pid, holds] : blocking) plan.blocking.push_back(holds);
  return plan;
}

size_t FlushLimit(size_t blocking_before, size_t blocking, size_t limit_max, size_t limit_before) {
  if (limit_max == 0) return kUnlimited;
  if (blocking_before == 0) return limit_max;
  // Flushes that free nobody only load the disk; two go on, so that it is seen when they help
  // again.
  if (blocking >= blocking_before) return std::min<size_t>(2, limit_max);
  if (limit_before == 0 || limit_before == kUnlimited) return limit_max;
  // Fewer got free than were asked: the disk is not quicker than that.
  if (blocking_before - blocking < limit_before) return limit_before;
  return std::min(limit_max, 2 * limit_before);
}

}  // namespace arion
