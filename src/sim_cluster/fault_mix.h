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
  kCrashOne,  // one server, by process or power; also between two steps of a task
  kCrashAll,  // all servers at one instant, started again in some order
  kCrashMeta,
  kRestart,      // a clean stop and start
  kPause,        // a server is frozen, perhaps longer than lease and grace
  kCutFromMeta,  // a server and the meta server don't hear each other; clients and peers do
  kCutFromPeer,  // two servers don't hear each other
  kCutOneWay,    // one direction between two nodes
  kSplit,        // some servers on one side, the rest and meta on the other; or links one by one
  kWeather,      // loss, duplicates, delay everywhere
  kSlowDisk,
  kFailedSync,  // once in a run, when nothing else is wrong
  kWallJump,    // the wall clock of a node leaps by up to 1,000 h
  kDiskFull,    // a server's disk takes nothing more for a while
  kDiskLost,  // a server starts again with an empty disk; once in a run, when nothing else is wrong
  kBitRot,  // bytes of a log or data file change at rest, and the server starts again; as kDiskLost
  kReplaced,    // a server never comes back; an empty one with another address does; as kDiskLost
  kReadErrors,  // reads of files fail at random for a while; as kDiskLost
  kTableChurn,  // a table is made, written to, and dropped while its replicas may still learn
  kReset,       // connections between living nodes break, again and again
  kLag,  // the tasks of a node's loops, of its disk pool or of both come late, its clocks go on
  kCallsFail,     // a node's calls about names fail at random for a while, for want of descriptors,
                  // memory or permission; or, as kDiskLost, with an I/O error
  kSilentChange,  // a record of one secondary changes or is lost, its decree stays, and nobody is
                  // told; it is verified until the copies are equal; as kDiskLost
  kPausedVm,  // a node is frozen together with its monotonic clock, perhaps longer than the grace
  kMetaDiskFull,  // the meta server's disk takes nothing more for a while; failovers go on
  kDiskPutBack,  // a server starts again with an older copy of its disk, or of one data directory, all
                 // others perhaps with it; as kDiskLost
  kMetaPutBack,  // the meta server starts again with an earlier copy of its state, while all run, or
                 // the power of all fails and disks come back older, too, as by kDisksPutBack
  kDisksPutBack,  // the power of all fails, and the disks of several come back older, of each group
                  // all but one, the directories of a server from two moments; as kDiskLost
  kDiskOfAnother,  // a server starts again with an earlier copy of another one's disk; as kDiskLost
};
constexpr int kFaultCount = static_cast<int>(Fault::kDiskOfAnother) + 1;
constexpr Fault kLastOfSwarm = Fault::kMetaPutBack;  // the others come by name only
const char* FaultName(Fault fault);
std::optional<Fault> FindFault(std::string_view name);

// How large one run's cluster is. A value.
struct Topology {
  int servers = 3;
  int tables = 1;
  int partitions = 2;         // of each table
  int copies = 3;             // of each partition; never more than there are servers
  int older = 0;              // of the servers: of version 2.5.0 (old_server.h)
  bool has_old_meta = false;  // the meta server is of version 2.5.0 (old_meta_server.h)

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

  std::vector<Fault> kinds;                        // each equally likely; empty: calm
  absl::Duration interval_min = absl::Seconds(2);  // between two faults
  absl::Duration interval_max = absl::Seconds(10);
  absl::Duration length_max = absl::Seconds(15);  // of those that last
  double always_late_percent = 0;                 // of messages, in calm too: by up to 3 s
  double clock_drift_percent = 0;                 // each node's clock is off by up to this
  double wall_drift_percent = 0;                  // and its wall clock by up to this
  double odd_percent = 0;                         // of servers' messages (odd_messages.h)
  enum class Balancer { kOff, kOn };              // kOn: the meta server is lively
  Balancer balancer = Balancer::kOff;
};

}  // namespace arion::sim
