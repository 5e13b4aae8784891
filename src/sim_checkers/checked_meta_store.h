// CheckedMetaStore: the meta server's store, with every configuration that became durable told to
// the checkers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "messages/configuration.h"
#include "meta_state/cluster_state.h"
#include "meta_state/meta_store.h"

namespace arion {
struct StoreRoom;
}

namespace arion::sim {

// One for each life of the simulated meta server, around its journal. What is on its way at a crash
// may become durable without being told: the next Load tells it.
class CheckedMetaStore : public MetaStore {
 public:
  // `on_stored` runs for each partition of each durable batch, and for all of them at Load.
  using OnStored = std::function<void(const PartitionConfiguration&)>;
  // `on_refused` runs for each refused batch that is kToServe.
  using OnRefused = std::function<void(const absl::Status&)>;
  // `on_change` runs for each key that became durable, and for all of them at Load; may be empty.
  using OnChange = std::function<void(const Change&)>;
  CheckedMetaStore(std::unique_ptr<MetaStore> inner, OnStored on_stored, OnRefused on_refused,
                   OnChange on_change = {});

  absl::StatusOr<std::map<std::string, std::string>> Load() override;
  void Commit(std::vector<Change> batch, StoreNeed need, StrandPtr reply_on,
              absl::AnyInvocable<void(const absl::Status&)> done) override;
  void Look(StrandPtr reply_on, absl::AnyInvocable<void(const StoreRoom&)> done) override {
    inner_->Look(std::move(reply_on), std::move(done));
  }

  // What is durable.
  absl::StatusOr<ClusterState> State() const { return ClusterState::Load(durable_->entries); }

 private:
  struct Durable {
    std::map<std::string, std::string> entries;
    OnStored on_stored;
    OnRefused on_refused;
    OnChange on_change;
    void Apply(const std::vector<Change>& batch);
  };
  std::unique_ptr<MetaStore> inner_;
  std::shared_ptr<Durable> durable_;
};

}  // namespace arion::sim
