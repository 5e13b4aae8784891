// RolesTest: the roles of one replica on one ReplicaState, without a core. A role acts on the state
// that all share, so a test may also make the state wrong and see which Check fires.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "pacifica/learner.h"
#include "pacifica/learner_sessions.h"
#include "pacifica/primary.h"
#include "pacifica/replica_state.h"
#include "pacifica/secondary.h"
#include "tests/pacifica/harness.h"

namespace arion {

// Replica A, primary of ballot 7 with B as its only secondary; nothing is prepared.
class RolesTest : public testing::Test {
 protected:
  RolesTest() {
    s_.ballot = s_.configuration.ballot = Ballot(7);
    s_.connected = true;
    s_.initializing = false;
    s_.configuration.primary = s_.primary = NodeAt('A');
    s_.configuration.secondaries = {NodeAt('B')};
    s_.configuration.max_replica_count = 2;
    s_.role = PartitionStatus::kPrimary;
  }
  static CoreOptions Options() {
    CoreOptions options;
    options.self = NodeAt('A');
    options.pid = kTestPid;
    return options;
  }

  ReplicaState s_{Options()};
  LearnerSessions sessions_{s_};
  Primary primary_{s_, sessions_};
  Secondary secondary_{s_};
  Learner learner_{s_, secondary_};
};

}  // namespace arion
