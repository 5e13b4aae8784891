// SPDX-License-Identifier: Apache-2.0
#include "tools/load/run/driver.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"

namespace arion::load {

struct Driver::UnderWay {
  Operation operation;
  RecordKey key;
  size_t lane = 0;
  Instant intended;
  Instant started;
  Instant write_began;
  Ledger::Write::Means means = Ledger::Write::Means::kPut;
  std::unique_ptr<AsyncScan> scan;
  std::vector<Row> rows;
};

Driver::Driver(World world, Next next, DriverOptions options)
    : world_(std::move(world)), next_(std::move(next)), options_(std::move(options)) {
  const int64_t lanes = static_cast<int64_t>(world_.lanes.size());
  CHECK_GE(options_.threads, lanes);
  for (int64_t i = 0; i < lanes; ++i) {
    // Threads are shared out among the clients; the first ones get what is left over.
    room_.push_back(options_.threads / lanes + (i < options_.threads % lanes ? 1 : 0));
  }
}

void Driver::Begin() {
  const MutexLock lock(mutex_);
  begin_ = world_.clock.Now();
}

void Driver::Launch() {
  // In turns, so that an open loop's operations, due one by one, are shared out among the clients.
  size_t in_vain = 0;
  while (in_vain < world_.lanes.size()) {
    if (UnderWayPtr work = TakeNext(next_lane_++ % world_.lanes.size())) {
      in_vain = 0;
      Start(work);
    } else {
      ++in_vain;
    }
  }
}

void Driver::LaunchOn(size_t lane) {
  while (UnderWayPtr work = TakeNext(lane)) Start(work);
}

bool Driver::HasEnded(Instant now) {
  // An open loop's last operations may start a little late and still count.
  const absl::Duration slack =
      options_.pacing ? Pacing::SlackOf(options_.start_within) : absl::ZeroDuration();
  if (started_ >= options_.operations_max || (options_.start_within < absl::InfiniteDuration() &&
                                              now - begin_ >= options_.start_within + slack)) {
    EndAt(now);
  }
  return ended_at_.has_value();
}

void Driver::EndAt(Instant now) {
  if (!ended_at_) ended_at_ = now;
}

Driver::UnderWayPtr Driver::TakeNext(size_t lane) {
  const MutexLock lock(mutex_);
  const Instant now = world_.clock.Now();
  if (HasEnded(now) || room_[lane] == 0) return nullptr;
  Instant intended = now;
  absl::Duration meant;
  if (options_.pacing) {
    meant = options_.pacing->StartOf(started_);
    intended = begin_ + meant;
    // It is meant to start after the phase's end: so are all that follow.
    if (meant >= options_.start_within) EndAt(now);
    if (ended_at_ || intended > now) return nullptr;
  }
  // Under the lock, so that operations have one order, whoever carries them out.
  std::optional<Operation> operation = next_();
  if (!operation) {
    EndAt(now);
    return nullptr;
  }
  ++started_;
  lateness_ = {.worst = std::max(lateness_.worst, now - intended),
               .last = now - intended,
               .last_meant = meant};
  --room_[lane];
  ++under_way_;
  auto work = std::make_shared<UnderWay>();
  work->operation = *operation;
  work->lane = lane;
  work->intended = intended;
  return work;
}

Instant Driver::NextStart() {
  const MutexLock lock(mutex_);
  if (HasEnded(world_.clock.Now()) || !options_.pacing) return Instant::InfiniteFuture();
  const bool has_room = std::any_of(room_.begin(), room_.end(), [](int64_t r) { return r > 0; });
  return has_room ? begin_ + options_.pacing->StartOf(started_) : Instant::InfiniteFuture();
}

void Driver::Stop() {
  const MutexLock lock(mutex_);
  EndAt(world_.clock.Now());
}

bool Driver::IsIdle() {
  const MutexLock lock(mutex_);
  return HasEnded(world_.clock.Now()) && under_way_ == 0;
}

std::optional<Instant> Driver::ended_at() {
  const MutexLock lock(mutex_);
  return ended_at_;
}

int64_t Driver::started() {
  const MutexLock lock(mutex_);
  return started_;
}

absl::Duration Driver::Delay() {
  const MutexLock lock(mutex_);
  if (!options_.pacing || ended_at_) return absl::ZeroDuration();
  return std::max(absl::ZeroDuration(),
                  world_.clock.Now() - (begin_ + options_.pacing->StartOf(started_)));
}

Driver::Lateness Driver::lateness() {
  const MutexLock lock(mutex_);
  return lateness_;
}

int64_t Driver::Behind() {
  const MutexLock lock(mutex_);
  if (!options_.pacing) return 0;
  const absl::Duration now = world_.clock.Now() - begin_;
  const int64_t meant = std::min(
      options_.operations_max, options_.pacing->StartsBefore(std::min(now, options_.start_within)));
  return std::max<int64_t>(0, meant - started_);
}

void Driver::Start(const UnderWayPtr& work) {
  work->key = world_.keys.Of(work->operation.record);
  work->started = world_.clock.Now();
  // In a closed loop nobody meant it to start earlier.
  if (!options_.pacing) work->intended = work->started;
  switch (work->operation.kind) {
    case Kind::kRead:
    case Kind::kReadModifyWrite:
      return StartRead(work);
    case Kind::kUpdate:
    case Kind::kInsert:
      return StartPut(work);
    case Kind::kDelete:
      return StartRemove(work);
    case Kind::kScan:
      return StartScan(work);
    case Kind::kMultiGet:
      return StartMultiGet(work);
    case Kind::kMultiPut:
      return StartMultiPut(work);
  }
}

void Driver::StartRead(const UnderWayPtr& work) {
  NoteReadBegins(*work, 1);
  world_.lanes[work->lane]->Get(
      work->key.hash_key, work->key.sort_key, {}, [this, work](absl::StatusOr<std::string> value) {
        if (value.ok()) {
          NoteRead(*work, work->operation.record, *value);
        } else if (absl::IsNotFound(value.status())) {
          NoteRead(*work, work->operation.record, std::nullopt);
        } else {
          NoteReadFailed(*work, 1);
        }
        // A record that is not there is written all the same; after an error the operation has
        // failed.
        const bool goes_on = work->operation.kind == Kind::kReadModifyWrite &&
                             (value.ok() || absl::IsNotFound(value.status()));
        if (goes_on) return StartPut(work);
        End(work, value.status());
      });
}

void Driver::StartPut(const UnderWayPtr& work) {
  NoteWriteBegins(*work, Ledger::Write::Means::kPut);
  const Operation& operation = work->operation;
  const std::string value = EncodeValue({.run = options_.run,
                                         .record = operation.record,
                                         .sequence = options_.first_sequence + operation.index},
                                        static_cast<size_t>(operation.value_bytes));
  world_.lanes[work->lane]->Put(work->key.hash_key, work->key.sort_key, value,
                                PutOptionsOf(operation), [this, work](absl::Status status) {
                                  NoteWriteEnds(*work, status);
                                  End(work, status);
                                });
}

void Driver::StartRemove(const UnderWayPtr& work) {
  NoteWriteBegins(*work, Ledger::Write::Means::kRemove);
  world_.lanes[work->lane]->Remove(work->key.hash_key, work->key.sort_key, {},
                                   [this, work](absl::Status status) {
                                     NoteWriteEnds(*work, status);
                                     End(work, status);
                                   });
}

void Driver::StartScan(const UnderWayPtr& work) {
  NoteReadBegins(*work, CountWithinHashKey(work->operation));
  work->scan = world_.lanes[work->lane]->Scan(
      work->key.hash_key, {.range = {.start = work->key.sort_key},
                           .batch_size = static_cast<int32_t>(work->operation.count)});
  ContinueScan(work);
}

void Driver::ContinueScan(const UnderWayPtr& work) {
  work->scan->Next([this, work](absl::StatusOr<std::vector<Row>> rows) {
    const int64_t within = CountWithinHashKey(work->operation);
    if (!rows.ok()) {
      NoteReadFailed(*work, within);
      return End(work, rows.status());
    }
    const bool has_ended = rows->empty();
    std::move(rows->begin(), rows->end(), std::back_inserter(work->rows));
    const size_t wanted = static_cast<size_t>(work->operation.count);
    if (!has_ended && work->rows.size() < wanted) return ContinueScan(work);
    // Where the scan ended early there is nothing more; else all up to its last row was read.
    int64_t complete_before = work->operation.record + within;
    if (!has_ended) {
      std::optional<int64_t> last =
          world_.keys.RecordOf(work->operation.record, work->rows.back().sort_key);
      complete_before = last ? *last + 1 : work->operation.record;
    }
    NoteRowsRead(*work, within, work->rows, complete_before);
    work->scan.reset();
    End(work, absl::OkStatus());
  });
}

void Driver::StartMultiGet(const UnderWayPtr& work) {
  const int64_t count = work->operation.count;
  NoteReadBegins(*work, count);
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) {
    names.push_back(world_.keys.Of(work->operation.record + i).sort_key);
  }
  const std::vector<std::string_view> sort_keys(names.begin(), names.end());
  world_.lanes[work->lane]->MultiGetKeys(
      work->key.hash_key, sort_keys, {}, [this, work](absl::StatusOr<MultiGetResult> result) {
        if (result.ok()) {
          const int64_t first = work->operation.record;
          NoteRowsRead(*work, work->operation.count, result->rows,
                       result->is_complete ? first + work->operation.count : first);
        } else {
          NoteReadFailed(*work, work->operation.count);
        }
        End(work, result.status());
      });
}

