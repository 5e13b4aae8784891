// Children: what the server does with the children of its replicas: it looks for one, makes it,
// gives it what its parent commits, and its configuration.
//
// Threads   Called on any strand; answers run on the server's, and must not wait.
// Lifetime  Outlives the replicas it is given to.
// Promises  children/C1  A child is put away only for an attempt under a larger ballot, or because
//               it lacks what its parent has committed and its log has dropped. Never once it is
//               complete, or has had a role: then its ballot is larger than its parent's was.
//           children/C2  A child is whole and durable, or it is not there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.h"
#include "messages/meta_messages.h"
#include "pacifica/events.h"

namespace arion {

// What a child is made of.
struct ChildSeed {
  PartitionId pid;
  // The parent's, under which it may be registered.
  Ballot ballot;
  // With the count after the split.
  AppInfo app;
  // The parent's data directory.
  size_t data_directory = 0;
  // A checkpoint of the parent's engine at `decree`, which stays while `hold` lives. Empty: at
  // decree 0. What follows comes by GiveTail.
  std::string checkpoint;
  Decree decree;
  std::shared_ptr<void> hold;
  // A child of this ballot that ends at just this decree is of no use: the parent's log does not
  // reach back to it.
  std::optional<Decree> useless_at;
};

// What is there of a child.
enum class ChildState {
  kNone,
  // Of this ballot, open, and without a role.
  kOpen,
  // It is being opened, closed or put away, or its disk takes none now: ask again.
  kBusy,
  // Of a larger ballot: of a later attempt, or it has a life of its own.
  kOther,
};

// Implemented by the server's table of replicas.
class Children {
 public:
  // `held`, of kOpen: the child has, durably, all that was committed up to this decree.
  using OnState = absl::AnyInvocable<void(ChildState, Decree held)>;

  virtual ~Children() = default;

  // `seed` names the attempt; its checkpoint is not used. What an earlier one left begins to go.
  virtual void LookForChild(const ChildSeed& seed, OnState done) = 0;
  // Makes and opens it. Nothing happens where something is there already.
  virtual void MakeChild(ChildSeed seed) = 0;
  virtual void GiveTail(PartitionId child, ParentTail tail) = 0;
  // It is registered: `entry` is its first configuration, with this server as primary.
  virtual void ActivateChild(const ConfigurationUpdateRequest& entry) = 0;
  // Something is to be asked of the meta server, or told to it.
  virtual void SyncSoon() = 0;
};

}  // namespace arion
