// Engine: what committed mutations are applied to; one replica's key-value data, with the decree it
// stands at.
//
// Shapes    Raw key: base/raw_key.h. Expiry: seconds since 2016-01-01 UTC, 0 = never. A record
//           whose 0 < expiry <= now does not exist.
// Errors    DataLoss: the data is damaged or I/O failed, fence the replica. ResourceExhausted,
//           PermissionDenied: no space on the disk, or it was refused (IsRefusal); nothing changed,
//           and the same may be asked again. Unavailable (cache-only tier, TryApply): would wait,
//           ask with kAll, or Apply, in the disk's pool.
// Threads   TryApply on a strand, Apply in the disk's pool; one caller at a time. Reads: any
//           thread, beside them. Flush, Checkpoint: in a pool of the disk's, one at a time, beside
//           Apply and reads.
// Promises  engine/E1  A batch's data and its decree reach storage together: after a crash the
//               engine stands at a decree d and holds exactly the batches 1..d.
//           engine/E2  last_durable <= last_flushed <= last_applied.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/value_schema.h"
#include "engine/engine_figures.h"
#include "env/environment.h"

namespace arion {

struct WriteOp {
  enum class Kind : uint8_t { kPut, kRemove };
  Kind kind = Kind::kPut;
  std::string_view key;    // raw key
  std::string_view value;  // user data
  uint32_t expire_ts = 0;  // kept as at most kExpiryMax
  // A TimeTag, packed, of a write of another cluster; 0: the mutation's own.
  uint64_t time_tag = 0;
};
// 2084. Stored values with a larger one would look like those of another schema (value_schema.h).
inline constexpr uint32_t kExpiryMax = INT32_MAX;

struct Record {
  std::string value;       // user data
  uint32_t expire_ts = 0;  // 0 = never
};

enum class ReadTier { kCacheOnly, kAll };

// Raw keys from `first` on, before `end`; no `end` (empty): to the last. An exclusive start k, or an
// inclusive end k, is JustBehind(k).
struct KeyRange {
  std::string first;
  std::string end;
  bool IsEmpty() const { return !end.empty() && first >= end; }
};
inline std::string JustBehind(std::string_view key) { return std::string(key).append(1, '\0'); }
enum class Direction { kForward, kBackward };

// A walk over the records of a range, expired ones included (who walks counts them). One thread at a
// time. After a failure it is not valid and status() says why.
class RecordIterator {
 public:
  virtual ~RecordIterator() = default;
  virtual void Next() = 0;  // while Valid(); in the direction of the walk
  bool Valid() const { return is_valid_; }
  // Of the present record, until Next().
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }  // user data
  uint32_t expire_ts() const { return expire_ts_; }
  const absl::Status& status() const { return status_; }

 protected:
  // The present record; a row costs no more virtual calls than Next.
  bool is_valid_ = false;
  std::string_view key_;
  std::string_view value_;
  uint32_t expire_ts_ = 0;
  absl::Status status_;
};

// The engine's content as it stood at one decree, whatever is applied since. Everything got from an
// engine (views, iterators) goes before its Close.
class EngineView {
 public:
  virtual ~EngineView() = default;
  // As Engine::Get.
  virtual absl::StatusOr<Record> Get(std::string_view raw_key, uint32_t now,
                                     ReadTier tier) const = 0;
  // At the range's first record, or with kBackward at its last. The view outlives it. Waits for the
  // disk.
  virtual std::unique_ptr<RecordIterator> Walk(KeyRange range, Direction direction) const = 0;
  // Forward, beside those who read: what it reads takes no place in caches.
  virtual std::unique_ptr<RecordIterator> WalkAside(KeyRange range) const {
    return Walk(std::move(range), Direction::kForward);
  }
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual Decree last_applied() const = 0;
  virtual Decree last_flushed() const = 0;  // what a crash would leave
  virtual Decree last_durable() const = 0;  // newest checkpoint

