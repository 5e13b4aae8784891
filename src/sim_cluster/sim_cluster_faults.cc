// What troubles a SimCluster.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "disks/disk_layout.h"
#include "env/disk_reserve.h"
#include "env/file_system.h"
#include "sim/last_log_block.h"
#include "sim_cluster/sim_cluster.h"

namespace arion::sim {
namespace {

constexpr absl::Duration kFullDiskLeft = absl::Seconds(30);

}  // namespace

std::set<std::string> SimCluster::SetAsideAsFailed(const SimDisk& disk) {
  std::set<std::string> directories;
  disk.ForEachFile([&directories](const std::string& path, const SimInode&) {
    if (const size_t at = path.find(".err/"); at != std::string::npos)
      directories.insert(path.substr(0, at));
  });
  return directories;
}

CrashMode SimCluster::DrawCrashMode() {
  // What lies in a page cache survives processes only.
  if (server_options_.durability == Durability::kOs) return CrashMode::kProcess;
  const auto drawn = static_cast<CrashMode>(world_.random().Below(4));
  return options_.crash_mode.value_or(drawn);
}

absl::Duration SimCluster::DrawLength() {
  return world_.random().Between(absl::Milliseconds(200), options_.faults.length_max);
}

LinkWeather SimCluster::UsualWeather() const {
  LinkWeather weather;
  if (options_.faults.always_late_percent > 0) {
    weather.late_percent = options_.faults.always_late_percent;
    weather.late_max = absl::Seconds(3);
  }
  return weather;
}

bool SimCluster::IsCalm() const {
  const auto may_lose_one = [this](const auto& entry) {
    return entry.first.app_id != churn_->app_id() ||
           entry.second.MemberCount() == static_cast<size_t>(replica_count_);
  };
  return troubles_ == 0 && meta_.node->alive() && IsWhole() &&
         (churn_->IsIdle() || std::all_of(stored_.begin(), stored_.end(), may_lose_one)) &&
         std::all_of(servers_.begin(), servers_.end(),
                     [](const auto& s) { return s->node->alive() && !s->stopping; });
}

void SimCluster::ScheduleFault() {
  absl::Duration delay =
      world_.random().Between(options_.faults.interval_min, options_.faults.interval_max);
  world_.After(delay, EventKind::kFault, [this] {
    if (!faults_on_) return;
    if (world_.now() >= calm_until_ && !options_.faults.kinds.empty()) {
      Inject(options_.faults.kinds[world_.random().Below(options_.faults.kinds.size())]);
    }
    ScheduleFault();
  });
}

void SimCluster::CutOneWay(Endpoint from, Endpoint to, absl::Duration length) {
  network_.Block(from, to);
  world_.After(length, EventKind::kFault, [this, from, to] { network_.Unblock(from, to); });
}

void SimCluster::LastFor(absl::Duration length, absl::AnyInvocable<void()> end) {
  ++troubles_;
  world_.After(length, EventKind::kFault, [this, end = std::move(end)]() mutable {
    --troubles_;
    end();
  });
}

void SimCluster::Cut(Endpoint a, Endpoint b, absl::Duration length) {
  CutOneWay(a, b, length);
  CutOneWay(b, a, length);
}

void SimCluster::CrashOne(Server& server, absl::Duration length) {
  if (!server.node->alive()) return;
  SimRandom& random = world_.random();
  CrashMode mode = DrawCrashMode();
  if (mode != CrashMode::kProcess) coverage_.Hit(Probe::kPowerCut);
  // Back before what it sent has arrived everywhere.
  if (random.Percent(30)) length = random.Between(absl::Milliseconds(10), absl::Milliseconds(400));
  // What a 2.5.0 server writes to its log is no change that the disk counts.
  if (random.Coin() || server.is_older) {
    CrashServer(server, mode);
    if (random.Percent(30) && !server.is_older) {
      CrashInRecovery(server, length, mode);
    } else {
      RestartLater(server, length);
    }
  } else {
    server.node->CrashAfterChanges(random.Between(0, 40), mode, [this, &server, length] {
      BuryServer(server, SimNetwork::Farewell::kReset);
      RestartLater(server, length);
    });
  }
}

void SimCluster::CrashAll() {
  CrashMode mode = DrawCrashMode();
  if (mode != CrashMode::kProcess) coverage_.Hit(Probe::kPowerCutOfAll);
  for (auto& one : servers_) {
    if (one->node->alive()) CrashServer(*one, mode);
    if (world_.random().Percent(15) && !one->is_older) {
      CrashInRecovery(*one, DrawLength(), DrawCrashMode());
    } else {
      RestartLater(*one, DrawLength());
    }
  }
}

void SimCluster::FillOneDisk() {
  world_.After(absl::Seconds(5), EventKind::kFault, [this] {
    Server& full = AnyServer();
    LOG(INFO) << "fault: the disk of " << full.name << " is full";
    full.node->disk().SetFreeBytes(world_.random().Below(100000));
    world_.After(kFullDiskLeft, EventKind::kCheck, [this, &full] { JudgeFullDisk(full); });
    world_.After(2 * kFullDiskLeft, EventKind::kFault, [this, &full] {
      JudgeFullDisk(full);
      must_take_writes_ = false;
      full.node->disk().SetFreeBytes(UINT64_MAX);
    });
  });
}

void SimCluster::JudgeFullDisk(const Server& full) {
  must_take_writes_ = true;
  const size_t members = std::min<size_t>(3, servers_.size() - 1);
  for (const auto& [pid, config] : stored_) {
    if (!IsWanted(pid)) continue;
    if (config.IsMember(full.endpoint) || !config.primary.IsValid() ||
        config.MemberCount() < members)
      Violate(absl::StrCat("sim_cluster/H1: ", full.name, "'s disk was filled at least ",
                           absl::FormatDuration(kFullDiskLeft), " ago, and of [", pid.ToString(),
                           "] the primary is ", config.primary.ToString(), ", members ",
                           config.MemberCount(),
                           config.IsMember(full.endpoint) ? ", that server among them" : ""));
  }
}

void SimCluster::FillMetaDisk(absl::Duration length) {
  SimDisk& disk = meta_.node->disk();
  const auto reserve = disk.Find(JoinPath(kMetaRoot, kReserveName));
  if (is_meta_disk_full_ || !reserve.ok() || (*reserve)->content.size() < kMetaReserveBytes) {
    --faults_[static_cast<size_t>(Fault::kMetaDiskFull)];
    return;
  }
  is_meta_disk_full_ = true;
  disk.SetFreeBytes(world_.random().Below(2000));
  LastFor(length, [this, &disk] {
    is_meta_disk_full_ = false;
    disk.SetFreeBytes(UINT64_MAX);
  });
}

bool SimCluster::HasGivenUpReserve() const {
  if (!is_meta_disk_full_) return false;
  const auto reserve = meta_.node->disk().Find(JoinPath(kMetaRoot, kReserveName));
  return !reserve.ok() || (*reserve)->content.size() < kMetaReserveBytes;
}

void SimCluster::Weather(absl::Duration length) {
  SimRandom& random = world_.random();
  network_.weather.loss_percent = random.Coin() ? static_cast<double>(random.Below(15)) : 0;
  network_.weather.duplicate_percent = random.Coin() ? static_cast<double>(random.Below(20)) : 0;
  network_.weather.late_percent = static_cast<double>(random.Below(40));
  network_.weather.late_max = random.Between(
      absl::Milliseconds(1), random.Coin() ? absl::Milliseconds(800) : absl::Seconds(4));
  LastFor(length, [this] {
    if (faults_on_) network_.weather = UsualWeather();
  });
}

void SimCluster::Split(absl::Duration length) {
  std::vector<Endpoint> here = {meta_.endpoint}, there;
  for (auto& one : servers_) (world_.random().Coin() ? here : there).push_back(one->endpoint);
  for (Endpoint a : here) {
    for (Endpoint b : there) Cut(a, b, length);
  }
  LastFor(length, [] {});
}

void SimCluster::CutOneByOne(absl::Duration length) {
  SimRandom& random = world_.random();
  std::vector<Endpoint> nodes = {meta_.endpoint};
  for (auto& one : servers_) nodes.push_back(one->endpoint);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (random.Coin()) continue;
      const absl::Duration from = random.Between(absl::ZeroDuration(), length / 2);
      const absl::Duration lasting = random.Between(absl::ZeroDuration(), length - from);
      world_.After(from, EventKind::kFault, [this, a = nodes[i], b = nodes[j], lasting] {
        if (faults_on_) Cut(a, b, lasting);
      });
    }
  }
  LastFor(length, [] {});
}

