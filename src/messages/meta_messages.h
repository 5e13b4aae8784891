// What replica servers, clients and tools say to the meta server (rpc/PROTOCOL.md 7, 8.5 and 8.6).
//
// Shapes    Fields that only Arion knows have ids from 1000 on (rpc/PROTOCOL.md 3.6); Pegasus
//           passes them over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error_code.h"
#include "messages/configuration.h"

namespace arion {

// RPC codes.
inline constexpr char kRpcQueryConfig[] = "RPC_CM_QUERY_PARTITION_CONFIG_BY_INDEX";
inline constexpr char kRpcCreateApp[] = "RPC_CM_CREATE_APP";
inline constexpr char kRpcDropApp[] = "RPC_CM_DROP_APP";
inline constexpr char kRpcListApps[] = "RPC_CM_LIST_APPS";
inline constexpr char kRpcListNodes[] = "RPC_CM_LIST_NODES";
inline constexpr char kRpcClusterInfo[] = "RPC_CM_CLUSTER_INFO";
inline constexpr char kRpcBeacon[] = "RPC_FD_FAILURE_DETECTOR_PING";
inline constexpr char kRpcConfigSync[] = "RPC_CM_CONFIG_SYNC";
inline constexpr char kRpcUpdateConfiguration[] = "RPC_CM_UPDATE_PARTITION_CONFIGURATION";
inline constexpr char kRpcDuplicationSync[] = "RPC_CM_DUPLICATION_SYNC";
inline constexpr char kRpcConfigProposal[] = "RPC_CONFIG_PROPOSAL";
inline constexpr char kRpcTableChanged[] = "RPC_ARION_TABLE_CHANGED";

// A bit of arion_caps.
inline constexpr int64_t kCapsTellsDurability = 2;

// RPC_FD_FAILURE_DETECTOR_PING: a server is alive, and asks for its lease.
struct BeaconMessage {
  // Opaque to the meta server, echoed.
  int64_t time = 0;
  // The sender, a replica server.
  Endpoint from_node;
  // The meta server as the sender addressed it; it comes back as this_node.
  Endpoint to_node;
  // Milliseconds, wall clock, of the process's start. A larger one says: restarted.
  std::optional<int64_t> start_time;
  std::optional<HostPort> hp_from_node;
  std::optional<HostPort> hp_to_node;
  // Arion's extensions (rpc/PROTOCOL.md 3.6). The message must stay below 1000 bytes with its
  // header.
  std::optional<int64_t> arion_caps;
  std::optional<std::string> arion_version;
  // The sender's wall clock, unix.
  std::optional<int64_t> wall_ms;
  // Drawn when the process begins. It names the process also where the wall clock was set back
  // since.
  std::optional<int64_t> process_id;
  // The sender has begun to stop: it wants to lead nothing any more.
  std::optional<bool> stops;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.time), v(2, s.from_node), v(3, s.to_node), v(4, s.start_time), v(5, s.hp_from_node),
        v(6, s.hp_to_node);
    v(1000, s.arion_caps), v(1001, s.arion_version), v(1002, s.wall_ms), v(1003, s.process_id),
        v(1004, s.stops);
  }
  bool operator==(const BeaconMessage&) const = default;
};
// The answer.
struct BeaconAck {
  int64_t time = 0;
  Endpoint this_node;
  // The meta server that leads.
  Endpoint primary_node;
  // Whether the answering meta server leads; if not, primary_node is the one that does.
  bool is_master = false;
  // False: the sender is to send no more beacons. Arion's meta server always says true.
  bool allowed = false;
  std::optional<HostPort> hp_this_node;
  std::optional<HostPort> hp_primary_node;
  // Arion's extensions.
  std::optional<int64_t> arion_caps;
  // Names the life of the meta server that answers, and counts how often it has declared the sender
  // dead in it. A server that believes it held its lease all the while learns by it that its clock
  // stood still (membership/failure_detector_client.h).
  std::optional<int64_t> arion_meta_life;
  std::optional<int64_t> arion_deaths;
  // It changes no members now.
  std::optional<bool> arion_is_frozen;
  // What most wall clocks show, unix; 0: they don't agree; absent: an older meta server's.
  std::optional<int64_t> agreed_wall_ms;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.time), v(2, s.this_node), v(3, s.primary_node), v(4, s.is_master), v(5, s.allowed),
        v(6, s.hp_this_node);
    v(7, s.hp_primary_node), v(1000, s.arion_caps), v(1001, s.arion_meta_life),
        v(1002, s.arion_deaths), v(1003, s.arion_is_frozen), v(1004, s.agreed_wall_ms);
  }
  bool operator==(const BeaconAck&) const = default;
};

