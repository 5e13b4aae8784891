// What administrators' tools say to the meta server, beside creating, dropping and listing
// (meta_messages.h): rpc/PROTOCOL.md 7.2. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "messages/function_level.h"
#include "messages/meta_messages.h"

namespace arion {

inline constexpr char kRpcUpdateAppEnv[] = "RPC_CM_UPDATE_APP_ENV";
inline constexpr char kRpcRecallApp[] = "RPC_CM_RECALL_APP";
inline constexpr char kRpcRenameApp[] = "RPC_CM_RENAME_APP";
inline constexpr char kRpcControlMeta[] = "RPC_CM_CONTROL_META";
inline constexpr char kRpcProposeBalancer[] = "RPC_CM_PROPOSE_BALANCER";
inline constexpr char kRpcDddDiagnose[] = "RPC_CM_DDD_DIAGNOSE";
inline constexpr char kRpcStartRecovery[] = "RPC_CM_START_RECOVERY";
inline constexpr char kRpcQueryBackupPolicy[] = "RPC_CM_QUERY_BACKUP_POLICY";
inline constexpr char kRpcForgetServer[] = "RPC_ARION_FORGET_SERVER";
inline constexpr char kRpcGetMaxReplicaCount[] = "RPC_CM_GET_MAX_REPLICA_COUNT";
inline constexpr char kRpcSetMaxReplicaCount[] = "RPC_CM_SET_MAX_REPLICA_COUNT";
inline constexpr char kRpcGetAtomicIdempotent[] = "RPC_CM_GET_ATOMIC_IDEMPOTENT";
inline constexpr char kRpcSetAtomicIdempotent[] = "RPC_CM_SET_ATOMIC_IDEMPOTENT";
inline constexpr char kRpcStartManualCompact[] = "RPC_CM_START_MANUAL_COMPACT";
inline constexpr char kRpcQueryManualCompact[] = "RPC_CM_QUERY_MANUAL_COMPACT_STATUS";

enum class EnvOperation : int32_t { kInvalid = 0, kSet = 1, kDelete = 2, kClear = 3 };
struct UpdateAppEnvRequest {
  std::string app_name;
  EnvOperation op = EnvOperation::kInvalid;
  std::optional<std::vector<std::string>> keys;    // set, delete
  std::optional<std::vector<std::string>> values;  // set
  std::optional<std::string> clear_prefix;         // clear; empty = everything
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.op), v(3, s.keys), v(4, s.values), v(5, s.clear_prefix);
  }
  bool operator==(const UpdateAppEnvRequest&) const = default;
};
// An error and a text for a person.
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

struct RecallAppRequest {
  int32_t app_id = 0;
  std::string new_app_name;  // empty = as it was
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_id), v(2, s.new_app_name);
  }
  bool operator==(const RecallAppRequest&) const = default;
};
struct RecallAppResponse {
  ErrorCode err = ErrorCode::kOk;
  AppInfo info;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.info);
  }
  bool operator==(const RecallAppResponse&) const = default;
};
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

struct ControlMetaRequest {
  FunctionLevel level = FunctionLevel::kInvalid;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.level);
  }
  bool operator==(const ControlMetaRequest&) const = default;
};
struct ControlMetaResponse {
  ErrorCode err = ErrorCode::kOk;
  FunctionLevel old_level = FunctionLevel::kInvalid;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.old_level);
  }
  bool operator==(const ControlMetaResponse&) const = default;
};

struct ProposedAction {
  Endpoint target;  // who is asked; invalid = the primary of that moment
  Endpoint node;    // whom it is about
  ConfigType type = ConfigType::kInvalid;
  std::optional<HostPort> hp_target;
  std::optional<HostPort> hp_node;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.target), v(2, s.node), v(3, s.type), v(5, s.hp_target), v(6, s.hp_node);
  }
  bool operator==(const ProposedAction&) const = default;
};
struct ProposeBalancerRequest {
  PartitionId pid;
  std::vector<ProposedAction> actions;
  std::optional<bool> force;
  std::optional<int32_t> balance_type;  // informative
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.actions), v(3, s.force), v(4, s.balance_type);
  }
  bool operator==(const ProposeBalancerRequest&) const = default;
};
struct ProposeBalancerResponse {
  ErrorCode err = ErrorCode::kOk;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err);
  }
  bool operator==(const ProposeBalancerResponse&) const = default;
};

struct DddDiagnoseRequest {
  PartitionId pid{-1, -1};  // (-1, -1) = all, (app, -1) = one table
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid);
  }
  bool operator==(const DddDiagnoseRequest&) const = default;
};
struct DddNode {
  Endpoint node;
  int64_t drop_time_ms = 0;
  bool is_alive = false;
  bool is_collected = false;
  Ballot ballot;  // -1 = unknown, or it has no such replica; so are the decrees
  Decree last_committed_decree;
  Decree last_prepared_decree;
  std::optional<HostPort> hp_node;
  std::optional<bool> is_ballot_of_data;  // Arion's: of the last mutation, not of what it was told
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.node), v(2, s.drop_time_ms), v(3, s.is_alive), v(4, s.is_collected), v(5, s.ballot);
    v(6, s.last_committed_decree), v(7, s.last_prepared_decree), v(8, s.hp_node);
    v(1000, s.is_ballot_of_data);
  }
  bool operator==(const DddNode&) const = default;
};
struct DddPartition {
  PartitionConfiguration config;
  std::vector<DddNode> dropped;
  std::string reason;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.config), v(2, s.dropped), v(3, s.reason);
  }
  bool operator==(const DddPartition&) const = default;
};
struct DddDiagnoseResponse {
  ErrorCode err = ErrorCode::kOk;
  std::vector<DddPartition> partitions;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.partitions);
  }
  bool operator==(const DddDiagnoseResponse&) const = default;
};

