// Engine: what committed mutations are applied to; one replica's key-value data, with the decree it
// stands at.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, factory.Open(data_directory));
//   RETURN_IF_ERROR(engine->Apply(engine->last_applied() + 1, timestamp_us, ops));
//   absl::StatusOr<Record> record = engine->Get(raw_key, ExpiryNow(clock), ReadTier::kAll);
//   RETURN_IF_ERROR(engine->Close());
//
// Shapes    Raw key: base/raw_key.h. Expiry: seconds since 2016-01-01 UTC, 0 = never. A record
//           whose 0 < expiry <= now does not exist.
// Errors    DataLoss: the data is damaged or I/O failed; fence the replica. ResourceExhausted,
//           PermissionDenied: no space on the disk, or it was refused (IsRefusal); nothing changed,
//           and the same may be asked again. Unavailable (cache-only tier, TryApplyAll): would
//           wait; ask with kAll, or ApplyAll, in the disk's pool.
// Threads   TryApplyAll on a strand, Apply in the disk's pool; one caller at a time. Reads: any
//           thread, beside them. Flush, and what makes checkpoints: in a pool of the disk's, one at
//           a time, beside Apply and reads.
// Promises  engine/E1  A batch's data and its decree reach storage together: after a crash the
//               engine stands at a decree d and holds exactly the batches 1..d.
//           engine/E2  last_durable <= last_flushed <= last_applied.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>
#include <absl/types/span.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/key_ownership.h"
#include "base/status.h"
#include "base/value_schema.h"
#include "engine/source_positions.h"

namespace arion {

class EngineMeter;
class IndexSet;
class IndexStore;

// One change of a mutation, as data_api makes it from a client's write. The views live as long as
// the call that takes it.
struct WriteOp {
  enum class Kind : uint8_t { kPut, kRemove };
  Kind kind = Kind::kPut;
  // A raw key.
  std::string_view key;
  // User data, of kPut.
  std::string_view value;
  // Seconds since 2016; 0: never. Kept as at most kExpiryMax.
  uint32_t expire_ts = 0;
  // A TimeTag, packed, of a write of another cluster; 0: the mutation's own.
  uint64_t time_tag = 0;
  // Of kRemove: its time tag stays, so that an earlier put that comes later is known to be earlier
  // (TagOf).
  bool leaves_tombstone = false;
};
// 2084. Stored values with a larger expiry would look like those of another schema
// (value_schema.h).
inline constexpr uint32_t kExpiryMax = INT32_MAX;

// A record that was read; a copy, so it may outlive the engine.
struct Record {
  std::string value;  // user data
  // Seconds since 2016; 0: never.
  uint32_t expire_ts = 0;
};

// Where a read may look. kCacheOnly never waits for the disk; Unavailable where it would have to. A
// strand asks that way first, and goes to a pool where it must.
enum class ReadTier { kCacheOnly, kAll };

// Raw keys from `first` on, before `end`. An empty `end`: to the last key. For an exclusive start
// k, or an inclusive end k, use JustBehind(k).
struct KeyRange {
  std::string first;
  std::string end;
  bool IsEmpty() const { return !end.empty() && first >= end; }
};
// The smallest key that is larger than `key`.
inline std::string JustBehind(std::string_view key) { return std::string(key).append(1, '\0'); }
// Of a walk, by the order of raw keys.
enum class Direction { kForward, kBackward };

// A walk over the records of a range, expired ones included (who walks counts them). One thread at
// a time. After a failure it is not valid and status() says why.
class RecordIterator {
 public:
  virtual ~RecordIterator() = default;
  // To the next record in the direction of the walk. Valid() must hold.
  virtual void Next() = 0;
  bool Valid() const { return is_valid_; }
  // The present record. The views are valid until Next().
  std::string_view key() const { return key_; }
  // User data.
  std::string_view value() const { return value_; }
  uint32_t expire_ts() const { return expire_ts_; }
  // OK at the end of the range.
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
// engine (views, iterators) must be destroyed before its Close.
class EngineView {
 public:
  virtual ~EngineView() = default;
  // As Engine::Get.
  virtual absl::StatusOr<Record> Get(std::string_view raw_key, uint32_t now,
                                     ReadTier tier) const = 0;
  // Starts at the range's first record, or with kBackward at its last. The view outlives the walk.
  // Waits for the disk.
  virtual std::unique_ptr<RecordIterator> Walk(KeyRange range, Direction direction) const = 0;
  // A forward walk whose blocks take no place in caches: for work beside those who read.
  virtual std::unique_ptr<RecordIterator> WalkAside(KeyRange range) const {
    return Walk(std::move(range), Direction::kForward);
  }
};

// Life cycle  EngineFactory::Open, then everything below, then Close. A replica owns it. An engine
// that is destroyed without Close is what a crash would leave.
class Engine {
 public:
  virtual ~Engine() = default;