// A change of a partition's configuration. From the meta server, as a proposal: `config` is the
// current one. To it, as an update: the wanted one, with ballot = current + 1.
struct ConfigurationUpdateRequest {
  AppInfo info;
  PartitionConfiguration config;
  ConfigType type = ConfigType::kInvalid;
  Endpoint node;
  // In a config sync: the asking node.
  Endpoint host_node;
  // From the meta server, while its table is split and its child is not registered: a SplitStatus.
  std::optional<int32_t> meta_split_status;
  std::optional<HostPort> hp_node;
  // Arion's, of an update by which a primary gives up its role: it may lack what a member holds
  // (pacifica/roll_call.h).
  std::optional<bool> holds_less;
  // Arion's, of kRegisterChild: where the child's data end at every member.
  std::optional<Decree> child_decree;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.info), v(2, s.config), v(3, s.type), v(4, s.node), v(5, s.host_node),
        v(6, s.meta_split_status);
    v(7, s.hp_node), v(1000, s.holds_less), v(1001, s.child_decree);
  }
  bool operator==(const ConfigurationUpdateRequest&) const = default;
};
// `config`: the configuration that holds now, accepted or not.
struct ConfigurationUpdateResponse {
  ErrorCode err = ErrorCode::kOk;
  PartitionConfiguration config;
  // Arion's: by how many partitions that configuration owns keys.
  std::optional<int32_t> partition_count;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.config), v(1000, s.partition_count);
  }
  bool operator==(const ConfigurationUpdateResponse&) const = default;
};

// How far a replica is with a compaction on request.
enum class ManualCompactStatus : int32_t { kIdle = 0, kQueuing = 1, kRunning = 2, kFinished = 3 };
// What a server says of one replica: in a config sync, and to a meta server that learns its state
// anew.
struct ReplicaInfo {
  PartitionId pid;
  Ballot ballot;
  PartitionStatus status = PartitionStatus::kInvalid;
  Decree last_committed_decree;
  Decree last_prepared_decree;
  // Of the newest checkpoint.
  Decree last_durable_decree;
  std::string app_type;
  // Of the data directory where it lies.
  std::string disk_tag;
  // A ManualCompactStatus.
  std::optional<int32_t> manual_compact_status;
  // Arion's extensions (rpc/PROTOCOL.md 3.6; decisions 5 and 28).
  std::optional<int8_t> durability;
  // The last stop was not clean, or something was cut from the log.
  std::optional<bool> unclean;
  // Found on disk, not serving yet.
  std::optional<bool> loading;
  std::optional<Ballot> last_mutation_ballot;
  // How often it was shown, since it was opened, to lack what its group had committed.
  std::optional<int64_t> times_older;
  // Nothing has shown since its process began that its disk is not older than it was. It has
  // written nothing either.
  std::optional<bool> is_unproven;
  // Of the table's description that it acts on.
  std::optional<int64_t> table_version;
  // A primary's, if it verified its copies: a ContentVerdictKind (verification_messages.h).
  std::optional<int32_t> content_verdict;
  // A split's child that no configuration has named.
  std::optional<bool> is_unborn;
  // A primary's, while its partition is split: what is being done, or waited for. For people.
  std::optional<std::string> split_progress;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.ballot), v(3, s.status), v(4, s.last_committed_decree),
        v(5, s.last_prepared_decree);
    v(6, s.last_durable_decree), v(7, s.app_type), v(8, s.disk_tag), v(9, s.manual_compact_status);
    v(1001, s.durability), v(1002, s.unclean), v(1003, s.loading), v(1004, s.last_mutation_ballot);
    v(1005, s.times_older), v(1006, s.is_unproven), v(1007, s.table_version);
    v(1010, s.content_verdict), v(1011, s.split_progress), v(1012, s.is_unborn);
  }
  bool operator==(const ReplicaInfo&) const = default;
};
// Of Pegasus servers; not used.
struct ReplicaServerInfo {
  std::map<std::string, std::string> geo_tags;
  int64_t total_capacity_mb = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.geo_tags), v(2, s.total_capacity_mb);
  }
  bool operator==(const ReplicaServerInfo&) const = default;
};
// The tag of the disk where the logs of all replicas lie.
inline constexpr char kLogHomeTag[] = "log_home";

