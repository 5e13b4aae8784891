// ReplicaChildren: the server's part in splits: looks for children, makes, feeds and activates
// them, on the server's strand (splits/children.h).
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "env/strand.h"
#include "replica_server/config_sync.h"
#include "replica_server/replica_table.h"
#include "splits/children.h"

namespace arion {

// One for a server. After its table or its config sync is gone it does nothing.
class ReplicaChildren : public Children {
 public:
  ReplicaChildren(StrandPtr strand, std::weak_ptr<ReplicaTable> table,
                  std::weak_ptr<ConfigSync> sync)
      : strand_(std::move(strand)), table_(std::move(table)), sync_(std::move(sync)) {}

  void LookForChild(const ChildSeed& seed, OnState done) override;
  void MakeChild(ChildSeed seed) override;
  void GiveTail(PartitionId child, ParentTail tail) override;
  void ActivateChild(const ConfigurationUpdateRequest& entry) override;
  void SyncSoon() override;

 private:
  const StrandPtr strand_;
  const std::weak_ptr<ReplicaTable> table_;
  const std::weak_ptr<ConfigSync> sync_;
};

}  // namespace arion
