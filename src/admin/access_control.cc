// SPDX-License-Identifier: Apache-2.0
#include "admin/access_control.h"

#include <absl/strings/strip.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "http/http_message.h"
#include "messages/admin_messages.h"
#include "messages/index_messages.h"
#include "messages/meta_messages.h"
#include "messages/replication_messages.h"
#include "messages/split_messages.h"
#include "messages/tool_messages.h"
#include "messages/verification_messages.h"
#include "rpc/admin_token.h"
#include "rpc/older_servers.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

constexpr std::string_view kRecords = "RPC_RRDB_RRDB_";  // so reads and writes of them begin
constexpr std::string_view kAnswers = "_ACK";            // so answers end

// Takes the same time for every `given` of one length: a comparison that ends at the first
// difference would tell a token byte by byte (access_control/A2).
bool IsSame(std::string_view secret, std::string_view given) {
  // volatile keeps the compiler from ending the loop early.
  volatile unsigned char differs = secret.size() == given.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i)
    differs = differs | static_cast<unsigned char>(given[i] ^ secret[i % secret.size()]);
  return differs == 0;
}

}  // namespace

bool IsBetweenServers(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      kRpcPrepare,         kRpcGroupCheck,    kRpcAddLearner,          kRpcLearn,
      kRpcLearnCompletion, kRpcRemoveReplica, kRpcGetFileSize,         kRpcCopyFile,
      kRpcBeacon,          kRpcConfigSync,    kRpcUpdateConfiguration, kRpcDuplicationSync,
      kRpcConfigProposal,  kRpcTableChanged,  kRpcCountContent,        kRpcSplitMember};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Servers of a cluster that follows one of our tables name no cluster, or are Pegasus'. They get
// what any client may read, and of files only those that a primary handed out
// (copies/served_files.h).
bool IsOfFollowers(std::string_view name) {
  return name == kRpcGetFileSize || name == kRpcCopyFile;
}

bool IsOpenToAll(std::string_view name) {
  // Questions have these names. A name that is not known here is no question, and needs permission.
  static constexpr std::string_view kPrefixes[] = {kRecords, "RPC_CM_QUERY_", "RPC_CM_LIST_",
                                                   "RPC_CM_GET_", "RPC_QUERY_"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         name == kRpcFind || name == kRpcClusterInfo || name == kRpcDddDiagnose ||
         name == kRpcNegotiation || name == kRpcQueryLead || IsBetweenServers(name);
}

AccessControl::AccessControl(AccessRules rules, ClusterIdentity& cluster, std::string learns_from,
                             std::function<void(uint32_t id)> learned)
    : rules_(std::move(rules)),
      cluster_(cluster),
      learns_from_(std::move(learns_from)),
      learned_(std::move(learned)) {}

AccessControl::Refusal AccessControl::Judge(Endpoint peer, std::string_view token) const {
  const auto& ranges = rules_.admin_addresses;
  const bool is_from_there =
      ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](const AddressRange& range) {
        return range.Contains(peer.ip);
      });
  // The address first: a wrong token from elsewhere proves nothing about the token.
  if (!is_from_there) return Refusal::kAddress;
  if (!rules_.admin_token.empty() && !IsSame(rules_.admin_token, token)) return Refusal::kToken;
  return Refusal::kNone;
}

void AccessControl::OnRefusedServer(std::function<void(Endpoint, uint64_t)> refused) {
  refused_ = std::move(refused);
}

void AccessControl::LetIn(OlderServers& older, Introduce who) {
  older_ = &older;
  introduce_ = who;
}

bool AccessControl::IsTooEarlyToKnow(Endpoint from, Endpoint peer) const {
  // Only a replica server before its first listing: it can't know its own group's members yet.
  return older_ != nullptr && introduce_ == Introduce::kNobody && older_->are_let_in() &&
         !older_->are_listed() && from.ip == peer.ip && !older_->Knows(from);
}

std::optional<std::string> AccessControl::WhyNoGuest(const RequestHeader& header, Endpoint peer,
                                                     std::string_view body) {
  if (older_ == nullptr || !older_->are_let_in())
    return "it names none (an older version's; join_pegasus_cluster would let its cluster's in)";
  const Endpoint from = header.from;
  // The sender's address stands in the request; the connection must confirm it.
  if (from.ip != peer.ip)
    return absl::StrCat("it names none (an older version's) and comes from ", peer.ToString(),
                        ", not from where it says it is");
  if (introduce_ == Introduce::kByBeacon && header.name == kRpcBeacon) {
    const absl::StatusOr<BeaconMessage> beacon = DecodeWrapped<BeaconMessage>(body);
    // A beacon introduces its sender, so it must not name another.
    if (!beacon.ok() || beacon->from_node != from)
      return "it names none (an older version's), and another sender than itself in its beacon";
    older_->Introduce(from);
  }
  // Strangers are counted for the report: a configuration may just be new.
  if (!older_->Knows(from)) {
    older_->NoteStranger();
    return introduce_ == Introduce::kByBeacon
               ? "it names none (an older version's) and has sent no beacon"
               : "it names none (an older version's), and no meta server has named it";
  }
  older_->NoteHeard(from);
  return std::nullopt;
}

