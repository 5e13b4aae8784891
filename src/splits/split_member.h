// SplitMember: what one member of a group does when its primary splits the partition: it makes the
// child of a checkpoint, and gives it what its own log has behind that.
//
// Shapes    Each request may come again, and late: it says the ballot and the decree that it is
//           about. Work that takes long is begun, and the primary is answered kBusy until it is
//           done.
// Threads   Strand-bound; files are made, and logs read, in pools.
// Lifetime  A part of a replica, beside its core and its engine, which outlive it.
// Promises  split_member/S1  A complete child holds what its parent committed up to the decree that
//               its primary named, durably, and nothing more.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "env/clock.h"
#include "env/strand.h"
#include "messages/split_messages.h"
#include "splits/children.h"

namespace arion {

class ReplicaCore;

// One for each replica; the primary asks its own as it asks the others'.
class SplitMember {
 public:
  // What a child may lack when writes begin to wait.
  static constexpr int64_t kLagMax = 32;
  // A parent's log is kept for its child as long as somebody asks for it.
  static constexpr absl::Duration kLogKept = absl::Seconds(30);
  using OnAnswer = absl::AnyInvocable<void(SplitMemberResponse)>;
  using OnMutations = absl::AnyInvocable<void(absl::StatusOr<std::vector<MutationPtr>>)>;
  struct Hooks {
    std::function<std::weak_ptr<void>()> owner;
    // Runs `work` on the engine in a pool, then `then` on the strand.
    std::function<void(absl::AnyInvocable<absl::Status(Engine&)> work,
                       absl::AnyInvocable<void(absl::Status)> then)>
        maintain;
    // What the private log has of the committed history from `first` on up to `through`, at least
    // one mutation of it, in a pool; then on the strand.
    std::function<void(Decree first, Decree through, OnMutations then)> read_history;
    std::function<Instant()> now;
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
  // What lies behind this decree in the parent's log is still to come to its child. nullopt: there
  // is none that waits for it.
  std::optional<Decree> LogNeeded() const;

 private:
  ChildSeed SeedOf(const SplitMemberRequest& request) const;
  // Empty: it may be followed.
  std::string Objection(const SplitMemberRequest& request) const;
  void Tell(const SplitMemberRequest& request, ChildState state, Decree held, OnAnswer answer);
  void Make(const SplitMemberRequest& request);
  // The child has all up to `held`, and is to have all up to `goal`.
  void Feed(PartitionId child, Decree held, Decree goal);
  void NoteNeed(Decree held);

  const StrandPtr strand_;
  const PartitionId pid_;
  const size_t data_directory_;
  const ReplicaCore& core_;
  const std::shared_ptr<Engine>& engine_;
  const Hooks hooks_;
  std::shared_ptr<Children> children_;
  bool is_making_ = false, is_feeding_ = false;
  // Of the last work for a child, until it was told.
  absl::Status failure_;
  // The child ended there when the log turned out to have dropped what follows. Until another is
  // made.
  std::optional<Decree> out_of_log_at_;
  struct Need {
    Ballot ballot;
    Decree held;
    Instant until;
  };
  std::optional<Need> need_;
};

}  // namespace arion
