// Tables, partitions and who serves them (rpc/PROTOCOL.md 7).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/fields.h"

namespace arion {

enum class PartitionStatus : int32_t {
  kInvalid = 0,
  kInactive = 1,
  kError = 2,
  kPrimary = 3,
  kSecondary = 4,
  kPotentialSecondary = 5,
  kSplit = 6,
};
enum class ConfigType : int32_t {
  kInvalid = 0,
  kAssignPrimary = 1,
  kUpgradeToPrimary = 2,
  kAddSecondary = 3,
  kUpgradeToSecondary = 4,
  kDowngradeToSecondary = 5,
  kDowngradeToInactive = 6,
  kRemove = 7,
  kAddSecondaryForLoadBalance = 8,
  kPrimaryForceUpdateBallot = 9,
  kDropPartition = 10,
  kRegisterChild = 11,
};
enum class AppStatus : int32_t {
  kInvalid = 0,
  kAvailable = 1,
  kCreating = 2,
  kCreateFailed = 3,
  kDropping = 4,
  kDropFailed = 5,
  kDropped = 6,
  kRecalling = 7,
};

// A table ("app" on the wire).
struct AppInfo {
  AppStatus status = AppStatus::kInvalid;
  std::string app_type;  // "pegasus"
  std::string app_name;
  int32_t app_id = 0;
  int32_t partition_count = 0;
  std::map<std::string, std::string> envs;
  bool is_stateful = false;
  int32_t max_replica_count = 0;
  int64_t expire_second = 0;
  int64_t create_second = 0;
  int64_t drop_second = 0;
  bool duplicating = false;
  int32_t init_partition_count = -1;
  bool is_bulk_loading = false;
  std::optional<bool> atomic_idempotent;  // generation 26
  // Arion's extension: rises with each change of this description, so that an older one that
  // arrives late is known for it. Absent: never changed, or a Pegasus meta server's.
  std::optional<int64_t> version;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.status), v(2, s.app_type), v(3, s.app_name), v(4, s.app_id), v(5, s.partition_count),
        v(6, s.envs);
    v(7, s.is_stateful), v(8, s.max_replica_count), v(9, s.expire_second), v(10, s.create_second);
    v(11, s.drop_second), v(12, s.duplicating), v(13, s.init_partition_count),
        v(14, s.is_bulk_loading), v(15, s.atomic_idempotent), v(1000, s.version);
  }
  bool operator==(const AppInfo&) const = default;
};

struct PartitionConfiguration {
  PartitionId pid;
  Ballot ballot;
  int32_t max_replica_count = 0;
  Endpoint primary;                   // invalid = none
  std::vector<Endpoint> secondaries;  // order is kept
  std::vector<Endpoint> last_drops;   // oldest first, at most 3
  Decree last_committed_decree;
  int32_t partition_flags = 0;  // bit 0: dropped
  std::optional<HostPort> hp_primary;
  std::optional<std::vector<HostPort>> hp_secondaries;
  std::optional<std::vector<HostPort>> hp_last_drops;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.pid), v(2, s.ballot), v(3, s.max_replica_count), v(4, s.primary), v(5, s.secondaries);
    v(6, s.last_drops), v(7, s.last_committed_decree), v(8, s.partition_flags);
    v(9, s.hp_primary), v(10, s.hp_secondaries), v(11, s.hp_last_drops);
  }
  bool operator==(const PartitionConfiguration&) const = default;

  bool IsSecondary(Endpoint node) const;
  bool IsMember(Endpoint node) const {
    return node.IsValid() && (node == primary || IsSecondary(node));
  }
  size_t MemberCount() const { return (primary.IsValid() ? 1 : 0) + secondaries.size(); }
  // The role `node` has in this configuration: kPrimary, kSecondary or kInactive.
  PartitionStatus RoleOf(Endpoint node) const;
};
std::string_view PartitionStatusName(PartitionStatus status);  // "primary"
std::string_view AppStatusName(AppStatus status);              // "AS_AVAILABLE"

}  // namespace arion
