// Which changes of role are legal (pacifica/PROTOCOL.md 1.4). Pure: a table and nothing else. What
// follows from a change is role_keeper.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/ids.h"
#include "messages/configuration.h"

namespace arion {

enum class TransitionVerdict {
  kAccept,
  // The replica has this role under this ballot already.
  kNoChange,
  // Illegal, or of an old ballot: the replica stays as it is.
  kRefuse,
};

// Of an INACTIVE replica. kTransient: it may return to PRIMARY or SECONDARY. kRemoved: it may only
// learn.
enum class Inactivity { kTransient, kRemoved };

// What a change starts from.
struct RoleState {
  PartitionStatus role = PartitionStatus::kInactive;
  Ballot ballot;
  // Has a meaning for INACTIVE only.
  Inactivity inactivity = Inactivity::kTransient;
};

// Whether a replica in state `from` may take the role `to` because a configuration or a primary
// says so under `ballot`. A smaller ballot is refused. Local moves to INACTIVE and ERROR need no
// permission, so they are not asked for here. Takes any values: `to` may come from a message.
TransitionVerdict JudgeTransition(const RoleState& from, PartitionStatus to, Ballot ballot);

}  // namespace arion
