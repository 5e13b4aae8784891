// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/node_faults.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <string>

namespace arion::sim {

namespace {

// Where there are several meta servers they are what a run is about.
constexpr double kOfSeveralPercent = 40;

}  // namespace

NodeFaults::NodeFaults(const ClusterSettings& settings, SimWorld& world, ServerLives& lives,
                       Troubles& troubles, RunCheckers& checkers, EnsembleFaults* ensemble)
    : settings_(settings),
      world_(world),
      lives_(lives),
      troubles_(troubles),
      checkers_(checkers),
      ensemble_(ensemble) {}

SimNode& NodeFaults::MetaOr(double percent, SimServer& server) {
  if (ensemble_ != nullptr) percent = std::max(percent, kOfSeveralPercent);
  return world_.random().Percent(percent) ? lives_.AnyMetaNode() : *server.node;
}

// ---- crashes and stops ----

void NodeFaults::CrashOne(SimServer& server, absl::Duration length) {
  if (!server.node->alive()) return;
  SimRandom& random = world_.random();
  CrashMode mode = lives_.DrawCrashMode();
  if (mode != CrashMode::kProcess) checkers_.coverage.Hit(Probe::kPowerCut);
  // Back before what it sent has arrived everywhere.
  if (random.Percent(30)) length = random.Between(absl::Milliseconds(10), absl::Milliseconds(400));
  // What a 2.5.0 server writes to its log is no change that the disk counts.
  if (random.Coin() || server.is_older) {
    lives_.CrashServer(server, mode);
    if (random.Percent(30) && !server.is_older) {
      CrashInRecovery(server, length, mode);
    } else {
      lives_.RestartLater(server, length);
    }
  } else {
    lives_.CrashAfterChanges(server, random.Between(0, 40), mode, [length] { return length; });
  }
}

void NodeFaults::CrashAll() {
  CrashMode mode = lives_.DrawCrashMode();
  if (mode != CrashMode::kProcess) checkers_.coverage.Hit(Probe::kPowerCutOfAll);
  for (const auto& one : lives_.servers()) {
    // One that is down already is started anew with the others.
    if (one->node->alive()) lives_.CrashServer(*one, mode);
    if (world_.random().Percent(15) && !one->is_older) {
      const CrashMode next = lives_.DrawCrashMode();
      CrashInRecovery(*one, lives_.DrawLength(), next);
    } else {
      lives_.RestartLater(*one, lives_.DrawLength());
    }
  }
}

void NodeFaults::CrashInRecovery(SimServer& server, absl::Duration delay, CrashMode mode) {
  world_.After(delay, EventKind::kFault, [this, &server, mode] {
    // Somebody else started it meanwhile.
    if (server.node->alive() || server.server) return;
    lives_.StartServer(server);
    if (!server.node->alive()) return;
    lives_.CrashAfterChanges(server, world_.random().Between(0, 60), mode,
                             [this] { return lives_.DrawLength(); });
  });
}

void NodeFaults::CrashMeta(absl::Duration length) {
  if (ensemble_ != nullptr && world_.random().Percent(15)) {
    for (const auto& member : lives_.metas()->members())
      lives_.metas()->Crash(*member, CrashMode::kProcess, lives_.DrawLength());
    return;
  }
  if (ensemble_ != nullptr)
    return lives_.metas()->Crash(ensemble_->LeaderOrAny(60), CrashMode::kProcess, length);
  if (lives_.meta().node->alive()) lives_.CrashMeta(lives_.DrawCrashMode());
  // Somebody else may have started it by then; StartMeta leaves a living one alone.
  world_.After(length, EventKind::kFault, [this] { lives_.StartMeta(); });
}

void NodeFaults::Restart(SimServer& server) {
  if (ensemble_ != nullptr && world_.random().Percent(kOfSeveralPercent))
    return lives_.metas()->Stop(ensemble_->LeaderOrAny(60), lives_.DrawLength());
  if (server.IsUp() && (server.server || server.old)) lives_.StopServer(server);
}

// ---- what is slow, late or stands still ----

void NodeFaults::Pause(SimServer& server, absl::Duration length) {
  MetaOr(15, server).PauseFor(length);
  troubles_.LastFor(length);
}

void NodeFaults::PauseMachine(SimServer& server, absl::Duration length) {
  // Of several meta servers each goes by its clock (meta_ensemble/README.md).
  SimNode& node = ensemble_ != nullptr ? *server.node : MetaOr(15, server);
  node.StandStillFor(length);
  if (&node == server.node) server.knows_nothing_since = node.paused_until();
  troubles_.LastFor(length);
}

void NodeFaults::SlowDisk(SimServer& server, absl::Duration length) {
  SimDisk& disk = MetaOr(15, server).disk();
  disk.SetSlowness(static_cast<int>(world_.random().Between(3, 300)));
  troubles_.LastFor(length, [&disk] { disk.SetSlowness(1); });
}

void NodeFaults::Lag(SimServer& server, absl::Duration length) {
  SimNode& node = MetaOr(15, server);
  SimRandom& random = world_.random();
  constexpr std::array<double, 3> kPercents = {2, 20, 100};
  SimLag lag;
  lag.percent = kPercents[random.Below(kPercents.size())];
  lag.late_max = absl::Milliseconds(20) * (int64_t{1} << random.Below(9));  // up to 5 s
  lag.where = static_cast<SimLag::Where>(random.Below(4));
  node.LagFor(length, lag);
  // Probes are hit when it is over: only then the longest wait is known.
  troubles_.LastFor(length, [this, &node] {
    if (node.latest_task() > absl::ZeroDuration()) checkers_.coverage.Hit(Probe::kTaskLate);
    if (node.latest_task() > settings_.server.lease)
      checkers_.coverage.Hit(Probe::kTaskLaterThanLease);
  });
}

void NodeFaults::JumpWall(SimServer& server) {
  // Before the next leaps (node_faults/W2).
  if (leapt_ != nullptr) leapt_->SetWallRight();
  leapt_ = &MetaOr(30, server);
  leapt_->JumpWall(world_.random().Between(absl::Hours(-1000), absl::Hours(1000)));
}

// ---- calls that fail ----

void NodeFaults::FailCalls(SimNode& node, DiskTrouble trouble, absl::Duration length) {
  SimRandom& random = world_.random();
  constexpr std::array<double, 4> kPercents = {1, 10, 50, 100};
  SimDisk& disk = node.disk();
  // All paths lie below the empty one.
  disk.FailCalls("", trouble, kPercents[random.Below(kPercents.size())]);
  troubles_.LastFor(length, [this, &disk, trouble, before = disk.calls_failed()] {
    if (disk.calls_failed() > before)
      checkers_.coverage.Hit(trouble == DiskTrouble::kNameErrors ? Probe::kNameError
                                                                 : Probe::kCallFailed);
    disk.FailCalls("", trouble, 0);
  });
}

void NodeFaults::FailCallsForWant(SimServer& server, absl::Duration length) {
  constexpr std::array<DiskTrouble, 3> kWants = {
      DiskTrouble::kNoMemory, DiskTrouble::kNoDescriptors, DiskTrouble::kNotPermitted};
  const DiskTrouble want = kWants[world_.random().Below(kWants.size())];
  SimNode& node = MetaOr(15, server);
  FailCalls(node, want, length);
  constexpr absl::Duration kSetAsideTakes = absl::Seconds(1);
  if (&node == server.node) CheckNobodyIsFenced(server, length + kSetAsideTakes);
}

// A learner that crashed may have been what the next life sets aside: this life alone counts.
void NodeFaults::CheckNobodyIsFenced(SimServer& server, absl::Duration after) {
  world_.After(
      after, EventKind::kCheck,
      [this, &server, life = server.node->life(), before = server.SetAsideAsFailed()] {
        if (server.lost_copy || !server.node->IsLife(life)) return;
        // At a log home a creation keeps so what belongs to another directory (log_place.h).
        const auto is_log = [this](const std::string& path) {
          return settings_.HasLogHome() &&
                 path.starts_with(settings_.server.layout.log_home_directory);
        };
        for (const std::string& directory : server.SetAsideAsFailed())
          if (!before.contains(directory) && !is_log(directory))
            checkers_.Violate(absl::StrCat("node_faults/W1: ", server.name, " fenced ", directory,
                                           " for want of descriptors, memory or permission"));
      });
}

void NodeFaults::End() {
  lives_.meta().is_disk_full = false;
  for (const auto& node : world_.nodes()) {
    node->PauseFor(absl::ZeroDuration());
    node->LagFor(absl::ZeroDuration(), {});
    node->SetWallRight();
    SimDisk& disk = node->disk();
    disk.SetSlowness(1);
    disk.FailSyncs(0);
    disk.FailReads(0);
    disk.FailCalls("", DiskTrouble::kErrors, 0);
    disk.SetFreeBytes(UINT64_MAX);
    if (node->alive()) disk.Revive();
  }
}

}  // namespace arion::sim
