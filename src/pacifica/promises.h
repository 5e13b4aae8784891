// The promises of replica_core.h that a step's effects carry out of the core, as code: P1, P4, P5
// and P6 of each acknowledgement, P2 and P5 of each client's kOk, P4 of what is sent: a primary's
// messages are of its ballot, its wishes for the next. A violation is a CHECK failure: we are wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pacifica/replica_state.h"

namespace arion {

// `phase`: of the learner that the replica may be.
void CheckPromises(const ReplicaState& s, LearnerStatus phase);

}  // namespace arion