void Driver::StartMultiPut(const UnderWayPtr& work) {
  NoteWriteBegins(*work, Ledger::Write::Means::kPut);
  const Operation& operation = work->operation;
  std::vector<std::pair<std::string, std::string>> texts;
  for (int64_t record = operation.record; record < operation.record + operation.count; ++record) {
    texts.emplace_back(world_.keys.Of(record).sort_key,
                       EncodeValue({.run = options_.run,
                                    .record = record,
                                    .sequence = options_.first_sequence + operation.index},
                                   static_cast<size_t>(operation.value_bytes)));
  }
  std::vector<SortKeyValue> rows;
  for (const auto& [sort_key, value] : texts) rows.push_back({sort_key, value});
  world_.lanes[work->lane]->MultiPut(work->key.hash_key, rows, PutOptionsOf(operation),
                                     [this, work](absl::Status status) {
                                       NoteWriteEnds(*work, status);
                                       End(work, status);
                                     });
}

void Driver::End(const UnderWayPtr& work, const absl::Status& status) {
  world_.measurements.Record(work->lane,
                             {.kind = work->operation.kind,
                              .intended = work->intended,
                              .started = work->started,
                              .ended = world_.clock.Now()},
                             status);
  const size_t lane = work->lane;
  {
    const MutexLock lock(mutex_);
    ++room_[lane];
  }
  // The next one from this thread, before this one counts as ended: so IsIdle is never true in
  // between.
  LaunchOn(lane);
  const MutexLock lock(mutex_);  // the last touch of this
  --under_way_;
}

