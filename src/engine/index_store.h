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
#include <string_view>

#include "engine/engine.h"

namespace arion {

// Records without values, in any order, one often. One thread at a time. The store outlives it.
class BulkWriter {
 public:
  virtual ~BulkWriter() = default;
  // What is added counts only after Finish; without one nothing is left of it.
  virtual absl::Status Add(std::string_view raw_key) = 0;
  // All of it is in the store and durable then. No call may follow.
  virtual absl::Status Finish() = 0;
};

class IndexStore : public Engine {
 public:
  virtual absl::StatusOr<std::unique_ptr<BulkWriter>> NewBulkWriter() = 0;
  // Removes what lies in the range; after a crash some of it may be there again.
  virtual absl::Status RemoveRange(const KeyRange& range) = 0;
};

}  // namespace arion
