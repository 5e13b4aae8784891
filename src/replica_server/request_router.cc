// SPDX-License-Identifier: Apache-2.0
#include "replica_server/request_router.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "messages/index_messages.h"
#include "messages/split_messages.h"
#include "messages/tool_messages.h"
#include "messages/verification_messages.h"
#include "replica/replica.h"
#include "replica_server/replica_table.h"
#include "replica_server/request_argument.h"
#include "replica_server/tool_requests.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

std::optional<ReadCode> FindReadCode(std::string_view name) {
  using enum ReadCode;
  static constexpr std::pair<std::string_view, ReadCode> kCodes[] = {
      {kRpcGet, kGet},
      {kRpcTtl, kTtl},
      {kRpcMultiGet, kMultiGet},
      {kRpcBatchGet, kBatchGet},
      {kRpcSortKeyCount, kSortKeyCount},
      {kRpcGetScanner, kGetScanner},
      {kRpcScan, kScan},
      {kRpcFind, kFind}};
  for (const auto& [known, code] : kCodes)
    if (known == name) return code;
  return std::nullopt;
}

// When nobody waits for the answer any more.
Instant DeadlineOf(const RequestHeader& header, Instant arrived) {
  if (!header.timeout_is_real || header.timeout_ms <= 0) return Instant::InfiniteFuture();
  return arrived + absl::Milliseconds(header.timeout_ms);
}

// How long a request may wait for its turn: half of what its client waits for the answer.
absl::Duration PatienceOf(const RequestHeader& header) {
  if (!header.timeout_is_real || header.timeout_ms <= 0) return kQueueTimeMax;
  return std::min(kQueueTimeMax, absl::Milliseconds(header.timeout_ms) / 2);
}

}  // namespace

RequestRouter::RequestRouter(std::shared_ptr<const ReplicaHost> host, StrandPtr server_strand,
                             std::shared_ptr<ReplicaTable> table, std::shared_ptr<ConfigSync> sync)
    : host_(std::move(host)),
      server_strand_(std::move(server_strand)),
      table_(std::move(table)),
      sync_(std::move(sync)) {}

void RequestRouter::Handle(InboundRequest request) {
  // Before the check for a stop: even a refusal would be an answer.
  if (request.header.name == kRpcClearScanner) return ClearScanner(std::move(request));
  if (is_stopped_.load(std::memory_order_acquire))
    return request.responder.Reply(ErrorCode::kInvalidState);
  // By frequency: clients, then other servers, then copies and tools.
  if (RouteData(request) || RouteProtocol(request) || RouteCopies(request)) return;
  if (AnswerTool(*host_, server_strand_, table_, request)) return;
  request.responder.Reply(ErrorCode::kHandlerNotFound);
}

std::shared_ptr<Replica> RequestRouter::FindOpen(PartitionId pid, ErrorCode* why) const {
  std::optional<ReplicaTable::Route> route = table_->Find(pid);
  if (route && route->phase == ReplicaTable::Phase::kOpen) return std::move(route->replica);
  // A closed replica is only a directory: for others it is not here.
  const bool is_here = route && route->phase != ReplicaTable::Phase::kClosed;
  *why = !is_here                                        ? ErrorCode::kObjectNotFound
         : route->phase == ReplicaTable::Phase::kLoading ? ErrorCode::kInactiveState
                                                         : ErrorCode::kInvalidState;
  return nullptr;
}

// ---- clients ----

