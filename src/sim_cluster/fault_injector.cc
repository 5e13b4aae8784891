// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/fault_injector.h"

#include <algorithm>

#include "base/log.h"

namespace arion::sim {
namespace {

std::optional<EnsembleFaults> OfMetas(SimWorld& world, SimNetwork& network, ServerLives& lives) {
  if (lives.metas() == nullptr) return std::nullopt;
  return EnsembleFaults(world, network, *lives.metas());
}

}  // namespace

FaultInjector::FaultInjector(const ClusterSettings& settings, SimWorld& world, SimNetwork& network,
                             ServerLives& lives, Groups& groups, TableChurn& churn,
                             RunCheckers& checkers)
    : settings_(settings),
      world_(world),
      lives_(lives),
      churn_(churn),
      troubles_(world, groups, lives, churn),
      ensemble_faults_(OfMetas(world, network, lives)),
      network_faults_(settings, world, network, lives, troubles_, checkers.coverage),
      node_faults_(settings, world, lives, troubles_, checkers,
                   ensemble_faults_ ? &*ensemble_faults_ : nullptr),
      full_disks_(world, lives, groups, troubles_, checkers),
      older_disks_(settings, world, lives, groups, troubles_),
      older_states_(settings, world, lives, groups, troubles_, older_disks_, checkers),
      silent_changes_(settings, world, lives, groups, troubles_, checkers),
      lost_copies_(settings, world, lives, groups, troubles_, node_faults_, older_disks_) {
  // A server that is down offers another moment at which its disk may be copied.
  lives_.on_down = [this](SimServer& server) { older_disks_.MayKeepCopy(server); };
}

void FaultInjector::Begin() {
  network_faults_.Begin();
  troubles_.Begin();
  ScheduleNext();
  if (older_disks_.AreKept()) older_disks_.KeepCopies();
  if (settings_.run.meta_state == SimClusterOptions::MetaState::kOlderCopyPutBack)
    older_states_.KeepOneAndPutItBack();
  if (settings_.run.faults.Has(Fault::kMetaPutBack)) older_states_.Keep();
  if (settings_.run.space == SimClusterOptions::Space::kOneDiskFull) full_disks_.FillOneAndJudge();
}

void FaultInjector::ScheduleNext() {
  const FaultMix& mix = settings_.run.faults;
  const absl::Duration delay = world_.random().Between(mix.interval_min, mix.interval_max);
  world_.After(delay, EventKind::kFault, [this, &kinds = mix.kinds] {
    if (!troubles_.are_on()) return;
    // The next one is scheduled in any case: calm is a pause of the faults, not their end.
    if (troubles_.MayBegin() && !kinds.empty()) Inject(kinds[world_.random().Below(kinds.size())]);
    ScheduleNext();
  });
}

void FaultInjector::Inject(Fault fault) {
  if (troubles_.AreTooMany()) return;
  // The dice are thrown before it is decided whether the fault is left out (fault_injector/J1).
  SimServer& server = lives_.AnyServer();
  const absl::Duration length = lives_.DrawLength();
  const int64_t number = troubles_.NumberNext();
  const SimClusterOptions& run = settings_.run;
  if (run.without.contains(fault) || (run.only && !run.only->contains(number))) return;
  troubles_.Count(fault);
  LOG(INFO) << "fault " << number << ": " << FaultName(fault) << ", if at a server: " << server.name
            << ", up to " << length;
  Carry(fault, server, length);
}

void FaultInjector::Carry(Fault fault, SimServer& server, absl::Duration length) {
  switch (fault) {
    case Fault::kCrashOne:
      return node_faults_.CrashOne(server, length);
    case Fault::kCrashAll:
      return node_faults_.CrashAll();
    case Fault::kCrashMeta:
      return node_faults_.CrashMeta(length);
    case Fault::kRestart:
      return node_faults_.Restart(server);
    case Fault::kPause:
      return node_faults_.Pause(server, length);
    case Fault::kPausedVm:
      return node_faults_.PauseMachine(server, length);
    case Fault::kSlowDisk:
      return node_faults_.SlowDisk(server, length);
    case Fault::kLag:
      return node_faults_.Lag(server, length);
    case Fault::kWallJump:
      return node_faults_.JumpWall(server);
    case Fault::kCallsFail:
      return world_.random().Percent(30) ? lost_copies_.Lose(server, fault)
                                         : node_faults_.FailCallsForWant(server, length);
    case Fault::kCutFromMeta:
      return network_faults_.CutFromMeta(server, length);
    case Fault::kCutFromPeer:
      return network_faults_.CutFromPeer(server, length);
    case Fault::kCutOneWay:
      return network_faults_.CutInOneDirection(server, length);
    case Fault::kSplit:
      return network_faults_.Split(length);
    case Fault::kWeather:
      return network_faults_.Weather(length);
    case Fault::kReset:
      return network_faults_.ResetConnections(server, length);
    case Fault::kDiskFull:
      return full_disks_.Fill(server, length);
    case Fault::kMetaDiskFull:
      return full_disks_.FillMeta(length);
    case Fault::kFailedSync:
    case Fault::kDiskLost:
    case Fault::kBitRot:
    case Fault::kReplaced:
    case Fault::kReadErrors:
    case Fault::kDiskPutBack:
    case Fault::kDisksPutBack:
    case Fault::kDiskOfAnother:
      return lost_copies_.Lose(server, fault);
    case Fault::kMetaPutBack:
      return older_states_.PutBack(server);
    case Fault::kSilentChange:
      return silent_changes_.Change(server);
    case Fault::kTableChurn:
      return churn_.BeginCycle();
    case Fault::kCutFromZooKeeper:
    case Fault::kCutMetaFromServers:
    case Fault::kZooKeeperDown:
    case Fault::kZooKeeperAnswersLost:
    case Fault::kZooKeeperLags:
    case Fault::kLockRemoved:
      return CarryAtMetas(fault, length);
  }
}

// Only of several meta servers; else they are not tried.
void FaultInjector::CarryAtMetas(Fault fault, absl::Duration length) {
  if (!ensemble_faults_) return troubles_.Discount(fault);
  EnsembleFaults& faults = *ensemble_faults_;
  switch (fault) {
    case Fault::kCutFromZooKeeper:
      return troubles_.LastFor(length, faults.CutFromZooKeeper());
    case Fault::kCutMetaFromServers:
      return troubles_.LastFor(length, faults.CutFromServers(lives_.ServerEndpoints()));
    case Fault::kZooKeeperDown:
      return troubles_.LastFor(length, faults.TakeZooKeeperDown());
    case Fault::kZooKeeperAnswersLost:
      return troubles_.LastFor(length, faults.LoseAnswers());
    case Fault::kZooKeeperLags:
      return troubles_.LastFor(length, faults.Lag());
    default:
      return RemoveLock();
  }
}

void FaultInjector::RemoveLock() {
  EnsembleFaults& faults = *ensemble_faults_;
  const bool is_unseen = world_.random().Coin() && troubles_.NoneLasts();
  const bool is_removed =
      is_unseen ? faults.RemoveLockUnseen(lives_.ServerEndpoints()) : faults.RemoveLock();
  if (!is_removed) return troubles_.Discount(Fault::kLockRemoved);
  // Nothing else may keep the leader from noticing.
  troubles_.KeepCalmFor(is_unseen ? EnsembleFaults::kUnseen : MetaGroup::kNotice);
}

void FaultInjector::HealAll() {
  // First: what was planned to begin later asks whether troubles are on.
  troubles_.End();
  network_faults_.End();
  node_faults_.End();
  if (ensemble_faults_) ensemble_faults_->End();
  churn_.HurryUp();
  lives_.StartMeta();
  lives_.StopBalancing();
  for (const auto& server : lives_.servers()) {
    // The pause has just been ended early (NodeFaults::End).
    if (std::optional<Instant>& since = server->knows_nothing_since)
      since = std::min(*since, world_.now());
    // What a server could not read when it started it leaves where it is until the next start.
    if (server->started_blind && server->node->alive())
      lives_.CrashServer(*server, CrashMode::kProcess);
    lives_.StartServer(*server);
  }
}

}  // namespace arion::sim
