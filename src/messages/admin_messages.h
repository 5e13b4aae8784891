// What administrators' tools say to the meta server, beside creating, dropping and listing
// (meta_messages.h): rpc/PROTOCOL.md 7.2. One request and its answer after the other. The shell and
// Pegasus' tools send them; meta/ answers.
//
// Shapes    Fields that only Arion knows have ids from 1000 on; Pegasus passes them over.
// Errors    In `err`; `hint_message` has the reason, for a person.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messages/function_level.h"
#include "messages/meta_messages.h"

namespace arion {

// RPC codes. Those with ARION in their name are Arion's own.
inline constexpr char kRpcUpdateAppEnv[] = "RPC_CM_UPDATE_APP_ENV";
inline constexpr char kRpcRecallApp[] = "RPC_CM_RECALL_APP";
inline constexpr char kRpcRenameApp[] = "RPC_CM_RENAME_APP";
inline constexpr char kRpcControlMeta[] = "RPC_CM_CONTROL_META";
inline constexpr char kRpcProposeBalancer[] = "RPC_CM_PROPOSE_BALANCER";
inline constexpr char kRpcDddDiagnose[] = "RPC_CM_DDD_DIAGNOSE";
inline constexpr char kRpcStartRecovery[] = "RPC_CM_START_RECOVERY";
inline constexpr char kRpcQueryBackupPolicy[] = "RPC_CM_QUERY_BACKUP_POLICY";
inline constexpr char kRpcForgetServer[] = "RPC_ARION_FORGET_SERVER";
inline constexpr char kRpcQueryLead[] = "RPC_ARION_QUERY_LEAD";
inline constexpr char kRpcHandOverLead[] = "RPC_ARION_HAND_OVER_LEAD";
inline constexpr char kRpcGetMaxReplicaCount[] = "RPC_CM_GET_MAX_REPLICA_COUNT";
inline constexpr char kRpcSetMaxReplicaCount[] = "RPC_CM_SET_MAX_REPLICA_COUNT";
inline constexpr char kRpcGetAtomicIdempotent[] = "RPC_CM_GET_ATOMIC_IDEMPOTENT";
inline constexpr char kRpcSetAtomicIdempotent[] = "RPC_CM_SET_ATOMIC_IDEMPOTENT";
inline constexpr char kRpcStartManualCompact[] = "RPC_CM_START_MANUAL_COMPACT";
inline constexpr char kRpcQueryManualCompact[] = "RPC_CM_QUERY_MANUAL_COMPACT_STATUS";

// What is done with environments.
enum class EnvOperation : int32_t { kInvalid = 0, kSet = 1, kDelete = 2, kClear = 3 };
// RPC_CM_UPDATE_APP_ENV: changes a table's environments (messages/table_environments.h).
struct UpdateAppEnvRequest {
  std::string app_name;
  EnvOperation op = EnvOperation::kInvalid;
  // Of kSet and kDelete.
  std::optional<std::vector<std::string>> keys;
  // Of kSet; as many as `keys`.
  std::optional<std::vector<std::string>> values;
  // Of kClear: which keys go; empty: all of them.
  std::optional<std::string> clear_prefix;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.op), v(3, s.keys), v(4, s.values), v(5, s.clear_prefix);
  }
  bool operator==(const UpdateAppEnvRequest&) const = default;
};
// An error and a text for a person. Several requests are answered by nothing more.
struct HintResponse {
  ErrorCode err = ErrorCode::kOk;
  std::string hint_message;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.hint_message);
  }
  bool operator==(const HintResponse&) const = default;
};
using UpdateAppEnvResponse = HintResponse;

