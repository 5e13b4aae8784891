// Topology: how large a cluster a run has. FaultMix: which troubles a run meets, how often and how
// hard. Swarm(seed) draws both anew for each seed, so that many seeds meet each trouble alone, in
// pairs and all at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace arion::sim {

enum class Fault : uint8_t {
  // One server, by process or power; also between two steps of a task.
  kCrashOne,
  // All servers at one instant, started again in some order.
  kCrashAll,
  kCrashMeta,
  // A clean stop and start.
  kRestart,
  // A server is frozen, perhaps longer than lease and grace.
  kPause,
  // A server and the meta server don't hear each other; clients and peers do.
  kCutFromMeta,
  // Two servers don't hear each other.
  kCutFromPeer,
  // One direction between two nodes.
  kCutOneWay,
  // Some servers on one side, the rest and meta on the other; or links one by one.
  kSplit,
  // Loss, duplicates, delay everywhere.
  kWeather,
  kSlowDisk,
  // Once in a run, when nothing else is wrong.
  kFailedSync,
  // The wall clock of a node leaps by up to 1,000 h.
  kWallJump,
  // A server's disk takes nothing more for a while.
  kDiskFull,
  // A server starts again with an empty disk; once in a run, when nothing else is wrong.
  kDiskLost,
  // Bytes of a log or data file change at rest, and the server starts again; as kDiskLost.
  kBitRot,
  // A server never comes back; an empty one with another address does; as kDiskLost.
  kReplaced,
  // Reads of files fail at random for a while; as kDiskLost.
  kReadErrors,
  // A table is made, written to, and dropped while its replicas may still learn.
  kTableChurn,
  // Connections between living nodes break, again and again.
  kReset,
  // The tasks of a node's loops, of its disk pool or of both come late, its clocks go on.
  kLag,
  // A node's calls about names fail at random for a while, for want of descriptors, memory or
  // permission; or, as kDiskLost, with an I/O error.
  kCallsFail,
  // A record of one secondary changes or is lost, its decree stays, and nobody is told; it is
  // verified until the copies are equal; as kDiskLost.
  kSilentChange,
  // A node is frozen together with its monotonic clock, perhaps longer than the grace.
  kPausedVm,
  // The meta server's disk takes nothing more for a while; failovers go on.
  kMetaDiskFull,
  // A server starts again with an older copy of its disk, or of one data directory, all others
  // perhaps with it; as kDiskLost.
  kDiskPutBack,
  // The meta server starts again with an earlier copy of its state, while all run, or the power of
  // all fails and disks come back older, too, as by kDisksPutBack.
  kMetaPutBack,
  // The power of all fails, and the disks of several come back older, of each group all but one,
  // the directories of a server from two moments; as kDiskLost.
  kDisksPutBack,
  // A server starts again with an earlier copy of another one's disk; as kDiskLost.
  kDiskOfAnother,
  // Of several meta servers only (sim_metas/ensemble_faults.h). One and ZooKeeper do not hear each
  // other.
  kCutFromZooKeeper,
  // The leader and the replica servers do not hear each other.
  kCutMetaFromServers,
  kZooKeeperDown,
  // What ZooKeeper was asked is done, and the answer is lost.
  kZooKeeperAnswersLost,
  // Its member that a meta server reads from has what others stored only later.
  kZooKeeperLags,
  // A person removes the leader's lock.
  kLockRemoved,
};
constexpr int kFaultCount = static_cast<int>(Fault::kLockRemoved) + 1;
// The last that a seed draws; the others come by name only.
constexpr Fault kLastOfSwarm = Fault::kMetaPutBack;
const char* FaultName(Fault fault);
std::optional<Fault> FindFault(std::string_view name);

// How large one run's cluster is. A value.
struct Topology {
  int servers = 3;
  int tables = 1;
  // Partitions of each table.
  int partitions = 2;
  // Copies of each partition; never more than there are servers.
  int copies = 3;
  // How many of the servers are of version 2.5.0 (old_server.h).
  int older = 0;
  // The meta server is of version 2.5.0 (old_meta_server.h).
  bool has_old_meta = false;
  // Meta servers; from 2 on their state is in ZooKeeper (sim_metas/).
  int metas = 1;

  static Topology Swarm(uint64_t seed);
  std::string ToString() const;
};

// What one run meets. A value; a seed draws it (Swarm), or a test names it.
struct FaultMix {
  static FaultMix Swarm(uint64_t seed);
  static FaultMix None() { return {}; }
  std::string ToString() const;
  bool Has(Fault fault) const;
  // Without what servers of the older version would not survive, or not understand.
  void KeepWhatOlderServersMeet();
  // Without what a meta server of that version is known to lose by, too, and without a balancer.
  void KeepWhatAnOldMetaServerMeets();
  // Without what befalls a meta server's journal, and with what befalls several meta servers.
  void MeetWhatSeveralMetasDo(uint64_t seed);

  // Which faults there are, each equally likely; empty: calm.
  std::vector<Fault> kinds;
  // The time between two faults.
  absl::Duration interval_min = absl::Seconds(2);
  absl::Duration interval_max = absl::Seconds(10);
  // How long a fault that lasts does.
  absl::Duration length_max = absl::Seconds(15);
  // The share of messages that are late by up to 3 s, in calm, too.
  double always_late_percent = 0;
  // Each node's clock is off by up to this.
  double clock_drift_percent = 0;
  // Each node's wall clock is off by up to this.
  double wall_drift_percent = 0;
  // The share of servers' messages that are odd (odd_messages.h).
  double odd_percent = 0;
  // kOn: the meta server is lively.
  enum class Balancer { kOff, kOn };
  Balancer balancer = Balancer::kOff;
};

}  // namespace arion::sim
