// SPDX-License-Identifier: Apache-2.0
#include "replica_server/replica_children.h"

#include <utility>

#include "base/log.h"
#include "replica/replica.h"

namespace arion {

void ReplicaChildren::LookForChild(const ChildSeed& seed, OnState done) {
  strand_->Post([table = table_, seed, done = std::move(done)]() mutable {
    if (const auto live = table.lock()) return live->LookForChild(seed, std::move(done));
    done(ChildState::kBusy, Decree(0));
  });
}

void ReplicaChildren::MakeChild(ChildSeed seed) {
  strand_->Post([table = table_, seed = std::move(seed)]() mutable {
    if (const auto live = table.lock()) live->MakeChild(std::move(seed));
  });
}

void ReplicaChildren::GiveTail(PartitionId child, ParentTail tail) {
  strand_->Post([table = table_, child, tail = std::move(tail)]() mutable {
    if (const auto live = table.lock()) live->GiveTail(child, std::move(tail));
  });
}

void ReplicaChildren::ActivateChild(const ConfigurationUpdateRequest& entry) {
  strand_->Post([table = table_, entry] {
    if (const auto live = table.lock())
      live->OpenFor(entry.config.pid, entry.info, ReplicaTable::Creation::kForbidden,
                    ConfigurationSynced{entry});
  });
}

void ReplicaChildren::SyncSoon() {
  strand_->Post([sync = sync_] {
    if (const auto live = sync.lock()) live->Soon();
  });
}

// ---- the table's part ----

void ReplicaTable::LookForChild(const ChildSeed& seed, Children::OnState done) {
  CHECK_ON_STRAND(strand_);
  const auto it = slots_.find(seed.pid);
  if (it == slots_.end())
    return done(PlaceOf(seed) ? ChildState::kNone : ChildState::kBusy, Decree(0));
  const Slot& slot = it->second;
  if (slot.phase == Phase::kClosed) return JudgeChild(seed, slot.last_report, std::move(done));
  if (slot.phase != Phase::kOpen) return done(ChildState::kBusy, Decree(0));
  slot.replica->strand()->Post([self = weak_from_this(), reply_on = strand_, seed,
                                replica = slot.replica, done = std::move(done)]() mutable {
    reply_on->Post([self, seed, found = replica->Report(), done = std::move(done)]() mutable {
      if (const auto table = self.lock()) return table->JudgeChild(seed, found, std::move(done));
      done(ChildState::kBusy, Decree(0));
    });
  });
}

// children/C1: by its ballot, as it was reported just now.
void ReplicaTable::JudgeChild(const ChildSeed& seed, const ReplicaInfo& found,
                              Children::OnState done) {
  const auto it = slots_.find(seed.pid);
  if (it == slots_.end()) return done(ChildState::kBusy, Decree(0));
  if (found.ballot > seed.ballot) return done(ChildState::kOther, Decree(0));
  const bool is_open = it->second.phase == Phase::kOpen;
  const bool is_of_no_use =
      found.ballot < seed.ballot || seed.useless_at == found.last_committed_decree;
  if (is_open && !is_of_no_use) return done(ChildState::kOpen, found.last_committed_decree);
  if (is_open)
    OnCloseRequested(seed.pid, Effects::Close::kForget, "it is of no use to this attempt to split");
  else if (is_of_no_use)
    SetAsideClosed(seed.pid, SetAside::kUnborn);
  else if (it->second.phase == Phase::kClosed)  // nobody needed it until now
    Open(seed.pid, Origin::kFound);
  done(ChildState::kBusy, Decree(0));
}

// Beside its parent, whose files it shares.
std::optional<ReplicaPlaces::Place> ReplicaTable::PlaceOf(const ChildSeed& seed) const {
  if (is_stopping_ || places_->IsLeaving(seed.pid)) return std::nullopt;
  return places_->ChooseIn(seed.data_directory,
                           FormatReplicaDirectoryName(seed.pid, seed.app.app_type));
}

void ReplicaTable::PutChildAway(PartitionId pid) {
  CHECK_ON_STRAND(strand_);
  const auto it = slots_.find(pid);
  if (it == slots_.end()) return;
  if (it->second.phase == Phase::kOpen)
    OnCloseRequested(pid, Effects::Close::kForget, "its parent was not split");
  else
    SetAsideClosed(pid, SetAside::kUnborn);
}

void ReplicaTable::MakeChild(ChildSeed seed) {
  CHECK_ON_STRAND(strand_);
  std::optional<ReplicaPlaces::Place> place = PlaceOf(seed);
  if (slots_.contains(seed.pid) || !place) return;
  const PartitionId pid = seed.pid;
  failed_.erase(pid);
  slots_[pid].found = {.pid = pid,
                       .path = std::move(place->path),
                       .data_directory = place->data_directory,
                       .app = seed.app,
                       .replaces = std::move(place->replaces)};
  Open(pid, Origin::kJustCreated,
       {.content = std::make_shared<const FirstContent>(FirstContent{
            .checkpoint = seed.checkpoint, .decree = seed.decree, .ballot = seed.ballot}),
        .hold = std::move(seed.hold)});
}

void ReplicaTable::GiveTail(PartitionId child, ParentTail tail) {
  CHECK_ON_STRAND(strand_);
  const auto it = slots_.find(child);
  if (it == slots_.end() || it->second.phase != Phase::kOpen) return;
  it->second.replica->strand()->Post(
      [replica = it->second.replica, tail = std::move(tail)] { replica->Notify(tail); });
}

}  // namespace arion
