// What the table's environments say of clients' requests before anything is done for them: denied,
// throttled, watched for slowness, held back while the configuration changes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "replica/replica.h"

namespace arion {
namespace {

// Of requests that throttles hold back; beyond, they are refused at once.
constexpr uint64_t kDelayedBytesMax = 64 << 20;

absl::Duration TimeoutOf(const ClientRequest& request) {
  return absl::Milliseconds(request.header.timeout_ms);
}

}  // namespace

const TableSettings& Replica::Settings() {
  if (settings_serial_ == core_->app_serial()) return settings_;
  settings_serial_ = core_->app_serial();
  settings_ = TableSettings::From(core_->app());
  const int32_t partitions = settings_.partition_count;
  write_requests_.Set(settings_.write_requests, partitions);
  write_bytes_.Set(settings_.write_bytes, partitions);
  read_requests_.Set(settings_.read_requests, partitions);
  backup_requests_.Set(settings_.backup_requests, partitions);
  read_bytes_.Set(settings_.read_bytes_max, partitions);
  quota_.Set(settings_.disk_quota_bytes);
  return settings_;
}

bool Replica::IsDenied(ClientRequest& request, bool DenyRule::*what) {
  const std::optional<DenyRule>& deny = Settings().deny;
  if (!deny || !((*deny).*what)) return false;
  if (deny->how == DenyRule::How::kInvalidState) request.responder.Reply(ErrorCode::kInvalidState);
  return true;
}

std::optional<absl::Duration> Replica::AdmitWrite(ClientRequest& request) {
  const Throttled counts{ReplicaCount::kDelayedWrites, ReplicaCount::kRejectedWrites};
  const std::optional<absl::Duration> pause =
      Admit(write_requests_, 1, request, ErrorCode::kBusy, counts);
  if (!pause || *pause > absl::ZeroDuration()) return pause;
  return Admit(write_bytes_, request.body.size(), request, ErrorCode::kBusy, counts);
}

// What frees space is always let through.
bool Replica::IsOverQuota(WriteCode code, uint64_t bytes) {
  Settings();
  if (!quota_.IsSet() || engine_ == nullptr) return false;
  if (quota_.WantsToLook(host_->env.clock().Now())) {
    auto size = std::make_shared<uint64_t>(0);
    InPool(
        [engine = engine_, size] {
          *size = engine->size_bytes();
          return absl::OkStatus();
        },
        [this, size](const absl::Status&) { quota_.Measured(*size); });
  }
  if (code == WriteCode::kRemove || code == WriteCode::kMultiRemove) return false;
  if (!quota_.IsSpent()) {
    quota_.Taken(bytes);
    return false;
  }
  LOG_EVERY_T(WARNING, 10) << Tag() << " writes refused: it has used up its " << kEnvDiskQuota
                           << " of " << quota_.bytes_max() << " bytes; remove records, or raise it";
  return true;
}

std::optional<absl::Duration> Replica::AdmitRead(ClientRequest& request) {
  if (request.header.is_backup_request)
    return Admit(backup_requests_, 1, request, ErrorCode::kOk,  // no answer: the primary's counts
                 {ReplicaCount::kDelayedBackups, ReplicaCount::kRejectedBackups});
  if (read_bytes_.IsSpent(host_->env.clock().Now())) {
    figures().Count(ReplicaCount::kRejectedReads);
    request.responder.Reply(ErrorCode::kBusy);
    return std::nullopt;
  }
  return Admit(read_requests_, 1, request, ErrorCode::kBusy,
               {ReplicaCount::kDelayedReads, ReplicaCount::kRejectedReads});
}

std::optional<absl::Duration> Replica::Admit(RequestThrottle& throttle, uint64_t units,
                                             ClientRequest& request, ErrorCode refusal,
                                             Throttled counts) {
  const RequestThrottle::Decision decision =
      throttle.Admit(units, host_->env.clock().Now(), TimeoutOf(request));
  if (decision.verdict == RequestThrottle::Verdict::kDelay) figures().Count(counts.delayed);
  if (decision.verdict != RequestThrottle::Verdict::kReject) return decision.pause;
  figures().Count(counts.rejected);
  if (refusal == ErrorCode::kOk) return std::nullopt;
  if (decision.pause <= absl::ZeroDuration()) {
    request.responder.Reply(refusal);
  } else {
    request.body.clear();
    Delay(decision.pause, std::move(request),
          [refusal](Replica&, ClientRequest late) { late.responder.Reply(refusal); });
  }
  return std::nullopt;
}

void Replica::Delay(absl::Duration pause, ClientRequest request, Again then) {
  const uint64_t bytes = request.body.size() + sizeof(ClientRequest);
  if (delayed_bytes_ + bytes > kDelayedBytesMax) return request.responder.Reply(ErrorCode::kBusy);
  delayed_bytes_ += bytes;
  strand_->PostAfter(pause, [self = weak_from_this(), bytes, request = std::move(request),
                             then = std::move(then)]() mutable {
    const auto replica = self.lock();
    if (replica == nullptr) return request.responder.Reply(ErrorCode::kInvalidState);
    replica->delayed_bytes_ -= bytes;
    then(*replica, std::move(request));
  });
}

// ---- between two configurations ----

void Replica::Hold(ClientRequest request, ErrorCode error, Again then) {
  if (!office_.IsBetweenConfigurations() || !held_.HasRoomFor(request))
    return request.responder.Reply(error);
  held_.Hold(
      std::move(request), host_->env.clock().Now(),
      [this, then = std::move(then)](ClientRequest held) mutable { then(*this, std::move(held)); });
  ReleaseHeld();
}

void Replica::ReleaseHeld() {
  if (held_.empty()) return;
  if (!office_.IsBetweenConfigurations()) return held_.Release();
  const Instant now = host_->env.clock().Now();
  held_.Expire(now);
  if (held_.empty() || held_timer_ != kNoTimer) return;
  held_timer_ = strand_->PostAfter(held_.NextDeadline() - now, [self = weak_from_this()] {
    const auto replica = self.lock();
    if (replica == nullptr) return;
    replica->held_timer_ = kNoTimer;
    replica->ReleaseHeld();
  });
}

// The watch is made anew when the table is called or slow otherwise.
ClientRequest Replica::Watched(RequestKind kind, InboundRequest request, Instant arrived) {
  const absl::Duration logged_from = Settings().slow_query;
  const absl::Duration kept_from = std::min(host_->slow_requests->kept_from(), logged_from);
  if (watch_ == nullptr || watch_->logged_from != logged_from || watch_->kept_from != kept_from ||
      watch_->table != core_->app().app_name) {
    watch_ = std::make_shared<const RequestWatch>(RequestWatch{.clock = host_->env.clock(),
                                                               .pid = pid_,
                                                               .table = core_->app().app_name,
                                                               .stats = stats_,
                                                               .slow = host_->slow_requests,
                                                               .foreground = host_->foreground,
                                                               .kept_from = kept_from,
                                                               .logged_from = logged_from});
    host_->requests->Rename(pid_.app_id, watch_->table);
  }
  const size_t bytes = request.body.size();
  const Endpoint from = request.header.from;
  return {
      .header = std::move(request.header),
      .body = std::move(request.body),
      .responder = ClientAnswer(std::move(request.responder), watch_, kind, arrived, from, bytes)};
}

}  // namespace arion
