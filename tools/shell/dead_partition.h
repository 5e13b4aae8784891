// Who may serve a dead partition, as ddd_diagnose -a has it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/admin_messages.h"

namespace arion::shell {

// Who has most of those that are alive: by the ballot of its last mutation, then by the length of its
// log: of two copies whose last mutations are of one ballot the longer one holds all of the other,
// whatever each knows to be committed (a restart forgets some of that). Servers that tell only the
// ballot that they know may have a longer log of an older one: their decree goes first. Null: nobody, or not yet: a living server that has
// not said what it has may have more.
const DddNode* BestCandidate(const DddPartition& partition);

}  // namespace arion::shell
