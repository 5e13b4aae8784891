// Tables, partitions and who serves them (rpc/PROTOCOL.md 7).
//
// Shapes    The values of enumerators travel on the wire. An unknown one is read as the value that
//           promises least (rpc/thrift_wire.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "messages/fields.h"

namespace arion {

// What a server is in a partition. kPotentialSecondary is a learner.
enum class PartitionStatus : int32_t {
  kInvalid = 0,
  // It serves nobody: between two roles, or removed.
  kInactive = 1,
  // It has failed, and will be closed.
  kError = 2,
  // A member: it orders writes and serves reads.
  kPrimary = 3,
  // A member: it logs what the primary orders.
  kSecondary = 4,
  // A learner: on its way to become a secondary.
  kPotentialSecondary = 5,
  // Of Pegasus' splits: a child that its parent's server makes. Arion's children are inactive until
  // their configuration is stored.
  kSplit = 6,
};
// The kinds of changes of a configuration: what a primary asks the meta server for, and what that
// proposes to servers. kDropPartition is Pegasus'; Arion's servers don't use it.
enum class ConfigType : int32_t {
  kInvalid = 0,
  // A partition without any member gets a primary.
  kAssignPrimary = 1,
  // A secondary takes office, where there is no primary.
  kUpgradeToPrimary = 2,
  // A proposal alone: the primary is to teach a new member.
  kAddSecondary = 3,
  // A learner has everything and becomes a secondary.
  kUpgradeToSecondary = 4,
  // The primary leaves office and stays a member.
  kDowngradeToSecondary = 5,
  // A member leaves: it failed, is silent, or lacks something.
  kDowngradeToInactive = 6,
  // A member leaves because it is not needed.
  kRemove = 7,
  // As kAddSecondary, also beyond the table's replica count: another copy is removed after.
  kAddSecondaryForLoadBalance = 8,
  // The same members under the next ballot.
  kPrimaryForceUpdateBallot = 9,
  kDropPartition = 10,
  // The same members under the next ballot, and with it the other half of the partition's keys gets
  // a partition of its own: its child, with the same members (messages/split_messages.h).
  kRegisterChild = 11,
};
// The states of a table. kCreateFailed and kDropFailed are older versions'.
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

// A table ("app" on the wire). The meta server makes one and alone changes it; servers and clients
// have copies, of which the largest `version` counts.
struct AppInfo {
  AppStatus status = AppStatus::kInvalid;
  // "pegasus".
  std::string app_type;
  std::string app_name;
  int32_t app_id = 0;
  // Doubled by a split. What a replica is told is the count by which its partition owns keys: of
  // one that is not split yet the former count.
  int32_t partition_count = 0;
  // Environments (messages/table_environments.h).
  std::map<std::string, std::string> envs;
  bool is_stateful = false;
  // How many copies each partition is to have.
  int32_t max_replica_count = 0;
  // Unix seconds: until when a dropped table is kept, when the table was made, when it was dropped;
  // 0: not so.
  int64_t expire_second = 0;
  int64_t create_second = 0;
  int64_t drop_second = 0;
  // Of older versions: the table is duplicated to another cluster, or is being bulk loaded.
  bool duplicating = false;
  // Before the first split; -1: there was none.
  int32_t init_partition_count = -1;
  bool is_bulk_loading = false;
  // Generation 26.
  std::optional<bool> atomic_idempotent;
  // Arion's extension: rises with each change of this description, so that an older one that
  // arrives late can be told from it. Absent: never changed, or a Pegasus meta server's.
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

// Who serves a partition, under one ballot. Only the meta server makes one; it is durable there
// before anybody hears of it. Of two the larger ballot counts.
struct PartitionConfiguration {
  PartitionId pid;
  Ballot ballot;
  // The table's.
  int32_t max_replica_count = 0;
  // Invalid: there is none.
  Endpoint primary;
  // Their order is kept.
  std::vector<Endpoint> secondaries;
  // Servers that left last, oldest first, at most 3.
  std::vector<Endpoint> last_drops;
  // Known to be committed when the configuration was made.
  Decree last_committed_decree;
  // Bit 0: dropped.
  int32_t partition_flags = 0;
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
  // The primary counts.
  size_t MemberCount() const { return (primary.IsValid() ? 1 : 0) + secondaries.size(); }
  // The role of `node` in this configuration: kPrimary, kSecondary or kInactive.
  PartitionStatus RoleOf(Endpoint node) const;
};
// "primary"
std::string_view PartitionStatusName(PartitionStatus status);
// "AS_AVAILABLE"
std::string_view AppStatusName(AppStatus status);

}  // namespace arion
