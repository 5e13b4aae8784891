// Ledger: what was written to each record and what was said of it, so that every read can be judged
// against what was acknowledged.
//
// Shapes    A record is a register. A read from `began` to `ended` may return the value of write c
//           if no write that began after c had ended was acknowledged before `began`. A write
//           without an answer may take effect at any time; a refused one never does. A write that a
//           read has returned had ended when that read did: later reads go on from there. What was
//           there before this run is one unknown value, or none. Needs writes that are not sent
//           again once they may have happened.
// Cost      Some 150 bytes a record that was touched.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/mutex.h"
#include "tools/load/workload/value_codec.h"

namespace arion::load {

// A read that returned what it must not.
struct Violation {
  enum class Type {
    // No value, or after the run an older one, where a later write was acknowledged.
    kLost,
    // An older value than the last acknowledged one.
    kStale,
    // No whole value of this record.
    kMixed,
  };
  Type type = Type::kLost;
  int64_t record = 0;
  Instant at;
  std::string text;
  // Filled in by whoever reports it.
  std::string key;
};
std::string_view NameOf(Violation::Type type);

// kUnknown: no answer; the write may still happen.
enum class WriteOutcome { kAcknowledged, kRefused, kUnknown };
enum class ReadTime { kDuringRun, kAfterRun };

// One run's. Every write and read is reported when it begins and when it ends. Session owns it; the
// driver reports.
//
//   ledger.WriteBegins({.record = 7, .sequence = 1}, now);        // before it is sent
//   ledger.WriteEnds(7, 1, WriteOutcome::kAcknowledged, later);
//   ledger.ReadBegins(7, now);
//   ledger.ReadEnds({.record = 7, .began = now}, value, later);   // judged here
class Ledger {
 public:
  explicit Ledger(uint64_t run) : run_(run) {}

  // One write of one record.
  struct Write {
    int64_t record = 0;
    int64_t sequence = 0;
    enum class Means { kPut, kRemove } means = Means::kPut;
    absl::Duration ttl = absl::InfiniteDuration();
  };
  // To be called before the write is sent.
  void WriteBegins(const Write& write, Instant now);
  // To be called once for each write that began.
  void WriteEnds(int64_t record, int64_t sequence, WriteOutcome outcome, Instant now);

  // To be called before the read is sent.
  void ReadBegins(int64_t record, Instant now);
  struct Read {
    int64_t record = 0;
    Instant began;
    ReadTime time = ReadTime::kDuringRun;
  };
  // `value`: no value: there is no such record.
  void ReadEnds(const Read& read, std::optional<std::string_view> value, Instant now);
  // The read failed, or did not come as far as this record.
  void ReadEndsWithout(const Read& read);

  // Records that were written to, ascending.
  std::vector<int64_t> Records() const;
  // The sum of all judgements.
  struct Verdict {
    // Reads that were judged.
    int64_t reads = 0;
    // Records of which no read after the run was judged.
    int64_t unchecked = 0;
    // By type.
    std::array<int64_t, 3> violations = {};
    // The first kKept of them.
    std::vector<Violation> first;
    int64_t Total() const { return violations[0] + violations[1] + violations[2]; }
  };
  static constexpr size_t kKept = 100;
  Verdict verdict() const;

 private:
  struct Candidate {
    // kBefore: what was there before this run.
    int64_t sequence = 0;
    Instant began;
    Instant ended = Instant::InfiniteFuture();
    Instant expires = Instant::InfiniteFuture();
    Write::Means means = Write::Means::kPut;
  };
  struct Record {
    std::vector<Candidate> candidates = {
        {.sequence = kBefore, .began = kLongAgo, .ended = kLongAgo}};
    // When the reads under way began.
    std::vector<Instant> reads;
    // A read after the run was judged.
    bool is_checked = false;
  };
  struct Shard {
    mutable Mutex mutex;
    // Guarded by mutex, as all below.
    absl::flat_hash_map<int64_t, Record> records ABSL_GUARDED_BY(mutex);
    Verdict verdict ABSL_GUARDED_BY(mutex);
  };
  static constexpr int64_t kBefore = -1;
  static constexpr Instant kLongAgo = Instant(INT64_MIN);
  static constexpr size_t kShards = 64;

  Shard& ShardOf(int64_t record) { return shards_[static_cast<uint64_t>(record) % kShards]; }
  static bool IsWritten(const Record& record);
  static Instant SupersededBefore(const Record& record, Instant time);
  static void Prune(Record& record, Instant now);
  static void EndRead(Record& record, Instant began);
  bool Fits(const Candidate& candidate, const std::optional<Stamp>& stamp, Instant now) const;
  void Judge(Shard& shard, Record& record, const Read& read, const std::optional<Stamp>& stamp,
             Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  static void Note(Shard& shard, Violation violation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);

  const uint64_t run_;
  std::array<Shard, kShards> shards_;
};

}  // namespace arion::load