bool RequestRouter::RouteData(InboundRequest& request) {
  const std::string& name = request.header.name;
  std::optional<WriteCode> write = FindWriteCode(name);
  if (write && !IsClientWrite(*write)) write = std::nullopt;
  const std::optional<ReadCode> read = FindReadCode(name);
  if (!write && !read) return false;

  const PartitionId pid = request.header.pid;
  if (pid.app_id <= 0) {
    request.responder.Reply(ErrorCode::kHandlerNotFound);
    return true;
  }
  ErrorCode why = ErrorCode::kOk;
  std::shared_ptr<Replica> replica = FindOpen(pid, &why);
  if (replica == nullptr) {
    // Clients know kInvalidState as "ask the meta server again".
    request.responder.Reply(why == ErrorCode::kObjectNotFound ? why : ErrorCode::kInvalidState);
    return true;
  }
  const Instant arrived = host_->env.clock().Now();
  // Refused on the event loop: the replica's strand has enough to do.
  if (const absl::Duration wait = replica->requests_waiting().WaitAt(arrived);
      wait > PatienceOf(request.header)) {
    LOG_EVERY_N(WARNING, 1000) << "[" << pid << "] answered busy: its requests wait "
                               << absl::ToInt64Milliseconds(wait) << " ms for their turn";
    request.responder.Reply(ErrorCode::kBusy);
    return true;
  }
  const StrandPtr strand = replica->strand();
  const RequestTimes times{.arrived = arrived, .deadline = DeadlineOf(request.header, arrived)};
  // Counted before it is posted, so that the next request sees it.
  replica->requests_waiting().Arrived(arrived);
  if (write)
    strand->Post([replica = std::move(replica), code = *write, request = std::move(request),
                  times]() mutable {
      replica->requests_waiting().Began(times.arrived);
      replica->Write(code, std::move(request), times);
    });
  else
    strand->Post([replica = std::move(replica), code = *read, request = std::move(request),
                  times]() mutable {
      replica->requests_waiting().Began(times.arrived);
      replica->Read(code, std::move(request), times);
    });
  return true;
}

// Never answered, not even by an error: an answer that no call waits for makes clients' connections
// stop working.
void RequestRouter::ClearScanner(InboundRequest request) {
  ErrorCode why = ErrorCode::kOk;
  const std::shared_ptr<Replica> replica = FindOpen(request.header.pid, &why);
  if (replica == nullptr) return;
  replica->strand()->Post(
      [replica, request = std::move(request)] { replica->ClearScanner(request); });
}

// ---- other servers ----

bool RequestRouter::RouteProtocol(InboundRequest& request) {
  const std::string& name = request.header.name;
  if (name == kRpcPrepare)
    Prepare(std::move(request));
  else if (name == kRpcGroupCheck)
    GroupCheck(std::move(request));
  else if (name == kRpcAddLearner)
    AddLearner(std::move(request));
  else if (name == kRpcLearn)
    Learn(std::move(request));
  else if (name == kRpcLearnCompletion)
    LearnCompletion(std::move(request));
  else if (name == kRpcCountContent)
    CountContent(std::move(request));
  else if (name == kRpcVerifyReplicas)
    VerifyReplicas(std::move(request));
  else if (name == kRpcSplitMember)
    AskForSplitStep(std::move(request));
  else if (name == kRpcRemoveReplica)
    Remove(std::move(request));
  else if (name == kRpcConfigProposal)
    Propose(std::move(request));
  else if (name == kRpcTableChanged)
    ChangeTable(std::move(request));
  else if (name == kRpcQueryReplicaInfo)
    TellRecoveringMeta<QueryReplicaInfoRequest>(&ConfigSync::TellReplicas, std::move(request));
  else if (name == kRpcQueryAppInfo)
    TellRecoveringMeta<QueryAppInfoRequest>(&ConfigSync::TellTables, std::move(request));
  else
    return false;
  return true;
}

void RequestRouter::Prepare(InboundRequest request) {
  absl::StatusOr<PrepareRequest> prepare = DecodePrepare(request.body);
  if (!prepare.ok()) {
    LOG_EVERY_N(WARNING, 100) << "prepare from " << request.header.from << ": " << prepare.status();
    return request.responder.Reply(ErrorCode::kInvalidData);
  }
  // Answered inside the ack: an RPC error would count as a broken connection.
  ErrorCode why = ErrorCode::kOk;
  const std::shared_ptr<Replica> replica = FindOpen(prepare->pid, &why);
  if (replica == nullptr)
    return request.responder.Reply(ErrorCode::kOk,
                                   EncodeWrapped(PrepareAck{.pid = prepare->pid, .err = why}));
  replica->strand()->Post(
      [replica, prepare = *std::move(prepare), responder = std::move(request.responder)]() mutable {
        replica->Prepare(std::move(prepare), std::move(responder));
      });
}

