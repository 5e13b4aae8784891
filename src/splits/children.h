// Children: what the server does with the children of its replicas: it looks for one, makes it, and
// gives it its configuration.
//
// Threads   Called on any strand; answers run on the server's, and must not wait.
// Lifetime  Outlives the replicas it is given to.
// Promises  children/C1  A child is put away only for an attempt behind its own, by (ballot,
//               decree), and never once it has had a role: then its ballot is larger than its
//               parent's was.
//           children/C2  A child is whole and durable, or it is not there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/ids.h"
#include "messages/meta_messages.h"

namespace arion {

// One attempt to split a parent, and what its child is made of.
struct ChildSeed {
  PartitionId pid;
  // The parent's, and where its data end at every member.
  Ballot ballot;
  Decree decree;
  // With the count after the split.
  AppInfo app;
  // The parent's data directory.
  size_t data_directory = 0;
  // A checkpoint of the parent's engine at `decree`, which stays while `hold` lives. Empty: at
  // decree 0.
  std::string checkpoint;
  std::shared_ptr<void> hold;
};

// What is there of a child.
enum class ChildState {
  kNone,
  // Of this attempt, and durable.
  kMade,
  // It is being opened, closed or put away, or its disk takes none now: ask again.
  kBusy,
  // Of a later attempt, or it has a life of its own.
  kOther,
};

// Implemented by the server's table of replicas.
class Children {
 public:
  using OnState = absl::AnyInvocable<void(ChildState)>;

  virtual ~Children() = default;

  // `seed` names the attempt; its checkpoint is not used. What an earlier one left begins to go.
  virtual void LookForChild(const ChildSeed& seed, OnState done) = 0;
  // Makes and opens it; it may be asked for by LookForChild from then on. Nothing happens where
  // something is there already.
  virtual void MakeChild(ChildSeed seed) = 0;
  // It is registered: `entry` is its first configuration, with this server as primary.
  virtual void ActivateChild(const ConfigurationUpdateRequest& entry) = 0;
  // Something is to be asked of the meta server, or told to it.
  virtual void SyncSoon() = 0;
};

}  // namespace arion
