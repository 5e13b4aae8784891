// MutationView: a mutation's raw form (base/mutation.h), checked and taken apart, nothing copied.
//
// Lifetime  Points into the bytes it was taken from. Threads: pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/mutation.h"

namespace arion {

struct MutationView {
  PartitionId pid;
  Ballot ballot;
  Decree decree;
  int64_t log_offset = -1;
  Decree last_committed;
  int64_t timestamp_us = 0;
  int32_t update_count = 0;
  std::string_view raw;   // all of it
  std::string_view data;  // of all updates, one behind the other

  Mutation ToMutation() const;
};

// Takes one mutation from the front of *bytes; errors as TakeMutation.
absl::Status TakeMutationView(std::string_view* bytes, MutationView* view);

}  // namespace arion
