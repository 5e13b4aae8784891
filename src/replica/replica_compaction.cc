// A replica's compaction on request: when it begins, its steps in the disk's pool, its end.
// SPDX-License-Identifier: Apache-2.0
#include <absl/time/civil_time.h>

#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "data_api/compaction_wishes.h"
#include "replica/replica.h"

namespace arion {
namespace {

constexpr absl::Duration kLookAgain = absl::Seconds(10);  // for what the clock makes due
constexpr absl::Duration kTryAgain = absl::Seconds(1);    // for its turn, or after a hindrance

int64_t MidnightSeconds(int64_t now_seconds) {
  const absl::TimeZone zone = absl::LocalTimeZone();
  const absl::CivilDay day(absl::ToCivilDay(absl::FromUnixSeconds(now_seconds), zone));
  return absl::ToUnixSeconds(absl::FromCivil(day, zone));
}

std::string MomentText(int64_t unix_ms) {
  if (unix_ms <= 0) return "-";
  return absl::FormatTime("%Y-%m-%d %H:%M:%E3S", absl::FromUnixMillis(unix_ms),
                          absl::LocalTimeZone());
}

}  // namespace

int64_t Replica::UnixMillis() const { return AgreedWallMicros(host_->env.clock()) / 1000; }

// Begins what is due, and looks again where the clock may make something due.
void Replica::ConsiderCompaction() {
  if (is_closed_) return;
  const CompactionWishes& wishes = Settings().compaction;
  if (!wishes.Any()) return;
  if (compaction_.status == ManualCompactStatus::kIdle && engine_ != nullptr) {
    const int64_t seconds = UnixMillis() / 1000;
    const auto due =
        DueCompaction(wishes, engine_->last_compacted_ms(), seconds, MidnightSeconds(seconds));
    if (due) {
      compaction_.terms = *due;
      compaction_.queued_ms = UnixMillis();
      compaction_.place = host_->compactions->Queue();
      SetCompactionStatus(ManualCompactStatus::kQueuing);
      CompactOrWait();
    }
  }
  if (std::exchange(is_looked_for_compaction_, true)) return;
  After(kLookAgain, [](Replica& r) {
    r.is_looked_for_compaction_ = false;
    r.ConsiderCompaction();
  });
}

void Replica::SetCompactionStatus(ManualCompactStatus status) {
  compaction_.status = status;
  host_->compactions->Changed();
}

// One that was asked for stays due until it ended or nobody wants it any more.
bool Replica::IsCompactionWanted() {
  return !Settings().compaction.is_disabled && Settings().compaction.Any();
}

void Replica::CompactOrWait() {
  if (!IsCompactionWanted()) return EndCompaction();
  const PartitionStatus role = core_->role();
  const bool is_member = role == PartitionStatus::kPrimary || role == PartitionStatus::kSecondary;
  if (is_member && when_quiet_.empty() && engine_ != nullptr &&
      compaction_.status == ManualCompactStatus::kQueuing) {
    if (auto slot =
            host_->compactions->TryTake(disk_, pid_.app_id, Settings().compaction.running_max)) {
      compaction_.place = std::move(slot);
      compaction_.begun_ms = UnixMillis();
      SetCompactionStatus(ManualCompactStatus::kRunning);
      LOG(INFO) << Tag() << " is compacted, as was asked for";
      return CompactStep({});
    }
  }
  After(kTryAgain, [](Replica& r) { r.CompactOrWait(); });
}

// The engine of the moment; one that is exchanged, or about to be, is waited for.
void Replica::CompactStep(std::string from) {
  if (!IsCompactionWanted()) return EndCompaction();
  if (engine_ == nullptr || !when_quiet_.empty())
    return After(kTryAgain,
                 [from = std::move(from)](Replica& r) mutable { r.CompactStep(std::move(from)); });
  auto next = std::make_shared<std::string>();
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  compaction_.cancelled = cancelled;
  ++compaction_.steps;
  InPool(
      [next, cancelled, from, engine = engine_, terms = compaction_.terms]() -> absl::Status {
        ASSIGN_OR_RETURN(*next, engine->CompactFrom(from, terms, cancelled.get()));
        return absl::OkStatus();
      },
      [this, next, from](const absl::Status& status) {
        compaction_.cancelled = nullptr;
        if (is_closed_) return;
        if (status.ok()) return next->empty() ? NoteCompacted() : CompactStep(std::move(*next));
        if (IsRefusal(status)) OnNoSpace("a compaction", status);
        if (IsRefusal(status) || absl::IsCancelled(status))
          return After(kTryAgain, [from](Replica& r) { r.CompactStep(from); });
        // What it read or wrote is damaged: the next checkpoint tells, and fences.
        LOG(ERROR) << Tag() << " compaction given up: " << status;
        NoteCompacted();
      });
}

void Replica::NoteCompacted() {
  Maintain([ms = UnixMillis()](Engine& engine) { return engine.NoteCompacted(ms); },
           [this](const absl::Status& status) {
             LOG_IF(WARNING, !status.ok())
                 << Tag() << " that it was compacted is not noted, it will be again: " << status;
             if (is_closed_) return;
             compaction_.took_ms = UnixMillis() - compaction_.begun_ms;
             LOG(INFO) << Tag() << " was compacted in " << compaction_.took_ms << " ms";
             EndCompaction();
           });
}

void Replica::EndCompaction() {
  compaction_ = {.took_ms = compaction_.took_ms};
  host_->compactions->Changed();  // what is due again waits for the timer
}

void Replica::HurryCompaction() {
  if (compaction_.cancelled != nullptr) compaction_.cancelled->store(true);
}

ManualCompactStatus Replica::CompactionStatus() const {
  if (compaction_.status != ManualCompactStatus::kIdle) return compaction_.status;
  const int64_t ended_ms = engine_ == nullptr ? 0 : engine_->last_compacted_ms();
  const CompactionWishes wishes = CompactionWishes::From(core_->app().envs);
  const bool is_finished = ended_ms > 0 && ended_ms / 1000 >= wishes.once_seconds;
  return is_finished ? ManualCompactStatus::kFinished : ManualCompactStatus::kIdle;
}

std::string Replica::CompactionText() const {
  CHECK_ON_STRAND(strand_);
  const int64_t ended_ms = engine_ == nullptr ? 0 : engine_->last_compacted_ms();
  std::string text = absl::StrCat("last finish at [", MomentText(ended_ms), "]");
  if (compaction_.took_ms > 0) absl::StrAppend(&text, ", last used ", compaction_.took_ms, " ms");
  if (compaction_.status != ManualCompactStatus::kIdle)
    absl::StrAppend(&text, ", recent enqueue at [", MomentText(compaction_.queued_ms), "]");
  if (compaction_.status == ManualCompactStatus::kRunning)
    absl::StrAppend(&text, ", recent start at [", MomentText(compaction_.begun_ms), "], step ",
                    compaction_.steps);
  return text;
}

}  // namespace arion
