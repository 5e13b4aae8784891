// What tools, recovering meta servers and secured clients ask of any server
// (spec/meta-and-admin.md 2.5, 2.7; spec/wire-protocol.md 8.1). SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/meta_messages.h"

namespace arion {

inline constexpr char kRpcCommand[] = "RPC_CLI_CLI_CALL";  // answer: a bare string
inline constexpr char kRpcNegotiation[] = "RPC_NEGOTIATION";
inline constexpr char kRpcQueryAppInfo[] = "RPC_QUERY_APP_INFO";
inline constexpr char kRpcQueryReplicaInfo[] = "RPC_QUERY_REPLICA_INFO";
inline constexpr char kRpcQueryDecree[] = "RPC_QUERY_PN_DECREE";

// A remote command: a word and its arguments.
struct CommandRequest {
  std::string cmd;
  std::vector<std::string> arguments;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.cmd), v(2, s.arguments);
  }
  bool operator==(const CommandRequest&) const = default;
};

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
struct NegotiationRequest {
  NegotiationStatus status = NegotiationStatus::kInvalid;
  Blob msg;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.status), v(2, s.msg);
  }
  bool operator==(const NegotiationRequest&) const = default;
};
struct NegotiationResponse {
  NegotiationStatus status = NegotiationStatus::kInvalid;
  Blob msg;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.status), v(2, s.msg);
  }
  bool operator==(const NegotiationResponse&) const = default;
};

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
  Decree last_decree;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.last_decree);
  }
  bool operator==(const QueryDecreeResponse&) const = default;
};
struct QueryReplicaInfoRequest {
  Endpoint node;
  std::optional<HostPort> hp_node;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.node), v(2, s.hp_node);
  }
  bool operator==(const QueryReplicaInfoRequest&) const = default;
};
struct QueryReplicaInfoResponse {
  ErrorCode err = ErrorCode::kOk;
  std::vector<ReplicaInfo> replicas;
  // Arion's extension: tags of configured disks that can't be read (decision 28)
  std::optional<std::vector<std::string>> unreadable_disks;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.replicas), v(1000, s.unreadable_disks);
  }
  bool operator==(const QueryReplicaInfoResponse&) const = default;
};
struct QueryAppInfoRequest {
  Endpoint meta_server;
  std::optional<HostPort> hp_meta_server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.meta_server), v(2, s.hp_meta_server);
  }
  bool operator==(const QueryAppInfoRequest&) const = default;
};
struct QueryAppInfoResponse {
  ErrorCode err = ErrorCode::kOk;
  std::vector<AppInfo> apps;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.err), v(2, s.apps);
  }
  bool operator==(const QueryAppInfoResponse&) const = default;
};

}  // namespace arion
