// SPDX-License-Identifier: Apache-2.0
#include "exposition/replica_sampler.h"

#include <absl/time/time.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "env/clock.h"

namespace arion {
namespace {

constexpr std::chrono::seconds kEvery{5};
constexpr absl::Duration kWindow = absl::Seconds(10);
// A timer may fire a little early, and samples must still be ten seconds apart.
constexpr absl::Duration kSlack = absl::Milliseconds(500);

}  // namespace

const ReplicaSampler::Row* ReplicaSampler::Sample::Find(PartitionId pid) const {
  const auto it =
      std::lower_bound(rows.begin(), rows.end(), pid,
                       // Rows are in the order of partitions, as the book's members are.
                       [](const Row& row, PartitionId wanted) { return row.pid < wanted; });
  return it != rows.end() && it->pid == pid ? &*it : nullptr;
}

ReplicaSampler::ReplicaSampler(const RequestBook& book, const Clock& clock)
    : book_(book),
      clock_(clock),
      // An empty sample first, so that readers need no check for null.
      samples_{std::make_shared<const Sample>(Sample{.at = clock.Now()})},
      thread_([this] { Run(); }) {}

ReplicaSampler::~ReplicaSampler() {
  {
    const MutexLock lock(mutex_);
    is_ending_ = true;
  }
  ends_.NotifyAll();
  thread_.join();
}

void ReplicaSampler::Run() {
  MutexLock lock(mutex_);
  // The pause follows the sample: a slow one delays the next, and they never pile up.
  while (!is_ending_) {
    lock.Unlock();
    // Without the lock: asking all engines takes milliseconds.
    auto sample = std::make_shared<const Sample>(Take(nullptr));
    lock.Lock();
    samples_.push_back(std::move(sample));
    // Keeps the youngest sample that is old enough, and all after it.
    while (samples_.size() > 1 && samples_.back()->at - samples_[1]->at >= kWindow - kSlack)
      samples_.pop_front();
    ends_.WaitFor(mutex_, kEvery,
                  [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_ending_; });
  }
}

ReplicaSampler::Sample ReplicaSampler::Take(const Sample* engines) const {
  Sample sample{.at = clock_.Now()};
  for (const RequestBook::Member& member : book_.Members()) {
    Row& row = sample.rows.emplace_back(
        Row{.table = member.table, .pid = member.pid, .life = member.stats.get()});
    // Engines that are known are not asked again; another life of a replica is another engine.
    const Row* known = engines == nullptr ? nullptr : engines->Find(member.pid);
    row.engine = known != nullptr && known->life == row.life ? known->engine
                                                             : member.stats->figures().ReadEngine();
    member.stats->AddTo(&row.loads);
    row.counts = member.stats->figures().ReadCounts();
  }
  return sample;
}

ReplicaSampler::SamplePtr ReplicaSampler::Latest() const {
  const MutexLock lock(mutex_);
  return samples_.back();
}

ReplicaSampler::SamplePtr ReplicaSampler::TenSecondsAgo() const {
  const MutexLock lock(mutex_);
  return samples_.front();
}

ReplicaSampler::Sample ReplicaSampler::Now() const { return Take(Latest().get()); }

}  // namespace arion
