// SPDX-License-Identifier: Apache-2.0
#include "client_requests/admission.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "client_requests/office.h"
#include "messages/table_environments.h"
#include "stats/slow_requests.h"

namespace arion {
namespace {

// Of requests that throttles hold back; beyond, they are refused at once.
constexpr uint64_t kDelayedBytesMax = 64 << 20;

absl::Duration TimeoutOf(const ClientRequest& request) {
  return absl::Milliseconds(request.header.timeout_ms);
}

}  // namespace

const TableSettings& Admission::Settings() {
  // The table's environments change rarely; the serial number spares comparing them at each
  // request.
  if (settings_serial_ == partition_.office.app_serial()) return settings_;
  settings_serial_ = partition_.office.app_serial();
  settings_ = TableSettings::From(partition_.office.app());
  const int32_t partitions = settings_.partition_count;
  write_requests_.Set(settings_.write_requests, partitions);
  write_bytes_.Set(settings_.write_bytes, partitions);
  read_requests_.Set(settings_.read_requests, partitions);
  backup_requests_.Set(settings_.backup_requests, partitions);
  read_bytes_.Set(settings_.read_bytes_max, partitions);
  quota_.Set(settings_.disk_quota_bytes);
  return settings_;
}

bool Admission::IsDenied(ClientRequest& request, bool DenyRule::*what) {
  const std::optional<DenyRule>& deny = Settings().deny;
  if (!deny || !((*deny).*what)) return false;
  // The rule may also want the client to get no answer at all.
  if (deny->how == DenyRule::How::kInvalidState) request.responder.Reply(ErrorCode::kInvalidState);
  return true;
}

std::optional<absl::Duration> Admission::AdmitWrite(ClientRequest& request) {
  const Throttled counts{ReplicaCount::kDelayedWrites, ReplicaCount::kRejectedWrites};
  // Two throttles in a row: the first that stops the request decides. A request that the second one
  // stops has been counted by the first.
  const std::optional<absl::Duration> pause =
      Admit(write_requests_, 1, request, ErrorCode::kBusy, counts);
  if (!pause || *pause > absl::ZeroDuration()) return pause;
  return Admit(write_bytes_, request.body.size(), request, ErrorCode::kBusy, counts);
}

// Asks for the engine's size even for a remove: removes are how the quota is met again.
bool Admission::IsOverQuota(WriteCode code, uint64_t bytes) {
  Settings();
  if (!quota_.IsSet() || partition_.engine == nullptr) return false;
  if (quota_.WantsToLook(partition_.clock.Now())) {
    auto size = std::make_shared<uint64_t>(0);
    partition_.in_pool(
        [engine = partition_.engine, size] {
          *size = engine->size_bytes();
          return absl::OkStatus();
        },
        [this, size](const absl::Status&) { quota_.Measured(*size); });
  }
  // What frees space is let through (admission/A2).
  if (code == WriteCode::kRemove || code == WriteCode::kMultiRemove) return false;
  if (!quota_.IsSpent()) {
    quota_.Taken(bytes);
    return false;
  }
  LOG_EVERY_T(WARNING, 10) << partition_.tag() << " writes refused: it has used up its "
                           << kEnvDiskQuota << " of " << quota_.bytes_max()
                           << " bytes; remove records, or raise it";
  return true;
}

std::optional<absl::Duration> Admission::AdmitRead(ClientRequest& request) {
  if (request.header.is_backup_request)
    return Admit(backup_requests_, 1, request, ErrorCode::kOk,  // no answer: the primary's counts
                 {ReplicaCount::kDelayedBackups, ReplicaCount::kRejectedBackups});
  if (read_bytes_.IsSpent(partition_.clock.Now())) {
    partition_.figures().Count(ReplicaCount::kRejectedReads);
    request.responder.Reply(ErrorCode::kBusy);
    return std::nullopt;
  }
  return Admit(read_requests_, 1, request, ErrorCode::kBusy,
               {ReplicaCount::kDelayedReads, ReplicaCount::kRejectedReads});
}

std::optional<absl::Duration> Admission::Admit(RequestThrottle& throttle, uint64_t units,
                                               ClientRequest& request, ErrorCode refusal,
                                               Throttled counts) {
  const RequestThrottle::Decision decision =
      throttle.Admit(units, partition_.clock.Now(), TimeoutOf(request));
  if (decision.verdict == RequestThrottle::Verdict::kDelay)
    partition_.figures().Count(counts.delayed);
  if (decision.verdict != RequestThrottle::Verdict::kReject) return decision.pause;
  partition_.figures().Count(counts.rejected);
  // kOk stands for "no answer".
  if (refusal == ErrorCode::kOk) return std::nullopt;
  if (decision.pause <= absl::ZeroDuration()) {
    request.responder.Reply(refusal);
  } else {
    // The body is not needed for a refusal, so it does not count against what may wait.
    request.body.clear();
    Delay(decision.pause, std::move(request),
          [refusal](ClientRequest late) { late.responder.Reply(refusal); });
  }
  return std::nullopt;
}

void Admission::Delay(absl::Duration pause, ClientRequest request, Again again) {
  const uint64_t bytes = request.body.size() + sizeof(ClientRequest);
  // Beyond this the memory that waits would be the greater trouble.
  if (delayed_bytes_ + bytes > kDelayedBytesMax) return request.responder.Reply(ErrorCode::kBusy);
  delayed_bytes_ += bytes;
  partition_.strand->PostAfter(
      pause, [this, weak = partition_.owner(), bytes, request = std::move(request),
              again = std::move(again)]() mutable {
        const std::shared_ptr<void> owner = weak.lock();
        // The replica is gone: admission/A1 wants an answer all the same.
        if (owner == nullptr) return request.responder.Reply(ErrorCode::kInvalidState);
        delayed_bytes_ -= bytes;
        again(std::move(request));
      });
}

// ---- between two configurations ----

void Admission::Hold(ClientRequest request, ErrorCode error, Again again) {
  // Held only if a new configuration is about to be known: otherwise waiting helps nobody.
  if (!partition_.office.IsBetweenConfigurations() || !held_.HasRoomFor(request))
    return request.responder.Reply(error);
  held_.Hold(std::move(request), partition_.clock.Now(), std::move(again));
  // Arms the timer; and the configuration may have become known just now.
  ReleaseHeld();
}

void Admission::ReleaseHeld() {
  if (held_.empty()) return;
  if (!partition_.office.IsBetweenConfigurations()) return held_.Release();
  const Instant now = partition_.clock.Now();
  held_.Expire(now);
  // One timer, for the first that expires.
  if (held_.empty() || held_timer_ != kNoTimer) return;
  held_timer_ =
      partition_.strand->PostAfter(held_.NextDeadline() - now, [this, weak = partition_.owner()] {
        const std::shared_ptr<void> owner = weak.lock();
        if (owner == nullptr) return;
        held_timer_ = kNoTimer;
        ReleaseHeld();
      });
}

ClientRequest Admission::Watched(RequestKind kind, InboundRequest request, Instant arrived) {
  const absl::Duration logged_from = Settings().slow_query;
  const absl::Duration kept_from = std::min(books_.slow->kept_from(), logged_from);
  // Made anew only when something differs; requests under way keep the former watch.
  if (watch_ == nullptr || watch_->logged_from != logged_from || watch_->kept_from != kept_from ||
      watch_->table != partition_.office.app().app_name) {
    watch_ =
        std::make_shared<const RequestWatch>(RequestWatch{.clock = partition_.clock,
                                                          .pid = partition_.pid,
                                                          .table = partition_.office.app().app_name,
                                                          .stats = partition_.stats,
                                                          .slow = books_.slow,
                                                          .foreground = books_.foreground,
                                                          .kept_from = kept_from,
                                                          .logged_from = logged_from});
    books_.requests->Rename(partition_.pid.app_id, watch_->table);
  }
  const size_t bytes = request.body.size();
  const Endpoint from = request.header.from;
  return {
      .header = std::move(request.header),
      .body = std::move(request.body),
      .responder = ClientAnswer(std::move(request.responder), watch_, kind, arrived, from, bytes)};
}

}  // namespace arion
