// MutationOperations: a mutation's updates decoded into what the engine applies.
//
// Shapes    Logs of older versions and Pegasus primaries also hold INCR and CHECK_... undecided.
//           They are decided from the engine, by the mutation's own timestamp, so that every replay
//           agrees. Without a timestamp (Pegasus prepared it again) nothing counts as expired. A
//           DUPLICATE holds writes of another cluster, which duplicates the table to this one. They
//           are applied in order, each under its own time tag, and judged by nobody here. In a log
//           of an older version one may be of a code that can't be duplicated: then it is left out
//           with those behind it, as that version does; what was ordered here has none
//           (duplicated_writes.h).
// Errors    InvalidArgument: an update's body does not decode, or a key is malformed.
//           Unimplemented: an operation that is not applied; the replica must be fenced, since
//           skipping it would lose data. Of the engine: its own.
// Threads   Decode reads the engine only where something is undecided. Immutable afterwards.
// Lifetime  Owns the bytes its operations point to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mutation.h"
#include "engine/engine.h"
#include "messages/client_messages.h"

namespace arion {

// The changes of one mutation, for Engine::Apply.
class MutationOperations {
 public:
  // `engine` stands at the decree before the mutation's. What is undecided is read by `tier`.
  // Unavailable: the record is not in memory; call again with kAll, in the disk's pool.
  static absl::StatusOr<MutationOperations> Decode(const Mutation& mutation, const Engine& engine,
                                                   ReadTier tier);
  // What the engine takes. Valid as long as this lives and is not moved from.
  Engine::AppliedMutation applied() const {
    return {.decree = decree_,
            .timestamp_us = timestamp_us_,
            .ops = ops_,
            .position = position_,
            .compares_tags = compares_tags_};
  }
  // In the order of the updates.
  absl::Span<const WriteOp> ops() const { return ops_; }

 private:
  // Decodes one update: a plain one, one that the engine must decide, or another cluster's.
  absl::Status Take(const Mutation& mutation, const Update& update, const Engine& engine,
                    ReadTier tier);
  absl::Status TakeUndecided(const Mutation& mutation, const Update& update, const Engine& engine,
                             ReadTier tier);
  absl::Status TakeDuplicated(const Mutation& mutation, const Update& update, const Engine& engine,
                              ReadTier tier);
  void Put(UpdateRequest request);
  void Remove(std::string raw_key, const Update& update);

  // One decoded change; `ops_` holds views into it.
  struct Kept {
    WriteOp::Kind kind;
    UpdateRequest request;
    uint64_t time_tag;
    bool leaves_tombstone;
  };
  // Never grows once ops_ points into it.
  std::vector<Kept> kept_;
  std::vector<WriteOp> ops_;
  Decree decree_;
  int64_t timestamp_us_ = 0;
  std::optional<SourcePosition> position_;
  bool compares_tags_ = false;
  // Of what is added now; 0: none.
  uint64_t time_tag_ = 0;
};

}  // namespace arion
