// FailureDetectorClient keeps this server's lease: beacons to the meta server that leads, and the
// moment until which the server may act (spec/replication.md 1.7; decisions 15, 19).
//
// Shapes    The lease ends one lease time after the *sending* of the newest beacon a leader
// acknowledged. An ack from a
//           follower never extends it; a leader's hint is followed at once, another meta server is
//           tried after 1 s.
// Threads   Strand-bound, except HoldsLease: any thread. Callbacks come on the strand.
// Promises  B1  HoldsLease() is false from the lease's end on, whatever timers do.
//           B2  on_lost follows each on_gained, before the next on_gained.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "env/environment.h"
#include "messages/meta_messages.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {

struct FailureDetectorOptions {
  std::vector<Endpoint> meta_servers;
  absl::Duration beacon_interval;
  absl::Duration lease;
  PeerGeneration generation = PeerGeneration::k25;
};

class FailureDetectorClient : public std::enable_shared_from_this<FailureDetectorClient> {
 public:
  struct Events {
    absl::AnyInvocable<void()> on_gained;          // the first acknowledged beacon after a loss
    absl::AnyInvocable<void(Instant)> on_renewed;  // each one, with the lease's new end
    absl::AnyInvocable<void()> on_lost;
  };

  FailureDetectorClient(Environment& env, Transport& transport, StrandPtr strand,
                        FailureDetectorOptions options, Events events);
  void Start();
  void Stop();

  bool HoldsLease() const {
    return env_.clock().Now().nanos() < lease_end_nanos_.load(std::memory_order_acquire);
  }
  Instant lease_end() const { return Instant(lease_end_nanos_.load(std::memory_order_acquire)); }
  // The meta server believed to lead.
  Endpoint leader() const { return target_; }

 private:
  void ScheduleBeacon(absl::Duration delay);
  void SendBeacon();
  void OnAck(Instant sent, Endpoint to, const RpcResult& result);
  void TryAnother();
  void OnLeaseTimer();
  void ArmLeaseTimer();
  void Lose();

  Environment& env_;
  Transport& transport_;
  StrandPtr strand_;
  const FailureDetectorOptions options_;
  Events events_;
  const int64_t start_time_ms_;
  Endpoint target_;
  size_t target_index_ = 0;
  std::atomic<int64_t> lease_end_nanos_{INT64_MIN};
  Instant last_acked_sent_{INT64_MIN};
  bool is_connected_ = false;
  bool is_stopped_ = false;
  TimerId beacon_timer_ = kNoTimer;
  TimerId lease_timer_ = kNoTimer;
};

}  // namespace arion
