// StoreGuard: the way to the store. It knows what became of storing the state: what is refused
// while it can't be stored, when that is tried again, and how much room there is.
//
// Errors    `done` hears what the store said (meta_store/D1). A store that can't be written now is
//           tried again by whoever wants to; after RetryLater the guardian waits. One that failed
//           for good stays so until a restart: what is in memory was durable and is served on, but
//           not changed. One whose server leads no longer (Cancelled) is answered by nobody.
// Threads   Load before anything else; it may wait for the disk. All else is strand-bound;
//           callbacks come on the strand, while the owner lives.
// Lifetime  The store and the clock outlive it.
// Promises  store_guard/G1  Before `done` hears of a failure, is_failed, failure and
//               WhyNoTableChange say so.
//           store_guard/G2  Once it is_failed, CanStore is false for ever.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error_code.h"
#include "env/clock.h"
#include "env/strand.h"
#include "meta_state/meta_store.h"
#include "meta_state/store_room.h"

namespace arion {

class OwnerLife;

// A member of MetaServer::State. All parts store through it, never through the MetaStore itself, so
// that one place knows whether anything can be stored.
class StoreGuard {
 public:
  // How often room is looked at, and how long the guardian waits after a change that could not be
  // written.
  static constexpr absl::Duration kLookInterval = absl::Seconds(1);
  static constexpr absl::Duration kRetryDelay = absl::Seconds(3);
  using Stored = absl::AnyInvocable<void(const absl::Status& stored)>;

  // `on_room`: the disk was full, and has room again.
  StoreGuard(MetaStore& store, const Clock& clock, StrandPtr strand, const OwnerLife& life,
             std::function<void()> on_room);

  // As MetaStore::Load.
  absl::StatusOr<std::map<std::string, std::string>> Load() { return store_.Load(); }
  void Commit(std::vector<MetaStore::Change> batch, StoreNeed need, Stored done);
  // Sees how much room there is, now and each kLookInterval until Stop.
  void Look();
  void Stop() { is_stopped_ = true; }
  // A change of a configuration was given up: the guardian waits for kRetryDelay.
  void RetryLater() { retry_at_ = clock_.Now() + kRetryDelay; }

  // Nothing may be assumed durable any more.
  bool is_failed() const { return is_failed_; }
  // As far as is known.
  bool CanStore(Instant now) const { return !is_failed_ && now >= retry_at_; }
  Instant retry_at() const { return retry_at_; }
  const StoreRoom& room() const { return room_; }
  // Of the last change that is kToServe.
  const absl::Status& failure() const { return failure_; }
  // kOk: changes of tables can be stored, as far as is known.
  ErrorCode WhyNoTableChange() const;
  // What who asked for a change is told of it.
  static ErrorCode ErrorOf(const absl::Status& stored);

 private:
  void Note(const absl::Status& stored, StoreNeed need);
  void NoteRoom(const StoreRoom& room);

  MetaStore& store_;
  const Clock& clock_;
  const StrandPtr strand_;
  const OwnerLife& life_;
  const std::function<void()> on_room_;
  bool is_stopped_ = false;
  bool is_failed_ = false;
  absl::Status failure_;
  StoreRoom room_;
  Instant retry_at_{0};
};

}  // namespace arion
