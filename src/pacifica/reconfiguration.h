// Reconfiguration: this replica's talk with the meta server. It asks for a new configuration, and
// follows proposals and the config sync (pacifica/PROTOCOL.md 8).
//
// Updates   At most one update is pending. Meanwhile the replica is INACTIVE, and the identical
//           request is repeated until the meta server answers OK or says what is true instead. A
//           larger ballot from anywhere makes the update void.
// Lease     A lost lease does not make an update void: the meta server may still accept it, so
//           nothing may happen under the old ballot any more. A replica that lost its lease
//           believes no proposal until a config sync has said what is true, and no answer to what
//           it asked before that: they may have been sent before it was declared dead.
// Handing   A primary that is to make room for another takes no new writes until those under way
//           are committed, for a moment at most, so that clients whose writes can still commit are
//           not answered "outcome unknown".
// Refused   The meta server changes nothing while it is freezed or its disk is full. A primary that
//           asked for one member more or less then serves on under its ballot. A copy of its
//           request may yet be accepted, so it waits for the members of both configurations. A
//           failed member that cannot be removed is tried again each update_retry_delay; meanwhile
//           reads are served, and writes are refused while the member fails.
//           This does not apply to a primary that asked to step down or to leave: a delayed copy of
//           that request (transport/T1) may still be accepted and make another server primary. Nor
//           to a process that has just started, because it may already have spoken under this
//           ballot. Both stay INACTIVE until the meta server states the configuration. A primary
//           that was refused to step down may ask for the next ballot as primary instead. A freezed
//           meta server grants that, and it makes all copies of the first request void.
// Split     A primary asks for its child under the next ballot, with the same members. From that
//           ballot on its partition owns keys by twice the count, so no configuration means two
//           counts. Once it has asked it never goes on under the present ballot: refused, it asks
//           for the next one as it is, which makes all copies of the request void.
// Drop      A replica that hears that its table was dropped leads no more, and believes nothing
//           that was said before the drop. When all servers have heard of it, the table may be
//           recalled.
// Errors    What no correct meta server sends is counted as odd and ignored; what comes late is
//           counted as stale and ignored.
// Threads   Strand-bound, as all of the core.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "pacifica/replica_state.h"

namespace arion {

class Learner;
class LearnerSessions;
class Primary;
class RoleKeeper;

// The update that waits for the meta server's answer.
struct PendingUpdate {
  uint64_t serial = 0;
  // Has the wanted members and the ballot after the present one. Repeats are identical.
  ConfigurationUpdateRequest request;
  // When to send it again. Infinite while a call is under way.
  Instant retry_at = Instant::InfiniteFuture();
};

// One object for the life of the core. The references outlive it.
//
//   reconfiguration.RemoveMember(node);    // a member failed: asks the meta server
//   reconfiguration.OnAnswer(answered);    // adopts what it answers
//   reconfiguration.OnProposal(request);   // what the meta server wants
//   reconfiguration.OnSynced(entry);       // what it says is true
class Reconfiguration {
 public:
  Reconfiguration(ReplicaState& state, RoleKeeper& roles, Primary& primary, Learner& learner,
                  LearnerSessions& sessions)
      : s_(state), roles_(roles), primary_(primary), learner_(learner), sessions_(sessions) {}

  // ---- wishes of a primary; whatever it asks for leaves it INACTIVE until it is answered ----

