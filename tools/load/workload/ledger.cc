// SPDX-License-Identifier: Apache-2.0
#include "tools/load/workload/ledger.h"

#include <algorithm>

#include "base/status.h"

namespace arion::load {

std::string_view NameOf(Violation::Type type) {
  switch (type) {
    case Violation::Type::kLost:
      return "lost";
    case Violation::Type::kStale:
      return "stale";
    case Violation::Type::kMixed:
      return "mixed";
  }
  return "";
}

void Ledger::WriteBegins(const Write& write, Instant now) {
  Shard& shard = ShardOf(write.record);
  const MutexLock lock(shard.mutex);
  Candidate candidate{.sequence = write.sequence, .began = now, .means = write.means};
  // TTLs count whole seconds of a wall clock: one may end up to a second early.
  if (write.ttl != absl::InfiniteDuration())
    candidate.expires = now + (write.ttl - absl::Seconds(1));
  shard.records[write.record].candidates.push_back(candidate);
}

void Ledger::WriteEnds(int64_t record, int64_t sequence, WriteOutcome outcome, Instant now) {
  // It stays a candidate for ever: it may take effect at any time.
  if (outcome == WriteOutcome::kUnknown) return;
  Shard& shard = ShardOf(record);
  const MutexLock lock(shard.mutex);
  Record& entry = shard.records[record];
  auto candidate = std::find_if(entry.candidates.begin(), entry.candidates.end(),
                                [&](const Candidate& c) { return c.sequence == sequence; });
  if (candidate == entry.candidates.end()) return;  // read, then superseded, before its answer came
  if (outcome == WriteOutcome::kRefused) {
    entry.candidates.erase(candidate);
  } else {
    candidate->ended = std::min(candidate->ended, now);
  }
  Prune(entry, now);
}

void Ledger::ReadBegins(int64_t record, Instant now) {
  Shard& shard = ShardOf(record);
  const MutexLock lock(shard.mutex);
  shard.records[record].reads.push_back(now);
}

void Ledger::ReadEnds(const Read& read, std::optional<std::string_view> value, Instant now) {
  Shard& shard = ShardOf(read.record);
  const MutexLock lock(shard.mutex);
  Record& record = shard.records[read.record];
  ++shard.verdict.reads;
  if (read.time == ReadTime::kAfterRun) record.is_checked = true;
  std::optional<Stamp> stamp;
  std::string mixed;
  if (value) {
    absl::StatusOr<Stamp> decoded = DecodeValue(*value);
    if (!decoded.ok()) {
      mixed = std::string(decoded.status().message());
    } else if (decoded->record != read.record) {
      mixed = absl::StrCat("the value of record ", decoded->record);
    } else {
      stamp = *decoded;
    }
  }
  if (mixed.empty()) {
    Judge(shard, record, read, stamp, now);
  } else {
    Note(shard, {Violation::Type::kMixed, read.record, now, mixed});
  }
  EndRead(record, read.began);
  Prune(record, now);
}

void Ledger::ReadEndsWithout(const Read& read) {
  Shard& shard = ShardOf(read.record);
  const MutexLock lock(shard.mutex);
  EndRead(shard.records[read.record], read.began);
}

// Of the writes that had ended before `time`, the latest beginning: what ended before that is
// superseded.
Instant Ledger::SupersededBefore(const Record& record, Instant time) {
  Instant latest = kLongAgo;
  for (const Candidate& c : record.candidates) {
    if (c.ended < time) latest = std::max(latest, c.began);
  }
  return latest;
}

// Forgets what no read under way, and none to come, may return.
void Ledger::Prune(Record& record, Instant now) {
  if (record.candidates.size() == 1) return;
  Instant horizon = now;
  for (Instant began : record.reads) horizon = std::min(horizon, began);
  const Instant superseded = SupersededBefore(record, horizon);
  std::erase_if(record.candidates, [&](const Candidate& c) { return c.ended < superseded; });
}

void Ledger::EndRead(Record& record, Instant began) {
  auto read = std::find(record.reads.begin(), record.reads.end(), began);
  if (read == record.reads.end()) return;
  // Their order does not matter.
  *read = record.reads.back();
  record.reads.pop_back();
}

bool Ledger::Fits(const Candidate& candidate, const std::optional<Stamp>& stamp,
                  Instant now) const {
  // What this run has not written: nothing, or the value of an earlier run.
  if (candidate.sequence == kBefore) return !stamp || stamp->run != run_;
  if (!stamp) return candidate.means == Write::Means::kRemove || now >= candidate.expires;
  return candidate.means == Write::Means::kPut && stamp->run == run_ &&
         stamp->sequence == candidate.sequence;
}

void Ledger::Judge(Shard& shard, Record& record, const Read& read,
                   const std::optional<Stamp>& stamp, Instant now) {
  const Instant superseded = SupersededBefore(record, read.began);
  Candidate* only = nullptr;
  int fitting = 0;
  int64_t last_sequence = kBefore;
  for (Candidate& c : record.candidates) {
    if (c.ended < superseded) continue;
    if (c.ended < read.began) last_sequence = std::max(last_sequence, c.sequence);
    if (Fits(c, stamp, now)) {
      only = &c;
      ++fitting;
    }
  }
  // The read proves that this write took effect, answered or not: later reads may not go behind it.
  if (fitting == 1) only->ended = std::min(only->ended, now);
  if (fitting > 0) return;
  std::string text = stamp ? absl::StrCat("sequence ", stamp->sequence,
                                          stamp->run == run_ ? "" : " of an earlier run")
                           : "no value";
  if (last_sequence != kBefore) {
    absl::StrAppend(&text, " where sequence ", last_sequence, " was acknowledged");
  } else {
    absl::StrAppend(&text, ", which no write that may count left there");
  }
  // After the run nobody writes: an older value then is a loss, not a delay.
  const bool is_lost = !stamp || read.time == ReadTime::kAfterRun;
  Note(shard, {is_lost ? Violation::Type::kLost : Violation::Type::kStale, read.record, now, text});
}

void Ledger::Note(Shard& shard, Violation violation) {
  ++shard.verdict.violations[static_cast<size_t>(violation.type)];
  // All are counted; the first ones are enough to begin a search with.
  if (shard.verdict.first.size() < kKept) shard.verdict.first.push_back(std::move(violation));
}

bool Ledger::IsWritten(const Record& record) {
  return std::any_of(record.candidates.begin(), record.candidates.end(),
                     [](const Candidate& c) { return c.sequence != kBefore; });
}

std::vector<int64_t> Ledger::Records() const {
  std::vector<int64_t> records;
  for (const Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    for (const auto& [number, record] : shard.records) {
      if (IsWritten(record)) records.push_back(number);
    }
  }
  std::sort(records.begin(), records.end());
  return records;
}

Ledger::Verdict Ledger::verdict() const {
  Verdict all;
  for (const Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    all.reads += shard.verdict.reads;
    for (const auto& [number, record] : shard.records)
      if (IsWritten(record) && !record.is_checked) ++all.unchecked;
    for (size_t i = 0; i < all.violations.size(); ++i) {
      all.violations[i] += shard.verdict.violations[i];
    }
    all.first.insert(all.first.end(), shard.verdict.first.begin(), shard.verdict.first.end());
  }
  std::sort(all.first.begin(), all.first.end(),
            [](const Violation& a, const Violation& b) { return a.at < b.at; });
  if (all.first.size() > kKept) all.first.resize(kKept);
  return all;
}

}  // namespace arion::load
