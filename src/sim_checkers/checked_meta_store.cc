// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/checked_meta_store.h"

#include <set>
#include <utility>

#include "base/status.h"

namespace arion::sim {
namespace {

// "/apps/2/0" -> "/apps/2"; empty for anything that is no partition.
std::string TableKeyOf(const std::string& key) {
  constexpr std::string_view kPrefix = "/apps/";
  if (!key.starts_with(kPrefix)) return {};
  size_t slash = key.find('/', kPrefix.size());
  return slash == std::string::npos ? std::string() : key.substr(0, slash);
}

}  // namespace

CheckedMetaStore::CheckedMetaStore(std::unique_ptr<MetaStore> inner, OnStored on_stored,
                                   OnRefused on_refused, OnChange on_change)
    : inner_(std::move(inner)),
      durable_(std::make_shared<Durable>(
          Durable{{std::move(on_stored), std::move(on_change)}, std::move(on_refused)})) {}

void DurableState::Apply(const std::vector<Change>& batch) {
  // Partitions whose configuration is in the batch, and the tables they are of.
  std::set<std::string> changed, tables;
  for (const Change& change : batch) {
    if (on_change_) on_change_(change);
    if (change.value.has_value()) {
      entries_[change.key] = *change.value;
      if (const std::string table = TableKeyOf(change.key); !table.empty()) {
        changed.insert(change.key);
        tables.insert(table);
      }
    } else {
      entries_.erase(change.key);
    }
  }
  if (changed.empty()) return;
  // ClusterState::Load checks whole tables, so it is given all partitions of each one that changed.
  std::map<std::string, std::string> touched;  // those tables whole
  for (const std::string& table : tables) {
    if (const auto it = entries_.find(table); it != entries_.end()) touched.insert(*it);
    const std::string prefix = table + "/";
    for (auto it = entries_.lower_bound(prefix);
         it != entries_.end() && it->first.starts_with(prefix); ++it)
      touched.insert(*it);
  }
  absl::StatusOr<ClusterState> state = ClusterState::Load(touched);
  if (!state.ok()) return;  // a table is being made: its partitions come one by one
  for (const auto& [id, table] : state->tables) {
    for (const Partition& partition : table.partitions) {
      if (changed.contains(state->ChangeOf(partition.config).key)) on_stored_(partition.config);
    }
  }
}

absl::StatusOr<std::map<std::string, std::string>> CheckedMetaStore::Load() {
  auto loaded = inner_->Load();
  if (!loaded.ok()) return loaded;
  std::vector<Change> all;
  for (const auto& [key, value] : *loaded) all.push_back({key, value});
  // Told as if it were stored now: what became durable without an answer shows here.
  durable_->state.Apply(all);
  return loaded;
}

void CheckedMetaStore::Commit(std::vector<Change> batch, StoreNeed need, StrandPtr reply_on,
                              absl::AnyInvocable<void(const absl::Status&)> done) {
  // The callback holds what it needs, not this object: it may come when the store is gone.
  auto copy = batch;
  inner_->Commit(std::move(batch), need, std::move(reply_on),
                 [durable = durable_, copy = std::move(copy), need,
                  done = std::move(done)](const absl::Status& status) mutable {
                   if (status.ok())
                     durable->state.Apply(copy);
                   else if (need == StoreNeed::kToServe)
                     durable->on_refused(status);
                   done(status);
                 });
}

}  // namespace arion::sim
