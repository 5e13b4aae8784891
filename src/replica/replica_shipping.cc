// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_shipping.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "copies/served_files.h"
#include "env/clock.h"
#include "env/environment.h"
#include "pacifica/replica_core.h"
#include "replica/replica_checkpoints.h"
#include "replica/replica_messages.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

// The end of a log is small and must not wait.
constexpr uint64_t kLogBytesUnpaid = 16 << 10;  // the end of a log

}  // namespace

ReplicaShipping::ReplicaShipping(std::shared_ptr<const ReplicaHost> host, LearnSource source,
                                 size_t disk, const ReplicaCore& core, DiskWork& work,
                                 ReplicaCheckpoints& checkpoints, ReplicaMessages& messages,
                                 const std::shared_ptr<Engine>& engine,
                                 const std::shared_ptr<PrivateLog>& log, Hooks hooks)
    : host_(std::move(host)),
      source_(std::move(source)),
      disk_(disk),
      core_(core),
      work_(work),
      checkpoints_(checkpoints),
      messages_(messages),
      engine_(engine),
      log_(log),
      hooks_(std::move(hooks)) {}

std::string ReplicaShipping::Encoded(const LearnResponse& response) const {
  return EncodeWrapped(response, host_->options.peer_generation);
}

void ReplicaShipping::Answer(ReplyToken token, const LearnResponse& response, std::string encoded) {
  // Nobody waits any more: given up, or the replica closes.
  std::optional<Responder> responder = messages_.Take(token);
  if (!responder) return;
  const auto learner = asking_.find(token);
  if (learner != asking_.end()) {
    // Past its checkpoint: the files need not be kept for it any longer.
    if (response.err == ErrorCode::kOk && response.type != LearnType::kApp)
      source_.KeepShare(learner->second, nullptr);
    asking_.erase(learner);
  }
  responder->Reply(ErrorCode::kOk, std::move(encoded));
}

void ReplicaShipping::NoteLearners() {
  std::vector<Endpoint> learners = core_.learners();
  // Asked after each step, and learners rarely change.
  if (learners == learners_) return;
  learners_ = std::move(learners);
  source_.KeepOnly(learners_);
  // In a task of its own: the step that changed the learners is not over yet.
  work_.After(absl::ZeroDuration(), [this] {
    if (core_.role() == PartitionStatus::kPrimary && engine_ != nullptr)
      checkpoints_.DropUnneededLog(engine_->last_durable());
  });
}

void ReplicaShipping::Ship(ShipState ship) {
  // Shared by the pool's job and what follows it.
  auto shipped = std::make_shared<ShipState>(std::move(ship));
  auto shipment = std::make_shared<LearnSource::Shipment>();
  const auto asking = asking_.find(shipped->token);
  const Endpoint learner = asking != asking_.end() ? asking->second : Endpoint{};
  const uint64_t piece_bytes = source_.PieceBytes(learner);
  auto encoded = std::make_shared<std::string>();  // in the pool: it takes a loop long
  // As maintenance, because a checkpoint may have to be made.
  work_.MaintainInBulkPool(
      [this, log = log_, piece_bytes, shipped, shipment, encoded](Engine& engine) {
        RETURN_IF_ERROR(source_.Read(*log, engine, piece_bytes, shipped.get(), shipment.get()));
        *encoded = Encoded(shipped->response);
        return absl::OkStatus();
      },
      [this, shipped, shipment, encoded](const absl::Status& status) {
        OnRead(shipped, *shipment, encoded, status);
      });
}

