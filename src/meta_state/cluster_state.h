// ClusterState is what the meta server knows: tables and partitions (stored), nodes and what they
// reported (memory only). Pure: no clock, no I/O; iteration order is the keys' order.
//
// Shapes    Stored form: keys and JSON values of meta/STATE.md 1.1 and 1.2 ("/apps/2",
//           "/apps/2/0"), "/arion/function_level", "/arion/split/2" (table_split.h), and
//           "/arion/committed/2": decrees by partition, commas between. "/arion/min_version": who
//           may read it. Unknown keys of the store are left alone. JSON: stored_json.h.
//           Duplications: table_duplication.h.
// Errors    Load: DataLoss names the key that can't be understood; nothing is guessed.
//           FailedPrecondition: a later version stored it.
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
#include "messages/configuration.h"
#include "messages/duplication_messages.h"
#include "messages/function_level.h"
#include "messages/meta_messages.h"

namespace arion {

struct StoreChange;

// Of the stored form: what another one must be able to read before it may lead on it.
constexpr int32_t kStateVersion = 1;
constexpr int32_t kPartitionCountMax = 65536;
constexpr size_t kLastDropsMax = 3;
// A ballot beyond this comes from a damaged or hostile message.
constexpr Ballot kBallotMax{int64_t{1} << 61};
// How long a server that took no replica when it should, or failed to learn it, comes after all
// others.
constexpr absl::Duration kPassedOverFor = absl::Minutes(5);
// What ClusterState::tight_percent is if nobody says otherwise.
constexpr int32_t kTightPercent = 20;
// How long it is shown that a server came back with older copies, or that the state went back.
constexpr absl::Duration kOlderShownFor = absl::Hours(24);
// A bit of PartitionConfiguration::partition_flags.
constexpr int32_t kPartitionDropped = 1;
// Of a child that is not registered (meta_state/table_split.h), as Pegasus numbers it.
constexpr Ballot kBallotOfUnregistered{-1};

// One step for one partition that was proposed to a server, or is planned, and has not happened
// yet. The guardian makes it (meta_judgement/partition_guardian.h) or an administrator plans it. It
// ends when the configuration shows it, when it does not apply any more, or when patience ends. In
// memory only: after a restart the guardian finds it again.
struct Intent {
  ConfigType type = ConfigType::kInvalid;
  // The server that is asked to act.
  Endpoint target;
  // The server that it is about.
  Endpoint node;
  // Of a removal: it happens only while enough living members stay (a balancer's).
  bool keeps_factor = false;
  bool SaysTheSame(const Intent& other) const {
    return type == other.type && target == other.target && node == other.node &&
           keeps_factor == other.keeps_factor;
  }
  // How often it was sent since the ballot changed or the target reported, and when.
  // `learner_seen`: the server that it is about reported that it learns.
  int32_t times_sent = 0;
  Instant last_sent;
  std::optional<Instant> first_sent;
  bool learner_seen = false;
};

// A replica outside the configuration that could be taken back. The last of a list is the best.
struct DroppedReplica {
  Endpoint node;
  // nullopt: before this meta server's time.
  std::optional<Instant> at;
  Ballot ballot;
  Decree committed;
  Decree prepared;
  // What was known to be committed when it left: it held that.
  Decree held{0};
};

// What a primary last reported as committed, so that copies that end before it are known to be
// older ones. It is stored a moment later (ClusterState::ChangeOfCommitted).
struct ShownCommitted {
  Decree decree{0};
  // Reports up to this number may have been written before.
  int64_t older_reports = 0;
};

struct Node;

// What this meta server has seen of a partition, and means to do about it, since its process began.
// Memory only: after a restart it begins empty, and fills again from the servers' reports.
struct PartitionSeen {
  // The configuration that is being stored.
  std::optional<PartitionConfiguration> pending;
  std::optional<Intent> intent;
  // An administrator's or the balancer's, in this order. They go before cures.
  std::vector<Intent> planned;
  std::vector<DroppedReplica> dropped;
  // Servers that come after all others, and until when.
  std::map<Endpoint, Instant> passed_over;
  // Members whose present process is known to hold everything acknowledged: they kept running since
  // they joined, or work under a primary that did. (A clean stop alone proves nothing: the disk may
  // be an older copy.) The other members are unknown, or suspects: their process began after an
  // unclean stop. A replica says that only until it has a role again, hence it is remembered here.
  std::set<Endpoint> serving;
  std::set<Endpoint> suspects;
  // Servers whose copy was shown to lack what its group has committed, until they have learned it.
  std::set<Endpoint> older;
  // Members whose durable copy ended, when they last reported, before what is known to be
  // committed.
  std::set<Endpoint> short_copies;
  // Set while the configured primary's process is new: until then it may resume, afterwards another
  // takes over.
  std::optional<Instant> primary_deadline;
  // In a row, by a primary that should be one.
  int32_t inactive_reports = 0;
  // Reports up to this number may have been written before `config` was stored.
  int64_t older_reports = 0;
  std::optional<Instant> headless_since;
  // Wins ties.
  Endpoint former_primary;
  // The largest ballot that a server has reported, and which server said to be primary under it, in
  // a process that still lives.
  struct Shown {
    Ballot ballot{-1};
    Endpoint primary;
  } shown;
};

// One partition: what is stored of it (its own fields), and what is known of it now. It is made
// with its table and ends with it. Whoever changes `config` goes through the store first and then
// through Install (configuration_change.h), so that the rest fits.
struct Partition : PartitionSeen {
  PartitionConfiguration config;
  // What is stored beside that and is not known here (stored_json/J1).
  std::string other_members;
  ShownCommitted committed;

