// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/fault_mix.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "sim/sim_random.h"

namespace arion::sim {
namespace {

constexpr auto kFirstOnTop = Fault::kLag;

// Kinds that came later are drawn apart, and make the faults of a run more, not others fewer: mixes
// of the former kinds stay what they were, and each comes as often as before.
void DrawOnTop(uint64_t seed, double share, FaultMix* mix) {
  SimRandom random(seed ^ 0x1a6);
  const auto before = static_cast<double>(mix->kinds.size());
  for (int i = static_cast<int>(kFirstOnTop); i <= static_cast<int>(kLastOfSwarm); ++i)
    if (random.Percent(share)) mix->kinds.push_back(static_cast<Fault>(i));
  const double times = static_cast<double>(mix->kinds.size()) / before;
  mix->interval_min /= times;
  mix->interval_max /= times;
}

}  // namespace

const char* FaultName(Fault fault) {
  switch (fault) {
    case Fault::kCrashOne:
      return "crash-one";
    case Fault::kCrashAll:
      return "crash-all";
    case Fault::kCrashMeta:
      return "crash-meta";
    case Fault::kRestart:
      return "restart";
    case Fault::kPause:
      return "pause";
    case Fault::kCutFromMeta:
      return "cut-from-meta";
    case Fault::kCutFromPeer:
      return "cut-from-peer";
    case Fault::kCutOneWay:
      return "cut-one-way";
    case Fault::kSplit:
      return "split";
    case Fault::kWeather:
      return "weather";
    case Fault::kSlowDisk:
      return "slow-disk";
    case Fault::kFailedSync:
      return "failed-sync";
    case Fault::kWallJump:
      return "wall-jump";
    case Fault::kDiskFull:
      return "disk-full";
    case Fault::kDiskLost:
      return "disk-lost";
    case Fault::kBitRot:
      return "bit-rot";
    case Fault::kReplaced:
      return "replaced";
    case Fault::kReadErrors:
      return "read-errors";
    case Fault::kTableChurn:
      return "table-churn";
    case Fault::kReset:
      return "reset";
    case Fault::kLag:
      return "lag";
    case Fault::kCallsFail:
      return "calls-fail";
    case Fault::kSilentChange:
      return "silent-change";
    case Fault::kPausedVm:
      return "paused-vm";
    case Fault::kMetaDiskFull:
      return "meta-disk-full";
    case Fault::kDiskPutBack:
      return "disk-put-back";
    case Fault::kDisksPutBack:
      return "disks-put-back";
    case Fault::kDiskOfAnother:
      return "disk-of-another";
    case Fault::kMetaPutBack:
      return "meta-put-back";
    case Fault::kCutFromZooKeeper:
      return "cut-from-zookeeper";
    case Fault::kCutMetaFromServers:
      return "cut-meta-from-servers";
    case Fault::kZooKeeperDown:
      return "zookeeper-down";
    case Fault::kZooKeeperAnswersLost:
      return "zookeeper-answers-lost";
    case Fault::kZooKeeperLags:
      return "zookeeper-lags";
    case Fault::kLockRemoved:
      return "lock-removed";
  }
  return "?";
}

std::optional<Fault> FindFault(std::string_view name) {
  for (int i = 0; i < kFaultCount; ++i)
    if (name == FaultName(static_cast<Fault>(i))) return static_cast<Fault>(i);
  return std::nullopt;
}

Topology Topology::Swarm(uint64_t seed) {
  // Dice of its own: the topology of a seed does not depend on other draws.
  SimRandom random(seed ^ 0x70901);
  Topology topology;
  const auto servers = random.Below(100);
  // Three servers are most common in practice, and leave the fewest ways out.
  topology.servers = servers < 55 ? 3 : servers < 70 ? 4 : servers < 85 ? 5 : servers < 93 ? 6 : 7;
  const auto tables = random.Below(100);
  topology.tables = tables < 70 ? 1 : tables < 90 ? 2 : 3;
  const auto partitions = random.Below(100);  // of all tables
  const int all = partitions < 15   ? 1
                  : partitions < 65 ? 2
                  : partitions < 80 ? 4
                  : partitions < 93 ? 8
                                    : 16;
  topology.partitions = std::max(1, all / topology.tables);
  const auto copies = random.Below(100);
  topology.copies = copies < 8 ? 1 : copies < 20 ? 2 : 3;
  return topology;
}

std::string Topology::ToString() const {
  return absl::StrCat(servers, " servers, ", tables, " x ", partitions, " partitions, ", copies,
                      copies == 1 ? " copy" : " copies",
                      older > 0 ? absl::StrCat(", ", older, " servers of 2.5.0") : "",
                      has_old_meta ? ", a meta server of 2.5.0" : "",
                      metas > 1 ? absl::StrCat(", ", metas, " meta servers") : "");
}

FaultMix FaultMix::Swarm(uint64_t seed) {
  SimRandom random(seed ^ 0x5157a3);
  FaultMix mix;
  double share =
      15.0 + static_cast<double>(random.Below(60));  // some runs meet two kinds, some nearly all
  constexpr int kFormer = static_cast<int>(kFirstOnTop);
  for (int i = 0; i < kFormer; ++i) {
    if (random.Percent(share)) mix.kinds.push_back(static_cast<Fault>(i));
  }
  // At least one: DrawOnTop divides by their number.
  if (mix.kinds.empty()) mix.kinds.push_back(static_cast<Fault>(random.Below(kFormer)));
  mix.interval_min = random.Between(absl::Milliseconds(500), absl::Seconds(4));
  mix.interval_max = mix.interval_min + random.Between(absl::Seconds(1), absl::Seconds(12));
  mix.length_max = random.Between(absl::Seconds(2), absl::Seconds(25));
  // Within what lease and grace allow for (cluster_settings/D2).
  mix.clock_drift_percent = random.Coin() ? 0 : 4.0;
  if (random.Percent(25)) mix.always_late_percent = static_cast<double>(random.Between(1, 6));
  if (random.Percent(40)) mix.balancer = Balancer::kOn;
  if (random.Percent(20)) mix.odd_percent = static_cast<double>(random.Between(1, 10));
  if (random.Percent(30)) mix.wall_drift_percent = 10;
  DrawOnTop(seed, share, &mix);
  return mix;
}

bool FaultMix::Has(Fault fault) const {
  return std::find(kinds.begin(), kinds.end(), fault) != kinds.end();
}

void FaultMix::KeepWhatOlderServersMeet() {
  // Their logs are in the page cache, and their leases rest on clocks that never stand still; what
  // a disk that came back older lacks is found by what they do not say; and they end by a message
  // that no correct server sends.
  constexpr Fault kMet[] = {
      Fault::kCrashOne,    Fault::kCrashAll,    Fault::kCrashMeta, Fault::kRestart, Fault::kPause,
      Fault::kCutFromMeta, Fault::kCutFromPeer, Fault::kCutOneWay, Fault::kSplit,   Fault::kWeather,
      Fault::kSlowDisk,    Fault::kTableChurn,  Fault::kReset,     Fault::kLag};
  std::erase_if(kinds, [&kMet](Fault fault) {
    return std::find(std::begin(kMet), std::end(kMet), fault) == std::end(kMet);
  });
  if (kinds.empty()) kinds.push_back(Fault::kCrashOne);
  odd_percent = 0;
}

void FaultMix::KeepWhatAnOldMetaServerMeets() {
  KeepWhatOlderServersMeet();  // it knows nothing of what disks lost, or lack, and of odd messages
  balancer = Balancer::kOff;   // the stand-in has none
}

void FaultMix::MeetWhatSeveralMetasDo(uint64_t seed) {
  SimRandom random(seed ^ 0x2ee9);
  // Of the others some, so that about half of a run's troubles are those of its meta servers.
  std::erase_if(kinds, [&random](Fault fault) {
    return random.Percent(65) || fault == Fault::kMetaDiskFull || fault == Fault::kMetaPutBack;
  });
  const auto add = [this](Fault fault) {
    if (!Has(fault)) kinds.push_back(fault);
  };
  for (int i = static_cast<int>(Fault::kCutFromZooKeeper);
       i <= static_cast<int>(Fault::kLockRemoved); ++i)
    if (random.Percent(50)) add(static_cast<Fault>(i));
  for (const Fault fault : {Fault::kCrashMeta, Fault::kPause, Fault::kRestart})
    if (random.Percent(40)) add(fault);
  if (kinds.empty()) add(Fault::kCutFromZooKeeper);
}

std::string FaultMix::ToString() const {
  std::string text;
  for (Fault fault : kinds) absl::StrAppend(&text, text.empty() ? "" : " ", FaultName(fault));
  return absl::StrCat(
      text.empty() ? "calm" : text, ", every ", absl::FormatDuration(interval_min), " to ",
      absl::FormatDuration(interval_max), ", up to ", absl::FormatDuration(length_max), ", drift ",
      clock_drift_percent, " %, of wall clocks ", wall_drift_percent, " %",
      always_late_percent > 0 ? ", often late" : "", odd_percent > 0 ? ", odd messages" : "",
      balancer == Balancer::kOn ? ", balancer on" : "");
}

}  // namespace arion::sim
