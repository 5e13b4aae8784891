// What must hold in a whole cluster, whatever fails. Each checker is fed by the simulation and
// keeps its violations as sentences; none trusts what the servers believe of themselves where it
// can see what they did.
//
//   CommitChecker
//     checkers/C1  within a ballot, what a secondary commits is a prefix of what its primary
//         commits
//     checkers/C3  what was committed before is a prefix of what a new primary commits
//     checkers/C5  members that applied the same decree applied the same content
//     checkers/C6  no engine stands at a decree that nobody applied
//   PrimaryChecker
//     checkers/C2  one primary at a time per partition: per ballot one sender of prepares, and
//         nobody answers clients once another primary is stored
//   BallotChecker
//     checkers/C7  ballots of a partition only rise, by one, and are durable before they are used
//   CheckLinearizable, and of the whole data API data_checker.h
//     checkers/C4  an acknowledged write is never lost, a refused one never seen
//     checkers/C9  of each hash key a FIND answers exactly those rows within its bounds and its page
//         that were there at one moment between question and answer
//   JudgeRows (find_model.h)
//     checkers/C10  a FIND's rows are in order, each once, each with its own field
//   CheckCounters
//     checkers/C8  an acknowledged increment counts once, an undecided one at most once
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "sim_checkers/history.h"

namespace arion::sim {

using Violations = std::vector<std::string>;

// Of all members of all partitions, for the whole run: a decree has one content. Fed by the engines
// of all servers (checked_engine.h).
class CommitChecker {
 public:
  // `server` applied `decree` with content of this checksum.
  void Applied(std::string_view server, PartitionId pid, Decree decree, uint64_t checksum);
  // `server`'s engine was opened (a life began, a checkpoint was installed) and stands at `decree`.
  // A split's child that was never stored may stand at whatever its parent had applied.
  void Opened(std::string_view server, PartitionId pid, Decree decree);
  // The meta server has a configuration of it.
  void Stored(PartitionId pid) { partitions_[pid].is_stored = true; }
  // What another cluster holds is what a partition of the table may begin with, as long as nobody
  // applied anything to it.
  void BeginsWithACopy(int32_t app_id) { copied_.insert(app_id); }
  Decree max_applied(PartitionId pid) const;
  int64_t applications() const { return applications_; }
  const Violations& violations() const { return violations_; }

 private:
  struct Partition {
    // By decree - 1: the checksum of what was applied; 0: nobody applied it yet.
    std::vector<uint64_t> contents;
    // Where each server's engine stands.
    std::map<std::string, Decree, std::less<>> standing;
    Decree max_applied{0};
    bool is_stored = false;
    bool is_applied_to = false;
  };
  void InheritUpTo(PartitionId child, Decree decree);

  std::map<PartitionId, Partition> partitions_;
  std::set<int32_t> copied_;
  int64_t applications_ = 0;
  Violations violations_;
};

// Who acts as primary. Fed by what passes the network (sim_cluster/network_watch.h) and by the
// store.
class PrimaryChecker {
 public:
  // A prepare of `ballot` left `sender`.
  void Prepared(PartitionId pid, Ballot ballot, Endpoint sender);
  // `primary` (invalid: none) is durable in the meta server's store.
  void Stored(PartitionId pid, Endpoint primary);
  // `server` answered a client of `pid` with OK. A write it committed as primary may wait for the
  // engine (a full disk) and be answered when another leads; whether it was committed at all is
  // judged by checkers/C4 and the histories.
  enum class Asked : uint8_t { kRead, kWrite };
  void Answered(PartitionId pid, Endpoint server, Asked what, Instant now);
  const Violations& violations() const { return violations_; }

 private:
  std::map<std::pair<PartitionId, Ballot>, Endpoint> senders_;
  std::map<PartitionId, Endpoint> primaries_;
  std::set<std::pair<PartitionId, Endpoint>> ever_primaries_;
  std::set<std::pair<PartitionId, Endpoint>> reported_;
  Violations violations_;
};

// What the meta server stores. Fed by its store (checked_meta_store.h) and by prepares that pass.
class BallotChecker {
 public:
  // `ballot` is durable in the meta server's store.
  void Stored(PartitionId pid, Ballot ballot);
  // A prepare of `ballot` was seen: it must have been stored.
  void Used(PartitionId pid, Ballot ballot);
  const Violations& violations() const { return violations_; }

 private:
  std::map<PartitionId, Ballot> stored_;
  std::set<std::pair<PartitionId, Ballot>> reported_;
  Violations violations_;
};

// Each key a register. Since written values are distinct, an order of the operations exists exactly
// when no value was read that was not written, none before its write began, and no two values
// exclude each other (Gibbons and Korach, 1997: each value holds from the first end of its
// operations to the last begin; two such spans may not cross). O(n log n).
Violations CheckLinearizable(const History& history);

// Each key a counter from 0, incremented by one. With answers that tell the new value, an order of
// the operations exists exactly when no value was told twice, none contradicts who returned before
// whom began, and each is at least the acknowledged increments before it and at most those begun by
// its end. O(n log n).
Violations CheckCounters(const History& history);

}  // namespace arion::sim
