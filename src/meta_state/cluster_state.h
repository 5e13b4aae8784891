// ClusterState is what the meta server knows: tables and partitions (stored), nodes and what they
// reported (memory only). Pure: no clock, no I/O; iteration order is the keys' order.
//
// Shapes    Stored form: keys and JSON values of meta/STATE.md 1.1 and 1.2 ("/apps/2",
//           "/apps/2/0"), "/arion/function_level", and "/arion/committed/2": decrees by partition,
//           commas between. Unknown keys of the store and of its JSON are left alone; missing JSON
//           keys keep their defaults.
// Errors    Load: DataLoss names the key that can't be understood; nothing is guessed.
// Threads   Strand-bound to its owner.
// Promises  cluster_state/S1  ChangeOf(x), stored and loaded again, gives x.
//           cluster_state/S2  A host name that the store knew for an address is written again with
//               it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "messages/admin_messages.h"
#include "messages/configuration.h"
#include "messages/meta_messages.h"
#include "meta_state/meta_store.h"

namespace arion {

constexpr int32_t kPartitionCountMax = 65536;
constexpr size_t kLastDropsMax = 3;
// Beyond it a ballot is of a damaged or hostile message.
constexpr Ballot kBallotMax{int64_t{1} << 61};
// How long one that took no replica when it should, or failed to learn it, comes after all others.
constexpr absl::Duration kPassedOverFor = absl::Minutes(5);
// How long it is shown that a server came back with older copies, or that the state went back.
constexpr absl::Duration kOlderShownFor = absl::Hours(24);
constexpr int32_t kPartitionDropped = 1;  // bit of PartitionConfiguration::partition_flags

// What was proposed for a partition and has not happened yet.
struct Intent {
  ConfigType type = ConfigType::kInvalid;
  Endpoint target;            // who is asked
  Endpoint node;              // whom it is about
  bool keeps_factor = false;  // a removal only while enough living members stay (a balancer's)
  bool SaysTheSame(const Intent& other) const {
    return type == other.type && target == other.target && node == other.node &&
           keeps_factor == other.keeps_factor;
  }
  // Bookkeeping of the sender and of the learning watch.
  int32_t times_sent = 0;
  Instant last_sent;
  std::optional<Instant> first_sent;
  bool learner_seen = false;
};

// A replica outside the configuration that could be taken back; the last of a list is the best.
struct DroppedReplica {
  Endpoint node;
  std::optional<Instant> at;  // nullopt: before this meta server's time
  Ballot ballot;
  Decree committed;
  Decree prepared;
  Decree held{0};  // what was known to be committed when it left: it held that
};

// What a primary said last to be committed, so that copies that end before it are known to be older
// ones. It is stored a moment later (ClusterState::ChangeOfCommitted).
struct ShownCommitted {
  Decree decree{0};
  // Reports up to this number may have been written before.
  int64_t older_reports = 0;
};

struct Node;

struct Partition {
  PartitionConfiguration config;
  ShownCommitted committed;

  // What every member holds for certain.
  Decree KnownCommitted() const { return std::max(config.last_committed_decree, committed.decree); }

  // -- Memory only.
  std::optional<PartitionConfiguration> pending;  // being stored
  std::optional<Intent> intent;
  std::vector<Intent> planned;  // an administrator's or the balancer's, in this order, before cures
  std::vector<DroppedReplica> dropped;
  std::map<Endpoint, Instant> passed_over;  // whom others come before, until then
  // Members whose present process is known to hold everything acknowledged: they kept running since
  // they joined, or work under a primary that did (a clean stop alone proves nothing: the disk may
  // be an older copy). The rest of the members are
  // unknown, or suspects: their process began after an unclean stop (a replica says so only until
  // it has a role again, hence it is remembered here).
  std::set<Endpoint> serving;
  std::set<Endpoint> suspects;
  // Servers whose copy was shown to lack what its group has committed, until they have learned it.
  std::set<Endpoint> older;
  // Members whose durable copy ended, when they reported last, before what is known to be committed.
  std::set<Endpoint> short_copies;
  // Set while the configured primary's process is new: until then it may resume, afterwards another
  // takes over.
  std::optional<Instant> primary_deadline;
  int32_t inactive_reports = 0;  // in a row, by a primary that should be one
  // Reports up to this number may have been written before `config` was stored.
  int64_t older_reports = 0;
  std::optional<Instant> headless_since;
  Endpoint former_primary;  // wins ties
  // The largest ballot that a server has reported, and who said to be primary under it, in a life
  // that goes on.
  struct Shown {
    Ballot ballot{-1};
    Endpoint primary;
  } shown;
  // A server knows more than is stored (meta_state/stale_configuration.h).
  bool IsBehind() const { return shown.ballot > config.ballot; }

  // Whether what that server reported last was written when `config` was stored already.
  bool IsSince(const Node& node) const;

  bool IsDropped() const { return (config.partition_flags & kPartitionDropped) != 0; }
};

struct Table {
  AppInfo info;
  std::vector<Partition> partitions;  // by index

