// What tools, recovering meta servers and secured clients ask of any server (rpc/PROTOCOL.md 9 and
// 2.7).
//
// Shapes    Fields that only Arion knows have ids from 1000 on; Pegasus passes them over.
// Errors    In `err`. A replica or table that is not here is kObjectNotFound.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/blob.h"
#include "messages/meta_messages.h"

namespace arion {

// RPC codes. The answer to this one is a bare string.
inline constexpr char kRpcCommand[] = "RPC_CLI_CLI_CALL";
inline constexpr char kRpcNegotiation[] = "RPC_NEGOTIATION";
inline constexpr char kRpcQueryAppInfo[] = "RPC_QUERY_APP_INFO";
inline constexpr char kRpcQueryReplicaInfo[] = "RPC_QUERY_REPLICA_INFO";
inline constexpr char kRpcQueryDecree[] = "RPC_QUERY_PN_DECREE";
// A follower cluster asks a primary: LearnRequest with only the partition, LearnResponse.
inline constexpr char kRpcQueryLastCheckpoint[] = "RPC_QUERY_LAST_CHECKPOINT_INFO";
inline constexpr char kRpcQueryDiskInfo[] = "RPC_QUERY_DISK_INFO";
inline constexpr char kRpcDetectHotkey[] = "RPC_DETECT_HOTKEY";

// A remote command: a word and its arguments (admin/ has the list). The answer is text for people.
struct CommandRequest {
  std::string cmd;
  std::vector<std::string> arguments;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.cmd), v(2, s.arguments);
  }
  bool operator==(const CommandRequest&) const = default;
};

// Steps of authentication in Pegasus. Arion has none, and says so at the first step.
enum class NegotiationStatus : int32_t {
  kInvalid = 0,
  kListMechanisms = 1,
  kListMechanismsResponse = 2,
  kSelectMechanisms = 3,
  kSelectMechanismsResponse = 4,
  kInitiate = 5,
  kChallenge = 6,
  kChallengeResponse = 7,
  kSucceeded = 8,
  kAuthDisabled = 9,
  kAuthFailed = 10,
};
// RPC_NEGOTIATION: a secured client's first message. Arion answers kAuthDisabled.
struct NegotiationRequest {
  NegotiationStatus status = NegotiationStatus::kInvalid;
  Blob msg;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.status), v(2, s.msg);
  }
  bool operator==(const NegotiationRequest&) const = default;
};
// `status` kAuthDisabled: the client goes on without.
struct NegotiationResponse {
  NegotiationStatus status = NegotiationStatus::kInvalid;
  Blob msg;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.status), v(2, s.msg);
  }
  bool operator==(const NegotiationResponse&) const = default;
};

// RPC_QUERY_PN_DECREE: asks for the last decree of a replica.
struct QueryDecreeRequest {
  PartitionId pid;
  Endpoint node;
  std::optional<HostPort> hp_node;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.node), v(3, s.hp_node);
  }
  bool operator==(const QueryDecreeRequest&) const = default;
};
struct QueryDecreeResponse {
  ErrorCode err = ErrorCode::kOk;
  // The last committed one; 0: it is a learner.
  Decree last_decree;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.last_decree);
  }
  bool operator==(const QueryDecreeResponse&) const = default;
};
// RPC_QUERY_REPLICA_INFO: a recovering meta server asks for all replicas of a server.
struct QueryReplicaInfoRequest {
  Endpoint node;
  std::optional<HostPort> hp_node;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.node), v(2, s.hp_node);
  }
  bool operator==(const QueryReplicaInfoRequest&) const = default;
};
// All replicas the server has, those included that are not open yet.
struct QueryReplicaInfoResponse {
  ErrorCode err = ErrorCode::kOk;
  std::vector<ReplicaInfo> replicas;
  // Arion's extension: tags of configured disks that can't be read (decision 28).
  std::optional<std::vector<std::string>> unreadable_disks;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.replicas), v(1000, s.unreadable_disks);
  }
  bool operator==(const QueryReplicaInfoResponse&) const = default;
};
// RPC_QUERY_APP_INFO: a recovering meta server asks for the tables a server has replicas of.
struct QueryAppInfoRequest {
  Endpoint meta_server;
  std::optional<HostPort> hp_meta_server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.meta_server), v(2, s.hp_meta_server);
  }
  bool operator==(const QueryAppInfoRequest&) const = default;
};
// The tables as the server's replicas know them; others may know newer descriptions.
struct QueryAppInfoResponse {
  ErrorCode err = ErrorCode::kOk;
  std::vector<AppInfo> apps;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.apps);
  }
  bool operator==(const QueryAppInfoResponse&) const = default;
};

// RPC_QUERY_DISK_INFO: asks for a server's disks and the replicas on them.
struct QueryDiskInfoRequest {
  Endpoint node;
  // Empty: all tables.
  std::string app_name;
  std::optional<HostPort> hp_node;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.node), v(2, s.app_name), v(3, s.hp_node);
  }
  bool operator==(const QueryDiskInfoRequest&) const = default;
};
// One data directory, as Pegasus' tools show it. Sizes are of its whole file system.
struct DiskInfo {
  std::string tag;
  std::string full_dir;
  // In MiB, as disk_available_mb.
  int64_t disk_capacity_mb = 0;
  int64_t disk_available_mb = 0;
  // By table.
  std::map<int32_t, std::set<PartitionId>> holding_primary_replicas;
  std::map<int32_t, std::set<PartitionId>> holding_secondary_replicas;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.tag), v(2, s.full_dir), v(3, s.disk_capacity_mb), v(4, s.disk_available_mb),
        v(5, s.holding_primary_replicas), v(6, s.holding_secondary_replicas);
  }
  bool operator==(const DiskInfo&) const = default;
};
// A row for each data directory that can be read.
struct QueryDiskInfoResponse {
  ErrorCode err = ErrorCode::kOk;
  // Of all data directories, in MiB.
  int64_t total_capacity_mb = 0;
  int64_t total_available_mb = 0;
  std::vector<DiskInfo> disk_infos;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.total_capacity_mb), v(3, s.total_available_mb), v(4, s.disk_infos);
  }
  bool operator==(const QueryDiskInfoResponse&) const = default;
};

// Whether keys are sought that are read, or written.
enum class HotkeyType : int32_t { kRead = 0, kWrite = 1 };
// What is asked of a search: it runs until it has a result, or is stopped.
enum class DetectAction : int32_t { kStart = 0, kStop = 1, kQuery = 2 };
// RPC_DETECT_HOTKEY (stats/hot_key_search.h).
struct DetectHotkeyRequest {
  HotkeyType type = HotkeyType::kRead;
  DetectAction action = DetectAction::kStart;
  PartitionId pid;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.type), v(2, s.action), v(3, s.pid);
  }
  bool operator==(const DetectHotkeyRequest&) const = default;
};
// Of kQuery: the key, once one is found.
struct DetectHotkeyResponse {
  ErrorCode err = ErrorCode::kOk;
  // For a person.
  std::optional<std::string> err_hint;
  // Escaped.
  std::optional<std::string> hotkey_result;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.err_hint), v(3, s.hotkey_result);
  }
  bool operator==(const DetectHotkeyResponse&) const = default;
};

}  // namespace arion
