// SplitMember: what one member of a group does when its primary splits the partition: it flushes,
// and then makes the child of what it has applied.
//
// Shapes    Each request may come again, and late: it says the ballot and the decree that it is
//           about. Work that takes long is begun, and the primary is answered kBusy until it is
//           done.
// Threads   Strand-bound; files are made in pools.
// Lifetime  A part of a replica, beside its core and its engine, which outlive it.
// Promises  split_member/S1  A child holds what its parent applied up to the decree that its
//               primary named, and nothing more.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <functional>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "env/strand.h"
#include "messages/split_messages.h"
#include "splits/children.h"

namespace arion {

class ReplicaCore;

// One for each replica; the primary asks its own as it asks the others'.
class SplitMember {
 public:
  using OnAnswer = absl::AnyInvocable<void(SplitMemberResponse)>;
  struct Hooks {
    std::function<std::weak_ptr<void>()> owner;
    // Runs `work` on the engine in a pool, then `then` on the strand.
    std::function<void(absl::AnyInvocable<absl::Status(Engine&)> work,
                       absl::AnyInvocable<void(absl::Status)> then)>
        maintain;
    // Applies what a secondary has gathered.
    std::function<void()> catch_up;
    std::function<std::string()> tag;
  };
  // `data_directory`: where the replica lies. `engine`: the owner's; null while it is exchanged.
  SplitMember(StrandPtr strand, PartitionId pid, size_t data_directory, const ReplicaCore& core,
              const std::shared_ptr<Engine>& engine, Hooks hooks)
      : strand_(std::move(strand)),
        pid_(pid),
        data_directory_(data_directory),
        core_(core),
        engine_(engine),
        hooks_(std::move(hooks)) {}

  // Before the first request.
  void SetChildren(std::shared_ptr<Children> children) { children_ = std::move(children); }
  Children& children() { return *children_; }
  void Answer(const SplitMemberRequest& request, OnAnswer answer);

 private:
  ChildSeed SeedOf(const SplitMemberRequest& request) const;
  // Empty: it may be followed.
  std::string Objection(const SplitMemberRequest& request) const;
  void Prepare(const SplitMemberRequest& request, OnAnswer answer);
  void Look(const SplitMemberRequest& request, OnAnswer answer);
  void Tell(const SplitMemberRequest& request, ChildState state, OnAnswer answer);
  void Make(const SplitMemberRequest& request);

  const StrandPtr strand_;
  const PartitionId pid_;
  const size_t data_directory_;
  const ReplicaCore& core_;
  const std::shared_ptr<Engine>& engine_;
  const Hooks hooks_;
  std::shared_ptr<Children> children_;
  bool is_making_ = false;
  // Of the last checkpoint for a child, until it was told.
  absl::Status failure_;
};

}  // namespace arion
