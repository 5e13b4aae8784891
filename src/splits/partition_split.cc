// SPDX-License-Identifier: Apache-2.0
#include "splits/partition_split.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "env/die_at.h"
#include "pacifica/invariants.h"
#include "pacifica/replica_core.h"

namespace arion {

void PartitionSplit::NoteSync(const ConfigurationUpdateRequest& entry) {
  const bool is_wanted = entry.meta_split_status == static_cast<int32_t>(SplitStatus::kSplitting) &&
                         entry.config.primary == self_;
  // Under a larger ballot it is asked for anew: what was said before may be of before its end.
  if (entry.config.ballot < core_.ballot()) return;
  wanted_ = is_wanted ? std::optional(entry.config.ballot) : std::nullopt;
  // While it is paused children stay.
  const int32_t status = entry.meta_split_status.value_or(0);
  is_over_ = status == static_cast<int32_t>(SplitStatus::kNotSplit) ||
             status == static_cast<int32_t>(SplitStatus::kCanceling);
  if (!is_wanted) return why_.clear();
  // Else it would be asked for children that nobody can register.
  if (entry.info.partition_count == core_.app().partition_count) return;
  wanted_.reset();
  why_ = absl::StrCat("it is one of ", core_.app().partition_count, " partitions, not of ",
                      entry.info.partition_count, ": the meta server's state is an older one");
}

std::string PartitionSplit::Obstacle() const {
  const PartitionConfiguration& config = core_.configuration();
  if (config.MemberCount() < static_cast<size_t>(std::max(config.max_replica_count, 1)))
    return absl::StrCat("waits: ", config.MemberCount(), " of ", config.max_replica_count,
                        " members are there");
  if (!core_.learners().empty()) return "waits: a member is being added";
  if (core_.IsReconfiguring() || core_.WriteGate() != ErrorCode::kOk)
    return "waits: its primary takes no writes now";
  return "";
}

void PartitionSplit::Proceed() {
  if (is_closed_) return;
  if (stage_ == Stage::kRegistering) {
    // The core asks until it has an answer.
    if (!core_.IsReconfiguring()) Settle();
    return;
  }
  if (stage_ != Stage::kIdle &&
      (core_.role() != PartitionStatus::kPrimary || core_.ballot() != ballot_))
    return End("its configuration changed");
  if (stage_ != Stage::kIdle && !wanted_) return End("the meta server wants none now");
  if (stage_ == Stage::kDraining) return Drain();
  if (stage_ == Stage::kIdle && MustForget()) return Forget();
  if (stage_ != Stage::kIdle || !wanted_ || core_.role() != PartitionStatus::kPrimary) return;
  if (core_.ballot() != *wanted_) {
    // Whether it is still wanted, under this ballot, the meta server says.
    wanted_.reset();
    return hooks_.sync_soon();
  }
  Begin();
}

void PartitionSplit::Forget() {
  if (core_.ballot() != *made_under_) return made_under_.reset();  // members see it by that
  if (core_.role() != PartitionStatus::kPrimary || core_.IsReconfiguring()) return;
  made_under_.reset();
  hooks_.step(SplitTurn{SplitTurn::What::kForget});
}

void PartitionSplit::Begin() {
  const Instant now = clock_.Now();
  if (now < next_at_) return Wake(next_at_ - now);
  why_ = Obstacle();
  if (!why_.empty()) return Wake(kPauseMin);
  place_ = hooks_.take_place();
  if (place_ == nullptr) {
    why_ = "waits: other partitions of this server are being split";
    return Wake(kPauseMin / 10);
  }
  ballot_ = core_.ballot();
  configuration_ = core_.configuration();
  partition_count_ = 2 * core_.app().partition_count;
  stage_ = Stage::kPreparing;
  made_under_ = ballot_;
  DieAt("split.prepare");
  AskAll(SplitStep::kPrepare, kPrepareMax);
}

// ---- the members ----

void PartitionSplit::AskAll(SplitStep step, absl::Duration at_most) {
  ++round_;
  step_began_ = clock_.Now();
  step_ends_ = step_began_ + at_most;
  awaited_ = {self_};
  awaited_.insert(configuration_.secondaries.begin(), configuration_.secondaries.end());
  const SplitMemberRequest request{.pid = configuration_.pid,
                                   .ballot = ballot_,
                                   .step = static_cast<int32_t>(step),
                                   .partition_count = partition_count_,
                                   .decree = core_.marks().last_committed};
  const uint64_t round = round_;
  for (const Endpoint member : std::set<Endpoint>(awaited_)) Ask(member, request, round);
}

void PartitionSplit::Ask(Endpoint member, const SplitMemberRequest& request, uint64_t round) {
  if (is_closed_ || round != round_) return;
  hooks_.ask(member, request,
             [this, member, request, round](ErrorCode rpc, const SplitMemberResponse& response) {
               OnAnswer(member, request, round, rpc, response);
             });
}

void PartitionSplit::OnAnswer(Endpoint member, const SplitMemberRequest& request, uint64_t round,
                              ErrorCode rpc, const SplitMemberResponse& response) {
  const bool is_asking = stage_ == Stage::kPreparing || stage_ == Stage::kCompleting;
  if (is_closed_ || !is_asking || round != round_) return;
  if (core_.role() != PartitionStatus::kPrimary || core_.ballot() != ballot_)
    return End("its configuration changed");
  const ErrorCode err = rpc != ErrorCode::kOk ? rpc : response.err;
  if (err == ErrorCode::kOk) {
    awaited_.erase(member);
    if (awaited_.empty()) OnAllDone();
    return;
  }
  if (err == ErrorCode::kHandlerNotFound)
    return End(absl::StrCat(member.ToString(), " is of an older version, which can't split"));
  const bool is_to_be_repeated =
      err == ErrorCode::kBusy || err == ErrorCode::kTimeout || err == ErrorCode::kNetworkFailure;
  if (!is_to_be_repeated || clock_.Now() >= step_ends_)
    return End(
        absl::StrCat(member.ToString(), ": ",
                     response.text.empty() ? std::string(ErrorCodeName(err)) : response.text));
  const absl::Duration pause = stage_ == Stage::kCompleting ? kAskAgainSoon : kAskAgain;
  hooks_.after(pause, [this, member, request, round] { Ask(member, request, round); });
}

void PartitionSplit::OnAllDone() {
  if (stage_ == Stage::kCompleting) return Register();
  // What was written meanwhile is to come to the children while writes wait.
  if (clock_.Now() - step_began_ > kShortRound) return AskAll(SplitStep::kPrepare, kPrepareMax);
  stage_ = Stage::kDraining;
  held_at_ = clock_.Now();
  step_ends_ = held_at_ + kDrainMax;
  hooks_.step(SplitTurn{SplitTurn::What::kHold});
  // The step may have ended it, or even begun the next one.
  if (stage_ != Stage::kDraining) return;
  if (!core_.IsHeldForSplit()) return End("its primary takes no writes now");
  Wake(kDrainMax);
  Drain();
}

// ---- writes wait ----

void PartitionSplit::Drain() {
  if (!core_.IsHeldForSplit()) return End("its configuration changed");
  DieAt("split.hold");
  if (!core_.IsQuiet() || !hooks_.writes_are_idle()) {
    if (clock_.Now() < step_ends_) return;
    return End("what was under way did not commit soon enough");
  }
  stage_ = Stage::kCompleting;
  hooks_.step(SplitTurn{SplitTurn::What::kSeal});
  if (stage_ != Stage::kCompleting) return;
  if (!core_.IsHeldForSplit()) return End("its configuration changed");
  sealed_at_ = clock_.Now();
  decree_ = core_.marks().last_committed;
  DieAt("split.seal");
  AskAll(SplitStep::kComplete, kCompleteMax);
}

void PartitionSplit::Register() {
  if (!core_.IsHeldForSplit()) return End("its configuration changed");
  CHECK_EQ(core_.marks().last_prepared, decree_)
      << "partition_split/S1: the child lacks what was prepared since";
  complete_at_ = clock_.Now();
  stage_ = Stage::kRegistering;
  DieAt("split.complete");
  hooks_.step(SplitTurn{SplitTurn::What::kRegister});
  DieAt("split.register");
}

// The meta server has answered, or somebody else leads.
void PartitionSplit::Settle() {
  const bool is_split = core_.app().partition_count >= partition_count_;
  if (!is_split) return End("the meta server did not register the child");
  DieAt("split.registered");
  stage_ = Stage::kIdle;
  made_under_.reset();
  wanted_.reset();
  why_.clear();
  place_ = nullptr;
  pause_ = kPauseMin;
  LOG(INFO) << hooks_.tag() << " is split: it owns keys of one in " << partition_count_
            << " partitions from now on; its writes waited for "
            << absl::ToDoubleMilliseconds(clock_.Now() - held_at_) << " ms, "
            << absl::ToDoubleMilliseconds(complete_at_ - sealed_at_) << " of it for the children, "
            << absl::ToDoubleMilliseconds(clock_.Now() - complete_at_) << " for the meta server";
  if (core_.role() == PartitionStatus::kPrimary && core_.ballot() == ballot_ + 1) {
    // As it was stored with the parent's.
    ConfigurationUpdateRequest entry{.info = core_.app(), .config = core_.configuration()};
    entry.config.pid.index += partition_count_ / 2;
    entry.config.last_committed_decree = decree_;
    hooks_.activate(entry);
    DieAt("split.activated");
  }
  hooks_.sync_soon();
}

void PartitionSplit::End(const std::string& why) {
  const bool holds = core_.IsHeldForSplit();
  stage_ = Stage::kIdle;
  ++round_;
  awaited_.clear();
  place_ = nullptr;
  why_ = absl::StrCat("tried in vain: ", why);
  next_at_ = clock_.Now() + pause_;
  pause_ = std::min(2 * pause_, kPauseMax);
  LOG(WARNING) << hooks_.tag() << " is not split yet: " << why;
  // Children stay: under the same ballot the next attempt goes on with them.
  if (holds) hooks_.step(SplitTurn{SplitTurn::What::kRelease});
  Wake(next_at_ - clock_.Now());
}

void PartitionSplit::Wake(absl::Duration delay) {
  if (is_awake_) return;
  is_awake_ = true;
  hooks_.after(delay, [this] {
    is_awake_ = false;
    Proceed();
  });
}

std::optional<std::string> PartitionSplit::Text() const {
  switch (stage_) {
    case Stage::kIdle:
      if (!wanted_ && why_.empty()) return std::nullopt;
      return why_.empty() ? "begins" : why_;
    case Stage::kPreparing:
      return absl::StrCat("members make the child, ", awaited_.size(), " not yet");
    case Stage::kDraining:
      return "what is under way commits";
    case Stage::kCompleting:
      return absl::StrCat("members complete the child, ", awaited_.size(), " not yet");
    case Stage::kRegistering:
      return "the child is being registered";
  }
  return std::nullopt;
}

}  // namespace arion
