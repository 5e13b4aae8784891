// PartitionSplit: how a primary splits its partition, one attempt after the other, until its child
// is registered (src/splits/README.md).
//
// Shapes    An attempt belongs to one ballot: a change of the configuration ends it, wherever it
//           is. Its steps: every member makes the child of what it has (kPrepare, again while that
//           takes long); the primary takes no new writes until what it has prepared is committed;
//           every child catches up to just that (kComplete); the meta server registers it, with the
//           parent's next configuration. Requests wait from the second step on.
// Errors    What fails is tried again, later each time, up to kPauseMax. Writes are held for
//           kDrainMax and kCompleteMax at most, unless the meta server's answer is awaited.
// Threads   Strand-bound.
// Lifetime  A part of a replica, beside its core, which outlives it.
// Promises  partition_split/S1  The child is asked for only when every member said, under this
//               ballot, that its child has all that is committed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "env/clock.h"
#include "messages/meta_messages.h"
#include "messages/split_messages.h"
#include "pacifica/events.h"

namespace arion {

class ReplicaCore;

// One for each replica. NoteSync for each config sync that names it, Proceed after each step of the
// core while IsActive.
class PartitionSplit {
 public:
  static constexpr absl::Duration kPrepareMax = absl::Minutes(2);
  static constexpr absl::Duration kDrainMax = absl::Milliseconds(500);
  static constexpr absl::Duration kCompleteMax = absl::Seconds(3);
  // A round of preparing that took longer is followed by another: children lack what was written
  // meanwhile.
  static constexpr absl::Duration kShortRound = absl::Milliseconds(100);
  static constexpr absl::Duration kPauseMin = absl::Seconds(1), kPauseMax = absl::Seconds(30);
  // A member is asked again; while writes wait, sooner.
  static constexpr absl::Duration kAskAgain = absl::Milliseconds(20);
  static constexpr absl::Duration kAskAgainSoon = absl::Milliseconds(2);

  struct Hooks {
    // What the member answered, or the error of the call. May come within the call.
    using Answered = std::function<void(ErrorCode rpc, const SplitMemberResponse& response)>;
    std::function<void(Endpoint member, const SplitMemberRequest& request, Answered answered)> ask;
    std::function<void(const SplitTurn& turn)> step;
    // Nothing that a client wrote waits on its way to the core.
    std::function<bool()> writes_are_idle;
    // Not after Close.
    std::function<void(absl::Duration delay, absl::AnyInvocable<void()> task)> after;
    // Null: others of this server are being split; ask again.
    std::function<std::shared_ptr<void>()> take_place;
    // The child is registered, and this is its configuration.
    std::function<void(const ConfigurationUpdateRequest& entry)> activate;
    std::function<void()> sync_soon;
    std::function<std::string()> tag;
  };
  PartitionSplit(const Clock& clock, const ReplicaCore& core, Endpoint self, Hooks hooks)
      : clock_(clock), core_(core), self_(self), hooks_(std::move(hooks)) {}

  // What the meta server says of the partition. Before the core hears of it.
  void NoteSync(const ConfigurationUpdateRequest& entry);
  bool IsActive() const { return stage_ != Stage::kIdle || wanted_.has_value() || MustForget(); }
  void Proceed();
  // What is being done, or waited for; nullopt: nothing is wanted.
  std::optional<std::string> Text() const;
  void Close() { is_closed_ = true; }

 private:
  enum class Stage { kIdle, kPreparing, kDraining, kCompleting, kRegistering };

  bool MustForget() const { return is_over_ && made_under_.has_value(); }
  void Forget();
  // Why an attempt can't begin now; empty: it can.
  std::string Obstacle() const;
  void Begin();
  void AskAll(SplitStep step, absl::Duration at_most);
  void Ask(Endpoint member, const SplitMemberRequest& request, uint64_t round);
  void OnAnswer(Endpoint member, const SplitMemberRequest& request, uint64_t round, ErrorCode rpc,
                const SplitMemberResponse& response);
  void OnAllDone();
  void Drain();
  void Register();
  void Settle();
  void End(const std::string& why);
  void Wake(absl::Duration delay);

  const Clock& clock_;
  const ReplicaCore& core_;
  const Endpoint self_;
  const Hooks hooks_;
  bool is_closed_ = false;

  // As the meta server said last: the ballot under which it is to be split.
  std::optional<Ballot> wanted_;
  // It says that the table is not being split.
  bool is_over_ = false;
  // Members were asked for children under that ballot, and none was registered.
  std::optional<Ballot> made_under_;
  Stage stage_ = Stage::kIdle;
  // Of the attempt.
  Ballot ballot_;
  PartitionConfiguration configuration_;
  int32_t partition_count_ = 0;
  std::shared_ptr<void> place_;
  Decree decree_;
  // When writes began to wait, when nothing was under way any more, when all children were
  // complete.
  Instant held_at_, sealed_at_, complete_at_;
  // Of the step.
  uint64_t round_ = 0;
  std::set<Endpoint> awaited_;
  Instant step_began_, step_ends_;
  // Why there is no attempt, and when the next may begin.
  std::string why_;
  Instant next_at_;
  absl::Duration pause_ = kPauseMin;
  bool is_awake_ = false;
};

}  // namespace arion
