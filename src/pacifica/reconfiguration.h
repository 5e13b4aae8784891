// Reconfiguration: this replica's talk with the meta server: asking for a new configuration,
// following its proposals and its config sync (pacifica/PROTOCOL.md 8).
//
// Shapes    At most one update is pending; meanwhile the replica is INACTIVE and its identical
//           request is repeated until meta answers OK or says what is true instead. A larger ballot
//           from anywhere makes it void; a lost lease does not: meta may still accept what was
//           asked, so nothing may happen under the old ballot any more. Whoever lost its lease
//           believes no proposal until a config sync has said what is true, and no answer to what it
//           asked before that: they may have been sent before it was declared dead. A primary that
//           is to make room for another takes no new writes until those under way are committed,
//           for a moment at most: whose outcome is known needs not be told that it is not.
//           Where the meta server changes nothing now (it is freezed, its disk is full) a primary
//           that wished for one member more or less serves on under its ballot, though a copy of
//           the request may yet be accepted: it waits for the members of both configurations. Who
//           failed and can't be removed is tried again each update_retry_delay; meanwhile reads are
//           served, and what is written while it fails is refused. It is not so for
//           who wished to step down or to leave, even if it asked once: messages may be doubled
//           (transport/T1), so a copy may yet be accepted, and another be primary at once; nor for
//           who has just begun (a restarted process may not speak again under the ballot it had):
//           they are INACTIVE until meta has said what is true. But who was primary and was refused asks for
//           the next ballot as such instead, which a freezed meta server grants: with that all
//           copies of the first wish are void.
//           Whoever hears that its table was dropped leads no more, and believes nothing that was
//           said before the drop: when all servers have heard, the table may be recalled.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "pacifica/learner.h"
#include "pacifica/learner_sessions.h"
#include "pacifica/primary.h"
#include "pacifica/replica_state.h"
#include "pacifica/role_keeper.h"

namespace arion {

// The update that waits for the meta server's answer.
struct PendingUpdate {
  uint64_t serial = 0;
  ConfigurationUpdateRequest request;
  Instant retry_at = Instant::InfiniteFuture();
};

class Reconfiguration {
 public:
  Reconfiguration(ReplicaState& state, RoleKeeper& roles, Primary& primary, Learner& learner,
                  LearnerSessions& sessions)
      : s_(state), roles_(roles), primary_(primary), learner_(learner), sessions_(sessions) {}

  // ---- wishes of a primary ----
  // At once, or a moment after meta refused to: LacksMember() until then.
  void RemoveMember(Endpoint node);
  // One failed that can't be removed now: nothing commits.
  bool LacksMember() const;
  // Nobody answers any more: rather than remove all others it makes room for one of them.
  void GiveWay();
  // It may hold less than a member, or shows that it does: the meta server chooses who leads by what
  // each of them holds. Who is shown to hold less leaves its group, and learns.
  enum class Yield { kAsSecondary, kAsLearner };
  void GiveUpOffice(Yield yield, std::string_view why);
  // By the ballot after it gave up its office, as a secondary: by a meta server that does not ask who
  // holds what (2.5.0's), and would go on so.
  bool WasChosenAgain() const { return gave_up_at_ && s_.ballot == *gave_up_at_ + 2; }
  // Not for a while after it was refused: each time costs a ballot, which nobody but meta would hear of.
  bool MayGiveWay() const { return !refused_way_ || refused_way_->until <= s_.now; }
  // Chosen a moment ago, maybe because another gave way: that one is then removed, not given way to.
  bool WasJustChosen() const;
  // False: too early. What earlier primaries prepared may have been committed by them, so it must
  // be committed here, and with it be in the learner's log, before the learner counts as a member
  // that has everything.
  bool UpgradeLearner(Endpoint node);
  // It failed, or learns anew.
  void EndSession(Endpoint learner);
  // It was refused as a member for the time being, and may be one any moment.
  bool MayBeMember(Endpoint learner) const;
  // The replica failed while it was primary: say so, don't wait.
  void TellFault(const PartitionConfiguration& configuration);

  // ---- what meta says ----
  void OnProposal(const ConfigurationUpdateRequest& proposal);
  void OnAnswer(const ConfigurationUpdateAnswered& answer);
  void OnSynced(const ConfigurationUpdateRequest& entry);
  void OnTableChanged(const AppInfo& app);
  void OnMissing(const MissingInSync& event);
  // Who was refused to give way need not wait any longer.
  void OnMetaThawed() { refused_way_.reset(); }

  bool IsPending() const;
  bool IsHandingOver() const { return hand_over_.has_value(); }
  // After every event.
  void ProceedHandOver();
  void OnTick();
  Instant NextWakeup() const;
  void Check() const;  // invariants/R11; what is remembered is of no ballot that is yet to come

 private:
  // `wanted` has the members wished for; its ballot must be the current one.
  struct Cause {
    std::string_view why = "update in flight";
    std::optional<bool> holds_less = std::nullopt;  // as in ConfigurationUpdateRequest
  };
  void Begin(ConfigType type, Endpoint node, PartitionConfiguration wanted) {
    Begin(type, node, std::move(wanted), Cause{});
  }
  void Begin(ConfigType type, Endpoint node, PartitionConfiguration wanted, const Cause& cause);
  void Send();
  void AskForMember(Endpoint learner);
  // `truth`: of a meta server that changes nothing now.
  bool MayServeOn(const PartitionConfiguration& truth) const;
  void ServeOn(const PartitionConfiguration& truth);
  bool MayStayInOffice(const PartitionConfiguration& truth) const;
  void AskToStay(const PartitionConfiguration& truth);
  void NoteRefusedWay();
  // A config sync of the present lease has come.
  void EndLapse();
  void LeaveDropped();
  bool IsOfBeforeDrop(const AppInfo& app) const;
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
  struct Undecided {  // whether it is a member of the ballot that follows
    Endpoint learner;
    Ballot ballot;  // the primary's
    Instant ask_again_at;
  };
  std::optional<Undecided> undecided_;
  struct RefusedRemoval {
    Ballot ballot;  // the primary's
    Instant ask_again_at;
    Endpoint failed = {};  // since; invalid: nobody
  };
  std::optional<RefusedRemoval> refused_removal_;
  struct RefusedWay {  // to another
    Instant until;     // it stays
    absl::Duration patience;
  };
  std::optional<RefusedWay> refused_way_;
  std::optional<int64_t> dropped_at_version_;  // of the table
  std::optional<Instant> chosen_at_;           // as primary, by the meta server
  std::optional<Ballot> gave_up_at_;  // its office, as a secondary, when this was its ballot
  std::optional<Ballot>
      missed_at_;  // a config sync did not name us while we served under this ballot
};

}  // namespace arion