struct StartRecoveryRequest {
  std::vector<Endpoint> recovery_nodes;  // replica servers to ask
  bool skip_bad_nodes = false;
  bool skip_lost_partitions = false;  // those that nobody has are made anew, empty
  std::optional<std::vector<HostPort>> hp_recovery_nodes;
  // Arion's extension: what the meta server of before knew of its tables, of the dropped ones too.
  std::optional<std::vector<AppInfo>> known_tables;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.recovery_nodes), v(2, s.skip_bad_nodes), v(3, s.skip_lost_partitions),
        v(4, s.hp_recovery_nodes), v(1000, s.known_tables);
  }
  bool operator==(const StartRecoveryRequest&) const = default;
};
using StartRecoveryResponse = HintResponse;  // the hint: what is doubtful, a line each

// Arion's own: a dead server that comes back no more is shown no more.
struct ForgetServerRequest {
  Endpoint node;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.node);
  }
  bool operator==(const ForgetServerRequest&) const = default;
};
using ForgetServerResponse = HintResponse;  // the hint: why not

// get_max_replica_count, get_atomic_idempotent, query of a compaction
struct TableNameRequest {
  std::string app_name;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name);
  }
  bool operator==(const TableNameRequest&) const = default;
};
struct SetMaxReplicaCountRequest {
  std::string app_name;
  int32_t max_replica_count = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.max_replica_count);
  }
  bool operator==(const SetMaxReplicaCountRequest&) const = default;
};
struct MaxReplicaCountResponse {
  ErrorCode err = ErrorCode::kOk;
  int32_t max_replica_count = 0;  // set: the one before; 0 on error
  std::string hint_message;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.max_replica_count), v(3, s.hint_message);
  }
  bool operator==(const MaxReplicaCountResponse&) const = default;
};
struct SetAtomicIdempotentRequest {
  std::string app_name;
  bool atomic_idempotent = false;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.atomic_idempotent);
  }
  bool operator==(const SetAtomicIdempotentRequest&) const = default;
};
struct AtomicIdempotentResponse {
  ErrorCode err = ErrorCode::kOk;
  bool atomic_idempotent = false;  // set: the value before
  std::string hint_message;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.atomic_idempotent), v(3, s.hint_message);
  }
  bool operator==(const AtomicIdempotentResponse&) const = default;
};

struct StartManualCompactRequest {
  std::string app_name;
  std::optional<int64_t> trigger_time;       // unix seconds; not set = now
  std::optional<int32_t> target_level;       // -1 = whatever fits
  std::optional<bool> bottommost;            // the last level is written anew too
  std::optional<int32_t> max_running_count;  // of this table on each server; 0 = stays as it is
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_name), v(2, s.trigger_time), v(3, s.target_level), v(4, s.bottommost),
        v(5, s.max_running_count);
  }
  bool operator==(const StartManualCompactRequest&) const = default;
};
using StartManualCompactResponse = HintResponse;
struct QueryManualCompactResponse {
  ErrorCode err = ErrorCode::kOk;
  std::string hint_message;
  std::optional<int32_t> progress;  // percent
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.hint_message), v(3, s.progress);
  }
  bool operator==(const QueryManualCompactResponse&) const = default;
};

// What an older version's meta server is asked before a server joins its cluster.
struct QueryBackupPolicyRequest {
  std::vector<std::string> policy_names;  // empty = all
  int32_t backup_info_count = 0;          // of each policy, at most
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.policy_names), v(2, s.backup_info_count);
  }
  bool operator==(const QueryBackupPolicyRequest&) const = default;
};
struct BackupEntry {
  int64_t backup_id = 0;
  int64_t start_time_ms = 0;
  int64_t end_time_ms = 0;  // 0 = it runs
  std::set<int32_t> app_ids;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.backup_id), v(2, s.start_time_ms), v(3, s.end_time_ms), v(4, s.app_ids);
  }
  bool operator==(const BackupEntry&) const = default;
};
struct BackupPolicy {
  std::string policy_name;
  std::string backup_provider_type;
  std::string backup_interval_seconds;
  std::set<int32_t> app_ids;
  int32_t backup_history_count_to_keep = 0;
  std::string start_time;
  bool is_disable = false;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.policy_name), v(2, s.backup_provider_type), v(3, s.backup_interval_seconds),
        v(4, s.app_ids), v(5, s.backup_history_count_to_keep), v(6, s.start_time),
        v(7, s.is_disable);
  }
  bool operator==(const BackupPolicy&) const = default;
};
struct QueryBackupPolicyResponse {
  ErrorCode err = ErrorCode::kOk;
  std::vector<BackupPolicy> policies;
  std::vector<std::vector<BackupEntry>> backup_infos;  // by policy, newest first
  std::optional<std::string> hint_message;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.policies), v(3, s.backup_infos), v(4, s.hint_message);
  }
  bool operator==(const QueryBackupPolicyResponse&) const = default;
};

// Answers of what Arion does not do, by the id of their text; all other fields are left out.
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
