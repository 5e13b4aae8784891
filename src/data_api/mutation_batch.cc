// SPDX-License-Identifier: Apache-2.0
#include "data_api/mutation_batch.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"

namespace arion {
namespace {

// Updates that older versions logged undecided: they see the engine as it is at their decree.
bool ReadsTheEngine(const Mutation& mutation) {
  return std::any_of(mutation.updates.begin(), mutation.updates.end(), [](const Update& update) {
    return update.code == WriteCode::kIncr || update.code == WriteCode::kCheckAndSet ||
           update.code == WriteCode::kCheckAndMutate;
  });
}

}  // namespace

bool MutationBatch::MayTake(const Mutation& mutation) const {
  if (mutations_.empty()) return true;
  return mutations_.size() < kMutationsMax && bytes_ < kBytesMax && !ReadsTheEngine(mutation);
}

absl::Status MutationBatch::Add(const Mutation& mutation, const Engine& engine, ReadTier tier) {
  CHECK(MayTake(mutation)) << "decree " << mutation.decree << " must begin a batch";
  ASSIGN_OR_RETURN(MutationOperations decoded, MutationOperations::Decode(mutation, engine, tier));
  for (const WriteOp& op : decoded.ops()) bytes_ += op.key.size() + op.value.size();
  mutations_.push_back(decoded.applied());
  // The lists that the span points into move with it, and stay where they are.
  operations_.push_back(std::move(decoded));
  return absl::OkStatus();
}

void MutationBatch::Clear() {
  mutations_.clear();
  operations_.clear();
  bytes_ = 0;
}

}  // namespace arion
