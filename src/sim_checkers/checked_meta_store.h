// DurableState: what is durable of the meta servers' state, with every configuration told to the
// checkers as it became so. CheckedMetaStore: the store of the only meta server, which feeds one.
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

class DurableState {
 public:
  using Change = MetaStore::Change;
  // Runs for each partition of each batch whose table is there whole.
  using OnStored = std::function<void(const PartitionConfiguration&)>;
  // Runs for each key; may be empty.
  using OnChange = std::function<void(const Change&)>;
  DurableState(OnStored on_stored, OnChange on_change)
      : on_stored_(std::move(on_stored)), on_change_(std::move(on_change)) {}

  // This became durable.
  void Apply(const std::vector<Change>& batch);
  absl::StatusOr<ClusterState> State() const { return ClusterState::Load(entries_); }

 private:
  std::map<std::string, std::string> entries_;
  OnStored on_stored_;
  OnChange on_change_;
};

// One for each life of the simulated meta server, around its journal. What is on its way at a crash
// may become durable without being told: the next Load tells it.
class CheckedMetaStore : public MetaStore {
 public:
  // Both as DurableState's; at Load they run for all that there is.
  using OnStored = DurableState::OnStored;
  using OnChange = DurableState::OnChange;
  // Runs for each refused batch that is kToServe.
  using OnRefused = std::function<void(const absl::Status&)>;
  CheckedMetaStore(std::unique_ptr<MetaStore> inner, OnStored on_stored, OnRefused on_refused,
                   OnChange on_change = {});

  absl::StatusOr<std::map<std::string, std::string>> Load() override;
  void Commit(std::vector<Change> batch, StoreNeed need, StrandPtr reply_on,
              absl::AnyInvocable<void(const absl::Status&)> done) override;
  void Look(StrandPtr reply_on, absl::AnyInvocable<void(const StoreRoom&)> done) override {
    inner_->Look(std::move(reply_on), std::move(done));
  }

  // What is durable.
  absl::StatusOr<ClusterState> State() const { return durable_->state.State(); }

 private:
  struct Durable {
    DurableState state;
    OnRefused on_refused;
  };
  std::unique_ptr<MetaStore> inner_;
  std::shared_ptr<Durable> durable_;
};

}  // namespace arion::sim
