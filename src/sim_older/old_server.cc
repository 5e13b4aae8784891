// SPDX-License-Identifier: Apache-2.0
#include "sim_older/old_server.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "disks/replica_directory.h"
#include "engine/engine.h"
#include "env/file_system.h"
#include "messages/client_messages.h"
#include "messages/tool_messages.h"
#include "rpc/thrift_codec.h"
#include "sim/sim_random.h"
#include "sim_older/old_replica.h"

namespace arion::sim {

namespace {

constexpr absl::Duration kSyncRetryDelay = absl::Milliseconds(200);
constexpr absl::Duration kSyncTimeout = absl::Seconds(5);
constexpr absl::Duration kBusyDelay = absl::Milliseconds(500);
constexpr int32_t kFileOperationFailed = static_cast<int32_t>(ErrorCode::kFileOperationFailed);

}  // namespace

void OldHost::Call(Endpoint to, std::string name, std::string body, PartitionId of,
                   absl::Duration timeout, absl::AnyInvocable<void(RpcResult)> done) {
  OutboundRequest request{.name = std::move(name), .body = std::move(body)};
  // Messages of a partition name its thread, all others thread 0: receivers check it.
  request.thread_hash = of == PartitionId{} ? 0 : of.thread_hash();
  request.timeout = timeout;
  const Instant deadline = env.clock().Now() + timeout;
  transport.Call(
      to, std::move(request), strand,
      [this, deadline, done = std::move(done)](RpcResult result) mutable {
        // 2.5.0 hears of a broken connection only by its timeout.
        const bool broke = result.error == ErrorCode::kNetworkFailure && !result.was_never_sent;
        if (!broke) return done(std::move(result));
        strand->PostAfter(deadline - env.clock().Now(), [done = std::move(done)]() mutable {
          done({.error = ErrorCode::kTimeout});
        });
      });
}

void OldHost::SendOneWay(Endpoint to, std::string name, std::string body, PartitionId of) {
  OutboundRequest request{.name = std::move(name), .body = std::move(body)};
  request.thread_hash = of.thread_hash();
  transport.SendOneWay(to, std::move(request));
}

OldServer::OldServer(Environment& env, Transport& transport, EngineFactory& engines,
                     SimRandom& random, OldDisk& disk, OldServerOptions options,
                     std::function<void(std::string)> violate, OldStore* store)
    : disk_(disk),
      host_{.env = env,
            .transport = transport,
            .strand = env.NewStrand("old"),
            .engines = engines,
            .random = random,
            .options = std::move(options),
            .violate = std::move(violate),
            .store = store},
      start_time_ms_(env.clock().WallMicros() / 1000) {}

OldServer::~OldServer() = default;

void OldServer::Start() {
  host_.transport.SetHandler([this](InboundRequest request) {
    auto shared = std::make_shared<InboundRequest>(std::move(request));
    host_.strand->Post([this, shared] { Handle(std::move(*shared)); });
  });
  std::vector<PartitionId> all;
  for (const auto& [pid, stored] : disk_) all.push_back(pid);
  // By a copy of the names: Load may remove one.
  for (const PartitionId pid : all) Load(pid);
  host_.strand->Post([this] { SendBeacon(), CheckLease(); });
}

void OldServer::Stop() {
  while (!replicas_.empty()) Close(replicas_.begin()->first);
}

std::vector<ReplicaInfo> OldServer::Replicas() const {
  std::vector<ReplicaInfo> replicas;
  for (const auto& [pid, replica] : replicas_) replicas.push_back(replica->Info());
  return replicas;
}

// ---- the meta server ----

void OldServer::SendBeacon() {
  const Instant sent = host_.env.clock().Now();
  const BeaconMessage beacon{.time = host_.env.clock().WallMicros() / 1000,
                             .from_node = host_.self(),
                             .to_node = host_.options.meta_server,
                             .start_time = start_time_ms_};
  OutboundRequest request{.name = kRpcBeacon, .body = EncodeWrapped(beacon)};
  // Answered before the next one goes out, or not at all.
  request.timeout = host_.options.beacon_interval * 2 / 3;
  host_.transport.Call(host_.options.meta_server, std::move(request), host_.strand,
                       [this, sent](const RpcResult& result) { OnBeaconAnswer(sent, result); });
  host_.strand->PostAfter(host_.options.beacon_interval, [this] { SendBeacon(); });
}

void OldServer::OnBeaconAnswer(Instant sent, const RpcResult& result) {
  if (result.error == ErrorCode::kForwardToOthers)
    return host_.violate("replica/README.md A14: a beacon's answer");
  if (result.error != ErrorCode::kOk) return;
  const absl::StatusOr<BeaconAck> ack = DecodeWrapped<BeaconAck>(result.body);
  if (!ack.ok()) return host_.violate("replica/README.md A2: a beacon's answer");
  if (!ack->is_master || !ack->allowed || sent <= acknowledged_) return;
  // The lease counts from when the beacon was sent, so it ends here before the meta server's grace
  // is over. An answer that came too late grants nothing.
  acknowledged_ = sent;
  if (host_.env.clock().Now() - sent > host_.options.lease) return;
  host_.lease_end = sent + host_.options.lease;
  if (host_.is_connected || is_connecting_) return;
  is_connecting_ = true;
  Sync();
}

void OldServer::CheckLease() {
  // Twice in each interval of beacons. A lost lease ends every role at once: the meta server may
  // have chosen others.
  const bool is_over = host_.env.clock().Now() >= host_.lease_end;
  if (is_over && (host_.is_connected || is_connecting_)) {
    host_.is_connected = is_connecting_ = false;
    for (auto& [pid, replica] : replicas_) replica->OnDisconnected();
  }
  host_.strand->PostAfter(host_.options.beacon_interval / 2, [this] { CheckLease(); });
}

void OldServer::ScheduleSync(absl::Duration delay) {
  host_.strand->Cancel(sync_timer_);
  sync_timer_ = host_.strand->PostAfter(delay, [this] { Sync(); });
}

void OldServer::Sync() {
  // One sync at a time. It names every replica on the disk, open or closed, because the answer
  // decides which may go.
  ScheduleSync(host_.options.config_sync_interval);
  if (is_syncing_ || (!host_.is_connected && !is_connecting_)) return;
  is_syncing_ = true;
  ConfigSyncRequest request{.node = host_.self()};
  request.stored_replicas.emplace();
  for (const auto& [pid, stored] : disk_) {
    const auto open = replicas_.find(pid);
    request.stored_replicas->push_back(open != replicas_.end() ? open->second->Info()
                                                               : closed_.at(pid));
  }
  host_.Call(host_.options.meta_server, kRpcConfigSync, EncodeWrapped(request), {}, kSyncTimeout,
             [this](const RpcResult& result) {
               is_syncing_ = false;
               OnSynced(result);
             });
}

void OldServer::OnSynced(const RpcResult& result) {
  if (!host_.is_connected && !is_connecting_) return;
  if (result.error != ErrorCode::kOk)
    return is_connecting_ ? ScheduleSync(kSyncRetryDelay) : void();
  const absl::StatusOr<ConfigSyncResponse> answer = DecodeWrapped<ConfigSyncResponse>(result.body);
  if (!answer.ok()) return host_.violate("replica/README.md A2: a config sync's answer");
  if (answer->err != ErrorCode::kOk) return ScheduleSync(kBusyDelay);
  host_.is_connected = true;
  is_connecting_ = false;
  std::set<PartitionId> named;
  for (const ConfigurationUpdateRequest& entry : answer->partitions) {
    named.insert(entry.config.pid);
    if (OldReplica* replica = Find(entry.config.pid)) {
      replica->OnSynced(entry);
    } else if (entry.config.primary == host_.self()) {
      // The meta server takes this server for the primary of a replica that it does not have. It
      // asks to be removed, or the partition would stay without one.
      OldStored absent(entry.config.pid);
      absent.app = entry.info;
      std::make_shared<OldReplica>(host_, absent)->AskRemoval(entry.config);
    }
  }
  // Gathered first: Close takes them out of the map.
  std::vector<PartitionId> unwanted;
  for (const auto& [pid, replica] : replicas_)
    if (!named.contains(pid) && replica->OnMissing()) unwanted.push_back(pid);
  for (const PartitionId pid : unwanted) Close(pid);
  if (!answer->gc_replicas) return;
  for (const ReplicaInfo& garbage : *answer->gc_replicas) {
    // An open replica is no garbage, whatever the answer says.
    if (disk_.contains(garbage.pid) && !replicas_.contains(garbage.pid)) Remove(garbage.pid);
  }
}

// ---- replicas ----

OldReplica* OldServer::Find(PartitionId pid) {
  const auto it = replicas_.find(pid);
  return it == replicas_.end() ? nullptr : it->second.get();
}

OldReplica* OldServer::FindOrOpen(PartitionId pid, const AppInfo& app, bool may_create) {
  if (OldReplica* open = Find(pid)) return open;
  if (OldReplica* loaded = Load(pid)) return loaded;
  if (!may_create) return nullptr;
  OldStored& stored = disk_.emplace(pid, OldStored(pid)).first->second;
  stored.app = app;
  // A field of Arion's, which 2.5.0 would not store.
  stored.app.version.reset();
  stored.directory =
      JoinPath(host_.options.data_directory, FormatReplicaDirectoryName(pid, app.app_type));
  CHECK(host_.env.files().CreateDirectories(stored.directory).ok());
  if (host_.store != nullptr) host_.store->Create(stored);
  OldReplica* made = Load(pid);
  CHECK(made != nullptr) << pid;
  return made;
}

OldReplica* OldServer::Load(PartitionId pid) {
  const auto stored = disk_.find(pid);
  if (stored == disk_.end()) return nullptr;
  closed_.erase(pid);
  auto replica = std::make_shared<OldReplica>(host_, stored->second);
  const absl::Status opened = replica->Open();
  if (opened.ok()) return (replicas_[pid] = std::move(replica)).get();
  LOG(ERROR) << "[" << pid << "] 2.5.0: is not opened, and removed: " << opened;
  Remove(pid);
  return nullptr;
}

void OldServer::Remove(PartitionId pid) {
  (void)host_.env.files().RemoveAll(disk_.at(pid).directory);
  disk_.erase(pid);
  closed_.erase(pid);
}

void OldServer::Close(PartitionId pid) {
  const auto it = replicas_.find(pid);
  it->second->Close();
  // Config syncs go on naming it, as long as it lies on the disk.
  closed_[pid] = it->second->Info();
  replicas_.erase(it);
}

// ---- requests ----

void OldServer::Handle(InboundRequest request) {
  if (HandleData(request) || HandlePeer(request) || HandleFiles(request) || HandleTools(request))
    return;
  request.responder.Reply(ErrorCode::kHandlerNotFound);
}

// A header with a partition is a client's. Servers speak without one (replica/OLDER.md 2).
bool OldServer::HandleData(InboundRequest& request) {
  const PartitionId pid = request.header.pid;
  if (pid.app_id <= 0) return false;
  const std::optional<WriteCode> write = FindWriteCode(request.header.name);
  const bool is_data = request.header.name.starts_with("RPC_RRDB_");
  if (!is_data)
    host_.violate(absl::StrCat("replica/OLDER.md 2: ", request.header.name, " with a partition"));
  OldReplica* replica = Find(pid);
  // It wants no answer.
  if (request.header.name == kRpcClearScanner) return true;
  if (replica == nullptr) {
    request.responder.Reply(ErrorCode::kObjectNotFound);
  } else if (write) {
    replica->Write(*write, std::move(request));
  } else if (!replica->Read(request)) {
    request.responder.Reply(ErrorCode::kHandlerNotFound);
  }
  return true;
}

template <class T>
std::optional<T> OldServer::Take(const InboundRequest& request) const {
  absl::StatusOr<T> argument = DecodeWrapped<T>(request.body);
  if (argument.ok()) return *std::move(argument);
  host_.violate(absl::StrCat("replica/README.md A1: ", request.header.name, ": ",
                             argument.status().ToString()));
  return std::nullopt;
}

bool OldServer::IsHeaderSound(const InboundRequest& request, PartitionId pid) const {
  if (request.header.thread_hash == pid.thread_hash()) return true;
  host_.violate(absl::StrCat("replica/OLDER.md 2: ", request.header.name, " of ", pid.ToString(),
                             " on the thread of another partition"));
  return false;
}

bool OldServer::HandlePeer(InboundRequest& request) {
  const std::string& name = request.header.name;
  if (name == kRpcPrepare) {
    absl::StatusOr<PrepareRequest> prepare = DecodePrepare(request.body);
    if (!prepare.ok()) {
      host_.violate(absl::StrCat("replica/README.md A5, A6: ", prepare.status().ToString()));
      return true;
    }
    if (!IsHeaderSound(request, prepare->pid)) return true;
    if (OldReplica* replica = Find(prepare->pid))
      replica->OnPrepare(*prepare, std::move(request.responder));
    else
      request.responder.Reply(
          ErrorCode::kOk,
          EncodeWrapped(PrepareAck{.pid = prepare->pid, .err = ErrorCode::kObjectNotFound}));
  } else if (name == kRpcGroupCheck || name == kRpcAddLearner) {
    const auto check = Take<GroupCheckRequest>(request);
    if (!check || !IsHeaderSound(request, check->config.pid)) return true;
    const PartitionId pid = check->config.pid;
    const bool is_check = name == kRpcGroupCheck;
    // Without a lease 2.5.0 answers all defaults, as a replica that is loading.
    if (!host_.is_connected) {
      if (is_check) request.responder.Reply(ErrorCode::kOk, EncodeWrapped(GroupCheckResponse{}));
      return true;
    }
    // An invitation makes the replica. A group check to a learner does so too, for the invitation
    // may have been lost.
    const bool is_new = Find(pid) == nullptr;
    const bool may_open = !is_check || check->config.status == PartitionStatus::kPotentialSecondary;
    OldReplica* replica = may_open ? FindOrOpen(pid, check->app, true) : Find(pid);
    if (!is_check) {
      replica->OnAddLearner(*check);
    } else if (replica == nullptr || is_new) {
      if (replica != nullptr) replica->OnAddLearner(*check);
      request.responder.Reply(
          ErrorCode::kOk,
          EncodeWrapped(GroupCheckResponse{
              .pid = pid,
              .err = replica == nullptr ? ErrorCode::kObjectNotFound : ErrorCode::kOk,
              .node = host_.self()}));
    } else {
      replica->OnGroupCheck(*check, std::move(request.responder));
    }
  } else if (name == kRpcRemoveReplica) {
    const auto config = Take<ReplicaConfiguration>(request);
    if (!config || !IsHeaderSound(request, config->pid)) return true;
    if (OldReplica* replica = Find(config->pid)) replica->OnRemove(*config);
  } else if (name == kRpcLearn) {
    const auto learn = Take<LearnRequest>(request);
    if (!learn || !IsHeaderSound(request, learn->pid)) return true;
    if (OldReplica* replica = Find(learn->pid))
      replica->OnLearn(*learn, std::move(request.responder));
    else
      request.responder.Reply(ErrorCode::kOk,
                              EncodeWrapped(LearnResponse{.err = ErrorCode::kObjectNotFound}));
  } else if (name == kRpcLearnCompletion) {
    const auto report = Take<GroupCheckResponse>(request);
    if (!report || !IsHeaderSound(request, report->pid)) return true;
    if (OldReplica* replica = Find(report->pid))
      replica->OnLearnCompletion(*report, std::move(request.responder));
    else
      request.responder.Reply(ErrorCode::kOk, EncodeWrapped(LearnNotifyResponse{
                                                  report->pid, ErrorCode::kObjectNotFound, 0}));
  } else if (name == kRpcConfigProposal) {
    if (const auto proposal = Take<ConfigurationUpdateRequest>(request)) Propose(*proposal);
  } else {
    return false;
  }
  return true;
}

void OldServer::Propose(const ConfigurationUpdateRequest& proposal) {
  const PartitionConfiguration& config = proposal.config;
  if (!host_.is_connected) return;
  OldReplica* replica = Find(config.pid);
  if (replica == nullptr && proposal.type == ConfigType::kAssignPrimary) {
    // Only a partition that never had data may begin empty. Otherwise an empty copy would lead, and
    // everything would be gone.
    const bool is_new = config.ballot == Ballot(0) && config.last_committed_decree <= Decree(0);
    replica = FindOrOpen(config.pid, proposal.info, is_new);
  } else if (replica == nullptr && proposal.type == ConfigType::kUpgradeToPrimary) {
    OldStored absent(config.pid);
    absent.app = proposal.info;
    std::make_shared<OldReplica>(host_, absent)->AskRemoval(config);
  }
  if (replica != nullptr) replica->OnProposal(proposal);
}

// ---- files ----

std::optional<std::string> OldServer::Content(const std::string& directory,
                                              const std::string& name) {
  for (const auto& [pid, stored] : disk_) {
    // Logs are kept in memory (old_log.h); all other files lie on the simulated disk.
    if (JoinPath(stored.directory, "plog") != directory) continue;
    const auto file = stored.log.files().find(name);
    return file == stored.log.files().end() ? std::nullopt : std::optional(file->second);
  }
  const auto content = ReadFile(host_.env.files(), JoinPath(directory, name));
  return content.ok() ? std::optional(*content) : std::nullopt;
}

GetFileSizeResponse OldServer::Sizes(const GetFileSizeRequest& request) {
  GetFileSizeResponse response;
  for (const std::string& name : request.file_list) {
    const auto content = Content(request.source_dir, name);
    if (!content) return {.error = kFileOperationFailed};
    response.file_list.push_back(name);
    response.size_list.push_back(static_cast<int64_t>(content->size()));
  }
  return response;
}

CopyResponse OldServer::Copy(const CopyRequest& request) {
  if (request.offset < 0 || request.size < 0 || request.size > (64 << 20))
    host_.violate(absl::StrCat("replica/README.md A18: asked for ", request.size, " bytes at ",
                               request.offset));
  const auto content = Content(request.source_dir, request.file_name);
  if (!content) return {.error = ErrorCode::kFileOperationFailed};
  const auto offset = static_cast<size_t>(request.offset);
  if (request.size == 0 || offset >= content->size()) return {.error = ErrorCode::kHandleEof};
  // The whole buffer that was asked for is sent, also where the file ends before.
  CopyResponse response{.offset = request.offset, .size = request.size};
  response.file_content = Blob(content->substr(offset, static_cast<size_t>(request.size)));
  response.file_content.bytes.resize(static_cast<size_t>(request.size), '?');  // stale memory
  return response;
}

bool OldServer::HandleFiles(InboundRequest& request) {
  if (request.header.name == kRpcGetFileSize) {
    if (const auto sizes = Take<GetFileSizeRequest>(request))
      request.responder.Reply(ErrorCode::kOk, EncodeWrapped(Sizes(*sizes)));
  } else if (request.header.name == kRpcCopyFile) {
    if (const auto copy = Take<CopyRequest>(request))
      request.responder.Reply(ErrorCode::kOk, EncodeWrapped(Copy(*copy)));
  } else {
    return false;
  }
  return true;
}

bool OldServer::HandleTools(InboundRequest& request) {
  if (request.header.name == kRpcQueryReplicaInfo) {
    if (Take<QueryReplicaInfoRequest>(request))
      request.responder.Reply(ErrorCode::kOk,
                              EncodeWrapped(QueryReplicaInfoResponse{.replicas = Replicas()}));
    return true;
  }
  if (request.header.name != kRpcQueryAppInfo) return false;
  if (!Take<QueryAppInfoRequest>(request)) return true;
  std::map<int32_t, AppInfo> tables;
  // A table once, however many of its partitions lie here.
  for (const auto& [pid, stored] : disk_) tables.emplace(pid.app_id, stored.app);
  QueryAppInfoResponse response;
  for (auto& [id, table] : tables) response.apps.push_back(std::move(table));
  request.responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
  return true;
}

}  // namespace arion::sim
