// Cluster: what the shell asks of a cluster, one question at a time, waiting for the answer.
//
// Errors    Unavailable or DeadlineExceeded: no meta server answers. NotFound, AlreadyExists,
//           InvalidArgument, ...: the meta server said no; the message says what it meant.
// Threads   One thread; never a loop thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <arion/client.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "client/admin_client.h"
#include "messages/configuration.h"
#include "messages/meta_messages.h"

namespace arion::shell {

// A table and where it is served.
struct TableState {
  AppInfo info;
  // By index; empty when the table is not available, or was dropped while it was asked about.
  std::vector<PartitionConfiguration> partitions;

  // A split is to make it. Until then the partition of half the count answers for its keys.
  static bool IsAwaited(const PartitionConfiguration& partition) {
    return partition.ballot == kInvalidBallot;
  }
  int AwaitedPartitions() const;
  // Which one answers for keys of that hash. There are some.
  const PartitionConfiguration& PartitionFor(uint64_t hash) const;
  // It has a primary, and at least as many members as the table's replica count; or is awaited.
  bool IsHealthy(const PartitionConfiguration& partition) const;
  int HealthyPartitions() const;
  // The table is available, and all its partitions are healthy.
  bool IsHealthy() const;
};

// A replica server, and how many replicas it has of the tables asked about.
struct NodeState {
  Endpoint address;
  bool alive = false;
  int primaries = 0;
  int secondaries = 0;
};

// Reads "127.0.0.1:34601,meta.example.org:34601". Looks up names, and waits for that; a name may
// stand for many addresses. A name that can't be found is passed over where any other address is
// found. Else its error is returned.
absl::StatusOr<std::vector<Endpoint>> ParseServers(std::string_view text);

// One cluster, as the shell sees it. Connects when it is first asked something. Each question waits
// until it is answered or timed out.
//
//   Cluster cluster(meta_servers);
//   ASSIGN_OR_RETURN(std::vector<TableState> tables, cluster.Tables());
class Cluster {
 public:
  // `admin_token`: what changes need where servers ask for one; empty: none.
  explicit Cluster(std::vector<Endpoint> meta_servers, std::string admin_token = "");
  // Operations on tables that it opened fail from then on.
  ~Cluster();

  const std::vector<Endpoint>& meta_servers() const { return meta_servers_; }
  // From now on another cluster is asked. Closes the connections and forgets the open tables.
  void ConnectTo(std::vector<Endpoint> meta_servers);
  // Of one question, and of one operation on records.
  absl::Duration timeout() const { return timeout_; }
  // Connects anew, as ConnectTo.
  void set_timeout(absl::Duration timeout);
  const std::string& admin_token() const { return admin_token_; }

  // Names and values, as the meta server says them.
  absl::StatusOr<std::vector<std::pair<std::string, std::string>>> Info();
  // Tables that are available or being created, by id. One question, and one more for each table.
  absl::StatusOr<std::vector<TableState>> Tables(const ListAppsRequest& which = {});
  // NotFound: no table that is available or being created has the name.
  absl::StatusOr<TableState> FindTable(const std::string& name);
  // All replica servers that the meta server knows, by address. Replicas are counted in `tables`.
  absl::StatusOr<std::vector<NodeState>> Nodes(const std::vector<TableState>& tables);
  // Returns the table's id.
  absl::StatusOr<int> CreateTable(const CreateAppRequest& request);
  // `reserve_seconds` 0: as long as the meta server is configured to. Forgets the open table.
  absl::Status DropTable(const std::string& name, int64_t reserve_seconds);
  // Tables that were dropped and can be recalled.
  absl::StatusOr<std::vector<AppInfo>> DroppedTables(ListAppsRequest which = {});
  // `timeout`: of this question alone.
  absl::StatusOr<StartRecoveryResponse> Recover(const StartRecoveryRequest& request,
                                                absl::Duration timeout);
  // For everything else. Valid until ConnectTo or set_timeout.
  absl::StatusOr<AdminClient*> Admin();
  // The table's records. What it opened is kept, and is the same table when that has another name.
  absl::StatusOr<std::shared_ptr<Table>> OpenTable(const std::string& name);
  // The next OpenTable asks which table has the name now.
  void ForgetOpenTable(const std::string& name) { open_tables_.erase(name); }

 private:
  absl::Status ReadPartitions(TableState* table);
  void Disconnect();

  std::vector<Endpoint> meta_servers_;
  const std::string admin_token_;
  absl::Duration timeout_ = absl::Seconds(5);
  std::unique_ptr<AdminClient> admin_;
  std::unique_ptr<Client> client_;
  std::map<std::string, std::shared_ptr<Table>> open_tables_;
};

}  // namespace arion::shell
