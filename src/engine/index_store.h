// IndexStore: an engine that holds the entries of indexes (indexes/index_set.h). Entries that were
// there before an index was defined come in many at once, beneath what is applied.
//
// Shapes    As Engine. It makes no checkpoints by itself.
// Threads   As Engine; a BulkWriter and RemoveRange in a pool, one at a time, beside Apply and reads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace arion {

// Records without values, in any order, one often. One thread at a time. The store outlives it.
//
//   Add ... Save ... Add, Sort, Finish
class BulkWriter {
 public:
  virtual ~BulkWriter() = default;
  // What is added counts only after Finish. Without one nothing is left of it but what was saved.
  virtual absl::Status Add(std::string_view raw_key) = 0;
  // Makes durable what was added so far: the names of the files for NewBulkWriter, which goes on
  // from there, after a crash too. Files of an earlier Save are among them.
  virtual absl::StatusOr<std::vector<std::string>> Save() = 0;
  // Puts all of it in order; nothing is added any more.
  virtual absl::Status Sort() = 0;
  // All of it is in the store and durable then; what was saved is gone. No call may follow.
  virtual absl::Status Finish() = 0;
};

class IndexStore : public Engine {
 public:
  // Takes up what was saved, if anything; all else that bulk writers left is removed. An error: what
  // was saved can't be read.
  virtual absl::StatusOr<std::unique_ptr<BulkWriter>> NewBulkWriter(
      const std::vector<std::string>& saved) = 0;
  // Flushes, and copies what is durable to `directory`, which is made and opens as a store; files
  // that never change are linked.
  virtual absl::Status CopyTo(const std::string& directory) = 0;
  // Removes what lies in the range, also for views that were taken before; after a crash some of it
  // may be there again.
  virtual absl::Status RemoveRange(const KeyRange& range) = 0;
};

}  // namespace arion
