// Which server may serve a dead partition, as ddd_diagnose -a has it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/admin_messages.h"

namespace arion::shell {

// The one of the living servers that has most: by the ballot of its last mutation, then by the
// length of its log. Of two copies whose last mutations are of one ballot the longer one holds all
// of the other, whatever each knows to be committed (a restart forgets some of that). Servers that
// tell only the ballot that they know may have a longer log of an older ballot; of these the
// committed decree counts first. Null: nobody, or not yet, because a living server that has not
// said what it has may have more.
const DddNode* BestCandidate(const DddPartition& partition);

}  // namespace arion::shell