  // -- Memory only.
  bool is_committed_unstored = false;  // what primaries said lies beyond what is stored of it
  bool partitions_change = false;      // all of them are about to: no configuration is accepted
  std::set<Endpoint> untold;           // servers that have not confirmed `info` as it is now
  Instant tell_at;                     // when they are told (again)
};

struct Node {
  bool alive = false;
  int64_t incarnation = 0;   // counts the restarts that were noticed
  bool is_stopping = false;  // it says so
  bool is_older = false;     // its beacons are an older version's (Apache Pegasus')
  bool collected = false;    // a config sync of its present connection has been received
  // The number of the one config sync that is read next; 0: none is given yet. A report that comes
  // late, or again, has another, and so has one of a former process of it or of ours.
  int64_t awaited_report = 0;
  int64_t last_report = 0;  // the number of the one that was read last
  bool has_unreadable_disks = false;
  std::set<std::string> slow_disks;
  Instant slow_since;             // while there are some
  std::vector<DiskReport> disks;  // empty: it says nothing of them
  Instant full_since;             // while one of them takes no writes
  // Their tags, of those of which less than a tenth is left above the bound, and until 15 % are.
  std::set<std::string> nearly_full;
  std::optional<absl::Duration> clock_offset;  // its wall clock minus what most show
  bool has_wrong_clock = false;
  int64_t older_copies = 0;                     // that it came back with, within a day
  Instant older_since;                          // when the last of them was found
  std::map<int32_t, int32_t> unknown_tables;    // copies, by id, of tables that are not stored
  std::set<Endpoint> slow_members;              // others whose acknowledgements it waits for
  std::map<PartitionId, ReplicaInfo> replicas;  // as last reported
  std::optional<int64_t> replicas_max;          // that its limit of open files carries
  int64_t open_files_max = 0;                   // that limit

  // Its loaded replica of `pid`, or nullptr.
  const ReplicaInfo* LoadedReplica(PartitionId pid) const;
  bool IsLoading(PartitionId pid) const;
  // Its replica of `pid` lies on a slow disk, or a new one might.
  bool IsSlowFor(PartitionId pid) const;
  bool HasFullDisk() const;
  // Where its replica of `pid` lies, or a new one would be made, no writes are taken.
  bool IsFullFor(PartitionId pid) const;
  // There it is nearly full.
  bool IsNearlyFullFor(PartitionId pid) const;
  // Or, for a new one, less than a fifth is left.
  bool IsTightFor(PartitionId pid) const;
  // Its replica of `pid` lies on a disk that is nearly full.
  bool GivesAway(PartitionId pid) const;
};

inline bool Partition::IsSince(const Node& node) const { return node.last_report > older_reports; }

struct LivenessLimits {
  int32_t min_live_node_count = 0;  // 0: min(3, servers - 1), at least 1
  int32_t live_percentage = 50;
};

// What the wall clocks show (meta_state/cluster_clock.h). Memory only.
struct Clocks {
  bool agree = true;
  absl::Duration spread;
  std::optional<absl::Duration> our_offset;  // the meta server's, from what most show
  bool is_ours_wrong = false;
};

// That what was stored when this meta server began was older than what servers know
// (meta_state/state_went_back.h). Memory only.
struct WentBack {
  Instant last_shown;
  std::set<PartitionId> partitions;  // of which one knew a larger ballot than was stored
  std::set<int32_t> tables;          // of which one knew a later description
  std::set<Endpoint> servers;        // that showed it; empty: nothing did
};

// What was doubtful when the state was learned from replica servers. Memory only.
struct LearnedBack {
  Instant at;
  std::vector<std::string> doubts;
};

struct ClusterState {
  Clocks clocks;
  WentBack went_back;
  LearnedBack learned_back;
  std::map<int32_t, Table> tables;  // dropped ones too
  std::map<Endpoint, Node> nodes;   // alive and dead
  std::map<Endpoint, HostPort> host_names;
  std::set<Endpoint> listed;  // servers that sent beacons, as stored
  // Of these, who has not reported since this meta server began: each may hold what nobody else does, also
  // where what is stored names it nowhere, being an older copy. For a grace at most.
  std::set<Endpoint> awaited;
  // No new table gets an id up to this: of tables that are being stored, and of those that are not
  // stored but of which a server has replicas.
  int32_t last_reserved_app_id = 0;
  std::optional<FunctionLevel> function_level;  // that was set last; nullopt: never

  static absl::StatusOr<ClusterState> Load(const std::map<std::string, std::string>& entries);

  Table* FindTable(int32_t app_id);
  const Table* FindTable(int32_t app_id) const;
  // Not the dropped ones; those under recall by the name that they get.
  const Table* FindTableByName(std::string_view name) const;
  Partition* FindPartition(PartitionId pid);
  const Partition* FindPartition(PartitionId pid) const;
  int32_t NextAppId() const;

  bool IsAlive(Endpoint node) const;
  const Node* FindNode(Endpoint node) const;
  // It has begun to stop: it hands over what it leads, and will be gone.
  bool IsStopping(Endpoint node) const;
  size_t AliveCount() const;
  // A living server says that its disks have room for a new replica, and a fifth left.
  enum class Room { kSomebodyHasMuch, kNobodyHasMuch };
  Room RoomOfAll() const;
  // Whether each server that is alive, or awaited, has told what it holds of the partition.
  bool HaveAllTold(PartitionId pid) const;
  // How many living servers say that its acknowledgements are slow.
  size_t SlownessReports(Endpoint node) const;
  // What was wished for, and what of it holds now.
  FunctionLevel SetLevel() const { return function_level.value_or(FunctionLevel::kSteady); }
  FunctionLevel Level(const LivenessLimits& limits) const;

  MetaStore::Change ChangeOf(const AppInfo& info) const;
  MetaStore::Change ChangeOf(const PartitionConfiguration& config) const;
  static MetaStore::Change ChangeOf(FunctionLevel level);
  // What primaries said to be committed, of all the table's partitions; nothing of the one that
  // begins anew.
  static MetaStore::Change ChangeOfCommitted(const Table& table,
                                             std::optional<int32_t> anew = std::nullopt);
  // That a server is in the list, or is no more.
  static MetaStore::Change ChangeOfListed(Endpoint server, bool is_listed);
};

// Others are better places for its copy: it has less room than they have, or hardly any.
bool IsAvoided(const Node& node, PartitionId pid, ClusterState::Room others);

}  // namespace arion