  // Asks for a configuration without the secondary `node`. If the meta server has just refused a
  // removal, the member is only noted, and asked about when update_retry_delay is over;
  // LacksMember() is true until then.
  void RemoveMember(Endpoint node);
  // True while a secondary has failed but the meta server refuses its removal: no write can commit.
  bool LacksMember() const;
  // No member answers any more. Asks to become a secondary instead of removing all others. The
  // configuration has secondaries.
  void GiveWay();
  // kAsSecondary: this primary may hold less than a member. The meta server chooses who leads by
  // what each of them holds. kAsLearner: it was shown to hold less, so it leaves its group and will
  // learn.
  enum class Yield { kAsSecondary, kAsLearner };
  // Asks for a configuration that another may lead. `why` is for people.
  void GiveUpOffice(Yield yield, std::string_view why);
  // True if this primary gave up its office as a secondary, and then leads again by the ballot
  // right behind that. Such a meta server does not ask who holds what (2.5.0's), and would choose
  // it again and again.
  bool WasChosenAgain() const { return gave_up_at_ && s_.ballot == *gave_up_at_ + 2; }
  // False for a while after the meta server refused a way to be given: each attempt costs a ballot,
  // and only the meta server would notice.
  bool MayGiveWay() const { return !refused_way_ || refused_way_->until <= s_.now; }
  // The meta server chose this primary less than three prepare timeouts ago, maybe because another
  // primary gave way. Then a silent member is removed and not given way to.
  bool WasJustChosen() const;
  // Asks for the learner `node` as a secondary. Returns false if it is too early: an earlier
  // primary may have committed what it had prepared, so all that must be committed here, and be in
  // the learner's log with it, before the learner counts as a member that has everything. `node`
  // has a session and is no member.
  bool UpgradeLearner(Endpoint node);
  // Ends the learner's session, because it failed or learns anew. If it may be a member already,
  // asks for it as one first: nothing commits without it before the meta server has said what is
  // true.
  void EndSession(Endpoint learner);
  // The meta server refused this learner as a member for now, under the present ballot. A copy of
  // the request may make it one any moment.
  bool MayBeMember(Endpoint learner) const;
  // The replica failed while it was primary of `configuration`: says so once, and does not wait for
  // an answer.
  void TellFault(const PartitionConfiguration& configuration);

  // ---- what the meta server says; all of it may hold anything ----

  // Ignored unless the lease is held, a config sync of this lease has come, no update is pending,
  // and it is for the present ballot or a larger one, which is adopted first.
  void OnProposal(const ConfigurationUpdateRequest& proposal);
  // The answer to the pending update, or the lack of one.
  void OnAnswer(const ConfigurationUpdateAnswered& answer);
  // The configuration by the meta server's config sync.
  void OnSynced(const ConfigurationUpdateRequest& entry);
  // The table's description. An older one than the known is ignored.
  void OnTableChanged(const AppInfo& app);
  // By how many partitions this one owns keys, as a configuration that is or was in force says. The
  // count only doubles: another is ignored.
  void TakeOverCount(int32_t partition_count);
  // A config sync did not name this replica. A member believes the second one under the same
  // ballot.
  void OnMissing(const MissingInSync& event);
  // A primary that was refused to give way need not wait any longer.
  void OnMetaThawed() { refused_way_.reset(); }

  // ---- splitting ----

  // True: it is sealed, and the members are to be told. They commit what it has committed, and then
  // make the child of it.
  bool OnSplitTurn(SplitTurn::What what);
  // The primary takes no new writes, because its partition is being split.
  bool IsHeldForSplit() const { return split_hold_.has_value() && !IsPending(); }
  // Another ballot, or another role, ends the hold. After every event, last of all that may change
  // either.
  void EndVoidSplitHold();
  // Nothing is proposed: the child begins behind what is committed.
  bool IsSealed() const { return split_hold_ && split_hold_->is_sealed; }

  // ---- questions and time ----

  // An own update waits for its answer. False as soon as a larger ballot has made it void.
  bool IsPending() const;
  // The primary is to step down and lets its writes commit first.
  bool IsHandingOver() const { return hand_over_.has_value(); }
  // An own update is pending, or is about to be asked for.
  bool IsUnderWay() const { return IsPending() || IsHandingOver() || IsHeldForSplit(); }
  // Steps down if the writes are committed or the time for that is over. After every event.
  void ProceedHandOver();
  // Repeats what is due.
  void OnTick();
  // When OnTick or ProceedHandOver has something to do; InfiniteFuture if nothing waits.
  Instant NextWakeup() const;
  // CHECKs invariants/R11, and that nothing is remembered of a ballot that is yet to come. After
  // every step.
  void Check() const;