// RPC_CM_RECALL_APP: brings a dropped table back while its data are kept.
struct RecallAppRequest {
  int32_t app_id = 0;
  // Empty: the name it had.
  std::string new_app_name;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_id), v(2, s.new_app_name);
  }
  bool operator==(const RecallAppRequest&) const = default;
};
// `info`: the table as it is now.
struct RecallAppResponse {
  ErrorCode err = ErrorCode::kOk;
  AppInfo info;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.info);
  }
  bool operator==(const RecallAppResponse&) const = default;
};
// RPC_CM_RENAME_APP: gives a table another name. Its id, and so its data, stay.
struct RenameAppRequest {
  std::string old_app_name;
  std::string new_app_name;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.old_app_name), v(2, s.new_app_name);
  }
  bool operator==(const RenameAppRequest&) const = default;
};
using RenameAppResponse = HintResponse;

// RPC_CM_CONTROL_META: sets how much the meta server does by itself. kInvalid only asks for it.
struct ControlMetaRequest {
  FunctionLevel level = FunctionLevel::kInvalid;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.level);
  }
  bool operator==(const ControlMetaRequest&) const = default;
};
// `old_level`: the level before the request.
struct ControlMetaResponse {
  ErrorCode err = ErrorCode::kOk;
  FunctionLevel old_level = FunctionLevel::kInvalid;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.old_level);
  }
  bool operator==(const ControlMetaResponse&) const = default;
};

// One step of a plan.
struct ProposedAction {
  // The server that is to act; invalid: the primary at that moment.
  Endpoint target;
  // The server that it is about.
  Endpoint node;
  ConfigType type = ConfigType::kInvalid;
  std::optional<HostPort> hp_target;
  std::optional<HostPort> hp_node;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.target), v(2, s.node), v(3, s.type), v(5, s.hp_target), v(6, s.hp_node);
  }
  bool operator==(const ProposedAction&) const = default;
};
// RPC_CM_PROPOSE_BALANCER: asks for changes of one partition's members.
struct ProposeBalancerRequest {
  PartitionId pid;
  // In the order in which they are to be done.
  std::vector<ProposedAction> actions;
  // Also where a plan of the meta server's own is under way for the partition.
  std::optional<bool> force;
  // For information only.
  std::optional<int32_t> balance_type;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.actions), v(3, s.force), v(4, s.balance_type);
  }
  bool operator==(const ProposeBalancerRequest&) const = default;
};
// kOk: the plan was taken on. Whether its steps succeed shows later.
struct ProposeBalancerResponse {
  ErrorCode err = ErrorCode::kOk;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err);
  }
  bool operator==(const ProposeBalancerResponse&) const = default;
};

// RPC_CM_DDD_DIAGNOSE: asks which partitions can't get a primary, and why.
struct DddDiagnoseRequest {
  // (-1, -1): all partitions; (app, -1): those of one table.
  PartitionId pid{-1, -1};
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid);
  }
  bool operator==(const DddDiagnoseRequest&) const = default;
};
// A server that had a copy of such a partition, and what is known of that copy.
struct DddNode {
  Endpoint node;
  // When it left the configuration, in ms since 1970; 0: not known.
  int64_t drop_time_ms = 0;
  // Whether it sends beacons; is_collected: whether it has reported what it has of this partition.
  bool is_alive = false;
  bool is_collected = false;
  // -1: not known, or it has no such replica. The same goes for the decrees.
  Ballot ballot;
  Decree last_committed_decree;
  Decree last_prepared_decree;
  std::optional<HostPort> hp_node;
  // Arion's: `ballot` is that of the last mutation, not of the last configuration it was told.
  std::optional<bool> is_ballot_of_data;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.node), v(2, s.drop_time_ms), v(3, s.is_alive), v(4, s.is_collected), v(5, s.ballot);
    v(6, s.last_committed_decree), v(7, s.last_prepared_decree), v(8, s.hp_node);
    v(1000, s.is_ballot_of_data);
  }
  bool operator==(const DddNode&) const = default;
};
// A partition without a primary.
struct DddPartition {
  PartitionConfiguration config;
  // Its secondaries, and the servers that left it last.
  std::vector<DddNode> dropped;
  // For a person.
  std::string reason;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.config), v(2, s.dropped), v(3, s.reason);
  }
  bool operator==(const DddPartition&) const = default;
};
// Partitions that have a primary are left out.
struct DddDiagnoseResponse {
  ErrorCode err = ErrorCode::kOk;
  std::vector<DddPartition> partitions;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.partitions);
  }
  bool operator==(const DddDiagnoseResponse&) const = default;
};

