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
#include "messages/replication_messages.h"

namespace arion::sim {

enum class Probe : uint8_t {
  kLearnFromCache,
  kLearnFromLog,
  kLearnFromCheckpoint,
  kLearnRefused,
  kLearnCompleted,
  kFilesCopied,
  kLearnerTakesPrepares,
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
  kReconciliation,        // a new primary prepared again what was there
  kReconciliationOfMany,  // more than two decrees of it
  kHoleFilled,            // with an empty write
  kPrepareRefused,
  kPrepareTimedOutOrLost,  // sent again under the same ballot
  kMemberAdded,
  kMemberRemoved,
  kPrimaryLost,
  kPrimaryUpgraded,
  kPrimaryReturned,  // nobody was left; a former member was taken back
  kNobodyLeft,       // DDD
  kTableDropped,
  kTableOfAnOldName,   // read when it was new
  kRecalledTableRead,  // all of it
  kGarbageRemoved,
  kWriteRefusedByDisk,
  kClientSentElsewhere,
  kReplicaOpenedAgain,
  kCheckpointInstalled,
  kPowerCut,       // of one server
  kPowerCutOfAll,  // at one instant
  kCallsReset,     // between two that live
  kTaskLate,       // of a node that lags
  kTaskLaterThanLease,
  kCallFailed,       // about a name, for want of descriptors, memory or permission
  kNameError,        // likewise, by an I/O error
  kStartFailed,      // of a node whose calls fail
  kDifferingFound,   // a copy that was changed silently
  kStoredByReserve,  // a configuration, on a full disk
};
constexpr int kProbeCount = static_cast<int>(Probe::kStoredByReserve) + 1;
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
  void LearnAsked(Endpoint learner, PartitionId pid);
  void LearnAnswered(const LearnResponse& response);
  // A configuration became durable.
  void Stored(const PartitionConfiguration& config);
  void Opened(Endpoint server, PartitionId pid, Decree decree);
  void Died(Endpoint server);

 private:
  enum class Role : uint8_t { kNone, kInactive, kLearner, kSecondary, kPrimary };
  void Becomes(Endpoint server, PartitionId pid, Role role);

  struct Prepares {
    Ballot ballot;
    Endpoint sender;
    Decree last;      // of all ballots
    Decree last_old;  // what was prepared before this ballot
    Decree newest_again;
    int64_t again = 0;  // decrees of older ballots, prepared under this one
    std::map<Endpoint, Decree> sent;
  };
  ProbeCounts counts_{};
  std::map<std::pair<Endpoint, PartitionId>, Role> roles_;
  std::map<PartitionId, Prepares> prepares_;
  std::map<PartitionId, PartitionConfiguration> stored_;
};

}  // namespace arion::sim
