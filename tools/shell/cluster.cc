// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/cluster.h"

#include <algorithm>
#include <future>

#include "base/status.h"
#include "client/meta_caller.h"
#include "env/posix_environment.h"
#include "rpc/asio_transport.h"

namespace arion::shell {
namespace {

constexpr absl::Duration kQuestionTimeout = absl::Seconds(5);
constexpr absl::Duration kChangeTimeout = absl::Seconds(20);

absl::Status StatusOf(ErrorCode err, const std::string& table) {
  switch (err) {
    case ErrorCode::kOk:
      return absl::OkStatus();
    case ErrorCode::kObjectNotFound:
    case ErrorCode::kAppNotExist:
    case ErrorCode::kAppDropped:
      return absl::NotFoundError(absl::StrCat("there is no table ", table));
    case ErrorCode::kAppExist:
      return absl::AlreadyExistsError(absl::StrCat("table ", table, " exists already"));
    case ErrorCode::kBusyCreating:
      return absl::UnavailableError(
          absl::StrCat("table ", table, " is being created; try again in a moment"));
    case ErrorCode::kBusyDropping:
      return absl::UnavailableError(
          absl::StrCat("table ", table, " is being dropped; try again in a moment"));
    case ErrorCode::kStateFreezed:
      return absl::UnavailableError(
          "too few servers are alive: the meta server changes nothing until they return");
    case ErrorCode::kInvalidParameters:
      return absl::InvalidArgumentError(
          "the meta server refuses these numbers (partitions: a power of two, at least 2; "
          "replicas: within the "
          "configured limits and not more than servers alive)");
    default:
      return absl::UnavailableError(
          absl::StrCat("the meta server answers ", Text(ErrorCodeName(err))));
  }
}

}  // namespace

bool TableState::IsHealthy(const PartitionConfiguration& partition) const {
  return partition.primary.IsValid() &&
         partition.MemberCount() >= static_cast<size_t>(std::max(1, info.max_replica_count));
}

int TableState::HealthyPartitions() const {
  return static_cast<int>(
      std::count_if(partitions.begin(), partitions.end(),
                    [this](const PartitionConfiguration& p) { return IsHealthy(p); }));
}

bool TableState::IsHealthy() const {
  return info.status == AppStatus::kAvailable && HealthyPartitions() == info.partition_count;
}

class Cluster::Connection {
 public:
  explicit Connection(const std::vector<Endpoint>& meta_servers)
      : env_({.event_loop_threads = 1}),
        transport_(&env_.loops(), {}),
        strand_(env_.NewStrand("shell")),
        caller_(std::make_shared<MetaCaller>(env_, transport_, strand_,
                                             MetaCallerOptions{.meta_servers = meta_servers})) {}
  ~Connection() {
    transport_.Stop();
    env_.StopLoops();
  }

  template <class Response, class Request>
  absl::StatusOr<Response> Ask(const char* name, const Request& request, absl::Duration timeout) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<Response>>>();
    auto answer = promise->get_future();
    strand_->Post([this, name, request, timeout, promise] {
      caller_->Call<Response>(name, request, env_.clock().Now() + timeout,
                              [promise](absl::StatusOr<Response> response) {
                                promise->set_value(std::move(response));
                              });
    });
    return answer.get();
  }

 private:
  PosixEnvironment env_;
  AsioTransport transport_;
  StrandPtr strand_;
  std::shared_ptr<MetaCaller> caller_;
};

Cluster::Cluster(std::vector<Endpoint> meta_servers)
    : meta_servers_(std::move(meta_servers)),
      connection_(std::make_unique<Connection>(meta_servers_)) {}
Cluster::~Cluster() = default;

template <class Response, class Request>
absl::StatusOr<Response> Cluster::Ask(const char* name, const Request& request,
                                      absl::Duration timeout) {
  return connection_->Ask<Response>(name, request, timeout);
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> Cluster::Info() {
  ASSIGN_OR_RETURN(auto answer, Ask<ClusterInfoResponse>("RPC_CM_CLUSTER_INFO",
                                                         ClusterInfoRequest{}, kQuestionTimeout));
  RETURN_IF_ERROR(StatusOf(answer.err, ""));
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t i = 0; i < std::min(answer.keys.size(), answer.values.size()); ++i) {
    pairs.emplace_back(answer.keys[i], answer.values[i]);
  }
  return pairs;
}

