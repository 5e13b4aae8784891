// The part of ReplicaTable that an older version's shared log concerns.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "replica/replica.h"
#include "replica/replica_snapshot.h"
#include "replica_server/replica_table.h"

namespace arion {

void ReplicaTable::OpenInTwoSteps(PartitionId pid, StrandPtr strand, FoundReplica found) {
  host_->env.disk_pool(ParentDirectory(found.path))
      .Submit([self = weak_from_this(), host = host_, reply_on = strand_, strand,
               found = std::move(found)] {
        auto opening = std::make_shared<absl::StatusOr<std::unique_ptr<ReplicaOpening>>>(
            ReplicaOpening::Begin(*host->opening, strand, found, Origin::kFound));
        reply_on->Post([self, strand, pid = found.pid, opening] {
          const auto table = self.lock();
          if (table == nullptr) return;
          table->LeftPool(pid);
          // The shared log may be gone by now: this replica was not in it.
          if (!opening->ok()) {
            if (table->take_over_ != nullptr) table->take_over_->GiveUp(pid);
            return table->OnOpened(pid, strand, opening->status());
          }
          if (table->take_over_ == nullptr)
            return table->FinishOpening(pid, strand, *std::move(*opening));
          table->take_over_->Join(*std::move(*opening),
                                  [self, strand, pid](absl::StatusOr<OpenedReplica> opened) {
                                    if (const auto table = self.lock())
                                      table->OnOpened(pid, strand, std::move(opened));
                                  });
        });
      });
}

void ReplicaTable::FinishOpening(PartitionId pid, StrandPtr strand,
                                 std::unique_ptr<ReplicaOpening> opening) {
  const std::string directory = opening->directory();
  host_->env.disk_pool(directory).Submit(
      [self = weak_from_this(), reply_on = strand_, strand, pid, opening = std::move(opening)] {
        auto opened = std::make_shared<absl::StatusOr<OpenedReplica>>(opening->Finish());
        reply_on->Post([self, strand, pid, opened] {
          if (const auto table = self.lock()) table->OnOpened(pid, strand, std::move(*opened));
        });
      });
}

void ReplicaTable::ForgetSharedLog() {
  CHECK_ON_STRAND(strand_);
  take_over_ = nullptr;
  PostToOpen(&Replica::ForgetSharedLog);  // others learn it when they are opened again (Finish)
}

void ReplicaTable::AskForSharedLog(std::function<void(SharedLogCollector::Replicas)> done) {
  Snapshot([self = shared_from_this(),
            done = std::move(done)](std::vector<ReplicaSnapshot> snapshots) {
    SharedLogCollector::Replicas replicas;
    replicas.unopened = self->failed_to_open_;
    for (const ReplicaSnapshot& replica : snapshots) {
      const auto route = self->Find(replica.pid);
      if (route && route->phase == Phase::kOpen && !replica.loading) {
        replicas.loaded[replica.pid] = {replica.last_durable, replica.valid_start_in_shared_log};
        replicas.unopened.erase(replica.pid);
      } else {
        replicas.unopened.insert(replica.pid);
      }
    }
    done(std::move(replicas));
  });
}

void ReplicaTable::CheckpointAfter(PartitionId pid, absl::Duration after) {
  const auto route = Find(pid);
  if (!route || route->phase != Phase::kOpen) return;
  route->replica->strand()->PostAfter(after, [replica = std::weak_ptr(route->replica)] {
    if (const auto live = replica.lock()) live->CheckpointNow();
  });
}

}  // namespace arion
