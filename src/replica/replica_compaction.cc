// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_compaction.h"

#include <absl/time/civil_time.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "data_api/compaction_wishes.h"
#include "engine/engine_figures.h"
#include "env/file_system.h"
#include "replica/compaction_slots.h"
#include "replica/disk_work.h"

namespace arion {
namespace {

constexpr absl::Duration kLookAgain = absl::Seconds(10);  // for what the clock makes due
constexpr absl::Duration kTryAgain = absl::Seconds(1);    // for its turn, or after a hindrance

// Times of day are local time, as operators write them.
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

// By compactions of other reasons too: they use the same disk.
uint64_t WrittenBy(const Engine* engine) {
  const auto meter = engine == nullptr ? nullptr : engine->meter();
  return meter == nullptr
             ? 0
             : meter->Counts()[static_cast<size_t>(EngineCount::kCompactionWrittenBytes)];
}

}  // namespace

ReplicaCompaction::ReplicaCompaction(const Clock& clock, PartitionId pid, size_t disk,
                                     std::shared_ptr<CompactionSlots> slots, DiskWork& work,
                                     const std::shared_ptr<Engine>& engine, Hooks hooks)
    : clock_(clock),
      pid_(pid),
      disk_(disk),
      slots_(std::move(slots)),
      work_(work),
      engine_(engine),
      hooks_(std::move(hooks)) {}

void ReplicaCompaction::Consider() {
  if (is_closed_) return;
  const CompactionWishes& wishes = hooks_.wishes();
  const int32_t after_split = hooks_.after_split();
  // The settings of the moment: they may have changed since the last look.
  if (!wishes.Any() && after_split == 0) return;
  if (now_.status == ManualCompactStatus::kIdle && engine_ != nullptr) {
    const int64_t seconds = UnixMillis() / 1000;
    auto due =
        DueCompaction(wishes, engine_->last_compacted_ms(), seconds, MidnightSeconds(seconds));
    // What was asked for goes first.
    if (!due && after_split > 0) {
      due = {.bottommost = true};
      now_.split_count = after_split;
      now_.engine = engine_;
    }
    if (due) {
      now_.terms = *due;
      now_.queued_ms = UnixMillis();
      // Counted as queued from here, so that a report shows what waits.
      now_.place = slots_->Queue();
      SetStatus(ManualCompactStatus::kQueuing);
      CompactOrWait();
    }
  }
  // One timer, however often the environments change.
  if (std::exchange(is_looked_for_, true)) return;
  work_.After(kLookAgain, [this] {
    is_looked_for_ = false;
    Consider();
  });
}

void ReplicaCompaction::SetStatus(ManualCompactStatus status) {
  // Before anything is begun: reports are taken from the status.
  now_.status = status;
  slots_->Changed();
}

// A compaction that was asked for stays due until it has ended or nobody wants it any more.
bool ReplicaCompaction::IsWanted() {
  // Of a content that was exchanged parts are not rewritten: it begins anew.
  if (now_.split_count > 0)
    return hooks_.after_split() == now_.split_count && now_.engine.lock() == engine_;
  return !hooks_.wishes().is_disabled && hooks_.wishes().Any();
}

void ReplicaCompaction::CompactOrWait() {
  if (!IsWanted()) return End();
  // A learner's content is about to be replaced, so it is not compacted.
  if (hooks_.is_member() && !work_.IsQuietAwaited() && engine_ != nullptr &&
      now_.status == ManualCompactStatus::kQueuing) {
    // Without a slot it asks again: slots tell nobody that they are free.
    if (auto slot = slots_->TryTake(disk_, pid_.app_id, hooks_.wishes().running_max)) {
      now_.place = std::move(slot);
      now_.begun_ms = UnixMillis();
      SetStatus(ManualCompactStatus::kRunning);
      LOG(INFO) << hooks_.tag() << " is compacted, "
                << (now_.split_count > 0 ? "after a split" : "as was asked for");
      return Step({});
    }
  }
  work_.After(kTryAgain, [this] { CompactOrWait(); });
}

// Each step works on the engine of its moment. It waits while the engine is exchanged, or about to
// be.
void ReplicaCompaction::Step(std::string from) {
  if (!IsWanted()) return End();
  if (engine_ == nullptr || work_.IsQuietAwaited())
    return work_.After(kTryAgain,
                       [this, from = std::move(from)]() mutable { Step(std::move(from)); });
  auto next = std::make_shared<std::string>();
  // One flag for each step: a late Hurry must not end the next step.
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  now_.cancelled = cancelled;
  ++now_.steps;
  const uint64_t written = WrittenBy(engine_.get());
  work_.InPool(
      [next, cancelled, from, engine = engine_, terms = now_.terms]() -> absl::Status {
        ASSIGN_OR_RETURN(*next, engine->CompactFrom(from, terms, cancelled.get()));
        return absl::OkStatus();
      },
      [this, next, from, written](const absl::Status& status) {
        now_.cancelled = nullptr;
        if (is_closed_) return;
        if (status.ok()) {
          // The last range is compacted.
          if (next->empty()) return NoteCompacted();
          if (now_.split_count == 0) return Step(std::move(*next));
          return work_.After(hooks_.pace(std::max(WrittenBy(engine_.get()), written) - written),
                             [this, next] { Step(std::move(*next)); });
        }
        if (IsRefusal(status)) work_.OnNoSpace("a compaction", status);
        // Cancelled is not given up: the step begins again where it began.
        if (IsRefusal(status) || absl::IsCancelled(status))
          return work_.After(kTryAgain, [this, from] { Step(from); });
        // What it read or wrote is damaged. The next checkpoint meets the damage as well, and
        // fences.
        LOG(ERROR) << hooks_.tag() << " compaction given up: " << status;
        if (now_.split_count > 0) return End();
        NoteCompacted();
      });
}

void ReplicaCompaction::NoteCompacted() {
  // As maintenance: the engine must not be exchanged between the last step and its note.
  work_.Maintain(
      [ms = UnixMillis(), count = now_.split_count, of = now_.engine](Engine& engine) {
        if (count == 0) return engine.NoteCompacted(ms);
        return of.lock().get() == &engine ? engine.NoteCompactedFor(count) : absl::OkStatus();
      },
      [this](const absl::Status& status) {
        LOG_IF(WARNING, !status.ok())
            << hooks_.tag() << " that it was compacted is not noted, it will be again: " << status;
        if (is_closed_) return;
        now_.took_ms = UnixMillis() - now_.begun_ms;
        LOG(INFO) << hooks_.tag() << " was compacted in " << now_.took_ms << " ms";
        hooks_.on_compacted();
        End();
      });
}

void ReplicaCompaction::End() {
  // The slot is given back with `place`.
  now_ = {.took_ms = now_.took_ms};
  slots_->Changed();  // what is due again waits for the timer
}

void ReplicaCompaction::Hurry() {
  if (now_.cancelled != nullptr) now_.cancelled->store(true);
}

void ReplicaCompaction::Close() {
  is_closed_ = true;
  Hurry();
  now_.place = nullptr;
}

ManualCompactStatus ReplicaCompaction::Status(const CompactionWishes& wishes) const {
  // Idle, but the last one ended after the trigger: older tools wait for "finished".
  if (now_.status != ManualCompactStatus::kIdle && now_.split_count == 0) return now_.status;
  const int64_t ended_ms = engine_ == nullptr ? 0 : engine_->last_compacted_ms();
  const bool is_finished = ended_ms > 0 && ended_ms / 1000 >= wishes.once_seconds;
  return is_finished ? ManualCompactStatus::kFinished : ManualCompactStatus::kIdle;
}

std::string ReplicaCompaction::Text() const {
  const int64_t ended_ms = engine_ == nullptr ? 0 : engine_->last_compacted_ms();
  // The text is the one that older tools show.
  std::string text = absl::StrCat("last finish at [", MomentText(ended_ms), "]");
  if (now_.took_ms > 0) absl::StrAppend(&text, ", last used ", now_.took_ms, " ms");
  if (now_.status != ManualCompactStatus::kIdle)
    absl::StrAppend(&text, ", recent enqueue at [", MomentText(now_.queued_ms), "]");
  if (now_.status == ManualCompactStatus::kRunning)
    absl::StrAppend(&text, ", recent start at [", MomentText(now_.begun_ms), "], step ",
                    now_.steps);
  if (const int32_t count = now_.split_count > 0 ? now_.split_count : hooks_.after_split())
    absl::StrAppend(&text, ", keys of other partitions go (split into ", count, ")");
  return text;
}

}  // namespace arion
