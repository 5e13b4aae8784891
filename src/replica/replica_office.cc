// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_office.h"

#include "base/log.h"
#include "disks/disk_watch.h"

namespace arion {

void ReplicaOffice::NoteSpaceOf(Endpoint member, DiskStatus status) {
  if (status != DiskStatus::kSpaceInsufficient)
    // A member that has left stays here until it reports space; SpaceGate asks whether it still is
    // one.
    full_members_.erase(member);
  else if (full_members_.insert(member).second)
    LOG(WARNING) << tag_() << " " << member << " can log nothing new: new writes are refused";
}

ErrorCode ReplicaOffice::SpaceGate() const {
  // Data and log may lie on two disks; a write needs both.
  if (!host_->disks->watch->HasSpace(disk_) || !host_->disks->watch->HasSpace(log_disk_))
    return ErrorCode::kDiskInsufficient;
  for (const Endpoint member : full_members_)
    if (core_.configuration().IsSecondary(member)) return ErrorCode::kDiskInsufficient;
  return ErrorCode::kOk;
}

bool ReplicaOffice::MayBePrimaryAgain() const {
  if (!HoldsLease()) return false;
  // Transient: its own update is in flight and may make it primary again.
  return core_.role() == PartitionStatus::kPrimary ||
         (core_.role() == PartitionStatus::kInactive &&
          core_.inactivity() == Inactivity::kTransient);
}

bool ReplicaOffice::IsBetweenConfigurations() const {
  if (is_closed_ || !HoldsLease()) return false;
  // Each case ends soon: by the meta server's answer, the barrier of a new primary, or the name of
  // the new one.
  switch (core_.role()) {
    case PartitionStatus::kInactive:
      return core_.inactivity() == Inactivity::kTransient && core_.IsReconfiguring();
    case PartitionStatus::kPrimary:
      return core_.IsReconfiguring() || core_.ReadGate(ReadKind::kPrimaryOnly) != ErrorCode::kOk;
    case PartitionStatus::kSecondary:
      return !core_.primary().IsValid();
    default:
      return false;
  }
}

bool ReplicaOffice::IsHeld() const {
  if (is_closed_ || !HoldsLease()) return false;
  return core_.IsReconfiguring() || IsPrimaryOfOthers();
}

}  // namespace arion