void Driver::NoteWriteBegins(UnderWay& work, Ledger::Write::Means means) {
  if (world_.ledger == nullptr) return;
  const Operation& operation = work.operation;
  const Instant now = world_.clock.Now();
  work.write_began = now;
  work.means = means;
  for (int64_t i = 0; i < operation.count; ++i) {
    world_.ledger->WriteBegins(
        {.record = operation.record + i,
         .sequence = options_.first_sequence + operation.index,
         .means = means,
         .ttl = operation.ttl_seconds > 0 ? absl::Seconds(operation.ttl_seconds)
                                          : absl::InfiniteDuration()},
        now);
  }
}

void Driver::NoteWriteEnds(const UnderWay& work, const absl::Status& status) {
  if (world_.ledger == nullptr) return;
  // After a timeout the write may or may not have been carried out, or may yet be.
  const WriteOutcome outcome = status.ok()                        ? WriteOutcome::kAcknowledged
                               : absl::IsDeadlineExceeded(status) ? WriteOutcome::kUnknown
                                                                  : WriteOutcome::kRefused;
  const Instant now = world_.clock.Now();
  const int64_t sequence = options_.first_sequence + work.operation.index;
  const bool is_put = work.means == Ledger::Write::Means::kPut;
  for (int64_t i = 0; i < work.operation.count; ++i) {
    const int64_t record = work.operation.record + i;
    world_.ledger->WriteEnds(record, sequence, outcome, now);
    if (world_.history == nullptr || outcome == WriteOutcome::kRefused) continue;
    History::Entry entry{.key = world_.keys.Of(record),
                         .operation = is_put ? "write" : "remove",
                         .call = work.write_began};
    if (is_put) entry.value = History::ValueText(options_.run, sequence);
    if (outcome == WriteOutcome::kAcknowledged) entry.end = now;
    world_.history->Add(entry);
  }
}

