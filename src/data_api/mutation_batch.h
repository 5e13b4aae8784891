// MutationBatch: committed mutations that the engine takes in one step, which costs it little more
// than one of them alone.
//
// Shapes    In decree order, without holes; the first follows what the engine holds. A mutation
//           that the engine itself must decide sees everything before it, so it begins a batch.
// Errors    Of MutationOperations::Decode; the mutation is not in the batch then.
// Threads   One at a time; Add reads the engine only where something is undecided.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/types/span.h>

#include <cstddef>
#include <vector>

#include "base/mutation.h"
#include "data_api/mutation_operations.h"
#include "engine/engine.h"

namespace arion {

//   while (next < mutations.size() && batch.MayTake(*mutations[next]))
//     RETURN_IF_ERROR(batch.Add(*mutations[next++], engine, ReadTier::kAll));
//   absl::Status applied = engine.ApplyAll(batch.mutations());
//   batch.Clear();
//
// Used again and again: Clear keeps the memory of the lists.
class MutationBatch {
 public:
  // Bounds of one batch; the mutation that reaches one is its last.
  static constexpr size_t kMutationsMax = 64;
  static constexpr size_t kBytesMax = 128 << 10;

  // Whether it may join. An empty batch takes any.
  bool MayTake(const Mutation& mutation) const;
  // `mutation` may join. Its bytes are copied.
  absl::Status Add(const Mutation& mutation, const Engine& engine, ReadTier tier);
  // For the engine; valid until the next Add or Clear.
  absl::Span<const Engine::AppliedMutation> mutations() const { return mutations_; }
  void Clear();

 private:
  std::vector<Engine::AppliedMutation> mutations_;
  // What these point into.
  std::vector<MutationOperations> operations_;
  size_t bytes_ = 0;
};

}  // namespace arion