void SimCluster::ResetConnections(Endpoint endpoint, absl::Duration length) {
  if (!faults_on_ || length <= absl::ZeroDuration()) return;
  SimRandom& random = world_.random();
  if (network_.Reset(endpoint, static_cast<double>(random.Between(10, 100))) > 0)
    coverage_.Hit(Probe::kCallsReset);
  const absl::Duration pause = random.Between(
      absl::Milliseconds(1), random.Coin() ? absl::Milliseconds(50) : absl::Seconds(2));
  world_.After(pause, EventKind::kFault,
               [this, endpoint, left = length - pause] { ResetConnections(endpoint, left); });
}

void SimCluster::Lag(SimNode& node, absl::Duration length) {
  SimRandom& random = world_.random();
  constexpr std::array<double, 3> kPercents = {2, 20, 100};
  SimLag lag;
  lag.percent = kPercents[random.Below(kPercents.size())];
  lag.late_max = absl::Milliseconds(20) * (int64_t{1} << random.Below(9));  // up to 5 s
  lag.where = static_cast<SimLag::Where>(random.Below(4));
  node.LagFor(length, lag);
  LastFor(length, [this, &node] {
    if (node.latest_task() > absl::ZeroDuration()) coverage_.Hit(Probe::kTaskLate);
    if (node.latest_task() > server_options_.lease) coverage_.Hit(Probe::kTaskLaterThanLease);
  });
}

