// The promises of replica_core.h that a step's effects carry out of the core, as code. A violation
// is a CHECK failure: we are wrong.
//
// Of each acknowledgement  replica_core/P1, replica_core/P4, replica_core/P5, replica_core/P6.
// Of each client's kOk     replica_core/P2, replica_core/P5.
// Of what is sent          replica_core/P4: a primary's messages are of its ballot, its wishes for
//                          the next. replica_core/P3: what it says to be committed is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pacifica/replica_state.h"

namespace arion {

// `phase`: of the learner that the replica may be.
void CheckPromises(const ReplicaState& s, LearnerStatus phase);

}  // namespace arion
