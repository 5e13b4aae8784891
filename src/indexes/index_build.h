// IndexBuild: builds indexes of a replica from its data as they stood when it was begun, step by
// step, in one walk for all of them.
//
// Shapes    On the way it saves how far it is (index_list.h), and one that is begun after a crash
//           goes on from there.
// Errors    Of Step: after a refusal it may be called again; any other error ends the build.
// Threads   One at a time, in a pool.
// Lifetime  Holds its index set; it is ended before the engine is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/index_store.h"
#include "env/clock.h"
#include "indexes/field_reader.h"
#include "indexes/index_list.h"
#include "indexes/index_set.h"

namespace arion {

// IndexSet::BeginBuild makes it.
//
//   while (!build->is_done()) RETURN_IF_ERROR(build->Step(kRecords));      // each in a pool
class IndexBuild {
 public:
  ~IndexBuild();
  // Reads so many more records; some steps after the last ones the indexes are whole.
  absl::Status Step(int64_t records);
  bool is_done() const { return stage_ == Stage::kDone; }
  // Read so far, before a crash too.
  int64_t records() const { return walk_.records; }
  // Of their keys and values.
  uint64_t bytes() const { return walk_.bytes; }

 private:
  friend class IndexSet;
  struct Parts {
    std::shared_ptr<IndexSet> set;
    // Of `walk.ids`, in their order.
    std::vector<IndexDefinition> definitions;
    std::vector<std::shared_ptr<IndexSet::Counts>> counts;
    std::shared_ptr<IndexStore> store;
    std::unique_ptr<BulkWriter> writer;
    std::shared_ptr<const EngineView> view;
    // Where it goes on.
    SavedWalk walk;
  };
  IndexBuild(Parts parts, Engine& data);

  enum class Stage : uint8_t { kReading, kSorting, kTaking, kTaken, kDone };

  absl::Status Walk(int64_t records);
  absl::Status Save();
  // The data first, which flush the store before themselves.
  absl::Status FlushAll();
  void NotePace();

  const std::shared_ptr<IndexSet> set_;
  std::vector<std::string> prefixes_;
  const std::vector<std::shared_ptr<IndexSet::Counts>> counts_;
  FieldReader reader_;
  Engine& data_;
  // Outlives the writer.
  const std::shared_ptr<IndexStore> store_;
  std::unique_ptr<BulkWriter> writer_;
  std::shared_ptr<const EngineView> view_;
  SavedWalk walk_;
  // Of its bytes.
  const uint64_t begun_at_bytes_;
  uint64_t saved_bytes_;
  const Instant begun_;
  Stage stage_ = Stage::kReading;
};

}  // namespace arion