void SimCluster::FailCalls(SimNode& node, DiskTrouble trouble, absl::Duration length) {
  SimRandom& random = world_.random();
  constexpr std::array<double, 4> kPercents = {1, 10, 50, 100};
  SimDisk& disk = node.disk();
  disk.FailCalls("", trouble, kPercents[random.Below(kPercents.size())]);
  LastFor(length, [this, &disk, trouble, before = disk.calls_failed()] {
    if (disk.calls_failed() > before)
      coverage_.Hit(trouble == DiskTrouble::kNameErrors ? Probe::kNameError : Probe::kCallFailed);
    disk.FailCalls("", trouble, 0);
  });
}

// A learner that crashed may have been what the next life sets aside: this life alone counts.
void SimCluster::FailCallsForWant(Server& server, DiskTrouble trouble, absl::Duration length) {
  constexpr absl::Duration kSetAsideTakes = absl::Seconds(1);
  FailCalls(*server.node, trouble, length);
  world_.After(
      length + kSetAsideTakes, EventKind::kCheck,
      [this, &server, life = server.node->life(), before = SetAsideAsFailed(server.node->disk())] {
        if (server.lost_copy || !server.node->IsLife(life)) return;
        // At a log home a creation keeps so what belongs to another directory (log_place.h).
        const std::string& home = server_options_.layout.log_home_directory;
        const auto is_log = [&](const std::string& path) {
          return !home.empty() && path.starts_with(home);
        };
        for (const std::string& directory : SetAsideAsFailed(server.node->disk()))
          if (!before.contains(directory) && !is_log(directory))
            Violate(absl::StrCat("sim_cluster/H1: ", server.name, " fenced ", directory,
                                 " for want of descriptors, memory or permission"));
      });
}