void RequestRouter::GroupCheck(InboundRequest request) {
  std::optional<GroupCheckRequest> check = TakeArgument<GroupCheckRequest>(request);
  if (!check) return;
  const PartitionId pid = check->config.pid;
  ErrorCode why = ErrorCode::kOk;
  if (const std::shared_ptr<Replica> replica = FindOpen(pid, &why))
    return replica->strand()->Post(
        [replica, check = *std::move(check), responder = std::move(request.responder)]() mutable {
          replica->GroupCheck(std::move(check), std::move(responder));
        });
  const bool may_open = why == ErrorCode::kObjectNotFound || why == ErrorCode::kInactiveState;
  if (may_open && check->config.status == PartitionStatus::kPotentialSecondary)
    return CheckAbsentLearner(*std::move(check), why, std::move(request.responder));
  // A member that is loading says nothing, like one that isn't connected: it must not be removed
  // for that.
  if (why == ErrorCode::kInactiveState)
    return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(GroupCheckResponse{}));
  const GroupCheckResponse response{.pid = pid, .err = why, .node = host_->self};
  request.responder.Reply(ErrorCode::kOk, EncodeWrapped(response, host_->options.peer_generation));
}

// An error ends the session, so another learner gets its room. What has failed here is not opened
// again for this check: whoever still wants it sends an invitation.
void RequestRouter::CheckAbsentLearner(GroupCheckRequest check, ErrorCode why,
                                       Responder responder) {
  server_strand_->Post([self = shared_from_this(), check = std::move(check), why,
                        responder = std::move(responder)]() mutable {
    const PartitionId pid = check.config.pid;
    // Its fields stay empty for a replica that is loading.
    GroupCheckResponse response;
    if (self->table_->HasFailed(pid) || self->ObstacleTo(check.app)) {
      response = {.pid = pid, .err = ErrorCode::kObjectNotFound, .node = self->host_->self};
    } else if (why == ErrorCode::kObjectNotFound) {
      response = {.pid = pid, .node = self->host_->self};
      response.err = self->table_->OpenFor(pid, check.app, ReplicaTable::Creation::kAllowed,
                                           AddLearnerReceived{check});
    }  // else it is loading, and says nothing
    responder.Reply(ErrorCode::kOk, EncodeWrapped(response, self->host_->options.peer_generation));
  });
}

void RequestRouter::OpenForLearning(GroupCheckRequest request) {
  server_strand_->Post([self = weak_from_this(), request = std::move(request)] {
    const auto router = self.lock();
    if (router == nullptr) return;
    const PartitionId pid = request.config.pid;
    router->table_->OpenFor(pid, request.app, ReplicaTable::Creation::kAllowed,
                            AddLearnerReceived{request});
  });
}

void RequestRouter::AddLearner(InboundRequest request) {
  std::optional<GroupCheckRequest> add = TakeArgument<GroupCheckRequest>(request);
  // One way: nobody waits for an answer.
  if (!add || add->config.status != PartitionStatus::kPotentialSecondary) return;
  if (const std::optional<Obstacle> obstacle = ObstacleTo(add->app)) {
    LOG_EVERY_T(WARNING, 10) << "[" << add->config.pid << "] is not learned here: its table "
                             << ObstacleText(*obstacle) << ", which Arion can't do yet";
    return;
  }
  OpenForLearning(*std::move(add));
}

std::optional<Obstacle> RequestRouter::ObstacleTo(const AppInfo& table) const {
  // Only in an older version's cluster; Arion's tables are in none of these states.
  if (!host_->IsGuest()) return std::nullopt;
  if (table.duplicating) return Obstacle::kDuplicated;
  if (table.is_bulk_loading) return Obstacle::kBulkLoaded;
  return host_->join->ObstacleOf(table.app_id);
}

void RequestRouter::Learn(InboundRequest request) {
  std::optional<LearnRequest> learn = TakeArgument<LearnRequest>(request);
  if (!learn) return;
  ErrorCode why = ErrorCode::kOk;
  const std::shared_ptr<Replica> replica = FindOpen(learn->pid, &why);
  if (replica == nullptr)
    return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(LearnResponse{.err = why}));
  replica->strand()->Post(
      [replica, learn = *std::move(learn), responder = std::move(request.responder)]() mutable {
        replica->Learn(std::move(learn), std::move(responder));
      });
}

