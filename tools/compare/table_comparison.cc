// SPDX-License-Identifier: Apache-2.0
#include "tools/compare/table_comparison.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/value_schema.h"

namespace arion::compare {

absl::Status ParallelWork::Run(size_t count, size_t at_once,
                               const std::function<absl::Status(size_t)>& work,
                               const std::function<absl::Status()>& idle) {
  struct Shared {
    Mutex mutex;
    ConditionVariable changed;
    size_t next ABSL_GUARDED_BY(mutex) = 0;
    size_t running ABSL_GUARDED_BY(mutex) = 0;
    absl::Status first_error ABSL_GUARDED_BY(mutex);
  } shared;
  const size_t workers = std::min(count, std::max<size_t>(1, at_once));
  {
    const MutexLock lock(shared.mutex);
    shared.running = workers;
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < workers; ++i) {
    threads.emplace_back([&shared, &work, count] {
      MutexLock lock(shared.mutex);
      while (shared.first_error.ok() && shared.next < count) {
        const size_t index = shared.next++;
        lock.Unlock();
        const absl::Status done = work(index);
        lock.Lock();
        if (shared.first_error.ok()) shared.first_error = done;
      }
      --shared.running;
      shared.changed.NotifyAll();
    });
  }
  {
    MutexLock lock(shared.mutex);
    while (shared.running > 0) {
      shared.changed.WaitFor(
          shared.mutex, std::chrono::milliseconds(50),
          [&shared]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared.mutex) { return shared.running == 0; });
      lock.Unlock();
      const absl::Status idled = idle();
      lock.Lock();
      if (shared.first_error.ok()) shared.first_error = idled;
    }
  }
  for (std::thread& thread : threads) thread.join();
  const MutexLock lock(shared.mutex);
  return shared.first_error;
}

TableComparison::TableComparison(Partitions here, Partitions there, Hooks hooks, Options options)
    : here_(std::move(here)),
      there_(std::move(there)),
      hooks_(std::move(hooks)),
      options_(options),
      suspects_(here_.size()) {
  CHECK_EQ(here_.size(), there_.size()) << "the same keys in other partitions";
  for (size_t i = 0; i < here_.size(); ++i)
    comparisons_.push_back(std::make_unique<PartitionComparison>(*here_[i], *there_[i]));
}

int64_t TableComparison::Done() const {
  return std::count_if(comparisons_.begin(), comparisons_.end(),
                       [](const auto& one) { return one->IsDone(); });
}

absl::Status TableComparison::ReadOn() {
  std::atomic<size_t> found = 0;
  std::atomic<int64_t> done = Done();
  return ParallelWork::Run(
      comparisons_.size(), options_.partitions_at_once,
      [&](size_t i) -> absl::Status {
        PartitionComparison& comparison = *comparisons_[i];
        if (comparison.IsDone()) return absl::OkStatus();
        while (!comparison.IsDone() && found < kSuspectsMax) {
          const size_t before = suspects_[i].size();
          RETURN_IF_ERROR(Annotate(comparison.Continue(kSuspectsMax, &suspects_[i]),
                                   absl::StrCat("partition ", i)));
          found += suspects_[i].size() - before;
        }
        if (comparison.IsDone()) ++done;
        return absl::OkStatus();
      },
      [&] { return hooks_.show(done); });
}

LookHooks::States TableComparison::StatesOf(const Partitions& side,
                                            const std::vector<Suspect>& suspects) {
  std::vector<RecordState> states(suspects.size());
  const uint32_t soon = hooks_.soon();
  RETURN_IF_ERROR(ParallelWork::Run(
      suspects.size(), options_.keys_at_once,
      [&](size_t i) -> absl::Status {
        const Suspect& one = suspects[i];
        ASSIGN_OR_RETURN(const RangeRecords read, side[static_cast<size_t>(one.partition)]->Read(
                                                      one.key, JustBehind(one.key), 1));
        if (read.records.empty() || IsExpired(read.records.front().state.expires, soon))
          return absl::OkStatus();
        states[i] = read.records.front().state;
        return absl::OkStatus();
      },
      [this] { return hooks_.show(Done()); }));
  return states;
}

absl::StatusOr<TableComparison::Result> TableComparison::Run() {
  const LookHooks look{
      .read_here = [this](const auto& suspects) { return StatesOf(here_, suspects); },
      .read_there = [this](const auto& suspects) { return StatesOf(there_, suspects); },
      .catch_up = hooks_.catch_up};
  Result result;
  const auto all = static_cast<int64_t>(comparisons_.size());
  while (Done() < all && result.different.size() < options_.different_max) {
    RETURN_IF_ERROR(ReadOn());
    std::vector<Suspect> suspects;
    for (size_t i = 0; i < suspects_.size(); ++i)
      for (std::string& key : std::exchange(suspects_[i], {}))
        suspects.push_back({.partition = static_cast<int32_t>(i), .key = std::move(key)});
    ASSIGN_OR_RETURN(Verdicts verdicts, JudgeSuspects(std::move(suspects), look));
    std::move(verdicts.different.begin(), verdicts.different.end(),
              std::back_inserter(result.different));
    std::move(verdicts.changing.begin(), verdicts.changing.end(),
              std::back_inserter(result.changing));
  }
  result.is_whole = Done() == all;
  for (const auto& one : comparisons_) result.records += one->records();
  return result;
}

}  // namespace arion::compare
