// The promises of replica_core.h that a step's effects carry out of the core, as code: P1 and P4 of
// each acknowledgement, P2 of each client's kOk. A violation is a CHECK failure: we are wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pacifica/replica_state.h"

namespace arion {

void CheckPromises(const ReplicaState& s);

}  // namespace arion
