// MutationOperations: a mutation's updates decoded into what the engine applies.
//
// Shapes    Older logs and Pegasus primaries also hold INCR and CHECK_... undecided: they are
//           decided from the engine, by the mutation's own timestamp, so that every replay agrees;
//           without one (Pegasus prepared it again) nothing counts as expired. A DUPLICATE, in the
//           log of a table that an older version's cluster is duplicated to, holds writes of that
//           cluster: they are applied in order, under its time tag, up to the first of a code that
//           can't be duplicated, as the older version does.
// Errors    InvalidArgument: an update's body does not decode, or a key is malformed.
//           Unimplemented: an operation that is not applied; the replica must be fenced, since
//           skipping it would lose data. Of the engine: its own.
// Lifetime  Owns the bytes its operations point to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <vector>

#include "base/mutation.h"
#include "engine/engine.h"
#include "messages/client_messages.h"

namespace arion {

class MutationOperations {
 public:
  // `engine` stands at the decree before the mutation's; what is undecided is read by `tier`
  // (Unavailable: ask with kAll, in the disk's pool).
  static absl::StatusOr<MutationOperations> Decode(const Mutation& mutation, const Engine& engine,
                                                   ReadTier tier);
  absl::Span<const WriteOp> ops() const { return ops_; }

 private:
  absl::Status Take(const Mutation& mutation, const Update& update, const Engine& engine,
                    ReadTier tier);
  absl::Status TakeUndecided(const Mutation& mutation, const Update& update, const Engine& engine,
                             ReadTier tier);
  absl::Status TakeDuplicated(const Mutation& mutation, const Update& update, const Engine& engine,
                              ReadTier tier);
  void Add(WriteOp::Kind kind, UpdateRequest request);

  struct Kept {
    WriteOp::Kind kind;
    UpdateRequest request;
    uint64_t time_tag;
  };
  std::vector<Kept> kept_;  // never grows once ops_ points into it
  std::vector<WriteOp> ops_;
  uint64_t time_tag_ = 0;  // of what is added
};

}  // namespace arion