bool AccessControl::IsOfOurCluster(std::string_view what, Endpoint peer, uint64_t tag) {
  const auto differs = cluster_.DiffersIn(tag);
  if (differs) NoteRefusedServer(what, peer, *differs);
  return !differs;
}

void AccessControl::NoteRefusedServer(std::string_view what, Endpoint peer,
                                      std::string_view differs) {
  refused_servers_.Add();
  LOG_EVERY_T(ERROR, 10) << what << " of " << peer << " refused: that server is not of cluster "
                         << cluster_.ToString() << ", " << differs
                         << "; look at its cluster_name and meta_servers, and at ours";
}

bool AccessControl::Accept(std::string_view name, Endpoint peer, uint64_t tag) {
  // A tag of another cluster is refused whatever the message is.
  if (!IsOfOurCluster(name, peer, tag)) return false;
  // An answer between servers without a tag comes from an older version. It is taken only from one
  // that is known as such.
  if (tag == 0 && name.ends_with(kAnswers) &&
      IsBetweenServers(name.substr(0, name.size() - kAnswers.size())) &&
      (older_ == nullptr || !older_->Knows(peer))) {
    NoteRefusedServer(name, peer, "it names none (an older version's)");
    return false;
  }
  const uint32_t id = ClusterIdentity::IdOf(tag);
  // Only one kind of answer may teach the id, and only while none is known.
  if (id == 0 || cluster_.id() != 0 || name != learns_from_) return true;
  if (cluster_.Adopt(id) && learned_) learned_(id);
  return true;
}

ErrorCode AccessControl::Admit(const RequestHeader& header, Endpoint peer, uint64_t tag,
                               std::string_view body) {
  // A client has no address of its own in the header.
  const Endpoint from = header.from.IsValid() ? header.from : peer;
  if (!IsOfOurCluster(header.name, from, tag)) {
    if (refused_) refused_(from, tag);
    return ErrorCode::kClusterNotFound;
  }
  // Clients' reads and writes are most of the requests, so they skip the search among the names.
  if (tag == 0 && !header.name.starts_with(kRecords) && IsBetweenServers(header.name) &&
      !IsOfFollowers(header.name)) {
    if (IsTooEarlyToKnow(from, peer)) {
      older_->NoteStranger();
      LOG_EVERY_T(INFO, 10) << header.name << " of " << from << " comes before a meta server said "
                            << "which servers are of cluster " << cluster_.ToString();
      return ErrorCode::kHandlerNotFound;  // as an older version's server says before it serves
    }
    if (const std::optional<std::string> why = WhyNoGuest(header, peer, body)) {
      NoteRefusedServer(header.name, from, *why);
      return ErrorCode::kClusterNotFound;
    }
  }
  // Without rules everything is allowed; then the token need not be looked for.
  if ((rules_.admin_addresses.empty() && rules_.admin_token.empty()) || IsOpenToAll(header.name))
    return ErrorCode::kOk;
  // The connection's address counts, not the one that the request states.
  const Refusal refusal = Judge(peer, AdminTokenOf(body));
  if (refusal == Refusal::kNone) return ErrorCode::kOk;
  refused_admins_.Add();
  LOG_EVERY_T(WARNING, 10) << header.name << " from " << peer << " refused: "
                           << (refusal == Refusal::kAddress ? "not one of admin_addresses"
                                                            : "without the token it needs");
  return ErrorCode::kAclDeny;
}

std::optional<HttpResponse> AccessControl::RefuseHttp(const HttpRequest& request) {
  constexpr std::string_view kScheme = "Bearer ";
  std::string_view token = request.Header("authorization");
  token = token.starts_with(kScheme) ? token.substr(kScheme.size()) : std::string_view();
  const Refusal refusal = Judge(request.peer, token);
  if (refusal == Refusal::kNone) return std::nullopt;
  refused_admins_.Add();
  LOG_EVERY_T(WARNING, 10) << "HTTP from " << request.peer << " refused: "
                           << (refusal == Refusal::kAddress ? "not one of admin_addresses"
                                                            : "without the token it needs");
  if (refusal == Refusal::kAddress)
    // The body does not say which addresses are allowed.
    return HttpResponse{.status = 403, .body = "not from your address: see admin_addresses\n"};
  return HttpResponse{.status = 401,
                      .body = "needs the token of this server's admin_token_file\n",
                      .headers = {{"WWW-Authenticate", "Bearer"}}};
}

}  // namespace arion
