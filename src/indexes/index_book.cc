// SPDX-License-Identifier: Apache-2.0
#include "indexes/index_book.h"

#include <algorithm>

namespace arion {
namespace {

bool Holds(const std::vector<IndexProgress>& defined, const NamedIndex& index) {
  return std::any_of(defined.begin(), defined.end(), [&index](const IndexProgress& progress) {
    return progress.name == index.name;
  });
}

}  // namespace

void IndexBook::Note(PartitionId pid, const std::string& table,
                     std::weak_ptr<const IndexSet> indexes, std::vector<NamedIndex> wanted) {
  const MutexLock lock(mutex_);
  // Those of replicas that were closed.
  std::erase_if(entries_, [](const auto& entry) { return entry.second.indexes.expired(); });
  entries_[pid] = {table, std::move(indexes), std::move(wanted)};
}

std::optional<double> IndexBook::Pace::seconds_left() const {
  if (has_undefined) return std::nullopt;
  if (left_bytes == 0) return 0;
  if (bytes_per_second <= 0) return std::nullopt;
  return static_cast<double>(left_bytes) / bytes_per_second;
}

std::vector<IndexBook::Open> IndexBook::OpenOnes() const {
  const MutexLock lock(mutex_);
  std::vector<Open> open;
  for (const auto& [pid, entry] : entries_)
    if (auto indexes = entry.indexes.lock())
      open.push_back({entry.table, std::move(indexes), entry.wanted});
  return open;
}

std::map<std::string, IndexBook::Pace> IndexBook::Paces() const {
  std::map<std::string, Pace> paces;
  for (const auto& [table, indexes, wanted] : OpenOnes()) {
    // One walk is for all that are missing.
    Pace of_walk;
    const std::vector<IndexProgress> all = indexes->Progress();
    for (const IndexProgress& progress : all) {
      of_walk.left_bytes = std::max(of_walk.left_bytes, progress.left_bytes);
      of_walk.bytes_per_second = std::max(of_walk.bytes_per_second, progress.bytes_per_second);
    }
    if (all.empty() && wanted.empty()) continue;
    Pace& pace = paces[table];
    pace.left_bytes += of_walk.left_bytes;
    pace.bytes_per_second += of_walk.bytes_per_second;
    pace.has_undefined |= std::any_of(wanted.begin(), wanted.end(),
                                      [&all](const NamedIndex& one) { return !Holds(all, one); });
  }
  return paces;
}

std::vector<IndexBook::Row> IndexBook::Rows() const {
  std::map<std::pair<std::string, std::string>, Row> rows;
  for (const auto& [table, indexes, wanted] : OpenOnes()) {
    std::vector<IndexProgress> all = indexes->Progress();
    for (const NamedIndex& one : wanted)
      if (!Holds(all, one)) all.push_back({.name = one.name, .definition = one.definition});
    for (const IndexProgress& progress : all) {
      Row& row = rows[{table, progress.name}];
      row.table = table;
      row.index = progress.name;
      row.definition = progress.definition.Text();
      row.is_paused = progress.definition.is_paused;
      row.mean_percent = (row.mean_percent * static_cast<double>(row.replicas) + progress.percent) /
                         static_cast<double>(row.replicas + 1);
      ++row.replicas;
      if (progress.is_whole) ++row.whole;
      row.entries += progress.entries;
      row.left_out += progress.left_out;
      if (progress.is_renewed) ++row.renewed;
    }
  }
  std::vector<Row> all;
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  return all;
}

}  // namespace arion