// Arion's: what a server says of one of its disks, that of a data directory or of the log home.
struct DiskReport {
  std::string tag;
  // 0: not known.
  int64_t total_bytes = 0, available_bytes = 0;
  // Below this new writes are refused.
  int64_t available_bytes_min = 0;
  bool takes_no_writes = false;
  // What it wants for, as a Want (env/file_system.h). Absent where it can't be written at all.
  std::optional<int32_t> lacks;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.tag), v(2, s.total_bytes), v(3, s.available_bytes), v(4, s.available_bytes_min);
    v(5, s.takes_no_writes), v(6, s.lacks);
  }
  bool operator==(const DiskReport&) const = default;
};

// RPC_CM_CONFIG_SYNC: a replica server reports what it has, and asks what it should have.
struct ConfigSyncRequest {
  Endpoint node;
  std::optional<std::vector<ReplicaInfo>> stored_replicas;
  // Never sent; skipping it as unknown would do as well.
  std::optional<ReplicaServerInfo> info;
  std::optional<HostPort> hp_node;
  // Tags of configured disks that can't be read (decision 28).
  std::optional<std::vector<std::string>> unreadable_disks;
  // Arion's: replicas in an older shared log that are in none of the data directories: are they
  // needed?
  std::optional<std::vector<PartitionId>> missing_replicas;
  // Tags; kLogHomeTag: where the logs of all disks lie.
  std::optional<std::vector<std::string>> slow_disks;
  // Servers whose acknowledgements stay far slower than others'.
  std::optional<std::vector<Endpoint>> slow_members;
  // Arion's: the next_number of the last answer; 0: none gave one. Absent: the sender does not
  // number.
  std::optional<int64_t> number;
  // Arion's: how many replicas the limit of open files carries, and that limit. Absent: nothing is
  // said.
  std::optional<int64_t> replicas_max;
  std::optional<int64_t> open_files_max;
  // Arion's: all that can be read.
  std::optional<std::vector<DiskReport>> disks;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.node), v(2, s.stored_replicas), v(3, s.info), v(4, s.hp_node),
        v(1000, s.unreadable_disks), v(1001, s.missing_replicas), v(1002, s.slow_disks),
        v(1003, s.slow_members), v(1004, s.number);
    v(1010, s.replicas_max), v(1011, s.open_files_max), v(1020, s.disks);
  }
  bool operator==(const ConfigSyncRequest&) const = default;
};
// `partitions`: configurations of which the server is a member. `gc_replicas`: replicas it need not
// keep.
struct ConfigSyncResponse {
  ErrorCode err = ErrorCode::kOk;
  std::vector<ConfigurationUpdateRequest> partitions;
  std::optional<std::vector<ReplicaInfo>> gc_replicas;
  // Arion's: of missing_replicas.
  std::optional<std::vector<PartitionId>> unneeded_replicas;
  // Arion's: what the next request must carry. With kInvalidVersion: this request did not carry it,
  // and nothing of it counts.
  std::optional<int64_t> next_number;
  // Arion's: of stored_replicas, children that may yet be registered; or that were, unheard of by
  // their replicas, and may be the only copies. They stay, as they are.
  std::optional<std::vector<PartitionId>> kept_children;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.partitions), v(3, s.gc_replicas), v(1000, s.unneeded_replicas),
        v(1001, s.next_number), v(1002, s.kept_children);
  }
  bool operator==(const ConfigSyncResponse&) const = default;
};

