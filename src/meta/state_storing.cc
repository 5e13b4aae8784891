// What became of storing the state: what is refused while it can't be, and when it is tried again.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/log.h"
#include "env/file_system.h"
#include "meta/meta_server_state.h"

namespace arion {
namespace {

constexpr absl::Duration kStoreLookInterval = absl::Seconds(1);

}  // namespace

// What was told and is worth to be known by a meta server that starts anew: what primaries said to be
// committed, so that it knows of older copies, and which servers there are, so that it waits for them.
void MetaServer::State::StoreWhatWasToldWhenDue(Instant now) {
  if (now < store_told_at_) return;
  store_told_at_ = now + options_.guardian_interval;
  std::vector<MetaStore::Change> batch;
  std::vector<int32_t> app_ids;
  for (auto& [app_id, table] : state_.tables) {
    // One that gets a leader begins anew, perhaps.
    const bool is_about_to_begin = std::any_of(
        table.partitions.begin(), table.partitions.end(),
        [](const Partition& one) { return one.pending && !one.config.primary.IsValid(); });
    if (!table.is_committed_unstored || is_about_to_begin) continue;
    table.is_committed_unstored = false;
    batch.push_back(ClusterState::ChangeOfCommitted(table));
    app_ids.push_back(app_id);
  }
  std::set<Endpoint> known = state_.awaited;
  for (const auto& [endpoint, node] : state_.nodes)
    if (state_.listed.contains(endpoint) || (node.alive && node.collected)) known.insert(endpoint);
  for (const Endpoint server : known)
    if (!state_.listed.contains(server))
      batch.push_back(ClusterState::ChangeOfListed(server, true));
  for (const Endpoint server : state_.listed)
    if (!known.contains(server)) batch.push_back(ClusterState::ChangeOfListed(server, false));
  if (batch.empty()) return;
  store_.Commit(std::move(batch), StoreNeed::kWhileRoom, strand_,
                [weak = weak_from_this(), app_ids, known](const absl::Status& stored) {
                  auto self = weak.lock();
                  if (!self) return;
                  if (self->NoteStored(stored, StoreNeed::kWhileRoom)) {
                    self->state_.listed = known;
                    return;
                  }
                  for (const int32_t app_id : app_ids)
                    if (Table* table = self->state_.FindTable(app_id))
                      table->is_committed_unstored = true;
                });
}

bool MetaServer::State::NoteStored(const absl::Status& stored, StoreNeed need) {
  if (need == StoreNeed::kToServe || stored.ok()) store_failure_ = stored;
  if (ErrorOf(stored) == ErrorCode::kDiskInsufficient) room_.is_short = true;
  if (stored.ok()) return true;
  if (absl::IsResourceExhausted(stored) || absl::IsUnavailable(stored)) {
    LOG_EVERY_T(ERROR, 3) << "meta: the state can't be stored now: " << stored;
    return false;
  }
  if (!store_failed_) {
    LOG(ERROR) << "meta: the state can't be stored any more, restart this server: " << stored;
  }
  store_failed_ = true;
  store_failure_ = stored;
  return false;
}

ErrorCode MetaServer::State::ErrorOf(const absl::Status& stored) {
  if (stored.ok()) return ErrorCode::kOk;
  return LacksSpace(stored) ? ErrorCode::kDiskInsufficient : ErrorCode::kFileOperationFailed;
}

ErrorCode MetaServer::State::WhyNoTableChange() const {
  if (store_failed_) return ErrorCode::kFileOperationFailed;
  return room_.is_short ? ErrorCode::kDiskInsufficient : ErrorCode::kOk;
}

void MetaServer::State::LookAtStore() {
  store_.Look(strand_, [weak = weak_from_this()](const StoreRoom& room) {
    auto self = weak.lock();
    if (!self || self->phase_ == Phase::kStopped) return;
    self->NoteRoom(room);
    self->strand_->PostAfter(kStoreLookInterval, [weak] {
      if (auto again = weak.lock()) again->LookAtStore();
    });
  });
}

void MetaServer::State::NoteRoom(const StoreRoom& room) {
  const bool has_room_again = room_.is_short && !room.is_short;
  room_ = room;
  if (!has_room_again) return;
  store_retry_at_ = Now();
  SchedulePlan();
}

bool MetaServer::State::CanStore(Instant now) const {
  return !store_failed_ && now >= store_retry_at_;
}

}  // namespace arion
