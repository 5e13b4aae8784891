// SPDX-License-Identifier: Apache-2.0
#include "tools/load/run/measurements.h"

#include <utility>

namespace arion::load {

uint64_t KindTally::Errors() const {
  uint64_t sum = 0;
  for (const auto& [code, count] : errors) sum += count;
  return sum;
}

void Tally::Add(const Tally& other) {
  for (size_t i = 0; i < kKinds; ++i) {
    KindTally& mine = kinds[i];
    const KindTally& added = other.kinds[i];
    mine.service.Add(added.service);
    mine.intended.Add(added.intended);
    mine.not_found += added.not_found;
    for (const auto& [code, count] : added.errors) mine.errors[code] += count;
    mine.first_error.insert(added.first_error.begin(), added.first_error.end());
  }
}

uint64_t Tally::Operations() const {
  uint64_t sum = 0;
  for (const KindTally& kind : kinds) sum += kind.Operations();
  return sum;
}

uint64_t Tally::Succeeded() const {
  uint64_t sum = 0;
  for (const KindTally& kind : kinds) sum += kind.service.count();
  return sum;
}

Measurements::Measurements(size_t slots) {
  for (size_t i = 0; i < slots; ++i) slots_.push_back(std::make_unique<Slot>());
}

void Measurements::Record(size_t slot, const Sample& sample, const absl::Status& status) {
  Slot& mine = *slots_[slot];
  const MutexLock lock(mine.mutex);
  KindTally& kind = mine.tally.kinds[static_cast<size_t>(sample.kind)];
  // A record that is not there is an answer like another, whose time counts.
  if (!status.ok() && !absl::IsNotFound(status)) {
    ++kind.errors[status.code()];
    // One message of each code is enough for the summary.
    kind.first_error.try_emplace(status.code(), status.message());
    return;
  }
  if (!status.ok()) ++kind.not_found;
  kind.service.Record(sample.ended.nanos() - sample.started.nanos());
  kind.intended.Record(sample.ended.nanos() - sample.intended.nanos());
}

Tally Measurements::Take() {
  Tally all;
  for (const std::unique_ptr<Slot>& slot : slots_) {
    Tally taken;
    {
      const MutexLock lock(slot->mutex);
      // Only swapped under the lock: adding histograms up would keep a client's thread waiting.
      std::swap(taken, slot->tally);
    }
    all.Add(taken);
  }
  return all;
}

}  // namespace arion::load
