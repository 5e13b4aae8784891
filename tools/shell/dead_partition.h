// Who may serve a dead partition, as ddd_diagnose -a has it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/admin_messages.h"

namespace arion::shell {

// Who has most of those that are alive: by the ballot of what it holds, then decree, then log (under
// one ballot nothing is acknowledged that a member's log lacks; servers that tell only the ballot
// they know may have a longer log of an older one). Null: nobody, or not yet: a living server that has
// not said what it has may have more.
const DddNode* BestCandidate(const DddPartition& partition);

}  // namespace arion::shell
