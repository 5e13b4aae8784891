// CheckedMetaStore: the meta server's store, with every configuration that became durable told to
// the checkers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "messages/configuration.h"
#include "meta/cluster_state.h"
#include "meta/meta_store.h"

namespace arion::sim {

class CheckedMetaStore : public MetaStore {
 public:
  // `on_stored` runs for each partition of each durable batch, and for all of them at Load.
  using OnStored = std::function<void(const PartitionConfiguration&)>;
  CheckedMetaStore(std::unique_ptr<MetaStore> inner, OnStored on_stored);

  absl::StatusOr<std::map<std::string, std::string>> Load() override;
  void Commit(std::vector<Change> batch, StrandPtr reply_on,
              absl::AnyInvocable<void(const absl::Status&)> done) override;

  // What is durable.
  absl::StatusOr<ClusterState> State() const { return ClusterState::Load(durable_->entries); }

 private:
  struct Durable {
    std::map<std::string, std::string> entries;
    OnStored on_stored;
    void Apply(const std::vector<Change>& batch);
  };
  std::unique_ptr<MetaStore> inner_;
  std::shared_ptr<Durable> durable_;
};

}  // namespace arion::sim
