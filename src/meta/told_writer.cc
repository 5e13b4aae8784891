// SPDX-License-Identifier: Apache-2.0
#include "meta/told_writer.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "meta/meta_options.h"
#include "meta/store_guard.h"

namespace arion {

void ToldWriter::StoreWhenDue(Instant now) {
  // Decrees rise with each write: storing each one would cost a sync a write.
  if (now < due_at_) return;
  due_at_ = now + options_.guardian_interval;
  std::vector<MetaStore::Change> batch;
  std::vector<int32_t> app_ids;
  for (auto& [app_id, table] : state_.tables) {
    // A partition that gets a leader may begin anew with less. ConfigurationRequests stores its
    // decree with that change; an earlier one must not overwrite it.
    const bool is_about_to_begin = std::any_of(
        table.partitions.begin(), table.partitions.end(),
        [](const Partition& one) { return one.pending && !one.config.primary.IsValid(); });
    if (!table.is_committed_unstored || is_about_to_begin) continue;
    table.is_committed_unstored = false;
    batch.push_back(ClusterState::ChangeOfCommitted(table));
    app_ids.push_back(app_id);
  }
  // Those that did not report yet stay in the list. One that was forgotten is in neither and goes.
  std::set<Endpoint> known = state_.awaited;
  for (const auto& [endpoint, node] : state_.nodes)
    // A server that only sends beacons may be a stranger; one that reported takes part.
    if (state_.listed.contains(endpoint) || (node.alive && node.collected)) known.insert(endpoint);
  for (const Endpoint server : known)
    if (!state_.listed.contains(server))
      batch.push_back(ClusterState::ChangeOfListed(server, true));
  for (const Endpoint server : state_.listed)
    if (!known.contains(server)) batch.push_back(ClusterState::ChangeOfListed(server, false));
  if (batch.empty()) return;
  store_.Commit(std::move(batch), StoreNeed::kWhileRoom,
                [this, app_ids, known](const absl::Status& stored) {
                  if (stored.ok()) {
                    state_.listed = known;
                    return;
                  }
                  for (const int32_t app_id : app_ids)
                    if (Table* table = state_.FindTable(app_id))
                      // They are due again in the next round.
                      table->is_committed_unstored = true;
                });
}

}  // namespace arion
