// SPDX-License-Identifier: Apache-2.0
#include "meta/store_guard.h"

#include <utility>

#include "base/log.h"
#include "env/file_system.h"
#include "meta/owner_life.h"

namespace arion {

StoreGuard::StoreGuard(MetaStore& store, const Clock& clock, StrandPtr strand,
                       const OwnerLife& life, std::function<void()> on_room)
    : store_(store),
      clock_(clock),
      strand_(std::move(strand)),
      life_(life),
      on_room_(std::move(on_room)) {}

void StoreGuard::Commit(std::vector<MetaStore::Change> batch, StoreNeed need, Stored done) {
  store_.Commit(
      std::move(batch), need, strand_,
      life_.While([this, need, done = std::move(done)](const absl::Status& stored) mutable {
        Note(stored, need);
        // As of a server that died: who asked asks the one that leads now, which knows what is
        // stored.
        if (!absl::IsCancelled(stored)) done(stored);
      }));
}

void StoreGuard::Note(const absl::Status& stored, StoreNeed need) {
  if (absl::IsInvalidArgument(stored)) return;  // of this change alone; its asker was told
  // A table's change that found no room is no reason to alarm: its asker was told.
  if (need == StoreNeed::kToServe || stored.ok()) failure_ = stored;
  // At once, without waiting for the next look.
  if (ErrorOf(stored) == ErrorCode::kDiskInsufficient) room_.is_short = true;
  if (stored.ok()) return;
  if (absl::IsResourceExhausted(stored) || absl::IsUnavailable(stored)) {
    // Each retry fails alike: once in a while is enough.
    LOG_EVERY_T(ERROR, 3) << "meta: the state can't be stored now: " << stored;
    return;
  }
  // Cancelled: another meta server leads.
  if (!is_failed_ && !absl::IsCancelled(stored)) {
    LOG(ERROR) << "meta: the state can't be stored any more, restart this server: " << stored;
  }
  is_failed_ = true;
  failure_ = stored;
}

ErrorCode StoreGuard::ErrorOf(const absl::Status& stored) {
  if (stored.ok()) return ErrorCode::kOk;
  if (absl::IsInvalidArgument(stored)) return ErrorCode::kInvalidParameters;
  return LacksSpace(stored) ? ErrorCode::kDiskInsufficient : ErrorCode::kFileOperationFailed;
}

ErrorCode StoreGuard::WhyNoTableChange() const {
  if (is_failed_) return ErrorCode::kFileOperationFailed;
  return room_.is_short ? ErrorCode::kDiskInsufficient : ErrorCode::kOk;
}

void StoreGuard::Look() {
  store_.Look(strand_, life_.While([this](const StoreRoom& room) {
    if (is_stopped_) return;
    NoteRoom(room);
    strand_->PostAfter(kLookInterval, life_.While([this] { Look(); }));
  }));
}

void StoreGuard::NoteRoom(const StoreRoom& room) {
  const bool has_room_again = room_.is_short && !room.is_short;
  room_ = room;
  if (!has_room_again) return;
  // The wait of RetryLater was for room.
  retry_at_ = clock_.Now();
  on_room_();
}

}  // namespace arion
