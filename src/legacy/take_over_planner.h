// TakeOverPlanner: what one replica takes from the shared log (spec/disk-formats.md 5.4). Pure.
//
// Shapes    First every valid record of the private log (OnPrivate), then every record of the shared
//           log (OnShared), each in log order. What is to be taken goes into the private log, in the
//           order given, and to replay.
// Promises  Taking twice what was taken once takes nothing: the private log then has the record, or
//           one of the same decree and a larger ballot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "base/ids.h"

namespace arion {

// What a reader asks before it hands a record on: false only where OnShared would take nothing and
// learn nothing.
struct TakeOverFilter {
  Ballot max_ballot;
  Decree committed;
  int64_t valid_start_offset = 0;
  bool MayMatter(Ballot ballot, Decree decree, int64_t log_offset) const {
    return ballot > max_ballot || (log_offset >= valid_start_offset && decree > committed);
  }
};

class TakeOverPlanner {
 public:
  // Records of the shared log at offsets below `valid_start_offset` are void
  // (init_offset_in_shared_log); their ballots count all the same.
  explicit TakeOverPlanner(int64_t valid_start_offset) : valid_start_offset_(valid_start_offset) {}

  void OnPrivate(Ballot ballot, Decree decree, Decree last_committed);

  enum class Verdict {
    kVoid,   // written before this replica's present life
    kKnown,  // the private log has it, or what replaced it
    kTake,
  };
  Verdict OnShared(Ballot ballot, Decree decree, Decree last_committed, int64_t log_offset);

  // As it stands now.
  TakeOverFilter Filter() const { return {max_ballot_, committed_, valid_start_offset_}; }

  Ballot max_ballot() const { return max_ballot_; }
  // Everything up to here is known committed by what the private log holds: files of the shared log
  // with nothing newer need not be read.
  Decree committed_on_disk() const { return committed_; }
  Decree max_shared() const { return max_shared_; }  // of the valid records seen

 private:
  void Note(Ballot ballot, Decree decree, Decree last_committed);

  const int64_t valid_start_offset_;
  Ballot max_ballot_;
  Decree committed_{0};
  Decree max_shared_{0};
  std::map<Decree, Ballot> tail_;  // above committed_: the largest ballot the private log has
};

}  // namespace arion
