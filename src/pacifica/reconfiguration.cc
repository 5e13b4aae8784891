// SPDX-License-Identifier: Apache-2.0
#include "pacifica/reconfiguration.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "decrees/possible.h"
#include "pacifica/invariants.h"
#include "pacifica/learner.h"
#include "pacifica/learner_sessions.h"
#include "pacifica/primary.h"
#include "pacifica/role_keeper.h"

namespace arion {
namespace {

// In prepare timeouts: after the first one the primary has seen who is silent.
constexpr int kJustChosen = 3;
// In prepare timeouts: so long a primary stays that was refused to give way, twice as long each
// time.
constexpr int kStayMin = 2, kStayMax = 16;

void RemoveFrom(PartitionConfiguration& configuration, Endpoint node) {
  if (configuration.primary == node) configuration.primary = Endpoint{};
  std::erase(configuration.secondaries, node);
}

bool SameMembers(const PartitionConfiguration& a, const PartitionConfiguration& b) {
  return a.primary == b.primary && a.secondaries == b.secondaries;
}

}  // namespace

bool Reconfiguration::IsPending() const {
  return pending_.has_value() && s_.role == PartitionStatus::kInactive &&
         pending_->request.config.ballot == s_.ballot + 1;
}

// Whether a configuration from outside can be one. What is left after this may be adopted without a
// CHECK failing.
bool Reconfiguration::IsSane(const PartitionConfiguration& configuration) const {
  std::set<Endpoint> members;
  if (configuration.primary.IsValid()) members.insert(configuration.primary);
  for (Endpoint node : configuration.secondaries) {
    if (!node.IsValid() || !members.insert(node).second) return false;
  }
  return configuration.pid == s_.options.pid && IsPossible(configuration.ballot);
}

// ---- asking ----

void Reconfiguration::Begin(ConfigType type, Endpoint node, PartitionConfiguration wanted,
                            const Cause& cause) {
  CHECK_EQ(wanted.ballot, s_.ballot);
  CHECK(s_.role != PartitionStatus::kError) << "replica_core/P5: a failed replica wants a role";
  CHECK(s_.connected) << "invariants/R12: asks without a lease";
  CHECK(!IsPending());
  CHECK(node.IsValid());
  CHECK_EQ(wanted.pid, s_.options.pid);
  CheckMembers(wanted);
  ++s_.counters.configuration_updates;
  const bool stays = wanted.IsMember(s_.options.self);
  const bool was_removed =
      s_.role == PartitionStatus::kInactive && s_.inactivity == Inactivity::kRemoved;
  // From here on the meta server may accept it at any moment: nothing more may happen under this
  // ballot.
  wanted.ballot = s_.ballot + 1;
  wanted.last_committed_decree = s_.list.last_committed();
  roles_.BecomeInactive(stays || !was_removed ? Inactivity::kTransient : Inactivity::kRemoved,
                        cause.why);
  pending_.emplace();
  pending_->serial = s_.next_serial++;
  pending_->request.info = s_.app;
  pending_->request.config = std::move(wanted);
  pending_->request.type = type;
  pending_->request.node = node;
  pending_->request.holds_less = cause.holds_less;
  pending_->request.child_decree = cause.child_decree;
  Send();
  CHECK(IsPending()) << "it was asked for and is void";
}

void Reconfiguration::Send() {
  CHECK(pending_.has_value()) << "nothing is wanted";
  CHECK(pending_->request.config.ballot == s_.ballot + 1)
      << "replica_core/P4: a wish for another ballot";
  pending_->retry_at = Instant::InfiniteFuture();
  s_.effects.send.push_back(
      SendConfigurationUpdate{pending_->serial, pending_->request, s_.options.rpc_timeout});
}

void Reconfiguration::RemoveMember(Endpoint node) {
  CHECK(s_.role == PartitionStatus::kPrimary && s_.configuration.IsSecondary(node));
  // The meta server has just refused it: asking again at once would cost a pause in service.
  if (refused_removal_ && refused_removal_->ballot == s_.ballot &&
      s_.now < refused_removal_->ask_again_at) {
    refused_removal_->failed = node;
    return;
  }
  PartitionConfiguration wanted = s_.configuration;
  RemoveFrom(wanted, node);
  Begin(ConfigType::kDowngradeToInactive, node, std::move(wanted));
}

bool Reconfiguration::LacksMember() const {
  return s_.role == PartitionStatus::kPrimary && refused_removal_ &&
         refused_removal_->ballot == s_.ballot &&
         s_.configuration.IsSecondary(refused_removal_->failed);
}

void Reconfiguration::GiveWay() {
  CHECK(s_.role == PartitionStatus::kPrimary && !s_.configuration.secondaries.empty());
  CHECK(MayGiveWay()) << "the meta server has just refused that";
  ++s_.counters.gave_way;
  Begin(ConfigType::kDowngradeToSecondary, s_.options.self, SelfAmongSecondaries());
}

void Reconfiguration::GiveUpOffice(Yield yield, std::string_view why) {
  CHECK(s_.role == PartitionStatus::kPrimary);
  ++s_.counters.yielded;
  const Cause cause{.why = why, .holds_less = true};
  if (yield == Yield::kAsSecondary) {
    gave_up_at_ = s_.ballot;
    return Begin(ConfigType::kDowngradeToSecondary, s_.options.self, SelfAmongSecondaries(), cause);
  }
  PartitionConfiguration wanted = s_.configuration;
  RemoveFrom(wanted, s_.options.self);
  Begin(ConfigType::kDowngradeToInactive, s_.options.self, std::move(wanted), cause);
}

bool Reconfiguration::WasJustChosen() const {
  return chosen_at_ && s_.now - *chosen_at_ < kJustChosen * s_.options.prepare_timeout;
}

PartitionConfiguration Reconfiguration::SelfAmongSecondaries() const {
  PartitionConfiguration wanted = s_.configuration;
  RemoveFrom(wanted, s_.options.self);
  wanted.secondaries.push_back(s_.options.self);
  return wanted;
}

bool Reconfiguration::UpgradeLearner(Endpoint node) {
  CHECK(s_.role == PartitionStatus::kPrimary);
  CHECK(sessions_.Find(node) != nullptr);
  CHECK(!s_.configuration.IsMember(node));
  if (!primary_.IsOpen() || s_.list.last_committed() < s_.inherited) return false;
  // One undecided learner at a time: the primary waits for its acknowledgements as for a member's.
  const bool is_undecided = undecided_ && MayBeMember(undecided_->learner);
  if (is_undecided && (undecided_->learner != node || s_.now < undecided_->ask_again_at))
    return false;
  AskForMember(node);
  return true;
}

void Reconfiguration::AskForMember(Endpoint learner) {
  CHECK(s_.role == PartitionStatus::kPrimary);
  CHECK(!s_.configuration.IsMember(learner))
      << "invariants/R6: " << learner << " would be a member twice";
  PartitionConfiguration wanted = s_.configuration;
  wanted.secondaries.push_back(learner);
  Begin(ConfigType::kUpgradeToSecondary, learner, std::move(wanted));
}

bool Reconfiguration::MayBeMember(Endpoint learner) const {
  return s_.role == PartitionStatus::kPrimary && undecided_ && undecided_->learner == learner &&
         undecided_->ballot == s_.ballot;
}

void Reconfiguration::EndSession(Endpoint learner) {
  // While the update is pending nothing commits without it, until the meta server has said what is
  // true.
  if (MayBeMember(learner)) AskForMember(learner);
  sessions_.Erase(learner);
  primary_.StopPreparesTo(learner);
}

bool Reconfiguration::MayServeOn(const PartitionConfiguration& truth) const {
  CHECK(pending_.has_value());
  const ConfigurationUpdateRequest& request = pending_->request;
  if (!IsSane(truth) || truth.ballot != s_.ballot || !SameMembers(truth, s_.configuration))
    return false;
  if (request.type == ConfigType::kRemove || request.type == ConfigType::kDowngradeToInactive)
    // If a copy of this request is accepted after all, this replica still leads, unless it asked to
    // go itself.
    return request.node != s_.options.self;
  const LearnerSessions::Session* session = sessions_.Find(request.node);
  return request.type == ConfigType::kUpgradeToSecondary && session != nullptr &&
         session->prepare_start != kInvalidDecree;
}

// Whether this replica asked that another leads, and is still primary by `truth`, as it was in this
// very process. A restarted process stepped back for what its log may lack, so it must not stay.
bool Reconfiguration::MayStayInOffice(const PartitionConfiguration& truth) const {
  CHECK(pending_.has_value());
  return IsSane(truth) && truth.ballot == s_.ballot && truth.primary == s_.options.self &&
         pending_->request.config.primary != s_.options.self &&
         !pending_->request.holds_less.value_or(false) && SameMembers(truth, s_.configuration) &&
         !s_.initializing && s_.inactivity == Inactivity::kTransient;
}

// Both requests are for the same ballot, so only one of them, or of their copies, can be accepted.
void Reconfiguration::AskToStay(const PartitionConfiguration& truth) {
  CHECK_EQ(truth.primary, s_.options.self) << "another leads";
  pending_.reset();
  NoteRefusedWay();
  Begin(ConfigType::kPrimaryForceUpdateBallot, s_.options.self, truth);
}

void Reconfiguration::NoteRefusedWay() {
  absl::Duration patience = kStayMin * s_.options.prepare_timeout;
  if (refused_way_ && s_.now < refused_way_->until + refused_way_->patience)
    patience = std::min(2 * refused_way_->patience, kStayMax * s_.options.prepare_timeout);
  CHECK_GT(patience, absl::ZeroDuration());
  refused_way_ = {s_.now + patience, patience};
}

void Reconfiguration::Check() const {
  if (pending_) {
    CHECK_LT(pending_->serial, s_.next_serial);
    CHECK_LE(pending_->request.config.ballot, s_.ballot + 1);
  }
  if (hand_over_) {
    CHECK(s_.role == PartitionStatus::kPrimary) << "it has handed over";
    CHECK_EQ(hand_over_->proposal.config.ballot, s_.ballot) << "the proposal is void";
  }
  if (split_hold_) {
    CHECK(s_.role == PartitionStatus::kPrimary && split_hold_->ballot == s_.ballot);
    CHECK(!split_hold_->is_sealed || primary_.IsQuiet())
        << "invariants/R17: the parent goes on behind its child";
  }
  CHECK(!chosen_at_ || *chosen_at_ <= s_.now) << "chosen in the future";
  CHECK(!gave_up_at_ || *gave_up_at_ <= s_.ballot);
  CHECK(!refused_removal_ || refused_removal_->ballot <= s_.ballot);
  CHECK(!missed_at_ || *missed_at_ <= s_.ballot);
  CHECK(!undecided_ || undecided_->ballot <= s_.ballot);
  if (!undecided_ || !MayBeMember(undecided_->learner)) return;
  const LearnerSessions::Session* session = sessions_.Find(undecided_->learner);
  CHECK(session != nullptr && session->prepare_start != kInvalidDecree)
      << "invariants/R11: " << undecided_->learner << " may be a member and is not waited for";
}

void Reconfiguration::TellFault(const PartitionConfiguration& configuration) {
  CHECK(s_.role == PartitionStatus::kError) << "it serves on";
  CHECK_EQ(configuration.primary, s_.options.self) << "nobody counts on it as primary";
  ConfigurationUpdateRequest request;
  request.info = s_.app;
  request.config = configuration;
  RemoveFrom(request.config, s_.options.self);
  request.config.ballot = configuration.ballot + 1;
  request.config.last_committed_decree = s_.list.last_committed();
  request.type = ConfigType::kDowngradeToInactive;
  request.node = s_.options.self;
  // Serial 0: nobody waits for the answer.
  s_.effects.send.push_back(SendConfigurationUpdate{0, std::move(request), s_.options.rpc_timeout});
}

void Reconfiguration::OnTick() {
  if (!IsPending()) {
    pending_.reset();
  } else if (pending_->retry_at <= s_.now) {
    Send();
  }
  if (LacksMember() && refused_removal_->ask_again_at <= s_.now)
    RemoveMember(refused_removal_->failed);
}

Instant Reconfiguration::NextWakeup() const {
  if (hand_over_) return hand_over_->until;
  if (LacksMember()) return refused_removal_->ask_again_at;
  return IsPending() ? pending_->retry_at : Instant::InfiniteFuture();
}

void Reconfiguration::ProceedHandOver() {
  if (!hand_over_) return;
  const bool is_over =
      s_.role != PartitionStatus::kPrimary || hand_over_->proposal.config.ballot != s_.ballot;
  if (is_over) return hand_over_.reset();
  if (!primary_.IsQuiet() && s_.now < hand_over_->until) return;
  CHECK_EQ(hand_over_->proposal.config.primary, s_.options.self) << "another's office";
  const ConfigurationUpdateRequest proposal = std::move(hand_over_->proposal);
  hand_over_.reset();
  Begin(proposal.type, s_.options.self, SelfAmongSecondaries());
}

void Reconfiguration::OnAnswer(const ConfigurationUpdateAnswered& answer) {
  if (!IsPending() || answer.serial != pending_->serial) {
    ++s_.counters.stale_messages;
    return;
  }
  // The answer may be as old as the former lease: asked again, the meta server says what is true
  // now.
  if (!s_.connected || s_.lapsed) {
    pending_->retry_at = s_.now + s_.options.update_retry_delay;
    return;
  }
  const ErrorCode err = answer.rpc != ErrorCode::kOk ? answer.rpc : answer.response.err;
  if (err != ErrorCode::kOk && err != ErrorCode::kInvalidVersion) {
    if (answer.rpc == ErrorCode::kOk && IsRefusedChild(answer.response.config))
      return AskForNextBallot(answer.response.config);
    if (answer.rpc == ErrorCode::kOk && MayServeOn(answer.response.config))
      return ServeOn(answer.response.config);
    if (answer.rpc == ErrorCode::kOk && MayStayInOffice(answer.response.config))
      return AskToStay(answer.response.config);
    pending_->retry_at = s_.now + (err == ErrorCode::kBusy ? s_.options.update_busy_delay
                                                           : s_.options.update_retry_delay);
    return;
  }
  const PartitionConfiguration& truth = answer.response.config;
  if (!IsSane(truth) || (err == ErrorCode::kOk && !SameMembers(truth, pending_->request.config))) {
    ++s_.counters.odd_messages;
    pending_->retry_at = s_.now + s_.options.update_retry_delay;
    return;
  }
  if (err != ErrorCode::kOk && IsRefusedChild(truth)) return AskForNextBallot(truth);
  const ConfigurationUpdateRequest request = std::move(pending_->request);
  pending_.reset();
  if (truth.ballot < s_.ballot) return;
  TakeOverCount(answer.response.partition_count.value_or(0));
  if (request.type == ConfigType::kUpgradeToSecondary && !truth.IsMember(request.node)) {
    // The meta server does not want this learner now, maybe because it takes the server for dead,
    // and proposes it again when it does. If the session stayed, the learner would answer the next
    // group check and be asked for again, for ever.
    undecided_.reset();
    EndSession(request.node);
  }
  // The next failure of that member comes at once.
  if (err != ErrorCode::kOk && request.type == ConfigType::kDowngradeToInactive)
    refused_removal_ = {s_.ballot, s_.now + s_.options.update_retry_delay};
  roles_.Adopt(truth, err == ErrorCode::kOk ? "update accepted" : "update refused");
  // It wanted to stay and was left out. Where nobody leads without it nothing was committed without
  // it, and the meta server may count on it again, as it may after a restart.
  if (s_.role == PartitionStatus::kInactive && !truth.primary.IsValid() &&
      request.config.IsMember(s_.options.self))
    roles_.BecomeInactive(Inactivity::kTransient, "nobody leads without it");
  const bool removed_other = request.type == ConfigType::kRemove && request.node != s_.options.self;
  if (err == ErrorCode::kOk && removed_other && s_.role == PartitionStatus::kPrimary) {
    s_.effects.send.push_back(
        SendRemove{request.node, s_.ConfigurationFor(PartitionStatus::kInactive, 0)});
  }
}

void Reconfiguration::ServeOn(const PartitionConfiguration& truth) {
  CHECK(IsPending()) << "nothing was refused";
  CHECK_EQ(truth.ballot, s_.ballot) << "replica_core/P4: served under another ballot";
  const ConfigurationUpdateRequest request = std::move(pending_->request);
  pending_.reset();
  if (request.type == ConfigType::kUpgradeToSecondary) {
    undecided_ = {request.node, s_.ballot, s_.now + s_.options.group_check_interval};
  } else {
    refused_removal_ = {s_.ballot, s_.now + s_.options.update_retry_delay};
    // What is under way may still commit. More is not kept: the member may be away for long.
    if (request.type == ConfigType::kDowngradeToInactive)
      primary_.RefuseQueued(ErrorCode::kInvalidState);
  }
  roles_.Adopt(truth, "update refused for now");
}

// ---- config sync ----

void Reconfiguration::EndLapse() {
  if (!s_.connected || !std::exchange(s_.lapsed, false) || !IsPending()) return;
  // An answer to what was asked before may be as old as the former lease.
  pending_->serial = s_.next_serial++;
  pending_->retry_at = s_.now;
}

void Reconfiguration::OnSynced(const ConfigurationUpdateRequest& entry) {
  const PartitionConfiguration& configuration = entry.config;
  if (!IsSane(configuration)) {
    ++s_.counters.odd_messages;
    return;
  }
  if (IsOlderThanDrop(entry.info)) {
    ++s_.counters.stale_messages;
    return;
  }
  // It names this replica, so an earlier sync that did not was too old.
  missed_at_.reset();
  EndLapse();
  if (configuration.ballot < s_.ballot) {
    ++s_.counters.stale_messages;
    return;
  }
  AppInfo info = entry.info;  // with the count to come, from an older version's meta server
  if (entry.meta_split_status.value_or(0) != 0) info.partition_count = s_.app.partition_count;
  TakeOver(info, configuration);
  const bool same = configuration.ballot == s_.ballot;
  // A primary knows its own configuration, and a pending update is answered by an update.
  if (same && (s_.role == PartitionStatus::kPrimary || IsPending())) return;
  if (s_.connected) AdoptFromMeta(configuration, "config sync");
}

void Reconfiguration::OnTableChanged(const AppInfo& app) {
  TakeOver(app);
  if (s_.app == app && app.max_replica_count > 0)
    s_.configuration.max_replica_count = app.max_replica_count;
  if (s_.app.status == AppStatus::kDropped) LeaveDropped();
}

void Reconfiguration::LeaveDropped() {
  CHECK(s_.app.status == AppStatus::kDropped);
  dropped_at_version_ = s_.app.version;
  const bool may_lead = s_.role == PartitionStatus::kPrimary || IsPending();
  pending_.reset();
  if (!may_lead) return;
  roles_.BecomeInactive(Inactivity::kRemoved, "its table was dropped");
  primary_.Resign();
  sessions_.Clear();
}

bool Reconfiguration::IsOlderThanDrop(const AppInfo& app) const {
  return dropped_at_version_ && app.version.value_or(0) < *dropped_at_version_;
}

void Reconfiguration::AdoptFromMeta(const PartitionConfiguration& configuration,
                                    std::string_view why) {
  const bool me_primary = configuration.primary == s_.options.self;
  const bool has_led = configuration.ballot > s_.ballot || s_.office_ballot == s_.ballot;
  if ((s_.initializing || !has_led) && me_primary && s_.role == PartitionStatus::kInactive &&
      s_.inactivity == Inactivity::kTransient) {
    ResumeAfterRestart(configuration);
    return;
  }
  // After an unclean stop a secondary waits for its primary's word, which tells whether something
  // is missing.
  s_.initializing = false;
  const bool has_primary = configuration.primary.IsValid();
  if (has_primary && configuration.IsSecondary(s_.options.self) && s_.AwaitsItsPrimary()) return;
  roles_.Adopt(configuration, why);
  const bool stuck = s_.role == PartitionStatus::kInactive && s_.inactivity == Inactivity::kRemoved;
  const bool counted_on =
      me_primary || (!configuration.primary.IsValid() && configuration.IsMember(s_.options.self));
  // This replica may only learn, but there is nobody to teach it: the meta server must not count on
  // it.
  if (stuck && counted_on && !IsPending()) {
    roles_.RaiseBallot(configuration.ballot);
    PartitionConfiguration wanted = configuration;
    RemoveFrom(wanted, s_.options.self);
    Begin(ConfigType::kDowngradeToInactive, s_.options.self, std::move(wanted));
  }
}

void Reconfiguration::ResumeAfterRestart(const PartitionConfiguration& configuration) {
  CHECK_EQ(configuration.primary, s_.options.self);
  CHECK(s_.role == PartitionStatus::kInactive) << "it has begun already";
  roles_.RaiseBallot(configuration.ballot);
  s_.configuration = configuration;
  PartitionConfiguration wanted = configuration;
  // The former process may have spoken under this ballot, so even a clean stop needs the next one.
  if (s_.last_stop == LastStop::kClean || configuration.secondaries.empty()) {
    Begin(ConfigType::kPrimaryForceUpdateBallot, s_.options.self, std::move(wanted));
    return;
  }
  // The end of this log may be lost. Whoever holds most takes over.
  wanted.primary = Endpoint{};
  wanted.secondaries.push_back(s_.options.self);
  Begin(ConfigType::kDowngradeToSecondary, s_.options.self, std::move(wanted));
}

void Reconfiguration::OnMissing(const MissingInSync& event) {
  EndLapse();
  if (s_.role == PartitionStatus::kPrimary || s_.role == PartitionStatus::kSecondary) {
    // The answer may have been made before this replica joined. It is believed the second time.
    if (missed_at_ == s_.ballot) {
      roles_.BecomeInactive(Inactivity::kRemoved, "not in the configuration");
      primary_.Resign();
      sessions_.Clear();
    }
    missed_at_ = s_.ballot;
    return;
  }
  if (s_.role == PartitionStatus::kPotentialSecondary) {
    // No configuration names a learner, so this proves nothing. But if nobody invites it any more,
    // the table is gone.
    if (s_.now - learner_.invited_at() >= s_.options.closed_linger && !learner_.HasWork())
      roles_.BecomeInactive(Inactivity::kRemoved, "its primary is silent");
    return;
  }
  // A copy that is under way reports back to this core, so the core stays until then.
  if (IsPending() || learner_.HasWork()) return;
  if (event.linger == MissingInSync::Linger::kNone ||
      s_.now - s_.inactive_since >= s_.options.closed_linger) {
    s_.effects.close = Effects::Close::kForget;
    s_.effects.close_why = "not in the configuration";
  }
}

// ---- proposals ----

void Reconfiguration::OnProposal(const ConfigurationUpdateRequest& proposal) {
  const PartitionConfiguration& configuration = proposal.config;
  if (!IsSane(configuration)) {
    ++s_.counters.odd_messages;
    return;
  }
  if (!s_.connected || s_.lapsed || configuration.ballot < s_.ballot || IsPending() ||
      IsOlderThanDrop(proposal.info)) {
    ++s_.counters.stale_messages;
    return;
  }
  TakeOver(proposal.info, configuration);
  // A proposal may overtake the config sync that tells a new process of its part.
  const bool tells_part = configuration.ballot == s_.ballot &&
                          s_.role == PartitionStatus::kInactive &&
                          configuration.IsSecondary(s_.options.self);
  if (configuration.ballot > s_.ballot || tells_part) AdoptFromMeta(configuration, "proposal");
  if (configuration.ballot != s_.ballot || IsPending()) return;
  switch (proposal.type) {
    case ConfigType::kAssignPrimary:
    case ConfigType::kUpgradeToPrimary:
      return ProposedPrimary(proposal);
    case ConfigType::kAddSecondary:
    case ConfigType::kAddSecondaryForLoadBalance:
      return ProposedLearner(proposal);
    case ConfigType::kDowngradeToSecondary:
    case ConfigType::kDowngradeToInactive:
    case ConfigType::kRemove:
      return ProposedRemoval(proposal);
    default:
      ++s_.counters.odd_messages;
  }
}

void Reconfiguration::ProposedPrimary(const ConfigurationUpdateRequest& proposal) {
  CHECK_EQ(proposal.config.ballot, s_.ballot) << "a proposal of another ballot is followed";
  if (s_.role == PartitionStatus::kPrimary) return;
  const bool may_serve = s_.role == PartitionStatus::kSecondary ||
                         (s_.role == PartitionStatus::kInactive &&
                          proposal.type == ConfigType::kAssignPrimary && !learner_.HasWork());
  if (proposal.node != s_.options.self || proposal.config.primary.IsValid() || !may_serve) {
    ++s_.counters.odd_messages;
    return;
  }
  chosen_at_ = s_.now;
  PartitionConfiguration wanted = proposal.config;
  RemoveFrom(wanted, s_.options.self);
  wanted.primary = s_.options.self;
  Begin(proposal.type, s_.options.self, std::move(wanted));
}

void Reconfiguration::ProposedLearner(const ConfigurationUpdateRequest& proposal) {
  CHECK_EQ(proposal.config.ballot, s_.ballot) << "a proposal of another ballot is followed";
  const bool fits = s_.role == PartitionStatus::kPrimary && proposal.node.IsValid() &&
                    !s_.configuration.IsMember(proposal.node) &&
                    SameMembers(proposal.config, s_.configuration);
  if (!fits) {
    ++s_.counters.odd_messages;
    return;
  }
  const size_t factor = static_cast<size_t>(std::max(s_.configuration.max_replica_count, 1));
  const size_t room = proposal.type == ConfigType::kAddSecondary ? factor - 1 : factor;
  while (sessions_.Find(proposal.node) == nullptr &&
         s_.configuration.secondaries.size() + sessions_.all().size() >= room) {
    const std::optional<Endpoint> stuck = sessions_.WhoGivesPlace();
    if (!stuck || MayBeMember(*stuck)) return;
    EndSession(*stuck);
  }
  const LearnerSessions::Session& session = sessions_.Register(proposal.node);
  SendAddLearner invitation;
  invitation.to = proposal.node;
  invitation.request.app = s_.app;
  invitation.request.node = proposal.node;
  invitation.request.config =
      s_.ConfigurationFor(PartitionStatus::kPotentialSecondary, session.signature);
  invitation.request.last_committed_decree = s_.list.last_committed();
  s_.effects.send.push_back(std::move(invitation));
}

void Reconfiguration::ProposedRemoval(const ConfigurationUpdateRequest& proposal) {
  CHECK_EQ(proposal.config.ballot, s_.ballot) << "a proposal of another ballot is followed";
  const Endpoint node = proposal.node;
  const bool is_learner = proposal.type == ConfigType::kRemove && sessions_.Find(node) != nullptr;
  const bool is_primary_itself =
      proposal.type != ConfigType::kDowngradeToSecondary || node == s_.options.self;
  const bool fits = s_.role == PartitionStatus::kPrimary &&
                    SameMembers(proposal.config, s_.configuration) && is_primary_itself &&
                    (s_.configuration.IsMember(node) || is_learner);
  if (!fits) {
    ++s_.counters.odd_messages;
    return;
  }
  if (proposal.type == ConfigType::kDowngradeToSecondary) {
    if (!hand_over_) hand_over_ = HandOver{proposal, s_.now + s_.options.hand_over_patience};
    return ProceedHandOver();
  }
  // A member that was not heard may hold more than this copy, if the copy came back as an older
  // one. When the time for that is over this primary gives way, and the next one is chosen by what
  // all members hold.
  const bool is_unheard = !s_.is_proven && !WasJustChosen() && s_.configuration.IsSecondary(node);
  if (is_unheard) return;
  PartitionConfiguration wanted = s_.configuration;
  RemoveFrom(wanted, node);
  if (is_learner && MayBeMember(node)) return;
  if (is_learner) EndSession(node);
  Begin(proposal.type, node, std::move(wanted));
}

}  // namespace arion
