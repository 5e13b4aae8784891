// How a primary hands out a piece of its private log to a learner (LT_LOG with raw mutations), and
// how it is read.
//
// A log may hold a decree twice (prepared anew under a larger ballot), so a piece of it does not
// say by itself which version was committed. It does for decrees up to the largest `last_committed`
// a mutation in the piece carries, because whoever wrote that mutation had logged the committed
// versions before; and, when the piece reaches the log's end, for everything its owner counts as
// committed. Pure. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <string>
#include <vector>

#include "base/mutation.h"
#include "messages/replication_messages.h"

namespace arion {

enum class LogPiece { kReachesEnd, kCutByLimit };

// The learn_state for `mutations` (log order, all of the log from `first` on, or its beginning up
// to a limit). Its to_decree_included is first - 1 when the piece is too short to prove anything:
// read more. Only the versions that count are sent, in decree order.
LearnState MakeLogShipment(Decree first, Decree committed, LogPiece piece,
                           absl::Span<const MutationPtr> mutations);

// Raw mutations back to back, all of `pid`; an error names what is wrong with the bytes.
absl::StatusOr<std::vector<MutationPtr>> ParseMutations(PartitionId pid, std::string_view bytes);

// The versions that count of each decree in [first, last], in order: the largest ballot, of equal
// ballots the later. Shorter than asked at the first decree that is missing.
std::vector<MutationPtr> NewestVersions(absl::Span<const MutationPtr> mutations, Decree first,
                                        Decree last);

}  // namespace arion
