// SPDX-License-Identifier: Apache-2.0
#include "messages/configuration.h"

#include <algorithm>

namespace arion {

bool PartitionConfiguration::IsSecondary(Endpoint node) const {
  return std::find(secondaries.begin(), secondaries.end(), node) != secondaries.end();
}

PartitionStatus PartitionConfiguration::RoleOf(Endpoint node) const {
  // A configuration without a primary has an invalid one: nobody is to be taken for it.
  if (!node.IsValid()) return PartitionStatus::kInactive;
  if (node == primary) return PartitionStatus::kPrimary;
  return IsSecondary(node) ? PartitionStatus::kSecondary : PartitionStatus::kInactive;
}

// Words of our logs and metrics, not of the wire.
std::string_view PartitionStatusName(PartitionStatus status) {
  switch (status) {
    case PartitionStatus::kInvalid:
      return "invalid";
    case PartitionStatus::kInactive:
      return "inactive";
    case PartitionStatus::kError:
      return "error";
    case PartitionStatus::kPrimary:
      return "primary";
    case PartitionStatus::kSecondary:
      return "secondary";
    case PartitionStatus::kPotentialSecondary:
      return "learner";
    case PartitionStatus::kSplit:
      return "split";
  }
  return "unknown";
}

// As older versions write them.
std::string_view AppStatusName(AppStatus status) {
  switch (status) {
    case AppStatus::kInvalid:
      return "AS_INVALID";
    case AppStatus::kAvailable:
      return "AS_AVAILABLE";
    case AppStatus::kCreating:
      return "AS_CREATING";
    case AppStatus::kCreateFailed:
      return "AS_CREATE_FAILED";
    case AppStatus::kDropping:
      return "AS_DROPPING";
    case AppStatus::kDropFailed:
      return "AS_DROP_FAILED";
    case AppStatus::kDropped:
      return "AS_DROPPED";
    case AppStatus::kRecalling:
      return "AS_RECALLING";
  }
  return "AS_INVALID";
}

}  // namespace arion
