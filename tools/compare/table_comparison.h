// TableComparison: which records two tables of the same keys do not have in common, while clients
// write to one of them.
//
// Shapes    Partitions are compared several at a time, until all are or there are enough suspects.
//           These are judged, and it goes on.
// Errors    The sides' and the hooks'. Aborted: stopped.
// Threads   Run waits. It reads in threads of its own; hooks are called by Run's.
// Lifetime  Tables outlive it. They are learned, and have the same number of partitions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tools/compare/compared_partition.h"
#include "tools/compare/partition_comparison.h"
#include "tools/compare/suspects.h"

namespace arion::compare {

// Work that is done by several threads.
class ParallelWork {
 public:
  // Calls `work` with 0 to count - 1, `at_once` at a time, and `idle` every 50 ms meanwhile, in the
  // calling thread. Once `work` or `idle` returns an error no more work is begun; the first is
  // returned.
  static absl::Status Run(size_t count, size_t at_once,
                          const std::function<absl::Status(size_t index)>& work,
                          const std::function<absl::Status()>& idle);
};

// Run once.
class TableComparison {
 public:
  // Judged together: each look at them waits for the other cluster once.
  static constexpr size_t kSuspectsMax = 10'000;

  using Partitions = std::vector<std::unique_ptr<ComparedPartition>>;
  struct Hooks {
    std::function<absl::Status(const std::set<int32_t>& partitions)> catch_up;
    // Partitions that are read through. An error ends it.
    std::function<absl::Status(int64_t done)> show;
    // Seconds since 2016. What expires by then counts as gone already: each cluster takes it away
    // by a clock of its own.
    std::function<uint32_t()> soon;
  };
  struct Options {
    size_t partitions_at_once = 4;
    size_t keys_at_once = 16;
    // It ends when so many records are known to differ.
    size_t different_max = 1000;
  };
  struct Result {
    // Of this side.
    int64_t records = 0;
    std::vector<Suspect> different, changing;
    // False: it ended at different_max.
    bool is_whole = false;
  };

  // As many on both sides.
  TableComparison(Partitions here, Partitions there, Hooks hooks, Options options);
  absl::StatusOr<Result> Run();

 private:
  absl::Status ReadOn();
  LookHooks::States StatesOf(const Partitions& side, const std::vector<Suspect>& suspects);
  int64_t Done() const;

  const Partitions here_, there_;
  const Hooks hooks_;
  const Options options_;
  std::vector<std::unique_ptr<PartitionComparison>> comparisons_;
  std::vector<std::vector<std::string>> suspects_;
};

}  // namespace arion::compare
