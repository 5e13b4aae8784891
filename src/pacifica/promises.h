// The promises of replica_core.h that a step's effects carry out of the core, as code. A violation
// stops the process, before anything of the step has left.
//
// Of each acknowledgement  replica_core/P1, replica_core/P4, replica_core/P5, replica_core/P6.
// Of each client's kOk     replica_core/P2, replica_core/P5.
// Of what is sent          replica_core/P4: a primary's messages are of its ballot, its wishes for
//                          the next. replica_core/P3: what it says to be committed is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pacifica/replica_state.h"

namespace arion {

// CHECKs all of the above on `s.effects`, at the end of a step and against the state that the step
// left. `phase` is the phase of the learner that the replica may be; kInvalid if it does not learn.
// Costs one look at each effect.
void CheckPromises(const ReplicaState& s, LearnerStatus phase);

}  // namespace arion