absl::Status Cluster::ReadPartitions(TableState* table) {
  if (table->info.status != AppStatus::kAvailable) return absl::OkStatus();
  ASSIGN_OR_RETURN(auto answer,
                   Ask<QueryConfigResponse>("RPC_CM_QUERY_PARTITION_CONFIG_BY_INDEX",
                                            QueryConfigRequest{.app_name = table->info.app_name},
                                            kQuestionTimeout));
  if (answer.err != ErrorCode::kOk)
    return absl::OkStatus();  // dropped in the meantime: shown without partitions
  table->partitions = std::move(answer.partitions);
  std::sort(table->partitions.begin(), table->partitions.end(),
            [](const auto& a, const auto& b) { return a.pid.index < b.pid.index; });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TableState>> Cluster::Tables() {
  ASSIGN_OR_RETURN(auto answer,
                   Ask<ListAppsResponse>("RPC_CM_LIST_APPS", ListAppsRequest{}, kQuestionTimeout));
  RETURN_IF_ERROR(StatusOf(answer.err, ""));
  std::vector<TableState> tables;
  for (AppInfo& info : answer.infos) {
    if (info.status == AppStatus::kDropped) continue;
    tables.push_back({std::move(info), {}});
    RETURN_IF_ERROR(ReadPartitions(&tables.back()));
  }
  std::sort(tables.begin(), tables.end(),
            [](const TableState& a, const TableState& b) { return a.info.app_id < b.info.app_id; });
  return tables;
}

absl::StatusOr<TableState> Cluster::FindTable(const std::string& name) {
  ASSIGN_OR_RETURN(std::vector<TableState> tables, Tables());
  for (TableState& table : tables) {
    if (table.info.app_name == name) return std::move(table);
  }
  return StatusOf(ErrorCode::kObjectNotFound, name);
}

absl::StatusOr<std::vector<NodeState>> Cluster::Nodes(const std::vector<TableState>& tables) {
  ASSIGN_OR_RETURN(auto answer, Ask<ListNodesResponse>("RPC_CM_LIST_NODES", ListNodesRequest{},
                                                       kQuestionTimeout));
  RETURN_IF_ERROR(StatusOf(answer.err, ""));
  std::vector<NodeState> nodes;
  for (const NodeInfo& info : answer.infos) {
    NodeState node{info.node, info.status == NodeStatus::kAlive};
    for (const TableState& table : tables) {
      for (const PartitionConfiguration& partition : table.partitions) {
        node.primaries += partition.primary == info.node ? 1 : 0;
        node.secondaries += partition.IsSecondary(info.node) ? 1 : 0;
      }
    }
    nodes.push_back(node);
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const NodeState& a, const NodeState& b) { return a.address < b.address; });
  return nodes;
}

absl::StatusOr<int> Cluster::CreateTable(const std::string& name, int partitions, int replicas) {
  CreateAppRequest request{.app_name = name};
  request.options = {.partition_count = partitions,
                     .replica_count = replicas,
                     .app_type = "pegasus",
                     .is_stateful = true};
  ASSIGN_OR_RETURN(auto answer,
                   Ask<CreateAppResponse>("RPC_CM_CREATE_APP", request, kChangeTimeout));
  RETURN_IF_ERROR(StatusOf(answer.err, name));
  return answer.appid;
}

absl::Status Cluster::DropTable(const std::string& name) {
  ASSIGN_OR_RETURN(
      auto answer,
      Ask<DropAppResponse>("RPC_CM_DROP_APP", DropAppRequest{.app_name = name}, kChangeTimeout));
  open_tables_.erase(name);
  return StatusOf(answer.err, name);
}

absl::StatusOr<std::shared_ptr<Table>> Cluster::OpenTable(const std::string& name) {
  if (auto found = open_tables_.find(name); found != open_tables_.end()) return found->second;
  if (client_ == nullptr) {
    ClientOptions options;
    for (Endpoint meta : meta_servers_) options.meta_servers.push_back(meta.ToString());
    ASSIGN_OR_RETURN(client_, Client::Create(options));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, client_->OpenTable(name));
  open_tables_[name] = table;
  return table;
}

}  // namespace arion::shell