// RPC_CM_DUPLICATION_SYNC: replica servers say every few seconds how far duplications of what they
// lead are, also when nothing is duplicated, and hear what is to be duplicated, and what of it is
// stored.
struct DuplicationConfirmEntry {
  int32_t dupid = 0;
  int64_t confirmed_decree = 0;
  std::optional<bool> checkpoint_prepared;
  std::optional<int64_t> last_committed_decree;
  // Arion's: what stops the sender, for people; empty or absent: nothing.
  std::optional<std::string> trouble;
  // Arion's: when the oldest write was made that is not confirmed (unix, µs), and how much log
  // there is from it on. Absent: everything is confirmed, or it is not known.
  std::optional<int64_t> oldest_unconfirmed_us;
  std::optional<int64_t> unconfirmed_bytes;
  // Arion's: under which the partition is led by who says this.
  std::optional<Ballot> ballot;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.dupid), v(2, s.confirmed_decree), v(3, s.checkpoint_prepared),
        v(4, s.last_committed_decree);
    v(1001, s.trouble), v(1002, s.oldest_unconfirmed_us), v(1003, s.unconfirmed_bytes),
        v(1004, s.ballot);
  }
  bool operator==(const DuplicationConfirmEntry&) const = default;
};
// How far each duplicated partition of a server is.
struct DuplicationSyncRequest {
  Endpoint node;
  std::map<PartitionId, std::vector<DuplicationConfirmEntry>> confirm_list;
  std::optional<HostPort> hp_node;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.node), v(2, s.confirm_list), v(3, s.hp_node);
  }
  bool operator==(const DuplicationSyncRequest&) const = default;
};
// How far one partition of a duplication is, for tools.
struct DuplicationPartitionState {
  // Stored; -1: none yet.
  int64_t confirmed_decree = -1;
  // As its primary said last; -1: it has not.
  int64_t last_committed_decree = -1;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.confirmed_decree), v(2, s.last_committed_decree);
  }
  bool operator==(const DuplicationPartitionState&) const = default;
};
// A duplication, as meta servers answer it.
struct DuplicationEntry {
  int32_t dupid = 0;
  // A DuplicationStatus (messages/duplication_messages.h).
  int32_t status = 0;
  // The other cluster's name.
  std::string remote;
  // Unix, ms.
  int64_t create_ts = 0;
  // To replica servers. Partition -> confirmed decree that is stored, -1: none yet.
  std::optional<std::map<int32_t, int64_t>> progress;
  // A DuplicationFailMode.
  std::optional<int32_t> fail_mode;
  // Absent: the table has the same name there, and as many replicas.
  std::optional<std::string> remote_app_name;
  std::optional<int32_t> remote_replica_count;
  // To tools, by partition.
  std::optional<std::map<int32_t, DuplicationPartitionState>> partition_states;
  // Arion's, to tools: what the senders say, by partition (DuplicationConfirmEntry).
  std::optional<std::map<int32_t, std::string>> troubles;
  std::optional<std::map<int32_t, int64_t>> oldest_unconfirmed_us;
  std::optional<std::map<int32_t, int64_t>> unconfirmed_bytes;
  // Arion's, to tools: what the meta server waits for, or could not understand. For people.
  std::optional<std::string> trouble;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.dupid), v(2, s.status), v(3, s.remote), v(4, s.create_ts), v(5, s.progress),
        v(7, s.fail_mode);
    v(8, s.remote_app_name), v(9, s.remote_replica_count), v(11, s.partition_states);
    v(1001, s.troubles), v(1002, s.oldest_unconfirmed_us), v(1003, s.unconfirmed_bytes),
        v(1004, s.trouble);
  }
  bool operator==(const DuplicationEntry&) const = default;
};
// The duplications of the tables of which the server leads a partition.
struct DuplicationSyncResponse {
  ErrorCode err = ErrorCode::kOk;
  // Table id -> duplication id -> entry.
  std::map<int32_t, std::map<int32_t, DuplicationEntry>> dup_map;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.dup_map);
  }
  bool operator==(const DuplicationSyncResponse&) const = default;
};

// RPC_ARION_TABLE_CHANGED, Arion's own: the meta server tells a server that has replicas of a table
// what the table is like now, and repeats it until it is answered.
struct TableChangedRequest {
  AppInfo info;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.info);
  }
  bool operator==(const TableChangedRequest&) const = default;
};
// kOk: all replicas of the table on that server have heard.
struct TableChangedResponse {
  ErrorCode err = ErrorCode::kOk;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err);
  }
  bool operator==(const TableChangedResponse&) const = default;
};

// RPC_CM_QUERY_PARTITION_CONFIG_BY_INDEX: clients ask where a table's partitions are.
struct QueryConfigRequest {
  std::string app_name;
  // Empty: all.
  std::vector<int32_t> partition_indices;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.partition_indices);
  }
  bool operator==(const QueryConfigRequest&) const = default;
};
// The answer to any request of a meta server that does not lead, kForwardToOthers, but for the two
// that have a place for the leader: beacons, and questions for routes. Field 1000 is Arion's, and a
// text, because older clients can't pass over an address.
struct ForwardResponse {
  ErrorCode err = ErrorCode::kForwardToOthers;
  std::optional<std::string> arion_leader;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(1000, s.arion_leader);
  }
  bool operator==(const ForwardResponse&) const = default;
};

// The answer. A meta server that does not lead answers kForwardToOthers, with the leader as the
// primary of its only partition.
struct QueryConfigResponse {
  ErrorCode err = ErrorCode::kOk;
  int32_t app_id = 0;
  int32_t partition_count = 0;
  // True exactly when err is kOk.
  bool is_stateful = false;
  std::vector<PartitionConfiguration> partitions;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.app_id), v(3, s.partition_count), v(4, s.is_stateful), v(5, s.partitions);
  }
  bool operator==(const QueryConfigResponse&) const = default;
};

