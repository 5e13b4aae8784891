// DuplicationSync: asks the meta server which tables are duplicated to other clusters, and tells it
// how far the partitions that this server leads have come. What it has stored of that comes back,
// and is what logs are kept by.
//
// Shapes    One request at a time: soon after the lease begins, then every 3 s, or 2 s where
//           something is duplicated. Replicas are asked only then, and only those told whose table
//           it concerns.
// Threads   Strand-bound to the server's strand.
// Promises  duplication_sync/D1  An answer counts only in the lease term that its request was sent
//               in, and for a replica only while it leads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "messages/meta_messages.h"
#include "replica/replica_host.h"
#include "rpc/transport.h"

namespace arion {

class ReplicaTable;

// One for a server. OnConnected begins a term, OnLeaseLost ends it.
class DuplicationSync : public std::enable_shared_from_this<DuplicationSync> {
 public:
  DuplicationSync(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
                  std::shared_ptr<ReplicaTable> table)
      : host_(std::move(host)), strand_(std::move(strand)), table_(std::move(table)) {}

  void OnConnected(uint64_t term);
  void OnLeaseLost();

 private:
  using Confirms = std::map<PartitionId, std::vector<DuplicationConfirmEntry>>;
  void Schedule(absl::Duration delay);
  void Run();
  void Send(Confirms confirms);
  void OnAnswer(const RpcResult& result);

  const std::shared_ptr<const ReplicaHost> host_;
  const StrandPtr strand_;
  const std::shared_ptr<ReplicaTable> table_;
  bool is_connected_ = false;
  uint64_t term_ = 0;
  // The last answer named a duplication.
  bool is_anything_duplicated_ = false;
  TimerId timer_ = kNoTimer;
};

}  // namespace arion
