// SPDX-License-Identifier: Apache-2.0
#include "indexes/index_book.h"

namespace arion {

void IndexBook::Note(PartitionId pid, const std::string& table,
                     std::weak_ptr<const IndexSet> indexes) {
  const MutexLock lock(mutex_);
  // Those of replicas that were closed.
  std::erase_if(entries_, [](const auto& entry) { return entry.second.indexes.expired(); });
  entries_[pid] = {table, std::move(indexes)};
}

std::vector<IndexBook::Row> IndexBook::Rows() const {
  std::map<PartitionId, Entry> entries;
  {
    const MutexLock lock(mutex_);
    entries = entries_;
  }
  std::map<std::pair<std::string, std::string>, Row> rows;
  for (const auto& [pid, entry] : entries) {
    const std::shared_ptr<const IndexSet> indexes = entry.indexes.lock();
    if (indexes == nullptr) continue;
    for (const IndexProgress& progress : indexes->Progress()) {
      Row& row = rows[{entry.table, progress.name}];
      row.table = entry.table;
      row.index = progress.name;
      row.definition = progress.definition.Text();
      row.is_paused = progress.definition.is_paused;
      row.mean_percent = (row.mean_percent * static_cast<double>(row.replicas) + progress.percent) /
                         static_cast<double>(row.replicas + 1);
      ++row.replicas;
      if (progress.is_whole) ++row.whole;
      row.entries += progress.entries;
      row.left_out += progress.left_out;
    }
  }
  std::vector<Row> all;
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  return all;
}

}  // namespace arion
