// The part of ReplicaTable that begins replicas with what another cluster has.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "env/clock.h"
#include "env/file_system.h"
#include "followers/first_content_copy.h"
#include "replica_server/replica_table.h"

namespace arion {
namespace {

// A copy under way, which counts among those of learners; null: there are enough of them.
std::shared_ptr<void> TakeSlot(const ReplicaHost& host) {
  std::atomic<int>& copies = *host.copies;
  if (copies.load() >= host.options.max_concurrent_copies) return nullptr;
  ++copies;
  return {&copies, [all = host.copies](void*) { --*all; }};
}

}  // namespace

// A master's files that are not what it said are no fault of this disk, and of no use.
absl::Status ReplicaTable::CreateWith(const OpeningHost& host, const FoundReplica& found,
                                      const FirstContent* content) {
  absl::Status created = CreateReplicaDirectory(host, found, content);
  const bool is_copy = content != nullptr && content->from == FirstContent::From::kMaster;
  if (!is_copy || (!created.ok() && !absl::IsDataLoss(created))) return created;
  // The next attempt begins anew; a rest that stays is the garbage collector's.
  if (!content->checkpoint.empty()) {
    const absl::Status removed = host.disks->env.files().RemoveAll(content->checkpoint);
    LOG_IF(WARNING, !removed.ok()) << content->checkpoint << " stays: " << removed;
  }
  return created.ok() ? created : absl::UnavailableError(created.message());
}

std::optional<ReplicaPlaces::Place> ReplicaTable::PlaceFor(PartitionId pid,
                                                           const std::string& name) const {
  // Where a part of it lies already.
  if (const auto scratch = scratch_places_.find(pid); scratch != scratch_places_.end())
    if (auto place = places_->ChooseIn(scratch->second, name)) return place;
  return places_->Choose(name, LoadsFor(pid.app_id));
}

void ReplicaTable::CopyFirstContent(PartitionId pid) {
  Slot& slot = slots_.at(pid);
  SetPhase(pid, slot, Phase::kLoading);
  const size_t disk = slot.found.data_directory;
  scratch_places_[pid] = disk;
  Transport* const others = host_->options.other_clusters;
  const auto copy = std::make_shared<FirstContentCopy>(
      host_->env, others != nullptr ? *others : host_->transport, strand_,
      FirstContentPlan{.pid = pid,
                       .app = slot.found.app,
                       .scratch_directory = slot.found.path + kScratchSuffix,
                       .disk_tag = host_->disks->layout.data_directories[disk].tag,
                       .take_slot = [host = host_] { return TakeSlot(*host); },
                       .pace =
                           [host = host_, disk](uint64_t bytes) {
                             return host->receiving->Take(disk, bytes, host->env.clock().Now());
                           }});
  slot.first_copy = copy;
  copy->Start([self = weak_from_this(), pid](const absl::StatusOr<CopiedContent>& copied) {
    if (const auto table = self.lock()) table->OnFirstContent(pid, copied);
  });
}

void ReplicaTable::StopFirstCopy(Slot& slot) {
  if (slot.first_copy != nullptr) slot.first_copy->Cancel();
  slot.first_copy = nullptr;
}

void ReplicaTable::OnFirstContent(PartitionId pid, const absl::StatusOr<CopiedContent>& copied) {
  CHECK_ON_STRAND(strand_);
  const auto it = slots_.find(pid);
  CHECK(it != slots_.end() && it->second.first_copy != nullptr)
      << "[" << pid << "] a first content for what does not wait for it";
  it->second.first_copy = nullptr;
  if (!copied.ok()) return OnCreationFailed(pid, copied.status());
  Open(pid, Origin::kJustCreated,
       {.content =
            std::make_shared<const FirstContent>(FirstContent{.from = FirstContent::From::kMaster,
                                                              .checkpoint = copied->checkpoint,
                                                              .decree = copied->decree})});
}

}  // namespace arion