// RPC_CM_START_RECOVERY: an empty meta server learns the cluster's tables from its replica servers.
struct StartRecoveryRequest {
  // The replica servers to ask.
  std::vector<Endpoint> recovery_nodes;
  // Servers that do not answer are left out instead of failing the request.
  bool skip_bad_nodes = false;
  // Partitions that nobody has are made anew, empty.
  bool skip_lost_partitions = false;
  std::optional<std::vector<HostPort>> hp_recovery_nodes;
  // Arion's extension: what the earlier meta server knew of its tables, of the dropped ones too.
  std::optional<std::vector<AppInfo>> known_tables;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.recovery_nodes), v(2, s.skip_bad_nodes), v(3, s.skip_lost_partitions),
        v(4, s.hp_recovery_nodes), v(1000, s.known_tables);
  }
  bool operator==(const StartRecoveryRequest&) const = default;
};
// The hint: what is doubtful, a line each.
using StartRecoveryResponse = HintResponse;

// RPC_ARION_FORGET_SERVER, Arion's own: a dead server that will not come back is no longer shown.
struct ForgetServerRequest {
  Endpoint node;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.node);
  }
  bool operator==(const ForgetServerRequest&) const = default;
};
// The hint: why not.
using ForgetServerResponse = HintResponse;

// RPC_ARION_QUERY_LEAD, Arion's own: each meta server answers for itself, whether it leads or not.
struct QueryLeadRequest {
  template <class S, class V>
  static void Fields(S&, V&) {}
  bool operator==(const QueryLeadRequest&) const = default;
};
// The answer.
struct QueryLeadResponse {
  ErrorCode err = ErrorCode::kOk;
  bool is_leader = false;
  // There are no others: its state is in a journal of its own.
  bool is_single = false;
  // Invalid: nobody is known. Its own address where it leads.
  Endpoint leader;
  // When this one began to lead; 0: it does not, or is the only one.
  int64_t since_unix_ms = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.is_leader), v(3, s.is_single), v(4, s.leader), v(5, s.since_unix_ms);
  }
  bool operator==(const QueryLeadResponse&) const = default;
};
// RPC_ARION_HAND_OVER_LEAD, Arion's own: the one that is asked gives up the lead, to the candidate
// that comes next. It is answered when the lock is free.
struct HandOverLeadRequest {
  template <class S, class V>
  static void Fields(S&, V&) {}
  bool operator==(const HandOverLeadRequest&) const = default;
};
// The hint: why not.
using HandOverLeadResponse = HintResponse;

// Used by get_max_replica_count, get_atomic_idempotent and the query of a compaction.
struct TableNameRequest {
  std::string app_name;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name);
  }
  bool operator==(const TableNameRequest&) const = default;
};
// RPC_CM_SET_MAX_REPLICA_COUNT: how many copies each partition of the table is to have.
struct SetMaxReplicaCountRequest {
  std::string app_name;
  int32_t max_replica_count = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.max_replica_count);
  }
  bool operator==(const SetMaxReplicaCountRequest&) const = default;
};
// Answers to both the get and the set.
struct MaxReplicaCountResponse {
  ErrorCode err = ErrorCode::kOk;
  // Of a set: the count before it. 0 on an error.
  int32_t max_replica_count = 0;
  std::string hint_message;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.max_replica_count), v(3, s.hint_message);
  }
  bool operator==(const MaxReplicaCountResponse&) const = default;
};
// RPC_CM_SET_ATOMIC_IDEMPOTENT. Arion always logs what an atomic write came to.
struct SetAtomicIdempotentRequest {
  std::string app_name;
  bool atomic_idempotent = false;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.atomic_idempotent);
  }
  bool operator==(const SetAtomicIdempotentRequest&) const = default;
};
// Answers to both the get and the set.
struct AtomicIdempotentResponse {
  ErrorCode err = ErrorCode::kOk;
  // Of a set: the value before it.
  bool atomic_idempotent = false;
  std::string hint_message;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.atomic_idempotent), v(3, s.hint_message);
  }
  bool operator==(const AtomicIdempotentResponse&) const = default;
};

