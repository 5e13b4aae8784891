// SPDX-License-Identifier: Apache-2.0
#include "wal/log_index.h"

#include <algorithm>

#include "base/log.h"

namespace arion {
namespace {

// Those of a file of 32 MiB, so that a log in its steady state allocates once a file.
constexpr size_t kEntriesExpected = (32 << 20) / LogIndex::kStepBytes;

}  // namespace

void LogIndex::Add(const Entry& at, uint64_t end) {
  CHECK_GT(end, at.position) << "an empty block";
  // Whoever began in the middle of a file cannot index what lies before.
  if (at.position != end_) return;
  end_ = end;
  const uint64_t last = entries_.empty() ? 0 : entries_.back().position;
  if (at.position < last + kStepBytes) return;
  if (entries_.empty()) entries_.reserve(kEntriesExpected);
  if (!entries_.empty())
    CHECK_GE(at.max_decree, entries_.back().max_decree)
        << "Find would pass over the decrees between";
  CHECK_GE(at.position, last) << "places out of order";
  entries_.push_back(at);
}

// max_decree never falls from entry to entry, so the last one below `first` is found by halving.
LogIndex::Entry LogIndex::Find(Decree first) const {
  const auto behind =
      std::partition_point(entries_.begin(), entries_.end(),
                           [first](const Entry& entry) { return entry.max_decree < first; });
  return behind == entries_.begin() ? Entry{} : *(behind - 1);
}

std::vector<LogIndex::Entry> LogIndex::Last(size_t count) const {
  const size_t from = entries_.size() - std::min(count, entries_.size());
  return {entries_.begin() + static_cast<ptrdiff_t>(from), entries_.end()};
}

}  // namespace arion
