// SPDX-License-Identifier: Apache-2.0
#include "client_requests/client_request.h"

#include <absl/strings/str_cat.h>

#include "base/log.h"
#include "base/status.h"
#include "copies/foreground_pace.h"
#include "env/clock.h"
#include "stats/slow_requests.h"

namespace arion {

void RequestWatch::Note(const SlowRequest& request) const {
  if (absl::Nanoseconds(request.nanos) >= logged_from) {
    std::string stages;
    for (size_t i = 0; request.stages && i < kWriteStages; ++i)
      absl::StrAppend(&stages, i == 0 ? " (" : ", ",
                      Text(WriteStageName(static_cast<WriteStage>(i))), " ",
                      (*request.stages)[i] / 1000, " us", i + 1 == kWriteStages ? ")" : "");
    LOG(WARNING) << "slow: [" << request.pid << "] " << RequestKindName(request.kind) << " from "
                 << request.from << " took " << request.nanos / 1'000'000 << " ms" << stages << ", "
                 << request.asked_bytes << " bytes asked, " << request.answered_bytes
                 << " answered, " << request.error;
  }
  slow->Add(request);
}

void ClientAnswer::Drop() {
  // The responder goes without a reply: the connection says nothing.
  responder_ = Responder();
  if (watch_ == nullptr) return;
  const Instant now = watch_->clock.Now();
  const int64_t nanos = now.nanos() - arrived_.nanos();
  watch_->stats->Answered(kind_, ErrorCode::kTimeout, nanos, asked_bytes_, 0);
  watch_->foreground->Answered(kind_, nanos);
  watch_ = nullptr;
}

void ClientAnswer::Answer(ErrorCode error, std::string body, const WriteTimes::Times* times,
                          Instant applied) {
  const size_t answered_bytes = body.size();
  // First the reply, then the books: the client waits.
  responder_.Reply(error, std::move(body));
  if (watch_ == nullptr) return;
  const Instant now = watch_->clock.Now();
  const int64_t nanos = now.nanos() - arrived_.nanos();
  watch_->stats->Answered(kind_, error, nanos, asked_bytes_, answered_bytes);
  watch_->foreground->Answered(kind_, nanos);
  StageNanos stages{};
  if (times != nullptr) {
    stages = StagesOf(*times, arrived_, applied, now);
    watch_->stats->Staged(stages);
  }
  // Compared here, so that a fast request costs one load.
  if (now - arrived_ >= watch_->kept_from) {
    watch_->stats->figures().Count(IsWrite(kind_) ? ReplicaCount::kSlowWrites
                                                  : ReplicaCount::kSlowReads);
    SlowRequest slow{.ended_at_us = watch_->clock.WallMicros(),
                     .pid = watch_->pid,
                     .table = watch_->table,
                     .kind = kind_,
                     .from = from_,
                     .nanos = nanos,
                     .asked_bytes = asked_bytes_,
                     .answered_bytes = answered_bytes,
                     .error = error};
    if (times != nullptr) slow.stages = stages;
    watch_->Note(slow);
  }
  watch_ = nullptr;
}

}  // namespace arion