  // What every member holds for certain.
  Decree KnownCommitted() const { return std::max(config.last_committed_decree, committed.decree); }

  // A server knows a larger ballot than is stored (meta_state/stale_configuration.h).
  bool IsBehind() const { return shown.ballot > config.ballot; }

  // Whether the server's last report was written when `config` was stored already.
  bool IsSince(const Node& node) const;

  bool IsDropped() const { return (config.partition_flags & kPartitionDropped) != 0; }

  // A child that is not registered yet: it has no members, and nothing is done for it.
  bool IsUnregistered() const { return config.ballot == kBallotOfUnregistered; }
};

// A split that is under way (meta_state/table_split.h).
struct TableSplit {
  // The partition count before. Table::partitions has twice as many.
  int32_t from = 0;
  // Parents whose split waits for a person. None of which the child is registered.
  std::set<int32_t> paused;
  // Memory only: how fast it goes. How many children were registered since, and when the last was.
  Instant measured_since;
  int32_t registered_since = 0;
  Instant last_registered;
};

// What is stored of a duplication (meta_state/table_duplication.h) but for its progress.
struct DuplicationInfo {
  // The other cluster's name, and that of the table there. Where the state was another version's
  // the latter may be empty: the table's name here.
  std::string remote;
  std::string remote_app_name;
  // 0: as many as here.
  int32_t remote_replica_count = 0;
  DuplicationStatus status = DuplicationStatus::kPause;
  DuplicationFailMode fail_mode = DuplicationFailMode::kSlow;
  // Unix, ms.
  int64_t created_ms = 0;
  bool operator==(const DuplicationInfo&) const = default;
};

// How far a duplication of one partition is. All but `stored` is memory only, as its primary said
// last.
struct DuplicationProgress {
  // What the other cluster has, as stored; -1: nothing is known to be there.
  Decree stored = kInvalidDecree;
  // The largest that was said; it is stored a moment later.
  Decree confirmed = kInvalidDecree;
  bool is_being_stored = false;
  // Not before is it stored again.
  Instant store_at;
  bool is_checkpoint_prepared = false;
  Decree committed = kInvalidDecree;
  std::string trouble;
  std::optional<int64_t> oldest_unconfirmed_us;
  std::optional<int64_t> unconfirmed_bytes;
};

// A table's writes are sent to another cluster.
struct Duplication {
  DuplicationInfo info;
  // What is stored beside that and is not known here (stored_json/J1).
  std::string other_members;
  // By index, as many as the table has.
  std::vector<DuplicationProgress> partitions;
  // What of its stored form was not understood. Then it is treated as paused, until somebody says
  // what it is to be.
  std::string not_understood;
  // Memory only: why the other cluster has no table yet. For people.
  std::string trouble;
};

// One table, with all its partitions, from its creation for ever: dropped ones stay, so that their
// ids are not given again.
struct Table {
  AppInfo info;
  // What is stored beside that and is not known here (stored_json/J1).
  std::string other_members;
  // By index.
  std::vector<Partition> partitions;
  // nullopt: each of them is there.
  std::optional<TableSplit> split;
  // By id.
  std::map<int32_t, Duplication> duplications;

