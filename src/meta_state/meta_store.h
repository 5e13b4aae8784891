// MetaStore keeps the meta server's state: a flat, ordered set of keys (the paths of
// meta/STATE.md 1.1, e.g. "/apps/2", "/apps/2/0") with JSON values.
//
// Threads   Load: once, before anything else; may wait for the disk. Commit, Look: on the owner's
//           strand; they wait in a pool.
// Promises  meta_store/D1  done(OK): all changes of the batch are durable. done(ResourceExhausted),
//               there was no space, done(Unavailable), it could not be written, and
//               done(InvalidArgument), it is too much for one change: nothing of the batch is or
//               will be stored, and later batches may be. done(another error): the store stays
//               failed, and nothing may be assumed of the batch. Cancelled is one of these: another
//               meta server leads.
//           meta_store/D2  Batches that become durable do so in the order of Commit calls.
//           meta_store/D3  What is kToServe is stored while a part of the reserve is left that it
//               fits into.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <vector>

#include "env/strand.h"
#include "meta_state/store_change.h"

namespace arion {

struct StoreRoom;

// What a full disk refuses first, and last.
enum class StoreNeed {
  // Changes of tables.
  kWhileRoom,
  // Failovers, and what an administrator needs to bring about that all is served.
  kToServe,
};

// Life cycle: Load, then any number of Commits and Looks.
class MetaStore {
 public:
  using Change = StoreChange;

  virtual ~MetaStore() = default;
  // All keys and values.
  virtual absl::StatusOr<std::map<std::string, std::string>> Load() = 0;
  // Stores the whole batch or nothing of it. `done` comes on `reply_on`; see Promises.
  virtual void Commit(std::vector<Change> batch, StoreNeed need, StrandPtr reply_on,
                      absl::AnyInvocable<void(const absl::Status&)> done) = 0;
  // Sees how much room there is, and makes the reserve whole where there is enough. To be called
  // every second or so.
  virtual void Look(StrandPtr reply_on, absl::AnyInvocable<void(const StoreRoom&)> done) = 0;
  // Whether a batch may have been stored in part when its writer's life ended: of a new table then,
  // some partitions are missing.
  virtual bool MayStoreInPart() const { return false; }
  // What a person can do where the state can't be understood.
  virtual std::string WayBack() const { return "put a whole copy of it in its place"; }
};

}  // namespace arion
