// ReplicaShipping: what one replica gives to learners that ask it: a piece of its log, or a
// checkpoint; and what it gives to a follower cluster, a checkpoint.
//
// Shapes    Shipped in the bulk pool, one at a time with other maintenance. What was read of a log
//           is paid for to the server's throttle afterwards, by a later answer.
// Errors    The answer asks the learner to come again, or says that nothing can be shipped; the
//           replica goes on.
// Threads   Strand-bound; files and log are read in the bulk pool.
// Lifetime  A part of a replica, beside what it is given, which outlives it.
// Promises  replica_shipping/S1  The files of a checkpoint are served only while its learner's
//               session lasts, and not after the engine was exchanged.
//           replica_shipping/S2  Those of a checkpoint for a follower cluster are served from the
//               answer on, until kIdleLooksMax looks in a row have found that nobody asked for any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "copies/learn_source.h"
#include "replica/disk_work.h"
#include "replica/replica_host.h"
#include "wal/private_log.h"

namespace arion {

class ReplicaCheckpoints;
class ReplicaCore;
class ReplicaMessages;
class Responder;

// NoteAsking when a learner asks, Ship when the core says what it gets; the answer goes by itself.
class ReplicaShipping {
 public:
  // Between two looks at who copies for a follower cluster, and how many of them may be in vain.
  static constexpr absl::Duration kFollowerLook = absl::Minutes(1);
  static constexpr int kIdleLooksMax = 10;

  struct Hooks {
    std::function<void(const Event&)> step;
    // As PartitionDuplications::NeededOfCheckpoints.
    std::function<std::optional<Decree>()> needed_by_followers;
    // Names the replica in the log.
    std::function<std::string()> tag;
  };
  // `source`: of its data. `disk`: of the data. `engine` and `log`: the owner's.
  ReplicaShipping(std::shared_ptr<const ReplicaHost> host, LearnSource source, size_t disk,
                  const ReplicaCore& core, DiskWork& work, ReplicaCheckpoints& checkpoints,
                  ReplicaMessages& messages, const std::shared_ptr<Engine>& engine,
                  const std::shared_ptr<PrivateLog>& log, Hooks hooks);

  // It asked by that token, until it is answered or given up.
  void NoteAsking(ReplyToken token, Endpoint learner) { asking_[token] = learner; }
  void GiveUp(ReplyToken token) { asking_.erase(token); }
  // Reads in the bulk pool what the core decided to ship, and answers.
  void Ship(ShipState ship);
  void Answer(ReplyToken token, const LearnResponse& response) {
    Answer(token, response, Encoded(response));
  }
  // Learners whose session has ended no longer hold a checkpoint or the log.
  void NoteLearners();
  // Reads in the bulk pool what a follower cluster begins with, and answers. It is primary.
  void ShipToFollower(Responder responder);
  // The engine was exchanged.
  void Forget() {
    source_.Forget();
    for_followers_.clear();
  }
  void Close() {
    source_.KeepOnly({});
    for_followers_.clear();
  }

 private:
  void OnRead(const std::shared_ptr<ShipState>& shipped, LearnSource::Shipment& shipment,
              const std::shared_ptr<std::string>& encoded, const absl::Status& status);
  // Also in the pool.
  std::string Encoded(const LearnResponse& response) const;
  void Answer(ReplyToken token, const LearnResponse& response, std::string encoded);
  void KeepForFollower(const std::string& directory, std::shared_ptr<void> share);
  void LookAtFollowers();

  const std::shared_ptr<const ReplicaHost> host_;
  LearnSource source_;
  const size_t disk_;
  const ReplicaCore& core_;
  DiskWork& work_;
  ReplicaCheckpoints& checkpoints_;
  ReplicaMessages& messages_;
  const std::shared_ptr<Engine>& engine_;
  const std::shared_ptr<PrivateLog>& log_;
  const Hooks hooks_;
  std::map<ReplyToken, Endpoint> asking_;
  // The core's.
  std::vector<Endpoint> learners_;
  // A checkpoint that follower clusters copy.
  struct ForFollower {
    std::shared_ptr<void> share;
    // At the last look, and how many looks in a row found no more.
    uint64_t asks = 0;
    int idle_looks = 0;
  };
  // By directory.
  std::map<std::string, ForFollower> for_followers_;
  bool looks_at_followers_ = false;
};

}  // namespace arion