void ReplicaShipping::OnRead(const std::shared_ptr<ShipState>& shipped,
                             LearnSource::Shipment& shipment,
                             const std::shared_ptr<std::string>& encoded,
                             const absl::Status& status) {
  // First, so that the next learner is not sent to the log.
  if (!shipment.log_damage.ok()) checkpoints_.OnLogDamaged(shipment.log_damage);
  if (!status.ok()) {
    LOG(WARNING) << hooks_.tag() << " nothing to ship to a learner yet: " << status;
    if (IsRefusal(status)) work_.OnNoSpace("a learner's checkpoint", status);
    shipped->response.err =
        // Unavailable: the learner asks again in a moment. Anything else ends its session.
        absl::IsUnavailable(status) ? ErrorCode::kInactiveState : ErrorCode::kGetLearnStateFailed;
    shipped->response.state = LearnState{};
    *encoded = Encoded(shipped->response);
  } else if (const auto learner = asking_.find(shipped->token);
             // The learner may have been given up meanwhile: then nothing keeps the share.
             learner != asking_.end() && shipment.share != nullptr) {
    source_.KeepShare(learner->second, std::move(shipment.share));
    // The share is dropped at once if the learner is none any more.
    source_.KeepOnly(learners_);
  }
  // Before the answer: the core must know what the learner will have.
  if (status.ok())
    hooks_.step(Shipped{shipped->token, shipped->response.type,
                        shipped->response.state.to_decree_included});
  // A piece of log that was read is paid for afterwards, but with a bound: the log must not grow
  // faster than the learner reads it.
  const uint64_t bytes = shipped->response.state.meta.bytes.size();
  absl::Duration delay;
  if (const auto learner = asking_.find(shipped->token);
      bytes >= kLogBytesUnpaid && learner != asking_.end()) {
    delay = std::min(source_.LogPatience(learner->second, *shipped),
                     host_->sending->Take(disk_, bytes, host_->env.clock().Now()));
  }
  if (delay == absl::ZeroDuration())
    return Answer(shipped->token, shipped->response, std::move(*encoded));
  work_.After(delay, [this, shipped, encoded] {
    Answer(shipped->token, shipped->response, std::move(*encoded));
  });
}

// ---- follower clusters ----

void ReplicaShipping::ShipToFollower(Responder responder) {
  const std::optional<Decree> needed = hooks_.needed_by_followers();
  if (!needed)
    return responder.Reply(ErrorCode::kOk, Encoded(LearnResponse{.err = ErrorCode::kBusy}));
  auto response = std::make_shared<LearnResponse>();
  auto share = std::make_shared<std::shared_ptr<void>>();
  work_.MaintainInBulkPool(
      [this, needed = *needed, response, share](Engine& engine) {
        return source_.ReadForFollower(engine, needed, response.get(), share.get());
      },
      [this, response, share,
       responder = std::move(responder)](const absl::Status& status) mutable {
        if (!status.ok()) {
          LOG(WARNING) << hooks_.tag() << " no checkpoint for a follower cluster yet: " << status;
          if (IsRefusal(status)) work_.OnNoSpace("a follower's checkpoint", status);
          // Unavailable: its checksums are being computed, or it is not applied yet.
          *response = {.err = absl::IsUnavailable(status) ? ErrorCode::kBusy
                                                          : ErrorCode::kPathNotFound};
          return responder.Reply(ErrorCode::kOk, Encoded(*response));
        }
        response->learnee = host_->self;
        response->config.pid = core_.configuration().pid;
        response->last_committed_decree = response->state.to_decree_included;
        LOG(INFO) << hooks_.tag() << " a follower cluster is given the checkpoint at decree "
                  << response->state.to_decree_included << ", " << response->state.files.size()
                  << " files";
        if (*share != nullptr) KeepForFollower(response->base_local_dir, std::move(*share));
        responder.Reply(ErrorCode::kOk, Encoded(*response));
      });
}

void ReplicaShipping::KeepForFollower(const std::string& directory, std::shared_ptr<void> share) {
  for_followers_[directory] = {.share = std::move(share)};
  if (std::exchange(looks_at_followers_, true)) return;
  work_.After(kFollowerLook, [this] { LookAtFollowers(); });
}

void ReplicaShipping::LookAtFollowers() {
  for (auto it = for_followers_.begin(); it != for_followers_.end();) {
    ForFollower& kept = it->second;
    const uint64_t before = std::exchange(kept.asks, host_->served->AsksFor(it->first));
    kept.idle_looks = kept.asks == before ? kept.idle_looks + 1 : 0;
    it = kept.idle_looks >= kIdleLooksMax ? for_followers_.erase(it) : std::next(it);
  }
  looks_at_followers_ = !for_followers_.empty();
  if (looks_at_followers_) work_.After(kFollowerLook, [this] { LookAtFollowers(); });
}

}  // namespace arion
