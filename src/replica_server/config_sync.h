// ConfigSync tells the meta server what this server stores and acts on what it says
// (pacifica/PROTOCOL.md 8.6): on connecting, every interval, and soon after a replica opened or
// closed.
//
// Shapes    Each answer numbers the next request. One with another number is refused unread, since
//           it may have been late or doubled; the refusal says which number is awaited, and the
//           request is made anew at once, with what is true then.
//           An older version's meta server ends where a report names a partition that it does not
//           know: it is asked for its tables before each report, and not told of others.
// Splits    An answer says of each parent whether it is to be split, and which unborn children are
//           to stay. Another one is put away, unless an attempt of this server still makes it.
// Answers   What a meta server asks that lost its state, whichever it is: also without a lease.
// Threads   Strand-bound to the server's strand.
// Promises  config_sync/C1  An answer counts only in the lease term that its request was sent in.
//               For a replica that it leaves out it counts only if that replica is still as it was
//               reported.
//           config_sync/C2  What a request says was looked up after the answer came that numbered
//               it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "membership/join_tolerance.h"
#include "messages/meta_messages.h"
#include "replica/replica_host.h"
#include "rpc/transport.h"

namespace arion {

class ReplicaTable;

// One for a server. OnConnected begins the reports of a term, OnLeaseLost ends them.
class ConfigSync : public std::enable_shared_from_this<ConfigSync> {
 public:
  ConfigSync(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
             std::shared_ptr<ReplicaTable> table, std::vector<std::string> unreadable_disks);

  // The lease is held under `term`: reports at once, then periodically.
  void OnConnected(uint64_t term);
  void OnLeaseLost();
  // From now on asks of these, which have no directory here, which ones nobody needs.
  void AskAboutMissing(std::set<PartitionId> missing,
                       std::function<void(const std::vector<PartitionId>&)> on_unneeded);
  // A report would differ from the last one: makes the next one soon.
  void Soon();
  // What a meta server that rebuilds its state asks.
  void TellReplicas(Responder responder);
  void TellTables(Responder responder);
  // The meta server believes that this server has a replica of `entry`: asks it to take that back.
  void AskRemoval(const ConfigurationUpdateRequest& entry);

 private:
  void Schedule(absl::Duration delay);
  void Run();
  void AskForListing();
  void OnListing(absl::StatusOr<ClusterListing> listing);
  void Report();
  void Send(std::vector<ReplicaInfo> reports);
  void OnAnswer(const std::vector<ReplicaInfo>& reports, const RpcResult& result);
  void Adopt(const ConfigurationUpdateRequest& entry);

  std::shared_ptr<const ReplicaHost> host_;
  StrandPtr strand_;
  std::shared_ptr<ReplicaTable> table_;
  const std::vector<std::string> unreadable_disks_;
  std::set<PartitionId> missing_;
  std::function<void(const std::vector<PartitionId>&)> on_unneeded_;
  bool is_connected_ = false;
  // Whether the meta server has answered in this term.
  bool was_answered_ = false;
  bool is_under_way_ = false;
  uint64_t term_ = 0;
  // The number of the next request; 0: no answer has given one.
  int64_t number_ = 0;
  // Whom the last request went to.
  Endpoint asked_;
  // Who gave that number.
  Endpoint numbered_by_;
  TimerId timer_ = kNoTimer;
  Instant timer_at_;
  // Of an older version's meta server, asked for this report.
  std::optional<ClusterListing> listing_;
};

}  // namespace arion
