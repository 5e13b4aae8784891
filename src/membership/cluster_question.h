// What a server asks an older version's meta server about its cluster, one question after the
// other.
//
// Shapes    Depth::kBeforeJoining also asks what takes long to answer: tables being split or
//           restored, backups that run. An Arion meta server is asked for its servers only.
// Errors    As answered, or as of the call: FailedPrecondition where it does not lead.
// Threads   Call on `strand`; `done` comes on it, once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>

#include "env/strand.h"
#include "membership/join_tolerance.h"

namespace arion {

class Transport;

// How much to ask: everything, or only what answers quickly.
enum class QuestionDepth { kBeforeJoining, kAgain };
// Asks one meta server. `transport` outlives the question.
void AskForListing(Transport& transport, StrandPtr strand, Endpoint meta_server,
                   QuestionDepth depth,
                   absl::AnyInvocable<void(absl::StatusOr<ClusterListing>)> done);

}  // namespace arion
