// Coverage: how often a run reached what is rare, told from what passes between the servers and
// what the meta server stores. A suite whose seeds never get somewhere proves nothing about it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/ids.h"
#include "messages/configuration.h"

namespace arion {
struct LearnResponse;
struct PrepareRequest;
}  // namespace arion

namespace arion::sim {

// What is counted. The long suite of seeds (tests/sim) must reach each of them at least once.
enum class Probe : uint8_t {
  // What a learner was taught from: the primary's prepare list, its log, a checkpoint.
  kLearnFromCache,
  kLearnFromLog,
  kLearnFromCheckpoint,
  kLearnRefused,
  kLearnCompleted,
  kFilesCopied,
  kLearnerTakesPrepares,
  // Changes of a replica's role.
  kInactiveToPrimary,
  kInactiveToSecondary,
  kInactiveToLearner,
  kLearnerToSecondary,
  kLearnerToInactive,
  kSecondaryToPrimary,
  kSecondaryToLearner,
  kSecondaryToInactive,
  kPrimaryToSecondary,
  kPrimaryToLearner,
  kPrimaryToInactive,
  // A new primary prepared again what was there.
  kReconciliation,
  // The same, with more than two decrees.
  kReconciliationOfMany,
  // A new primary filled a hole with an empty write.
  kHoleFilled,
  kPrepareRefused,
  // A prepare was sent again under the same ballot.
  kPrepareTimedOutOrLost,
  kMemberAdded,
  kMemberRemoved,
  kPrimaryLost,
  kPrimaryUpgraded,
  // Nobody was left; a former member was taken back.
  kPrimaryReturned,
  // A partition lost its last member.
  kNobodyLeft,
  kTableDropped,
  // A table got the name of a dropped one, and was read when it was new.
  kTableOfAnOldName,
  // A recalled table was read whole.
  kRecalledTableRead,
  kGarbageRemoved,
  kWriteRefusedByDisk,
  kClientSentElsewhere,
  kReplicaOpenedAgain,
  kCheckpointInstalled,
  // The power of one server was cut.
  kPowerCut,
  // The power of all servers was cut at one instant.
  kPowerCutOfAll,
  // Calls failed because a connection between two living nodes broke.
  kCallsReset,
  // A task of a node that lags ran late.
  kTaskLate,
  kTaskLaterThanLease,
  // A call about a name failed, for want of descriptors, memory or permission.
  kCallFailed,
  // A call about a name failed with an I/O error.
  kNameError,
  // A start failed, of a node whose calls fail.
  kStartFailed,
  // Verification found a copy that was changed silently.
  kDifferingFound,
  // A configuration was stored on a full disk, from the reserve.
  kStoredByReserve,
  // A FIND was answered by an index; it was refused since that is being built.
  kFoundByIndex,
  kIndexIsBeingBuilt,
  // A split was started, paused, taken back; a child was registered.
  kSplitStarted,
  kSplitPaused,
  kSplitCancelled,
  kChildRegistered,
};
constexpr int kProbeCount = static_cast<int>(Probe::kChildRegistered) + 1;
const char* ProbeName(Probe probe);
using ProbeCounts = std::array<int64_t, kProbeCount>;

// One for a run; all that see something rare hit its probes. Roles are guessed from messages, so a
// change that no message shows is not counted.
class Coverage {
 public:
  void Hit(Probe probe) { ++counts_[static_cast<size_t>(probe)]; }
  const ProbeCounts& counts() const { return counts_; }

  // A prepare leaves the primary.
  void Prepared(Endpoint from, Endpoint to, const PrepareRequest& request);
  // A learner begins a round; its primary answers one.
  void LearnAsked(Endpoint learner, PartitionId pid);
  void LearnAnswered(const LearnResponse& response);
  // A configuration became durable.
  void Stored(const PartitionConfiguration& config);
  // An engine was opened at that decree; a server's process ended.
  void Opened(Endpoint server, PartitionId pid, Decree decree);
  void Died(Endpoint server);

 private:
  enum class Role : uint8_t { kNone, kInactive, kLearner, kSecondary, kPrimary };
  void Becomes(Endpoint server, PartitionId pid, Role role);

  struct Prepares {
    Ballot ballot;
    Endpoint sender;
    // The largest decree that was prepared, under any ballot.
    Decree last;
    // The largest decree that was prepared before this ballot.
    Decree last_old;
    Decree newest_again;
    // How many decrees of older ballots were prepared under this one.
    int64_t again = 0;
    std::map<Endpoint, Decree> sent;
  };
  ProbeCounts counts_{};
  std::map<std::pair<Endpoint, PartitionId>, Role> roles_;
  std::map<PartitionId, Prepares> prepares_;
  std::map<PartitionId, PartitionConfiguration> stored_;
};

}  // namespace arion::sim