  // The decree of the last mutation applied.
  virtual Decree last_applied() const = 0;
  // What a crash would leave.
  virtual Decree last_flushed() const = 0;
  // The newest checkpoint's; 0: there is none.
  virtual Decree last_durable() const = 0;

  // Applies one mutation's operations in order (a later one on the same key wins). `decree` is
  // last_applied + 1. Without operations only the decree advances. `timestamp_us` goes into the
  // values' time tags. Never reads a clock.
  virtual absl::Status Apply(Decree decree, int64_t timestamp_us,
                             absl::Span<const WriteOp> ops) = 0;
  // One mutation for ApplyAll.
  struct AppliedMutation {
    Decree decree;
    int64_t timestamp_us = 0;
    absl::Span<const WriteOp> ops;
    // Where another cluster's duplication is behind it; it is kept with the decree.
    std::optional<SourcePosition> position = std::nullopt;
    // Whether time tags of this partition's records are compared: then those of expired ones are
    // kept for a while.
    bool compares_tags = false;
  };
  // Each in turn. An engine may do it in one step, which costs less, and which a crash leaves whole
  // or not at all. After an error the first ones may be applied. An engine that outlives its
  // process overrides this: Apply knows of no positions.
  virtual absl::Status ApplyAll(absl::Span<const AppliedMutation> mutations) {
    for (const AppliedMutation& m : mutations)
      RETURN_IF_ERROR(Apply(m.decree, m.timestamp_us, m.ops));
    return absl::OkStatus();
  }
  // ApplyAll where nothing may wait. After an error the first ones may be applied: last_applied()
  // says which. Unavailable: call ApplyAll in the disk's pool with the rest.
  virtual absl::Status TryApplyAll(absl::Span<const AppliedMutation> mutations) {
    return ApplyAll(mutations);
  }

  // NotFound: there is no such record at time `now` (seconds since 2016).
  virtual absl::StatusOr<Record> Get(std::string_view raw_key, uint32_t now,
                                     ReadTier tier) const = 0;

  // ---- whose write is the later one ----
  // The larger of the time tags of a record, be it expired or not, and of its tombstone; 0: there
  // is neither, or values have no tags (data version 0). Errors as Get. Tombstones stay for
  // kTombstonesKept at least, by the removes' own time.
  virtual absl::StatusOr<uint64_t> TagOf(std::string_view raw_key, ReadTier tier) const = 0;
  static constexpr absl::Duration kTombstonesKept = absl::Hours(24);
  // So long expired records stay where tags are compared.
  static constexpr absl::Duration kExpiredKept = absl::Hours(1);
  // How far that duplication of another cluster has come here; nullopt: nothing of it is known.
  virtual std::optional<SourcePosition> PositionOf(uint8_t cluster_id,
                                                   int64_t duplication_id) const = 0;
  // No mutation that was applied has a larger timestamp. Up to a second more than the largest of
  // them, after it was opened.
  virtual int64_t latest_timestamp_us() const = 0;

  // A view of what is applied now: whole mutations only. Holding one for long costs space.
  virtual std::shared_ptr<const EngineView> View() const = 0;

  // Makes everything applied before the call survive a crash.
  virtual absl::Status Flush() = 0;
  // Flushes, then makes a checkpoint that holds at least what was applied before the call. Old
  // checkpoints are removed but for the newest few. Returns its decree.
  virtual absl::StatusOr<Decree> Checkpoint() = 0;
  // The same though nothing was applied since the newest one, and it takes the place of all others:
  // none has files any more that a compaction replaced. False: somebody holds one of its decree.
  virtual absl::StatusOr<bool> RenewCheckpoints() = 0;
  // A checkpoint as others may copy it.
  struct CheckpointFiles {
    Decree decree;
    // data/checkpoint.<decree>
    std::string directory;
    // Files directly in it, sorted, none empty.
    std::vector<std::string> names;
  };
  // The newest checkpoint; it stays while *hold lives. NotFound: there is none.
  virtual absl::StatusOr<CheckpointFiles> NewestCheckpoint(std::shared_ptr<void>* hold) = 0;
  // A copy of the indexes as others may copy it.
  struct IndexFiles {
    // Below the data directory; empty: there are none.
    std::vector<std::string> names;
    // The store that they are of, alive or not: table files of one store never change. Those of
    // another one may have the same names and sizes.
    std::weak_ptr<const void> store;
  };
  // Makes a copy of the whole indexes beside a checkpoint that is held, if there are any: for
  // learners, whose InstallCheckpoint takes it from beside theirs. It stays while *hold lives.
  virtual absl::StatusOr<IndexFiles> ShipIndexes(const CheckpointFiles& /*checkpoint*/,
                                                 std::shared_ptr<void>* /*hold*/) {
    return IndexFiles();
  }
  // An estimate, for displays.
  virtual uint64_t size_bytes() const = 0;
  // How values that do not name their schema are stored.
  virtual ValueSchema data_version() const { return ValueSchema::kV1; }
  // Its figures; nullptr: it has none.
  virtual std::shared_ptr<const EngineMeter> meter() const { return nullptr; }