// What a new table is to be like.
struct CreateAppOptions {
  int32_t partition_count = 0;
  int32_t replica_count = 0;
  // A table of this name that is just like this one (type, counts, environments) is no error.
  bool success_if_exist = false;
  std::string app_type;
  bool is_stateful = false;
  std::map<std::string, std::string> envs;
  std::optional<bool> atomic_idempotent;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.partition_count), v(2, s.replica_count), v(3, s.success_if_exist), v(4, s.app_type),
        v(5, s.is_stateful);
    v(6, s.envs), v(7, s.atomic_idempotent);
  }
  bool operator==(const CreateAppOptions&) const = default;
};
// RPC_CM_CREATE_APP: makes a table, which serves once each partition has a primary.
struct CreateAppRequest {
  std::string app_name;
  CreateAppOptions options;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.options);
  }
  bool operator==(const CreateAppRequest&) const = default;
};
// `appid`: the new table's, or that of the one that was there already.
struct CreateAppResponse {
  ErrorCode err = ErrorCode::kOk;
  // The table's id, which names its partitions from now on.
  int32_t appid = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.appid);
  }
  bool operator==(const CreateAppResponse&) const = default;
};
// How a table is dropped.
struct DropAppOptions {
  bool success_if_not_exist = false;
  // How long its data are kept for a recall. Absent: as the meta server is configured.
  std::optional<int64_t> reserve_seconds;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.success_if_not_exist), v(2, s.reserve_seconds);
  }
  bool operator==(const DropAppOptions&) const = default;
};
// RPC_CM_DROP_APP: ends a table. Its data are kept for a while (RecallAppRequest).
struct DropAppRequest {
  std::string app_name;
  DropAppOptions options;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.options);
  }
  bool operator==(const DropAppRequest&) const = default;
};
// kOk: it is dropped, or there was none and success_if_not_exist says that this is no error.
struct DropAppResponse {
  ErrorCode err = ErrorCode::kOk;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err);
  }
  bool operator==(const DropAppResponse&) const = default;
};
// RPC_CM_LIST_APPS: which tables there are, by state and name.
struct ListAppsRequest {
  // kInvalid: all.
  AppStatus status = AppStatus::kInvalid;
  // How the pattern is meant: 1 all, 2 exact, 3 anywhere, 4 prefix, 5 postfix (match_type). It
  // counts only if both are set.
  std::optional<std::string> app_name_pattern;
  std::optional<int32_t> match_type;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.status), v(2, s.app_name_pattern), v(3, s.match_type);
  }
  bool operator==(const ListAppsRequest&) const = default;
};
// The tables that pass.
struct ListAppsResponse {
  ErrorCode err = ErrorCode::kOk;
  std::vector<AppInfo> infos;
  // For a person, of an error.
  std::optional<std::string> hint_message;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.infos), v(3, s.hint_message);
  }
  bool operator==(const ListAppsResponse&) const = default;
};
// Whether the meta server counts a server as alive.
enum class NodeStatus : int32_t { kInvalid = 0, kAlive = 1, kUnalive = 2 };
// A replica server, as the meta server sees it.
struct NodeInfo {
  NodeStatus status = NodeStatus::kInvalid;
  Endpoint node;
  std::optional<HostPort> hp_node;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.status), v(2, s.node), v(3, s.hp_node);
  }
  bool operator==(const NodeInfo&) const = default;
};
// RPC_CM_LIST_NODES: which replica servers there are.
struct ListNodesRequest {
  // kInvalid: all.
  NodeStatus status = NodeStatus::kInvalid;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.status);
  }
  bool operator==(const ListNodesRequest&) const = default;
};
// The servers with that status.
struct ListNodesResponse {
  ErrorCode err = ErrorCode::kOk;
  std::vector<NodeInfo> infos;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.infos);
  }
  bool operator==(const ListNodesResponse&) const = default;
};
// RPC_CM_CLUSTER_INFO: what tools show of the cluster as a whole.
struct ClusterInfoRequest {
  template <class S, class V>
  static void Fields(S&, V&) {}
  bool operator==(const ClusterInfoRequest&) const = default;
};
// Pairs of texts, for people.
struct ClusterInfoResponse {
  ErrorCode err = ErrorCode::kOk;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  // Bits kCaps...; absent: an older version's (Pegasus') meta server.
  std::optional<int64_t> arion_caps;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.keys), v(3, s.values), v(1000, s.arion_caps);
  }
  bool operator==(const ClusterInfoResponse&) const = default;
};

}  // namespace arion
