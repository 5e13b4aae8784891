// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/cluster.h"

#include <absl/strings/str_split.h>

#include <algorithm>

#include "base/status.h"
#include "env/named_address.h"

namespace arion::shell {
namespace {

std::vector<std::string> Names(const std::vector<Endpoint>& servers) {
  std::vector<std::string> names;
  for (Endpoint server : servers) names.push_back(server.ToString());
  return names;
}

}  // namespace

absl::StatusOr<std::vector<Endpoint>> ParseServers(std::string_view text) {
  std::vector<Endpoint> servers;
  absl::Status why_not;
  for (const auto word : absl::StrSplit(Text(text), ',')) {
    ASSIGN_OR_RETURN(const NamedAddress address, ParseNamedAddress(View(word)));
    const absl::StatusOr<std::vector<Endpoint>> found = LookUp(address);
    // A name that is not found does no harm as long as another one is.
    if (found.ok())
      servers.insert(servers.end(), found->begin(), found->end());
    else
      why_not = found.status();
  }
  if (servers.empty()) return why_not;
  return servers;
}

int TableState::AwaitedPartitions() const {
  return static_cast<int>(std::count_if(partitions.begin(), partitions.end(), IsAwaited));
}

const PartitionConfiguration& TableState::PartitionFor(uint64_t hash) const {
  const PartitionConfiguration& partition = partitions.at(hash % partitions.size());
  return IsAwaited(partition) && partitions.size() > 1
             ? partitions.at(hash % (partitions.size() / 2))
             : partition;
}

bool TableState::IsHealthy(const PartitionConfiguration& partition) const {
  if (IsAwaited(partition)) return true;
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

Cluster::Cluster(std::vector<Endpoint> meta_servers, std::string admin_token)
    : meta_servers_(std::move(meta_servers)), admin_token_(std::move(admin_token)) {}
Cluster::~Cluster() = default;

void Cluster::Disconnect() {
  // Tables first: they use the client.
  open_tables_.clear();
  client_.reset();
  admin_.reset();
}

void Cluster::ConnectTo(std::vector<Endpoint> meta_servers) {
  Disconnect();
  meta_servers_ = std::move(meta_servers);
}

void Cluster::set_timeout(absl::Duration timeout) {
  // Clients take it when they are made, so those that are there go.
  Disconnect();
  timeout_ = timeout;
}

absl::StatusOr<AdminClient*> Cluster::Admin() {
  if (admin_ == nullptr) {
    ASSIGN_OR_RETURN(admin_, AdminClient::Create(Names(meta_servers_), timeout_, admin_token_));
  }
  return admin_.get();
}

absl::StatusOr<StartRecoveryResponse> Cluster::Recover(const StartRecoveryRequest& request,
                                                       absl::Duration timeout) {
  // A client of its own: a recovery takes longer than other questions.
  ASSIGN_OR_RETURN(auto admin, AdminClient::Create(Names(meta_servers_), timeout, admin_token_));
  return admin->StartRecovery(request);
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> Cluster::Info() {
  ASSIGN_OR_RETURN(AdminClient * admin, Admin());
  ASSIGN_OR_RETURN(auto answer, admin->ClusterInfo());
  std::vector<std::pair<std::string, std::string>> pairs;
  // Two lists, which nothing in the message keeps at one length.
  for (size_t i = 0; i < std::min(answer.keys.size(), answer.values.size()); ++i) {
    pairs.emplace_back(answer.keys[i], answer.values[i]);
  }
  return pairs;
}

absl::Status Cluster::ReadPartitions(TableState* table) {
  if (table->info.status != AppStatus::kAvailable) return absl::OkStatus();
  ASSIGN_OR_RETURN(AdminClient * admin, Admin());
  absl::StatusOr<QueryConfigResponse> answer = admin->QueryTable(table->info.app_name);
  if (absl::IsNotFound(answer.status())) return absl::OkStatus();  // dropped in the meantime
  RETURN_IF_ERROR(answer.status());
  table->partitions = std::move(answer->partitions);
  std::sort(table->partitions.begin(), table->partitions.end(),
            [](const auto& a, const auto& b) { return a.pid.index < b.pid.index; });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TableState>> Cluster::Tables(const ListAppsRequest& which) {
  ASSIGN_OR_RETURN(AdminClient * admin, Admin());
  ASSIGN_OR_RETURN(auto answer, admin->ListTables(which));
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
  return absl::NotFoundError(absl::StrCat("there is no table ", name));
}

absl::StatusOr<std::vector<NodeState>> Cluster::Nodes(const std::vector<TableState>& tables) {
  ASSIGN_OR_RETURN(AdminClient * admin, Admin());
  ASSIGN_OR_RETURN(auto answer, admin->ListNodes());
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

absl::StatusOr<int> Cluster::CreateTable(const CreateAppRequest& request) {
  ASSIGN_OR_RETURN(AdminClient * admin, Admin());
  ASSIGN_OR_RETURN(auto answer, admin->CreateTable(request));
  return answer.appid;
}

absl::StatusOr<std::vector<AppInfo>> Cluster::DroppedTables(ListAppsRequest which) {
  ASSIGN_OR_RETURN(AdminClient * admin, Admin());
  which.status = AppStatus::kDropped;
  ASSIGN_OR_RETURN(auto answer, admin->ListTables(which));
  return std::move(answer.infos);
}

absl::Status Cluster::DropTable(const std::string& name, int64_t reserve_seconds) {
  ASSIGN_OR_RETURN(AdminClient * admin, Admin());
  DropAppRequest request{.app_name = name};
  if (reserve_seconds > 0) request.options.reserve_seconds = reserve_seconds;
  RETURN_IF_ERROR(admin->DropTable(request).status());
  // A table of that name that is made later is another one.
  open_tables_.erase(name);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Table>> Cluster::OpenTable(const std::string& name) {
  if (auto found = open_tables_.find(name); found != open_tables_.end()) return found->second;
  if (client_ == nullptr) {
    ASSIGN_OR_RETURN(client_,
                     Client::Create({.meta_servers = Names(meta_servers_), .timeout = timeout_}));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, client_->OpenTable(name));
  open_tables_[name] = table;
  return table;
}

}  // namespace arion::shell