  // `hook` runs before anything that is applied so far is made durable, whoever asks for the flush:
  // then what must not be behind this engine is flushed first. Waits for the disk; called before
  // the first Apply.
  virtual void BeforeFlush(std::function<void()> hook) = 0;
  // The indexes that are kept beside it; nullptr: none are.
  virtual std::shared_ptr<IndexSet> indexes() const { return nullptr; }

  // ---- keys of other partitions ----
  // Which keys are the replica's. The next flushes and compactions that come to others drop them,
  // from views too, unless it is not known (MayDrop). So it is set only while nobody reads others
  // any more. Unknown at first, as after an exchange of the content. Thread-safe.
  virtual void SetOwnership(const KeyOwnership& ownership) = 0;
  virtual KeyOwnership ownership() const = 0;
  // The partition count for which all files were last rewritten; 0: for none. It goes with a
  // checkpoint.
  virtual int32_t compacted_for() const = 0;
  // Notes that count; it survives a crash. Threads as Flush.
  virtual absl::Status NoteCompactedFor(int32_t partition_count) = 0;

  // ---- compaction on request ----
  // How a compaction on request is to work.
  struct CompactionTerms {
    // -1: as it comes. A level beyond the last counts as the last.
    int target_level = -1;
    // Whether what lies in the last level is written anew too.
    bool bottommost = false;
    bool operator==(const CompactionTerms&) const = default;
  };
  // Merges what lies from raw key `from` on (empty: the first), a part of it that takes seconds.
  // Returns where the next part begins; empty: this was the last. Cancelled: *cancelled became
  // true. Called in the disk's pool, beside everything else, one at a time.
  virtual absl::StatusOr<std::string> CompactFrom(const std::string& /*from*/,
                                                  const CompactionTerms& /*terms*/,
                                                  std::atomic<bool>* /*cancelled*/) {
    return std::string();
  }
  // When such a compaction last ended, in ms since 1970; 0: never.
  virtual int64_t last_compacted_ms() const = 0;
  // Notes that time; it survives a crash. Threads as Flush.
  virtual absl::Status NoteCompacted(int64_t unix_ms) = 0;

  // Flushes and closes. No call may follow, not even after an error.
  virtual absl::Status Close() = 0;
};

// Makes engines in a replica's `data` directory. One for a server, chosen in main/; it outlives its
// engines. Thread-safe; waits for the disk.
class EngineFactory {
 public:
  virtual ~EngineFactory() = default;
  // Opens <replica dir>/data, creating it when it is missing. FailedPrecondition: the content is
  // whole, but not this engine's to open.
  virtual absl::StatusOr<std::unique_ptr<Engine>> Open(const std::string& data_directory) = 0;
  // Opens what indexes lie in (index_store.h), creating it when it is missing. Errors as Open.
  virtual absl::StatusOr<std::unique_ptr<IndexStore>> OpenIndexStore(
      const std::string& directory) = 0;
  // Makes the files of `checkpoint_directory` (complete, checked) the content of data_directory,
  // whose engine is closed. What was there is removed only after the new content is durable.
  // Repeatable after a crash.
  virtual absl::Status InstallCheckpoint(const std::string& checkpoint_directory, Decree decree,
                                         const std::string& data_directory) = 0;
  // Bounds what all its engines together hold in memory only. Beyond `bytes` they write it to files
  // as records come in. 0: the configured bound. Thread-safe.
  virtual void LimitUnflushed(uint64_t /*bytes*/) {}
  // What they hold in memory only now.
  virtual uint64_t unflushed_bytes() const { return 0; }
  // For the log and displays: "RocksDB 7.8.3 (debian build)".
  virtual std::string description() const = 0;
};

}  // namespace arion
