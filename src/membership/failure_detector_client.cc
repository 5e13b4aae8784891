// SPDX-License-Identifier: Apache-2.0
#include "membership/failure_detector_client.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "env/clock.h"
#include "membership/server_lease.h"
#include "messages/meta_messages.h"
#include "rpc/older_servers.h"
#include "rpc/transport.h"

namespace arion {
namespace {

constexpr absl::Duration kNextMetaDelay = absl::Seconds(1);
constexpr std::string_view kNotAcknowledged = "no beacon was acknowledged for so long";
constexpr std::string_view kDeclaredDead =
    "the meta server took this server for dead while it thought that it held it: its clock stood "
    "still, as that of a machine that is paused from outside";

}  // namespace

FailureDetectorClient::FailureDetectorClient(Environment& env, Transport& transport,
                                             StrandPtr strand, std::shared_ptr<ServerLease> shared,
                                             FailureDetectorOptions options, Events events)
    : env_(env),
      transport_(transport),
      strand_(std::move(strand)),
      shared_(std::move(shared)),
      options_(std::move(options)),
      events_(std::move(events)),
      start_time_ms_(env.clock().WallMicros() / 1000),
      process_id_(static_cast<int64_t>(env.random().Next())),
      lease_(options_.lease),
      meta_servers_(options_.meta_servers) {}

void FailureDetectorClient::Start() {
  CHECK_ON_STRAND(strand_);
  is_started_ = true;
  if (!meta_servers_.empty()) Begin();
}

void FailureDetectorClient::SetMetaServers(std::vector<Endpoint> meta_servers) {
  CHECK_ON_STRAND(strand_);
  CHECK(!meta_servers.empty());
  const bool is_first = meta_servers_.empty();
  meta_servers_ = std::move(meta_servers);
  if (is_first && is_started_ && !is_stopped_) Begin();
}

void FailureDetectorClient::Begin() {
  // At random, so that servers do not all ask the same meta server first.
  target_index_ = env_.random().Below(meta_servers_.size());
  SetTarget(meta_servers_[target_index_]);
  SendBeacon();
}

void FailureDetectorClient::SayStops() {
  CHECK_ON_STRAND(strand_);
  says_stops_ = true;
  // While no timer runs no beacons are sent: the server is not started, or not admitted.
  if (beacon_timer_ != kNoTimer) SendBeacon();
}

void FailureDetectorClient::Stop() {
  CHECK_ON_STRAND(strand_);
  is_stopped_ = true;
  // First of all: a replica that asks from now on must not act.
  shared_->Lose();
  if (beacon_timer_ != kNoTimer) strand_->Cancel(beacon_timer_);
  if (lease_timer_ != kNoTimer) strand_->Cancel(lease_timer_);
}

void FailureDetectorClient::SetTarget(Endpoint target) {
  target_ = target;
  shared_->SetLeader(target);
}

void FailureDetectorClient::ScheduleBeacon(absl::Duration delay) {
  if (beacon_timer_ != kNoTimer) strand_->Cancel(beacon_timer_);
  beacon_timer_ = strand_->PostAfter(delay, [self = weak_from_this()] {
    const auto client = self.lock();
    if (client == nullptr || client->is_stopped_) return;
    client->beacon_timer_ = kNoTimer;
    client->SendBeacon();
  });
}

void FailureDetectorClient::SendBeacon() {
  // Taken before the message leaves: the lease runs from the sending (pacifica/PROTOCOL.md 7).
  const Instant sent = env_.clock().Now();
  BeaconMessage beacon{.time = sent.nanos() / 1'000'000,
                       .from_node = transport_.local(),
                       .to_node = target_,
                       .start_time = start_time_ms_,
                       .wall_ms = env_.clock().WallMicros() / 1000,
                       .process_id = process_id_};
  if (says_stops_) beacon.stops = true;
  if (options_.generation == PeerGeneration::k26) {
    beacon.hp_from_node = HostPort::From(beacon.from_node);
    beacon.hp_to_node = HostPort::From(beacon.to_node);
  }
  // The timeout stays below the interval, so that at most one beacon is under way.
  transport_.Call(target_,
                  {.name = kRpcBeacon,
                   .body = EncodeWrapped(beacon, options_.generation),
                   .timeout = options_.beacon_interval * 2 / 3,
                   .lane = Lane::kBeacon},
                  strand_, [self = weak_from_this(), sent, to = target_](RpcResult result) {
                    const auto client = self.lock();
                    if (client != nullptr && !client->is_stopped_) client->OnAck(sent, to, result);
                  });
  // At once, not on the answer: a beacon that is lost must not delay the next one.
  ScheduleBeacon(options_.beacon_interval);
}

void FailureDetectorClient::OnAck(Instant sent, Endpoint to, const RpcResult& result) {
  // A call that fails ends no lease by itself: the lease timer does.
  if (result.error != ErrorCode::kOk) {
    events_.on_unanswered();
    return TryAnother();
  }
  const absl::StatusOr<BeaconAck> ack = DecodeWrapped<BeaconAck>(result.body);
  if (!ack.ok()) {
    LOG_EVERY_N(WARNING, 100) << "beacon answer of " << to << ": " << ack.status();
    return TryAnother();
  }
  if (!ack->allowed) {
    LOG(ERROR) << "meta server " << to
               << " does not admit this server: no more beacons; add it to the meta server's "
               << "allow list and restart";
    if (beacon_timer_ != kNoTimer) strand_->Cancel(beacon_timer_);
    beacon_timer_ = kNoTimer;
    return;
  }
  if (!ack->is_master) {
    // A follower without a hint, or one that names itself: round robin instead.
    if (!ack->primary_node.IsValid() || ack->primary_node == to) return TryAnother();
    SetTarget(ack->primary_node);
    return SendBeacon();
  }
  const bool is_older = !ack->arion_meta_life;
  if (is_older && options_.older_servers != nullptr && !options_.older_servers->are_let_in()) {
    LOG_EVERY_T(ERROR, 10)
        << "meta server " << to
        << " is of an older version, which can't say of which cluster it is: not "
           "followed. Where this server shall join its cluster: "
           "join_pegasus_cluster = NAME, its cluster_name";
    return TryAnother();
  }
  // Replicas ask this before they use what only Arion meta servers understand.
  shared_->SetLeaderIsOlder(is_older);
  const Instant now = env_.clock().Now();
  // Only a server that believes to hold the lease can have been paused through a death.
  const bool stood_still = WasDeclaredDead(*ack) && is_connected_;
  // An earlier answer told the time. How much has passed since then no clock of this machine knows.
  if (stood_still) env_.clock().agreed().Forget();
  NoteAgreed(ack->agreed_wall_ms, sent, now);
  // The lease ended while this ack was under way and its timer is late: another may have our roles.
  if (is_connected_ && !lease_.Held(now)) Lose(kNotAcknowledged);
  if (stood_still && is_connected_) Lose(kDeclaredDead);
  lease_.Acknowledged(sent, now);
  if (!lease_.Held(now)) return;
  shared_->Extend(lease_.expires_at());
  // The old value is replaced whatever it was, also while there is no lease.
  const bool is_frozen = ack->arion_is_frozen.value_or(false);
  if (std::exchange(is_meta_frozen_, is_frozen) && !is_frozen && is_connected_) events_.on_thawed();
  if (is_connected_) return;
  is_connected_ = true;
  ArmLeaseTimer();
  LOG(INFO) << "meta server " << to << " acknowledged a beacon: the lease is held";
  events_.on_gained();
}

bool FailureDetectorClient::WasDeclaredDead(const BeaconAck& ack) {
  if (!ack.arion_meta_life || !ack.arion_deaths) return false;
  const bool is_same_life = deaths_ && deaths_->meta_life == *ack.arion_meta_life;
  // Another life counts from 0: each death that it knows is news. It counts one only for a server
  // that leads nothing by what it stores.
  const int64_t known = is_same_life ? deaths_->count : 0;
  deaths_ = {*ack.arion_meta_life, *ack.arion_deaths};
  return *ack.arion_deaths > known;
}

void FailureDetectorClient::NoteAgreed(std::optional<int64_t> wall_ms, Instant sent, Instant now) {
  // The answer's time is as of half the way; half of the round trip is added.
  const Clock& clock = env_.clock();
  // With a meta server that compares no clocks the own one counts.
  if (!wall_ms) return clock.agreed().Agree(clock.WallMicros(), now);
  // The bound keeps the microseconds in range, whatever a peer sends.
  if (*wall_ms <= 0 || *wall_ms > INT64_MAX / 2000) return;
  clock.agreed().Agree(*wall_ms * 1000 + absl::ToInt64Microseconds((now - sent) / 2), now);
  const int64_t offset = clock.WallMicros() - AgreedWallMicros(clock);
  // From wrong to right only below half the margin, so that the warning does not come and go.
  const bool is_wrong = std::abs(offset) > (has_wrong_clock_ ? kMarginMicros / 2 : kMarginMicros);
  if (is_wrong == has_wrong_clock_) return;
  has_wrong_clock_ = is_wrong;
  if (is_wrong)
    LOG(WARNING)
        << "the wall clock of this server is "
        << absl::FormatDuration(absl::Microseconds(std::abs(offset)))
        << (offset > 0 ? " ahead of" : " behind")
        << " most clocks of the cluster: set it right (NTP). Records expire by the others' time "
           "meanwhile, and it leads nothing that another can lead";
  else
    LOG(WARNING) << "the wall clock of this server is right again";
}

void FailureDetectorClient::TryAnother() {
  // A meta server that does not answer costs kNextMetaDelay at most, not a whole interval.
  shared_->NoteFailedBeacon();
  target_index_ = (target_index_ + 1) % meta_servers_.size();
  SetTarget(meta_servers_[target_index_]);
  ScheduleBeacon(std::min(kNextMetaDelay, options_.beacon_interval));
}

void FailureDetectorClient::ArmLeaseTimer() {
  // One timer for each expiry: acks extend the lease without touching it, and OnLeaseTimer arms it
  // anew.
  const absl::Duration left = lease_.expires_at() - env_.clock().Now();
  lease_timer_ =
      strand_->PostAfter(std::max(left, absl::ZeroDuration()), [self = weak_from_this()] {
        if (const auto client = self.lock(); client && !client->is_stopped_) client->OnLeaseTimer();
      });
}

void FailureDetectorClient::OnLeaseTimer() {
  lease_timer_ = kNoTimer;
  if (!is_connected_) return;
  if (lease_.Held(env_.clock().Now())) return ArmLeaseTimer();  // renewed meanwhile
  Lose(kNotAcknowledged);
}

void FailureDetectorClient::Lose(std::string_view why) {
  is_connected_ = false;
  // Before the callback: replicas on other strands must see the loss at once.
  shared_->Lose();
  if (lease_timer_ != kNoTimer) strand_->Cancel(lease_timer_);
  lease_timer_ = kNoTimer;
  LOG(WARNING) << "lease of " << options_.lease << " lost: " << why;
  events_.on_lost();
}

}  // namespace arion