 private:
  struct Cause {
    std::string_view why = "update in flight";
    // As in ConfigurationUpdateRequest.
    std::optional<bool> holds_less = std::nullopt;
    std::optional<Decree> child_decree = std::nullopt;
  };
  // `wanted` has the wished members and the present ballot. The replica is INACTIVE afterwards.
  void Begin(ConfigType type, Endpoint node, PartitionConfiguration wanted) {
    Begin(type, node, std::move(wanted), Cause{});
  }
  void Begin(ConfigType type, Endpoint node, PartitionConfiguration wanted, const Cause& cause);
  void AskForNextBallot(const PartitionConfiguration& truth);
  void Send();
  void AskForMember(Endpoint learner);
  // `truth` is what a meta server that changes nothing now says is stored.
  bool MayServeOn(const PartitionConfiguration& truth) const;
  void ServeOn(const PartitionConfiguration& truth);
  bool IsRefusedChild(const PartitionConfiguration& truth) const;
  bool MayStayInOffice(const PartitionConfiguration& truth) const;
  void AskToStay(const PartitionConfiguration& truth);
  void NoteRefusedWay();
  // A config sync of the present lease has come.
  void EndLapse();
  void LeaveDropped();
  bool IsOlderThanDrop(const AppInfo& app) const;
  PartitionConfiguration SelfAmongSecondaries() const;
  bool IsSane(const PartitionConfiguration& configuration) const;
  // The newest description of the table counts; one that lacks a version always does.
  void TakeOver(const AppInfo& app);
  void TakeOver(const AppInfo& app, const PartitionConfiguration& configuration);
  void AdoptFromMeta(const PartitionConfiguration& configuration, std::string_view why);
  void ResumeAfterRestart(const PartitionConfiguration& configuration);
  void ProposedPrimary(const ConfigurationUpdateRequest& proposal);
  void ProposedLearner(const ConfigurationUpdateRequest& proposal);
  void ProposedRemoval(const ConfigurationUpdateRequest& proposal);

  ReplicaState& s_;
  RoleKeeper& roles_;
  Primary& primary_;
  Learner& learner_;
  LearnerSessions& sessions_;
  std::optional<PendingUpdate> pending_;
  struct HandOver {
    ConfigurationUpdateRequest proposal;
    Instant until;
  };
  std::optional<HandOver> hand_over_;
  // Of a primary, under its ballot.
  struct SplitHold {
    Ballot ballot;
    bool is_sealed = false;
  };
  std::optional<SplitHold> split_hold_;
  // A learner that may or may not be a member of the next ballot. `ballot` is the
  // primary's.
  struct Undecided {
    Endpoint learner;
    Ballot ballot;
    Instant ask_again_at;
  };
  std::optional<Undecided> undecided_;
  // The meta server refused a removal. `failed` is the member that has failed since; invalid:
  // nobody.
  struct RefusedRemoval {
    Ballot ballot;
    Instant ask_again_at;
    Endpoint failed = {};
  };
  std::optional<RefusedRemoval> refused_removal_;
  // The meta server refused that another leads. This primary stays until `until`.
  struct RefusedWay {
    Instant until;
    absl::Duration patience;
  };
  std::optional<RefusedWay> refused_way_;
  // The table's version that said it was dropped.
  std::optional<int64_t> dropped_at_version_;
  // When the meta server last chose this replica as primary.
  std::optional<Instant> chosen_at_;
  // The ballot under which this replica gave up its office as a secondary.
  std::optional<Ballot> gave_up_at_;
  // The ballot under which this replica served when a config sync did not name it.
  std::optional<Ballot> missed_at_;
};

}  // namespace arion