void SimCluster::PauseMachine(Server* server, absl::Duration length) {
  SimNode& node = server == nullptr ? *meta_.node : *server->node;
  node.StandStillFor(length);
  if (server != nullptr) server->knows_nothing_since = node.paused_until();
  LastFor(length, [] {});
}

void SimCluster::LoseCopy(Server& server, Fault fault) {
  // Without syncs a hole in a log is what a power cut leaves: what lies behind it is lost, and no
  // other copy knows better.
  const bool loses_silently = fault == Fault::kBitRot && replica_count_ == 1 &&
                              server_options_.durability == Durability::kOs;
  if (lost_copy_ || loses_silently || !MayGoBack(server, fault) || !IsCalm()) {
    --faults_[static_cast<size_t>(fault)];
    return;
  }
  // One copy is being lost: the promise covers one, so nothing else happens until it is back.
  lost_copy_ = server.endpoint;
  server.lost_copy = true;
  calm_until_ = world_.now() + absl::Seconds(45);
  if (fault == Fault::kFailedSync) {
    server.node->disk().FailSyncs(1);
  } else if (fault == Fault::kCallsFail) {
    // A disk that failed is used again once its server has started anew.
    server.started_blind = true;
    const absl::Duration length = DrawLength();
    FailCalls(*server.node, DiskTrouble::kNameErrors, length);
    world_.After(length + absl::Seconds(1), EventKind::kFault, [this, &server] {
      if (!faults_on_ || !server.node->alive() || server.stopping) return;
      CrashServer(server, CrashMode::kProcess);
      RestartLater(server, DrawLength());
    });
  } else {
    DamageAtRest(server, fault);
  }
}

