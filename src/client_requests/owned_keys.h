// OwnedKeys: tells a replica's engine which keys are the partition's, and when its files are to be
// rewritten without the others.
//
// Shapes    The engine hears of a split when no scan is left that was begun before it: such a scan
//           shows the keys that have moved, and a compaction takes them from views too.
// Threads   Strand-bound.
// Lifetime  A part of a replica, beside its ServedPartition, its Admission and its ClientReads.
// Promises  owned_keys/K1  No record is dropped by a partition count that a meta server has not
//               told in this life of the replica: a directory remembers none, and a meta server of
//               an older version tells a count before its partitions are split.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "base/key_ownership.h"
#include "client_requests/served_partition.h"

namespace arion {

class Admission;
class ClientReads;

// One for each replica. Consider at the start, when the table's description has changed, and when
// the engine was exchanged.
class OwnedKeys {
 public:
  static constexpr absl::Duration kLookAgain = absl::Seconds(10);

  // `on_told`: the engine has heard of another ownership, so that a compaction may be due.
  OwnedKeys(const ServedPartition& partition, Admission& admission, ClientReads& reads,
            std::function<void()> on_told)
      : partition_(partition), admission_(admission), reads_(reads), on_told_(std::move(on_told)) {}

  void Consider();
  // The partition count for which the files are to be rewritten now; 0: none.
  int32_t DueCompaction();
  // Whether files may hold keys of other partitions since a split.
  bool AreOthersThere();

 private:
  KeyOwnership Told();

  const ServedPartition& partition_;
  Admission& admission_;
  ClientReads& reads_;
  const std::function<void()> on_told_;
  // A timer will look again.
  bool is_looked_for_ = false;
};

}  // namespace arion
