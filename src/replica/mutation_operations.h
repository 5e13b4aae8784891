// MutationOperations: a mutation's updates decoded into what the engine applies.
//
// Errors    InvalidArgument: an update's body does not decode, or a key is malformed.
//           Unimplemented: an operation that is not applied yet; the replica must be fenced,
//           since skipping it would lose data.
// Lifetime  Owns the bytes its operations point to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <string_view>
#include <vector>

#include "base/mutation.h"
#include "engine/engine.h"
#include "messages/client_messages.h"

namespace arion {

class MutationOperations {
 public:
  static absl::StatusOr<MutationOperations> Decode(const Mutation& mutation);
  absl::Span<const WriteOp> ops() const { return ops_; }

 private:
  std::vector<UpdateRequest> requests_;  // never grows once ops_ points into it
  std::vector<WriteOp> ops_;
};

// At least two bytes, and at least as long as the hash key it declares.
bool IsWellFormedRawKey(std::string_view raw_key);

}  // namespace arion