void RequestRouter::LearnCompletion(InboundRequest request) {
  std::optional<GroupCheckResponse> report = TakeArgument<GroupCheckResponse>(request);
  if (!report) return;
  ErrorCode why = ErrorCode::kOk;
  const std::shared_ptr<Replica> replica = FindOpen(report->pid, &why);
  if (replica == nullptr)
    return request.responder.Reply(
        ErrorCode::kOk, EncodeWrapped(LearnNotifyResponse{.pid = report->pid, .err = why}));
  replica->strand()->Post(
      [replica, report = *std::move(report), responder = std::move(request.responder)]() mutable {
        replica->LearnCompletion(std::move(report), std::move(responder));
      });
}

void RequestRouter::CountContent(InboundRequest request) {
  std::optional<CountContentRequest> count = TakeArgument<CountContentRequest>(request);
  if (!count) return;
  ErrorCode why = ErrorCode::kOk;
  const std::shared_ptr<Replica> replica = FindOpen(count->pid, &why);
  if (replica == nullptr)
    return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(CountContentResponse{.err = why}));
  replica->strand()->Post(
      [replica, count = *std::move(count), responder = std::move(request.responder)]() mutable {
        responder.Reply(ErrorCode::kOk, EncodeWrapped(replica->verifying().Count(count)));
      });
}

void RequestRouter::AskForSplitStep(InboundRequest request) {
  const auto step = TakeArgument<SplitMemberRequest>(request);
  if (!step) return;
  ErrorCode why = ErrorCode::kOk;
  const std::shared_ptr<Replica> replica = FindOpen(step->pid, &why);
  if (replica == nullptr)
    return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(SplitMemberResponse{.err = why}));
  replica->strand()->Post(
      [replica, step = *step, responder = std::move(request.responder)]() mutable {
        replica->OnSplitStep(step, std::move(responder));
      });
}

void RequestRouter::VerifyReplicas(InboundRequest request) {
  const auto verify = TakeArgument<VerifyReplicasRequest>(request);
  if (!verify) return;
  ErrorCode why = ErrorCode::kOk;
  const std::shared_ptr<Replica> replica = FindOpen(verify->pid, &why);
  if (replica == nullptr) {
    // The last result from the time when it was open here.
    VerifyReplicasResponse response = host_->verifications->Last(verify->pid);
    response.err = why;
    response.hint = "its replica is not open here";
    return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
  }
  replica->strand()->Post(
      [replica, verify = *verify, responder = std::move(request.responder)]() mutable {
        responder.Reply(ErrorCode::kOk, EncodeWrapped(replica->verifying().Answer(verify)));
      });
}

void RequestRouter::Remove(InboundRequest request) {
  const std::optional<ReplicaConfiguration> config = TakeArgument<ReplicaConfiguration>(request);
  if (!config) return;
  ErrorCode why = ErrorCode::kOk;
  if (const std::shared_ptr<Replica> replica = FindOpen(config->pid, &why))
    replica->strand()->Post(
        [replica, config = *config] { replica->Notify(RemoveReceived{config}); });
}

void RequestRouter::Propose(InboundRequest request) {
  const std::optional<ConfigurationUpdateRequest> proposal =
      TakeArgument<ConfigurationUpdateRequest>(request);
  if (!proposal) return;
  // The meta server names these servers, so they belong to the cluster.
  host_->MeetMembers(proposal->config);
  host_->Meet(proposal->node);
  const bool makes_primary = proposal->type == ConfigType::kAssignPrimary ||
                             proposal->type == ConfigType::kUpgradeToPrimary;
  if (makes_primary && ObstacleTo(proposal->info) == Obstacle::kDuplicated) {
    LOG_EVERY_T(ERROR, 10) << "[" << proposal->config.pid
                           << "] is not led from here: its table is duplicated, which its primary "
                              "does and Arion can't do yet";
    return;
  }
  ErrorCode why = ErrorCode::kOk;
  if (const std::shared_ptr<Replica> replica = FindOpen(proposal->config.pid, &why))
    return replica->strand()->Post(
        [replica, proposal = *proposal] { replica->Notify(ProposalReceived{proposal}); });
  if (why != ErrorCode::kObjectNotFound) return;  // the meta server repeats it
  server_strand_->Post([self = weak_from_this(), proposal = *proposal] {
    if (const auto router = self.lock()) router->ProposeToAbsent(proposal);
  });
}

