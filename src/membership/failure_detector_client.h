// FailureDetectorClient keeps this server's lease: beacons to the meta server that leads, and the
// moment until which the server may act (pacifica/PROTOCOL.md 7).
//
// Shapes    The arithmetic is pacifica/lease.h's. An ack from a follower never extends the lease; a
//           leader's hint is followed at once, another meta server is tried after 1 s. A machine
//           that was paused from outside for longer than a grace does not notice: its clocks stood
//           still with it. The answer to the first beacon after that tells it. The answer counts
//           how often this server was declared dead, and a death within a term ends the term. A
//           meta server that has started anew since counts a death of each server that leads
//           nothing by what is stored. A meta server of an older version does not count; then the
//           next config sync tells. Such a one is followed only where older_servers allows it,
//           since it can't say of which cluster it is.
// Threads   Strand-bound; callbacks come on the strand. What others read is in ServerLease.
// Promises  failure_detector_client/B1  Each on_gained is followed by one on_lost before the next
//               on_gained. When on_lost comes the term is over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "env/environment.h"
#include "pacifica/lease.h"
#include "rpc/thrift_codec.h"

namespace arion {

struct BeaconAck;
class OlderServers;
struct RpcResult;
class ServerLease;
class Transport;

// The meta servers may be empty until SetMetaServers.
struct FailureDetectorOptions {
  std::vector<Endpoint> meta_servers;
  absl::Duration beacon_interval;
  // How long the server may act after it sent a beacon that was acknowledged.
  absl::Duration lease;
  PeerGeneration generation = PeerGeneration::k25;
  // Null: meta servers of any version are followed.
  std::shared_ptr<const OlderServers> older_servers;
};

// One for a server. Start, then Events come and go, until Stop.
class FailureDetectorClient : public std::enable_shared_from_this<FailureDetectorClient> {
 public:
  struct Events {
    // The first beacon after a loss was acknowledged: the server may act.
    absl::AnyInvocable<void()> on_gained;
    // The server may not act any more. The lease ended, was given up, or a death was told.
    absl::AnyInvocable<void()> on_lost;
    // The meta server changes members again.
    absl::AnyInvocable<void()> on_thawed;
    // A beacon was not answered.
    absl::AnyInvocable<void()> on_unanswered = [] {};
  };

  FailureDetectorClient(Environment& env, Transport& transport, StrandPtr strand,
                        std::shared_ptr<ServerLease> shared, FailureDetectorOptions options,
                        Events events);
  // Sends beacons from now on, or from when there is a meta server to send them to.
  void Start();
  // Where the meta servers are; not empty. The one that answers is kept as long as it does. Before
  // Stop.
  void SetMetaServers(std::vector<Endpoint> meta_servers);
  // From now on beacons say that this server stops. The first of them goes out at once.
  void SayStops();
  // No more beacons. The lease is given up at once, without on_lost.
  void Stop();
  bool is_connected() const { return is_connected_; }

 private:
  void Begin();
  void SetTarget(Endpoint target);
  void ScheduleBeacon(absl::Duration delay);
  void SendBeacon();
  void OnAck(Instant sent, Endpoint to, const RpcResult& result);
  // Whether this server was declared dead since the last answer, or before the first answer of a
  // meta server other than the one that granted this term.
  bool WasDeclaredDead(const BeaconAck& ack);
  // Takes the time that most clocks show, as of the middle of a beacon's way there and back.
  void NoteAgreed(std::optional<int64_t> wall_ms, Instant sent, Instant now);
  void TryAnother();
  void ArmLeaseTimer();
  void OnLeaseTimer();
  void Lose(std::string_view why);

  Environment& env_;
  Transport& transport_;
  StrandPtr strand_;
  std::shared_ptr<ServerLease> shared_;
  const FailureDetectorOptions options_;
  Events events_;
  const int64_t start_time_ms_;
  const int64_t process_id_;
  // The arithmetic of the term; the strand's own. `shared_` is its copy for other threads.
  WorkerLease lease_;
  std::vector<Endpoint> meta_servers_;
  // Where beacons go: a hint of a follower, or meta_servers_[target_index_].
  Endpoint target_;
  size_t target_index_ = 0;
  // How often a meta server declared this server dead, in that life of its process.
  struct Deaths {
    int64_t meta_life = 0;
    int64_t count = 0;
  };
  // As the last answer that counted them had it.
  std::optional<Deaths> deaths_;
  // As the last answer had it.
  bool is_meta_frozen_ = false;
  bool is_connected_ = false;
  bool is_started_ = false;
  bool says_stops_ = false;
  bool is_stopped_ = false;
  // Hysteresis: half the margin makes it right again.
  bool has_wrong_clock_ = false;
  TimerId beacon_timer_ = kNoTimer;
  TimerId lease_timer_ = kNoTimer;
};

}  // namespace arion
