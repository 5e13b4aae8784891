// How a primary hands out a piece of its private log to a learner (LT_LOG with raw mutations), and
// how a learner reads it.
//
// A log may hold a decree twice (prepared anew under a larger ballot), so a piece of it does not
// say by itself which version was committed. It says so for decrees up to the largest
// `last_committed` that a mutation in the piece carries, because whoever wrote that mutation had
// logged the committed versions before. If the piece reaches the log's end, it says so for
// everything that the log's owner counts as committed.
//
// Threads   Pure functions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <string>
#include <vector>

#include "base/mutation.h"

namespace arion {

struct LearnState;

// Whether the mutations of a piece are all that the log holds from `first` on, or only the
// beginning of that.
enum class LogPiece { kReachesEnd, kCutByLimit };

// What `mutations` prove to be committed: the versions that count, of consecutive decrees from
// `first` on. They are in log order, and all of the log from decree `first` on, or its beginning up
// to a limit. `first` is at least 1. `committed` is the owner's committed point, or less: nothing
// beyond it is proven. Empty: the piece is too short to prove anything, read more.
std::vector<MutationPtr> ProvenHistory(Decree first, Decree committed, LogPiece piece,
                                       absl::Span<const MutationPtr> mutations);

// The learn_state for a history that begins with decree `first`. Its to_decree_included is the last
// decree, or first - 1.
LearnState MakeLogShipment(Decree first, absl::Span<const MutationPtr> history);

// Raw mutations, one behind the other without separators, all of `pid`. Takes any bytes. DataLoss
// says what is wrong with them.
absl::StatusOr<std::vector<MutationPtr>> ParseMutations(PartitionId pid, std::string_view bytes);

// The version that counts of each decree in [first, last], both inclusive, in order: the one with
// the largest ballot, of equal ballots the later one. The result ends before the first decree that
// is missing.
std::vector<MutationPtr> NewestVersions(absl::Span<const MutationPtr> mutations, Decree first,
                                        Decree last);

}  // namespace arion
