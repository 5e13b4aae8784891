// TakeOverPlanner: what one replica takes from the shared log (legacy/FORMAT.md 3.2). Pure.
//
// Shapes    First every valid record of the private log (OnPrivate), then every record of the
//           shared log (OnShared), each in log order. What is to be taken goes into the private
//           log, in the order given, and to replay. The last kCompared committed decrees of the
//           private log are compared. Where the shared log has another record under the same ballot
//           and decree, and knows it committed or has more for this replica, the two are not of one
//           server (a committed decree has one value).
// Threads   Not thread-safe.
// Promises  Taking twice what was taken once takes nothing: the private log then has the record, or
//           one of the same decree and a larger ballot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <optional>

#include "base/ids.h"

namespace arion {

struct Mutation;
struct SharedLogCatalog;

// A mark of what a record holds beside its ballot and decree: when it was written, and what. Never
// 0.
uint64_t RecordMark(const Mutation& mutation);

// What a reader asks before it hands a record on. MayMatter is false only where OnShared would take
// nothing and learn nothing.
struct TakeOverFilter {
  Ballot max_ballot;
  // Below this the private log has all.
  Decree first;
  int64_t valid_start_offset = 0;
  bool MayMatter(Ballot ballot, Decree decree, int64_t log_offset) const {
    return ballot > max_ballot || (log_offset >= valid_start_offset && decree >= first);
  }
};

// One replica's, for one start. Its opener makes it, feeds the private log, then the shared one,
// and drops it.
//
//   TakeOverPlanner planner(init_offset_in_shared_log);
//   for (const auto& m : private_records) planner.OnPrivate(m.ballot, m.decree, m.last_committed);
//   ...  // then, for each record of the shared log:
//   if (planner.OnShared(...) == TakeOverPlanner::Verdict::kTake) log->Append(m, ...);
class TakeOverPlanner {
 public:
  // Records of the shared log at offsets below `valid_start_offset` are void
  // (init_offset_in_shared_log); their ballots count all the same.
  explicit TakeOverPlanner(int64_t valid_start_offset) : valid_start_offset_(valid_start_offset) {}

  // How many of the last committed decrees are compared.
  static constexpr int64_t kCompared = 64;

  // A valid record of the private log. `mark`: its RecordMark, or 0: it is not to be compared.
  void OnPrivate(Ballot ballot, Decree decree, Decree last_committed, uint64_t mark = 0);

  // What becomes of a record of the shared log.
  enum class Verdict {
    // It was written before this replica's present life.
    kVoid,
    // The private log has it, or what replaced it.
    kKnown,
    // The private log lacks it: append it.
    kTake,
    // The logs contradict each other: nothing is taken any more.
    kForeign,
  };
  // A record of the shared log. `mark` is asked only where it matters.
  Verdict OnShared(Ballot ballot, Decree decree, Decree last_committed, int64_t log_offset,
                   absl::FunctionRef<uint64_t()> mark);

  // With Verdict::kForeign: the record of the shared log that the private log has otherwise.
  struct Contradiction {
    Ballot ballot;
    Decree decree;
    int64_t log_offset = 0;
  };
  const std::optional<Contradiction>& contradiction() const { return contradiction_; }

  // For the shared log's reader. To be asked after the last OnPrivate.
  TakeOverFilter Filter() const;

  // Of all records seen, void ones included.
  Ballot max_ballot() const { return max_ballot_; }
  // Everything up to here is known committed by what the private log holds: files of the shared log
  // with nothing newer need not be read.
  Decree committed_on_disk() const { return committed_; }
  // Of the valid records of the shared log seen.
  Decree max_shared() const { return max_shared_; }

 private:
  struct Compared {
    Ballot ballot;
    uint64_t mark = 0;
  };
  void Note(Ballot ballot, Decree decree, Decree last_committed);
  void Compare(Ballot ballot, Decree decree, int64_t log_offset,
               absl::FunctionRef<uint64_t()> mark);

  const int64_t valid_start_offset_;
  Ballot max_ballot_;
  Decree committed_{0};
  Decree max_shared_{0};
  // Above committed_: the largest ballot that the private log has.
  std::map<Decree, Ballot> tail_;
  // By the private log alone.
  Decree private_committed_{0};
  std::map<Decree, Compared> compared_;
  // A contradiction, not yet known to be committed in the shared log too.
  std::optional<Contradiction> suspect_;
  std::optional<Contradiction> contradiction_;
};

// FailedPrecondition: names the file, the place and what to do.
absl::Status ForeignSharedLog(const SharedLogCatalog& catalog, PartitionId pid,
                              const TakeOverPlanner::Contradiction& contradiction);

}  // namespace arion