void SimCluster::Inject(Fault fault) {
  // Under everything at once nothing is acknowledged, and nothing is proven.
  constexpr int64_t kTroublesMax = 3;
  if (troubles_ >= kTroublesMax) return;
  SimRandom& random = world_.random();
  Server& server = AnyServer();
  absl::Duration length = DrawLength();
  ++faults_drawn_;
  if (options_.without.contains(fault)) return;
  if (options_.only && !options_.only->contains(faults_drawn_)) return;
  ++faults_[static_cast<size_t>(fault)];
  LOG(INFO) << "fault " << faults_drawn_ << ": " << FaultName(fault)
            << ", if at a server: " << server.name << ", up to " << length;
  switch (fault) {
    case Fault::kCrashOne:
      return CrashOne(server, length);
    case Fault::kCrashAll:
      return CrashAll();
    case Fault::kCrashMeta:
      if (meta_.node->alive()) CrashMeta(DrawCrashMode());
      world_.After(length, EventKind::kFault, [this] { StartMeta(); });
      return;
    case Fault::kRestart:
      if (server.node->alive() && !server.stopping && (server.server || server.old))
        StopServer(server);
      return;
    case Fault::kPause: {
      (random.Percent(15) ? meta_.node : server.node)->PauseFor(length);
      LastFor(length, [] {});
      return;
    }
    case Fault::kPausedVm:
      return PauseMachine(random.Percent(15) ? nullptr : &server, length);
    case Fault::kCutFromMeta:
      Cut(server.endpoint, meta_.endpoint, length);
      LastFor(length, [] {});
      return;
    case Fault::kCutFromPeer:
      Cut(server.endpoint, AnyServer().endpoint, length);
      LastFor(length, [] {});
      return;
    case Fault::kCutOneWay:
      CutOneWay(server.endpoint, random.Percent(30) ? meta_.endpoint : AnyServer().endpoint,
                length);
      LastFor(length, [] {});
      return;
    case Fault::kSplit:
      return random.Coin() ? Split(length) : CutOneByOne(length);
    case Fault::kWeather:
      return Weather(length);
    case Fault::kSlowDisk: {
      SimNode* node = random.Percent(15) ? meta_.node : server.node;
      node->disk().SetSlowness(static_cast<int>(random.Between(3, 300)));
      LastFor(length, [node] { node->disk().SetSlowness(1); });
      return;
    }
    case Fault::kDiskFull:
      server.node->disk().SetFreeBytes(random.Below(100000));
      LastFor(length, [&server] { server.node->disk().SetFreeBytes(UINT64_MAX); });
      return;
    case Fault::kMetaDiskFull:
      return FillMetaDisk(length);
    case Fault::kFailedSync:
    case Fault::kDiskLost:
    case Fault::kBitRot:
    case Fault::kReplaced:
    case Fault::kReadErrors:
    case Fault::kDiskPutBack:
    case Fault::kDisksPutBack:
    case Fault::kDiskOfAnother:
      return LoseCopy(server, fault);
    case Fault::kMetaPutBack:
      return PutBackState(server);
    case Fault::kSilentChange:
      return ChangeSilently(server);
    case Fault::kTableChurn:
      return churn_->BeginCycle();
    case Fault::kReset:
      ResetConnections(random.Percent(20) ? meta_.endpoint : server.endpoint, length);
      LastFor(length, [] {});
      return;
    case Fault::kLag:
      return Lag(random.Percent(15) ? *meta_.node : *server.node, length);
    case Fault::kCallsFail: {
      if (random.Percent(30)) return LoseCopy(server, fault);
      constexpr std::array<DiskTrouble, 3> kWants = {
          DiskTrouble::kNoMemory, DiskTrouble::kNoDescriptors, DiskTrouble::kNotPermitted};
      const DiskTrouble want = kWants[random.Below(kWants.size())];
      if (random.Percent(15)) return FailCalls(*meta_.node, want, length);
      return FailCallsForWant(server, want, length);
    }
    case Fault::kWallJump: {
      // One is wrong at a time: of two that agree with each other nobody can tell that both are.
      if (leapt_ != nullptr) leapt_->SetWallRight();
      SimNode* node = leapt_ = random.Percent(30) ? meta_.node : server.node;
      node->JumpWall(random.Between(absl::Hours(-1000), absl::Hours(1000)));
      return;
    }
  }
}

void SimCluster::CrashInRecovery(Server& server, absl::Duration delay, CrashMode mode) {
  world_.After(delay, EventKind::kFault, [this, &server, mode] {
    if (server.node->alive() || server.server) return;
    StartServer(server);
    if (!server.node->alive()) return;
    server.node->CrashAfterChanges(world_.random().Between(0, 60), mode, [this, &server] {
      BuryServer(server, SimNetwork::Farewell::kReset);
      RestartLater(server, DrawLength());
    });
  });
}

void SimCluster::RotSomething(Server& server) {
  SimRandom& random = world_.random();
  SimDisk& disk = server.node->disk();
  std::vector<std::string> files;
  for (const std::string& path : disk.AllFiles()) {
    if (path.find("/plog/") != std::string::npos ||
        path.find("/data/memory") != std::string::npos || path.find("-info") != std::string::npos) {
      files.push_back(path);
    }
  }
  if (files.empty()) return;
  const std::string& path = files[random.Below(files.size())];
  uint64_t size = (*disk.Find(path))->content.size();
  uint64_t offset = random.Below(size + 1), n = 1 + random.Below(random.Coin() ? 4 : 4096);
  // Of the end of its log the only copy can't tell what a power cut has left there.
  const auto last = replica_count_ == 1 ? FindLastLogBlock(disk, ParentDirectory(path))
                                        : std::optional<LastLogBlock>();
  if (last && last->path == path) {
    if (!last->is_behind_others) return;
    offset %= last->position;
    n = std::min(n, last->position - offset);
  }
  LOG(INFO) << "rot: " << path << " of " << server.name << ", " << n << " bytes at " << offset
            << " of " << size;
  CHECK(disk.Rot(path, offset, n).ok());
}