// RPC_CM_START_MANUAL_COMPACT: compacts all replicas of a table.
struct StartManualCompactRequest {
  std::string app_name;
  // Unix seconds; not set: now.
  std::optional<int64_t> trigger_time;
  // -1: whatever fits.
  std::optional<int32_t> target_level;
  // Whether the last level is written anew too.
  std::optional<bool> bottommost;
  // How many replicas of this table may compact at once on each server; 0: the setting stays as it
  // is.
  std::optional<int32_t> max_running_count;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.trigger_time), v(3, s.target_level), v(4, s.bottommost),
        v(5, s.max_running_count);
  }
  bool operator==(const StartManualCompactRequest&) const = default;
};
using StartManualCompactResponse = HintResponse;
// The answer to RPC_CM_QUERY_MANUAL_COMPACT_STATUS.
struct QueryManualCompactResponse {
  ErrorCode err = ErrorCode::kOk;
  std::string hint_message;
  // Percent.
  std::optional<int32_t> progress;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.hint_message), v(3, s.progress);
  }
  bool operator==(const QueryManualCompactResponse&) const = default;
};

// RPC_CM_QUERY_BACKUP_POLICY: what an older version's meta server is asked before a server joins
// its cluster.
struct QueryBackupPolicyRequest {
  // Empty: all.
  std::vector<std::string> policy_names;
  // Of each policy, at most.
  int32_t backup_info_count = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.policy_names), v(2, s.backup_info_count);
  }
  bool operator==(const QueryBackupPolicyRequest&) const = default;
};
// One backup of a policy.
struct BackupEntry {
  int64_t backup_id = 0;
  int64_t start_time_ms = 0;
  // 0: it runs.
  int64_t end_time_ms = 0;
  std::set<int32_t> app_ids;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.backup_id), v(2, s.start_time_ms), v(3, s.end_time_ms), v(4, s.app_ids);
  }
  bool operator==(const BackupEntry&) const = default;
};
// A backup that is repeated.
struct BackupPolicy {
  std::string policy_name;
  std::string backup_provider_type;
  // As text.
  std::string backup_interval_seconds;
  std::set<int32_t> app_ids;
  // How many backups are kept.
  int32_t backup_history_count_to_keep = 0;
  std::string start_time;
  // Switched off.
  bool is_disable = false;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.policy_name), v(2, s.backup_provider_type), v(3, s.backup_interval_seconds),
        v(4, s.app_ids), v(5, s.backup_history_count_to_keep), v(6, s.start_time),
        v(7, s.is_disable);
  }
  bool operator==(const BackupPolicy&) const = default;
};
// A server waits with joining while a backup runs.
struct QueryBackupPolicyResponse {
  ErrorCode err = ErrorCode::kOk;
  std::vector<BackupPolicy> policies;
  // By policy, newest first.
  std::vector<std::vector<BackupEntry>> backup_infos;
  std::optional<std::string> hint_message;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.policies), v(3, s.backup_infos), v(4, s.hint_message);
  }
  bool operator==(const QueryBackupPolicyResponse&) const = default;
};

// The answer to requests for what Arion does not do. Older versions have the text under different
// ids, so one of the three is set; all other fields are left out.
struct DisabledResponse {
  ErrorCode err = ErrorCode::kOperationDisabled;
  std::optional<std::string> hint_at_2, hint_at_4, hint_at_7;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.hint_at_2), v(4, s.hint_at_4), v(7, s.hint_at_7);
  }
  bool operator==(const DisabledResponse&) const = default;
};

}  // namespace arion
