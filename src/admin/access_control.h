// AccessControl: who may have this server change something, and which servers are of its cluster.
//
// Shapes    Two keys, each of which may be left out: admin_addresses, from where; admin_token_file,
//           with which secret. An RPC carries the secret beside its argument (rpc/admin_token.h),
//           an HTTP request as "Authorization: Bearer <token>". Reads and writes of records, what
//           servers say to each other, and questions need neither. Whatever is not known to be one
//           of these does, remote commands among them. What only servers say to each other counts
//           only from a server that states its cluster: clients and tools never state one. Servers
//           of an older version, which may be another cluster's, state none, and are refused but
//           for those that OlderServers knows. Copies of files that a primary has handed out are
//           open to those who state none: servers of a follower cluster. An older version's answer
//           carries the tag of the question back.
// Errors    RPC: ERR_ACL_DENY; of another cluster's server: ERR_CLUSTER_NOT_FOUND; of one that may
//           be of ours: ERR_HANDLER_NOT_FOUND. HTTP: 401, 403.
// Threads   Thread-safe.
// Promises  access_control/A1  Neither a token nor a part of one reaches a log, a page or an error.
//           access_control/A2  How long a comparison takes says nothing of the token.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cluster_identity.h"
#include "base/counter.h"
#include "config/access_rules.h"
#include "rpc/rpc_gate.h"

namespace arion {

struct HttpRequest;
struct HttpResponse;
class OlderServers;

// One for a server program: the transport's gate, and the guard of its pages.
class AccessControl : public RpcGate {
 public:
  // `cluster` outlives it. `learns_from`: the name of the answers whose sender's cluster id is
  // taken for ours while ours is not known. `learned` runs then, once, on a loop's thread.
  AccessControl(AccessRules rules, ClusterIdentity& cluster, std::string learns_from = "",
                std::function<void(uint32_t id)> learned = nullptr);
  // Whether a beacon makes its sender known to OlderServers.
  enum class Introduce { kNobody, kByBeacon };
  // Lets in the servers that `older`, which outlives this, knows. Before any request.
  void LetIn(OlderServers& older, Introduce who);
  // `refused` is called for each request that is refused because its sender is of another cluster,
  // on a loop's thread. Before any request.
  void OnRefusedServer(std::function<void(Endpoint server, uint64_t tag)> refused);

  uint64_t OurTag() const override { return cluster_.tag(); }
  ErrorCode Admit(const RequestHeader& header, Endpoint peer, uint64_t tag,
                  std::string_view body) override;
  bool Accept(std::string_view name, Endpoint peer, uint64_t tag) override;
  // Judges a request that changes something. nullopt: it is allowed; else the answer.
  std::optional<HttpResponse> RefuseHttp(const HttpRequest& request);

  // Requests refused since the start.
  const Counter& refused_admins() const { return refused_admins_; }
  const Counter& refused_servers() const { return refused_servers_; }

 private:
  enum class Refusal { kNone, kAddress, kToken };
  Refusal Judge(Endpoint peer, std::string_view token) const;
  bool IsOfOurCluster(std::string_view what, Endpoint peer, uint64_t tag);
  // Whether a request that names no cluster meets a replica server that was not told yet who is of
  // its own. Such requests are answered so that a group goes on while one of its members starts.
  bool IsTooEarlyToKnow(Endpoint from, Endpoint peer) const;
  // Of a request between servers that names no cluster: why it is refused; nullopt: it is let in.
  std::optional<std::string> WhyNoGuest(const RequestHeader& header, Endpoint peer,
                                        std::string_view body);
  void NoteRefusedServer(std::string_view what, Endpoint peer, std::string_view differs);

  const AccessRules rules_;
  ClusterIdentity& cluster_;
  const std::string learns_from_;
  const std::function<void(uint32_t)> learned_;
  std::function<void(Endpoint, uint64_t)> refused_;
  OlderServers* older_ = nullptr;
  Introduce introduce_ = Introduce::kNobody;
  Counter refused_admins_, refused_servers_;
};

// Whether a request of that name needs no permission.
bool IsOpenToAll(std::string_view rpc_name);
// Whether only servers send it.
bool IsBetweenServers(std::string_view rpc_name);
// Whether servers of a cluster that follows ours send it, too.
bool IsOfFollowers(std::string_view rpc_name);

}  // namespace arion