  // Applies one mutation's operations in order (a later one on the same key wins); decree must be
  // last_applied + 1. No ops: only the decree advances. `timestamp_us` goes into the values' time
  // tags. Never reads a clock.
  virtual absl::Status Apply(Decree decree, int64_t timestamp_us,
                             absl::Span<const WriteOp> ops) = 0;
  // Apply of each in turn; an engine may do it in one step, which a crash leaves whole or not at
  // all. For replay: what is applied so costs less.
  struct AppliedMutation {
    Decree decree;
    int64_t timestamp_us = 0;
    absl::Span<const WriteOp> ops;
  };
  virtual absl::Status ApplyAll(absl::Span<const AppliedMutation> mutations) {
    for (const AppliedMutation& m : mutations)
      RETURN_IF_ERROR(Apply(m.decree, m.timestamp_us, m.ops));
    return absl::OkStatus();
  }
  // Apply where nothing may wait.
  virtual absl::Status TryApply(Decree decree, int64_t timestamp_us,
                                absl::Span<const WriteOp> ops) {
    return Apply(decree, timestamp_us, ops);
  }

  // NotFound: no such record at time `now` (seconds since 2016). Unavailable: see Errors.
  virtual absl::StatusOr<Record> Get(std::string_view raw_key, uint32_t now,
                                     ReadTier tier) const = 0;

  // Whole mutations are in it or not at all. Holding one for long costs space.
  virtual std::shared_ptr<const EngineView> View() const = 0;

  // Makes everything applied so far survive a crash.
  virtual absl::Status Flush() = 0;
  // Flush, then a checkpoint that names last_applied at the time of the call; old ones are removed
  // but for the newest `keep`. Returns its decree.
  virtual absl::StatusOr<Decree> Checkpoint() = 0;
  struct CheckpointFiles {
    Decree decree;
    std::string directory;           // data/checkpoint.<decree>
    std::vector<std::string> names;  // files directly in it, sorted, none empty
  };
  // The newest checkpoint; NotFound when there is none. It stays while `hold` lives.
  virtual absl::StatusOr<CheckpointFiles> NewestCheckpoint(std::shared_ptr<void>* hold) = 0;
  virtual uint64_t size_bytes() const = 0;  // estimate, for displays
  // Of values that don't name their own.
  virtual ValueSchema data_version() const { return ValueSchema::kV1; }
  virtual std::shared_ptr<const EngineMeter> meter() const { return nullptr; }  // may have none

  // ---- compaction on request ----
  struct CompactionTerms {
    int target_level = -1;    // -1: as it comes; one beyond the last: the last
    bool bottommost = false;  // what lies in the last level is written anew too
    bool operator==(const CompactionTerms&) const = default;
  };
  // Merges what lies from raw key `from` on (empty: the first), a part of it that takes seconds,
  // and says where the next part begins; empty: it was the last. Cancelled: once `cancelled` is true.
  // In the disk's pool, beside everything else; one at a time.
  virtual absl::StatusOr<std::string> CompactFrom(const std::string& /*from*/,
                                                  const CompactionTerms& /*terms*/,
                                                  std::atomic<bool>* /*cancelled*/) {
    return std::string();
  }
  // When such a compaction last ended, in ms since 1970; 0: never. Noted, it survives a crash. As
  // Flush.
  virtual int64_t last_compacted_ms() const = 0;
  virtual absl::Status NoteCompacted(int64_t unix_ms) = 0;

  // Flushes and closes; no call may follow.
  virtual absl::Status Close() = 0;
};

// Makes engines in a replica's `data` directory. Thread-safe; waits for the disk.
class EngineFactory {
 public:
  virtual ~EngineFactory() = default;
  // Opens <replica dir>/data, creating it when missing.
  virtual absl::StatusOr<std::unique_ptr<Engine>> Open(const std::string& data_directory) = 0;
  // Makes the files of `checkpoint_directory` (complete, checked) the content of data_directory,
  // whose engine is closed; what was there is removed only after the new content is durable.
  // Repeatable after a crash.
  virtual absl::Status InstallCheckpoint(const std::string& checkpoint_directory, Decree decree,
                                         const std::string& data_directory) = 0;
  // What all its engines hold in memory only. Beyond `bytes` they write it to files as records come
  // in; 0: beyond what was configured. Thread-safe.
  virtual void LimitUnflushed(uint64_t /*bytes*/) {}
  virtual uint64_t unflushed_bytes() const { return 0; }
  virtual std::string description() const = 0;  // "RocksDB 7.8.3 (debian build)"
};

}  // namespace arion
