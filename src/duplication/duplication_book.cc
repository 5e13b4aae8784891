// SPDX-License-Identifier: Apache-2.0
#include "duplication/duplication_book.h"

namespace arion {

void DuplicationBook::Note(PartitionId pid, Place place,
                           const std::shared_ptr<const DuplicationFigures>& figures) {
  const MutexLock lock(mutex_);
  std::erase_if(entries_, [](const auto& entry) { return entry.second.figures.expired(); });
  entries_.emplace(pid, Entry{std::move(place), figures});
}

std::shared_ptr<DuplicationTotals> DuplicationBook::TotalsOf(const Place& place) {
  const MutexLock lock(mutex_);
  std::shared_ptr<DuplicationTotals>& totals = totals_[place];
  if (totals == nullptr) totals = std::make_shared<DuplicationTotals>();
  return totals;
}

std::vector<DuplicationBook::Row> DuplicationBook::Rows() const {
  const MutexLock lock(mutex_);
  std::vector<Row> rows;
  for (const auto& [pid, entry] : entries_)
    if (std::shared_ptr<const DuplicationFigures> figures = entry.figures.lock())
      rows.push_back({entry.place.first, entry.place.second, pid, std::move(figures)});
  return rows;
}

std::map<DuplicationBook::Place, std::shared_ptr<const DuplicationTotals>> DuplicationBook::Totals()
    const {
  const MutexLock lock(mutex_);
  return {totals_.begin(), totals_.end()};
}

}  // namespace arion