void Driver::NoteReadBegins(const UnderWay& work, int64_t count) {
  if (world_.ledger == nullptr) return;
  for (int64_t i = 0; i < count; ++i) {
    world_.ledger->ReadBegins(work.operation.record + i, work.started);
  }
}

void Driver::NoteRowsRead(const UnderWay& work, int64_t count, const std::vector<Row>& rows,
                          int64_t complete_before) {
  if (world_.ledger == nullptr) return;
  const int64_t first = work.operation.record;
  std::vector<const Row*> found(static_cast<size_t>(count));
  for (const Row& row : rows) {
    std::optional<int64_t> record = world_.keys.RecordOf(first, row.sort_key);
    // Rows behind the range that was noted are not judged.
    if (record && *record >= first && *record < first + count) {
      found[static_cast<size_t>(*record - first)] = &row;
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    if (const Row* row = found[static_cast<size_t>(i)]) {
      NoteRead(work, first + i, row->value);
    } else if (first + i < complete_before) {
      NoteRead(work, first + i, std::nullopt);
    } else {
      // Not read: the answer ended before it.
      world_.ledger->ReadEndsWithout({first + i, work.started, options_.read_time});
    }
  }
}

void Driver::NoteRead(const UnderWay& work, int64_t record, std::optional<std::string_view> value) {
  if (world_.ledger == nullptr) return;
  const Instant now = world_.clock.Now();
  world_.ledger->ReadEnds({record, work.started, options_.read_time}, value, now);
  if (world_.history == nullptr) return;
  History::Entry entry{
      .key = world_.keys.Of(record), .operation = "read", .call = work.started, .end = now};
  if (value) entry.value = History::ValueText(*value);
  world_.history->Add(entry);
}

void Driver::NoteReadFailed(const UnderWay& work, int64_t count) {
  if (world_.ledger == nullptr) return;
  for (int64_t i = 0; i < count; ++i) {
    world_.ledger->ReadEndsWithout({work.operation.record + i, work.started, options_.read_time});
  }
}

PutOptions Driver::PutOptionsOf(const Operation& operation) const {
  if (operation.ttl_seconds == 0) return {};
  return {.ttl = absl::Seconds(operation.ttl_seconds)};
}

// A scan reads what follows in its hash key, which ends before `count` records may.
int64_t Driver::CountWithinHashKey(const Operation& operation) const {
  const int64_t per_hash_key = world_.keys.per_hash_key();
  return std::min(operation.count, per_hash_key - operation.record % per_hash_key);
}

}  // namespace arion::load