  // What primaries reported as committed lies beyond what is stored of it.
  bool is_committed_unstored = false;
  // All its partitions are about to change: no configuration is accepted.
  bool partitions_change = false;
  // Servers that have not confirmed `info` as it is now.
  std::set<Endpoint> untold;
  // When they are told (again).
  Instant tell_at;
};

// One server, as its beacons and reports show it. Memory only. It is made by a configuration that
// names the server, by a beacon or by a recovery; it ends when an administrator forgets a dead
// server. ServerRequests (meta/server_requests.h) and NoteReports write it.
struct Node {
  bool alive = false;
  // Counts the restarts that were noticed.
  int64_t incarnation = 0;
  // It says that it stops.
  bool is_stopping = false;
  // Its beacons are an older version's (Apache Pegasus').
  bool is_older = false;
  // A config sync of its present connection has been received.
  bool collected = false;
  // The number of the one config sync that is read next; 0: none is given yet. A report that comes
  // late, or again, has another number, and so has one of a former process of the server or of
  // ours.
  int64_t awaited_report = 0;
  // The number of the one that was read last.
  int64_t last_report = 0;
  bool has_unreadable_disks = false;
  std::set<std::string> slow_disks;
  // While there are slow disks.
  Instant slow_since;
  // Empty: it says nothing of them.
  std::vector<DiskReport> disks;
  // While one of them takes no writes.
  Instant full_since;
  // ClusterState's, as of the last report.
  int32_t tight_percent = kTightPercent;
  // Tags of disks of which less than half of that is left above the bound, and until three quarters
  // of it are.
  std::set<std::string> nearly_full;
  // Its wall clock minus what most show.
  std::optional<absl::Duration> clock_offset;
  bool has_wrong_clock = false;
  // How many older copies it came back with, within a day.
  int64_t older_copies = 0;
  // When the last of them was found.
  Instant older_since;
  // By id: how many copies it has of tables that are not stored.
  std::map<int32_t, int32_t> unknown_tables;
  // Other servers whose acknowledgements it waits for.
  std::set<Endpoint> slow_members;
  // As last reported.
  std::map<PartitionId, ReplicaInfo> replicas;
  // How many replicas its limit of open files carries.
  std::optional<int64_t> replicas_max;
  // That limit.
  int64_t open_files_max = 0;

  // Its loaded replica of `pid`, or nullptr.
  const ReplicaInfo* LoadedReplica(PartitionId pid) const;
  // It found a replica of `pid` on disk, which does not serve yet.
  bool IsLoading(PartitionId pid) const;
  // Its replica of `pid` lies on a slow disk; or it has none, and a new one might.
  bool IsSlowFor(PartitionId pid) const;
  bool HasFullDisk() const;
  // Where its replica of `pid` lies, or a new one would be made, no writes are taken.
  bool IsFullFor(PartitionId pid) const;
  // The same for a disk that is nearly full.
  bool IsNearlyFullFor(PartitionId pid) const;
  // The same; or, for a new one, less than a fifth is left.
  bool IsTightFor(PartitionId pid) const;
  // Its replica of `pid` lies on a disk that is nearly full.
  bool GivesAway(PartitionId pid) const;
};

inline bool Partition::IsSince(const Node& node) const { return node.last_report > older_reports; }

// How many servers must live for the meta server to change members.
struct LivenessLimits {
  // 0: min(3, servers - 1), at least 1.
  int32_t min_live_node_count = 0;
  int32_t live_percentage = 50;
};

// What the wall clocks show (meta_state/cluster_clock.h). Memory only.
struct Clocks {
  bool agree = true;
  absl::Duration spread;
  // The meta server's clock minus what most show.
  std::optional<absl::Duration> our_offset;
  bool is_ours_wrong = false;
};

// That what was stored when this meta server began was older than what servers know
// (meta_state/state_went_back.h). Memory only.
struct WentBack {
  Instant last_shown;
  // Partitions of which a server knew a larger ballot than was stored.
  std::set<PartitionId> partitions;
  // Tables of which a server knew a later description.
  std::set<int32_t> tables;
  // Servers that showed it; empty: nothing did.
  std::set<Endpoint> servers;
};

// What was doubtful when the state was learned from replica servers. Memory only.
struct LearnedBack {
  Instant at;
  std::vector<std::string> doubts;
};

// All that a meta server knows. Load makes it, MetaServer::State owns it until the process ends.
// Its owner changes it freely; what is to last is stored through ChangeOf first:
//
//   store.Commit({state.ChangeOf(next)}, StoreNeed::kToServe, strand, [&](const absl::Status& s) {
//     if (s.ok()) Install(*state.FindPartition(next.pid), next, cause, now);
//   });
struct ClusterState {
  Clocks clocks;
  WentBack went_back;
  LearnedBack learned_back;
  // By id; dropped ones too.
  std::map<int32_t, Table> tables;
  // Alive and dead.
  std::map<Endpoint, Node> nodes;
  std::map<Endpoint, HostPort> host_names;
  // Servers that sent beacons, as stored.
  std::set<Endpoint> listed;
  // Of these, the ones that have not reported since this meta server began. Each may hold what
  // nobody else does, even where the stored state, being an older copy, does not name it. For a
  // grace at most.
  std::set<Endpoint> awaited;
  // The first grace of this meta server. Who joined after the moment of which the stored state is a
  // copy is not listed in it, and may still lead by a lease that another life granted.
  bool is_beginning = false;
  // No new table gets an id up to this: ids of tables that are being stored, and of tables that are
  // not stored but of which a server has replicas.
  int32_t last_reserved_app_id = 0;
  // With less than this share left, in percent, a disk is tight. 0: none is. Memory only.
  int32_t tight_percent = kTightPercent;
  // The level that was set last; nullopt: never.
  std::optional<FunctionLevel> function_level;

