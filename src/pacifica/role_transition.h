// Which changes of role are legal (pacifica/PROTOCOL.md 1.4). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/ids.h"
#include "messages/configuration.h"

namespace arion {

enum class TransitionVerdict { kAccept, kNoChange, kRefuse };

// Whether an INACTIVE replica may return to PRIMARY or SECONDARY, or was removed and may only
// learn.
enum class Inactivity { kTransient, kRemoved };

struct RoleState {
  PartitionStatus role = PartitionStatus::kInactive;
  Ballot ballot;
  Inactivity inactivity = Inactivity::kTransient;  // of an INACTIVE replica
};

// A configuration says: `to` under `ballot`. Local moves to INACTIVE and ERROR need no leave.
TransitionVerdict JudgeTransition(const RoleState& from, PartitionStatus to, Ballot ballot);

}  // namespace arion