void SimCluster::MakeEmpty(SimDisk& disk, const std::string& path) {
  CHECK(disk.RemoveAll(path).ok() && disk.CreateDirectories(path).ok()) << path;
}

void SimCluster::LoseDirectories(Server& server, Fault fault) {
  SimRandom& random = world_.random();
  SimDisk& disk = server.node->disk();
  server.set_aside.clear();
  if (fault == Fault::kReplaced || random.Percent(30)) {
    for (const std::string& path : DiskPaths()) MakeEmpty(disk, path);
    return;
  }
  const auto& directories = server_options_.layout.data_directories;
  const DataDirectory& lost = directories[random.Below(directories.size())];
  MakeEmpty(disk, lost.path);
  // Else it is taken for one that is not mounted, and the others serve without it.
  if (random.Coin()) server.new_directories.push_back(lost.tag);
}

void SimCluster::DamageAtRest(Server& server, Fault fault) {
  SimRandom& random = world_.random();
  CrashServer(server, server_options_.durability == Durability::kOs ? CrashMode::kProcess
                                                                    : CrashMode::kPowerRandom);
  SimDisk& disk = server.node->disk();
  if (fault == Fault::kBitRot) {
    RotSomething(server);
  } else if (fault == Fault::kReadErrors) {
    disk.FailReads(static_cast<double>(random.Between(2, 60)));
    LastFor(DrawLength(), [&server] { server.node->disk().FailReads(0); });
  } else if (fault == Fault::kDiskPutBack) {
    PutBackDisk(server);
  } else if (fault == Fault::kDisksPutBack) {
    PutBackDisks(server, Moments::kTwo);
  } else if (fault == Fault::kDiskOfAnother) {
    const size_t donor = random.Below(servers_.size());
    for (size_t i = 0; i < servers_.size(); ++i) {
      const Server& owner = *servers_[(donor + i) % servers_.size()];
      if (&owner == &server || owner.images[owner.last_image].IsEmpty()) continue;
      PutBackDiskOf(owner, server);
      break;
    }
  } else {
    LoseDirectories(server, fault);
    if (fault == Fault::kReplaced)
      server.endpoint = ServerEndpoint(static_cast<int>(servers_.size()) + replacements_++);
  }
  disk.MakeDurable();
  RestartLater(server, random.Between(absl::Milliseconds(100), absl::Seconds(5)));
}

void SimCluster::HealAll() {
  faults_on_ = false;
  network_.UnblockAll();
  network_.weather = LinkWeather{};
  network_.odd_percent = 0;
  network_.echoes = {};
  is_meta_disk_full_ = false;
  for (const auto& node : world_.nodes()) {
    node->PauseFor(absl::ZeroDuration());
    node->LagFor(absl::ZeroDuration(), {});
    node->SetWallRight();
    node->disk().SetSlowness(1);
    node->disk().FailSyncs(0);
    node->disk().FailReads(0);
    node->disk().FailCalls("", DiskTrouble::kErrors, 0);
    node->disk().SetFreeBytes(UINT64_MAX);
    if (node->alive()) node->disk().Revive();
  }
  churn_->HurryUp();
  StartMeta();
  if (std::exchange(balances_, false))
    SetLevel(meta_.node->environment().NewStrand("level"), FunctionLevel::kSteady);
  for (auto& server : servers_) {
    if (std::optional<Instant>& since = server->knows_nothing_since)
      since = std::min(*since, world_.now());
    // What a server could not read when it started it leaves where it is until the next start.
    if (server->started_blind && server->node->alive()) CrashServer(*server, CrashMode::kProcess);
    StartServer(*server);
  }
}

}  // namespace arion::sim
