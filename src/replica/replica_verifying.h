// ReplicaVerifying: one replica's part in verifications (verification/verification.h): as the
// primary that coordinates one, and as a member whose content is counted.
//
// Shapes    A primary looks about once in an interval, by Consider, or when a tool asks; one at a
//           time, and as many of a server as its VerificationBook lets run. A member counts what it
//           is asked for, one at a time: a newer question ends the former count.
// Threads   Strand-bound; content is counted in the bulk pool.
// Lifetime  A part of a replica, beside what it is given, which outlives it.
// Promises  replica_verifying/V1  A member is fenced by its own count alone: where that is done and
//               differs from what a majority has.
//           replica_verifying/V2  After EndCounting nothing here holds a view of the engine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "env/clock.h"
#include "env/environment.h"
#include "messages/verification_messages.h"
#include "pacifica/replica_core.h"
#include "replica/disk_work.h"
#include "replica/replica_host.h"
#include "rpc/transport.h"
#include "verification/verification.h"

namespace arion {

class ApplyQueue;
class ContentCount;
class ReplicaOffice;

// Consider about once in an interval, Count for each question of a primary, Close at the end.
class ReplicaVerifying {
 public:
  struct Hooks {
    // Of another server; `on_result` on the strand, unless the replica is gone.
    std::function<void(Endpoint to, const char* name, std::string body, absl::Duration timeout,
                       absl::AnyInvocable<void(RpcResult)> on_result)>
        call;
    // Makes an empty write.
    std::function<void()> write_nothing;
    std::function<void(const std::string& why)> fence;
    // Names the replica in the log.
    std::function<std::string()> tag;
  };
  // `disk`: of the data. `engine`: the owner's; null while it is exchanged.
  ReplicaVerifying(std::shared_ptr<const ReplicaHost> host, PartitionId pid, size_t disk,
                   const ReplicaCore& core, const ReplicaOffice& office, DiskWork& work,
                   ApplyQueue& applies, const std::shared_ptr<Engine>& engine, Hooks hooks);

  // ---- a member ----
  CountContentResponse Count(const CountContentRequest& request);
  // Its view goes before the engine does.
  void EndCounting();

  // ---- the primary ----
  VerifyReplicasResponse Answer(const VerifyReplicasRequest& request);
  // About once in an interval, and again soon where it could not be done.
  void Consider();

  void Close();

 private:
  void BeginCounting(const CountContentRequest& request);
  CountContentResponse HearVerdict(const CountContentRequest& request);
  std::optional<Verification::Group> Group() const;
  void VerifyNow();
  void Begin();
  int64_t MarginSeconds() const;
  void AskForCount(Endpoint member, CountContentRequest request,
                   Verification::Hooks::Answered answered);
  void OnVerified(VerifyReplicasResponse result);
  void LogResult(const VerifyReplicasResponse& result) const;
  int64_t UnixMillis() const { return AgreedWallMicros(host_->env.clock()) / 1000; }

  const std::shared_ptr<const ReplicaHost> host_;
  const PartitionId pid_;
  const size_t disk_;
  const ReplicaCore& core_;
  const ReplicaOffice& office_;
  DiskWork& work_;
  ApplyQueue& applies_;
  const std::shared_ptr<Engine>& engine_;
  const Hooks hooks_;
  // Null: no primary wants it.
  std::shared_ptr<ContentCount> counting_;
  // The last one; null: none yet.
  std::shared_ptr<Verification> verification_;
  // One waits for its turn, or runs.
  bool is_wanted_ = false;
  // A timer will look again.
  bool is_planned_ = false;
  // The place among the server's verifications that run; null: none.
  std::shared_ptr<void> place_;
  // The interval in which Consider looked last.
  std::optional<int64_t> looked_turn_;
};

}  // namespace arion
