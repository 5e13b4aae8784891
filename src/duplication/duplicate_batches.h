// What of a partition's history is sent to another cluster, as bodies of RPC_RRDB_RRDB_DUPLICATE:
// each update as its client sent it, in decree order, with the mutation's time and this cluster's
// id, and with its place in the history, so that a receiver of ours takes it once.
//
// Shapes    A batch is one request, of about kBatchBytes. One update is never cut, so a batch can
//           be larger: whether it is too large its receiver says.
//           Not sent: empty writes; what another cluster had sent here (no loops, no chains);
//           ingestions of bulk loads. INCR and CHECK_... stand undecided only in logs of older
//           versions; they can't be repeated elsewhere and are not sent either.
// Threads   Pure.
// Promises  duplicate_batches/B1  Each update that can be sent is in exactly one batch, and the
//               batches' updates, one behind the other, are in the order of decrees, and within a
//               mutation in its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/mutation.h"

namespace arion {

// Enough that the network's way there and back is shared by many, and few enough that a receiver
// of 2.5.0 takes it (1 MiB at most).
constexpr uint64_t kBatchBytes = 128 << 10;

// One request.
struct DuplicateBatch {
  // Wrapped, ready to be sent.
  std::string body;
  // Of the last update's hash key: what a header has of it.
  uint64_t partition_hash = 0;
  // The last mutation that it has an update of.
  Decree last;
  int64_t updates = 0;
  // Of the oldest of them.
  int64_t timestamp_us = 0;
};

// What a piece of history becomes.
struct DuplicateBatches {
  std::vector<DuplicateBatch> batches;
  // Updates that are not sent, though clients wrote them: undecided ones, and ingestions.
  int64_t left_out = 0;
};

// `history`: committed versions, in order of decrees. `cluster_id`: this cluster's, 1 to 127.
// `duplication_id`: of which of its duplications they are.
DuplicateBatches MakeDuplicateBatches(absl::Span<const MutationPtr> history, int8_t cluster_id,
                                      int64_t duplication_id);

}  // namespace arion