  // A partition of which nothing is stored, or that is dropped where its table is not, or the other
  // way, or has another replica count: damage (only the first is refused); or, where a table is not
  // stored in one piece, what an interruption left, which is finished as the table's own node says.
  enum class Lacking { kIsDamage, kIsMade };
  // Reads what a MetaStore holds.
  static absl::StatusOr<ClusterState> Load(const std::map<std::string, std::string>& entries,
                                           Lacking lacking = Lacking::kIsDamage);

  Table* FindTable(int32_t app_id);
  const Table* FindTable(int32_t app_id) const;
  // Not the dropped ones. Those under recall are found by the name that they get.
  const Table* FindTableByName(std::string_view name) const;
  Partition* FindPartition(PartitionId pid);
  const Partition* FindPartition(PartitionId pid) const;
  // An id that no table had, as far as is known.
  int32_t NextAppId() const;

  bool IsAlive(Endpoint node) const;
  const Node* FindNode(Endpoint node) const;
  // The server has begun to stop: it hands over what it leads, and will be gone.
  bool IsStopping(Endpoint node) const;
  size_t AliveCount() const;
  // Whether a living server says that its disks have room for a new replica, and none is tight.
  enum class Room { kSomebodyHasMuch, kNobodyHasMuch };
  Room RoomOfAll() const;
  // Whether each server that is alive, or awaited, has told what it holds of the partition.
  bool HaveAllTold(PartitionId pid) const;
  // How many living servers say that this server's acknowledgements are slow.
  size_t SlownessReports(Endpoint node) const;
  // The level that was asked for, and what of it holds now: with too few living servers it is
  // kFreezed at most.
  FunctionLevel SetLevel() const { return function_level.value_or(FunctionLevel::kSteady); }
  FunctionLevel Level(const LivenessLimits& limits) const;

  // What to store for this object.
  StoreChange ChangeOf(const AppInfo& info) const;
  StoreChange ChangeOf(const PartitionConfiguration& config) const;
  static StoreChange ChangeOf(FunctionLevel level);
  // What primaries reported as committed, of all the table's partitions; nothing of the one that
  // begins anew.
  static StoreChange ChangeOfCommitted(const Table& table,
                                       std::optional<int32_t> anew = std::nullopt);
  // That a server is in the list, or is no more.
  static StoreChange ChangeOfListed(Endpoint server, bool is_listed);
};

// Whether other servers are better places for a copy of `pid`: this one has less room than they
// have, or hardly any.
bool IsAvoided(const Node& node, PartitionId pid, ClusterState::Room others);

}  // namespace arion