void RequestRouter::ChangeTable(InboundRequest request) {
  const std::optional<TableChangedRequest> change = TakeArgument<TableChangedRequest>(request);
  if (!change) return;
  auto responder = std::make_shared<Responder>(std::move(request.responder));
  // Answered when all replicas have heard of it: only then may a dropped table be recalled.
  const std::shared_ptr<void> heard(nullptr, [responder](void*) {
    responder->Reply(ErrorCode::kOk, EncodeWrapped(TableChangedResponse{}));
  });
  for (const auto& replica : table_->OpenOf(change->info.app_id))
    replica->strand()->Post(
        [replica, heard, app = change->info] { replica->Notify(TableChanged{app}); });
  // What it means for each partition the config sync says.
  server_strand_->Post([sync = sync_] { sync->Soon(); });
}

template <class Request>
void RequestRouter::TellRecoveringMeta(void (ConfigSync::*tell)(Responder),
                                       InboundRequest request) {
  if (!TakeArgument<Request>(request)) return;
  server_strand_->Post([sync = sync_, tell, responder = std::move(request.responder)]() mutable {
    ((*sync).*tell)(std::move(responder));
  });
}

void RequestRouter::ProposeToAbsent(const ConfigurationUpdateRequest& proposal) {
  if (!host_->lease->Holds(host_->lease->term(), host_->env.clock().Now()) ||
      proposal.node != host_->self)
    return;
  if (proposal.info.envs.contains(kEnvRestorePolicy) && proposal.config.ballot == Ballot(0)) {
    LOG_EVERY_T(ERROR, 10) << "[" << proposal.config.pid
                           << "] is to be filled from a backup, which Arion can't do yet: not made";
    return;
  }
  const PartitionConfiguration& config = proposal.config;
  if (proposal.type == ConfigType::kAssignPrimary) {
    // Only what never held anything may be made out of nothing.
    const bool is_new = config.ballot == Ballot(0) && config.last_committed_decree <= Decree(0);
    table_->OpenFor(config.pid, proposal.info,
                    is_new ? ReplicaTable::Creation::kFirst : ReplicaTable::Creation::kForbidden,
                    ProposalReceived{proposal});
  } else if (proposal.type == ConfigType::kUpgradeToPrimary) {
    sync_->AskRemoval(proposal);
  }
}

// ---- file copies ----

bool RequestRouter::RouteCopies(InboundRequest& request) {
  const std::string& name = request.header.name;
  if (name == kRpcGetFileSize) {
    const std::optional<GetFileSizeRequest> sizes = TakeArgument<GetFileSizeRequest>(request);
    if (sizes) request.responder.Reply(ErrorCode::kOk, EncodeWrapped(host_->served->Sizes(*sizes)));
    return true;
  }
  if (name != kRpcCopyFile) return false;
  std::optional<CopyRequest> copy = TakeArgument<CopyRequest>(request);
  if (!copy) return true;
  // Asked before the throttle: refusals must not cost others their room.
  if (!host_->served->Serves(copy->source_dir)) {
    request.responder.Reply(ErrorCode::kOk,
                            EncodeWrapped(CopyResponse{.error = ErrorCode::kObjectNotFound}));
    return true;
  }
  const auto bytes = static_cast<uint64_t>(std::clamp(copy->size, 0, ServedFiles::kReadBytesMax));
  // The pace is paid before the read is begun, by its disk.
  const absl::Duration delay =
      host_->sending->Take(DiskOf(copy->source_dir), bytes, host_->env.clock().Now());
  auto read = [host = host_, copy = *std::move(copy),
               responder = std::move(request.responder)]() mutable {
    host->env.bulk_pool(copy.source_dir)
        .Submit([host, copy = std::move(copy), responder = std::move(responder)]() mutable {
          responder.Reply(ErrorCode::kOk, host->served->Answer(copy));
        });
  };
  if (delay == absl::ZeroDuration())
    read();
  else
    server_strand_->PostAfter(delay, std::move(read));
  return true;
}

// Served directories lie below the data directories.
size_t RequestRouter::DiskOf(std::string_view path) const {
  const auto& directories = host_->disks->layout.data_directories;
  for (size_t i = 0; i < directories.size(); ++i)
    if (IsWithin(path, directories[i].path)) return i;
  return 0;
}

}  // namespace arion
