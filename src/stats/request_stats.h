// RequestStats counts what clients ask of one replica: how often, how long, how many bytes, which
// errors, for writes what the time went into, and which keys are hot. Beside it stands what the
// replica does otherwise (replica_figures.h). RequestBook holds those of one server, by table.
//
// Units     Nanoseconds, bytes.
// Threads   RequestStats: the replica's strand counts, any thread reads. RequestBook: thread-safe.
// Lifetime  Held by shared_ptr. What a replica counted stays in its table's sums when it goes, and
//           in the server's when the table is forgotten. That is kKeep after its last replica here
//           went, so that a reader who comes now and then still gets its last counts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error_code.h"
#include "base/ids.h"
#include "base/instant.h"
#include "base/latency_buckets.h"
#include "base/mutex.h"
#include "stats/hot_keys.h"
#include "stats/replica_figures.h"

namespace arion {

// What clients ask. Writes come last (IsWrite).
enum class RequestKind : uint8_t {
  kGet,
  kTtl,
  kMultiGet,
  kBatchGet,
  kSortKeyCount,
  kScan,
  kFind,
  kPut,
  kRemove,
  kMultiPut,
  kMultiRemove,
  kIncr,
  kCheckAndSet,
  kCheckAndMutate,
  // Writes of another cluster, several in one request.
  kDuplicate,
};
constexpr size_t kRequestKinds = 15;
// As metrics have it: "multi_get".
std::string_view RequestKindName(RequestKind kind);
constexpr bool IsWrite(RequestKind kind) { return kind >= RequestKind::kPut; }

// What a write's time goes into, one after the other; together they are all of it.
enum class WriteStage : uint8_t {
  // From its arrival until its mutation is given to the log: the loop's queue, throttles, other
  // writes to its hash key, the mutations before it.
  kQueue,
  // Until the log's write begins.
  kLogAppend,
  // Until it is durable here.
  kLogSync,
  // Until every member has it.
  kReplicate,
  // Until the engine has it.
  kApply,
  // Until the answer is handed to the connection.
  kReply,
};
constexpr size_t kWriteStages = 6;
// As metrics have it: "log_append".
std::string_view WriteStageName(WriteStage stage);

// Requests are billed by pieces of this size: reads by their answers, writes as they come. A begun
// piece counts; a request that failed costs nothing.
constexpr uint64_t kCapacityUnitBytes = 4096;

// By WriteStage.
using StageNanos = std::array<int64_t, kWriteStages>;

// One replica's. Memory for a kind of request is taken when the first one comes. Counts only rise.
// The book shares it while the replica is open.
//
//   stats->Answered(RequestKind::kGet, ErrorCode::kOk, nanos, asked.size(), answer.size());
class RequestStats {
 public:
  // Of one kind of request.
  struct Totals {
    LatencyBuckets::Totals latency;
    uint64_t asked_bytes = 0;
    uint64_t answered_bytes = 0;
    uint64_t capacity_units = 0;
    // Requests by their error; kTimeout stands for those that were not answered at all.
    std::map<ErrorCode, uint64_t> errors;
  };
  // Only the kinds that occurred.
  using ByKind = std::map<RequestKind, Totals>;
  using ByStage = std::array<LatencyBuckets::Totals, kWriteStages>;

  // `seed` chooses which requests HotKeys samples.
  explicit RequestStats(uint64_t seed) : hot_keys_(seed) {}
  RequestStats(const RequestStats&) = delete;
  RequestStats& operator=(const RequestStats&) = delete;
  ~RequestStats();

  // A request was answered with `error`, `nanos` after it came. Bytes are those of the bodies.
  void Answered(RequestKind kind, ErrorCode error, int64_t nanos, uint64_t asked_bytes,
                uint64_t answered_bytes);
  // A write was answered, and its stages are known.
  void Staged(const StageNanos& stages);
  // Another cluster's write was done here, `nanos` after it was ordered there.
  void Duplicated(int64_t nanos);

  // Which keys are asked for most; Note is called by the replica's strand.
  HotKeys& hot_keys() { return hot_keys_; }
  const HotKeys& hot_keys() const { return hot_keys_; }
  // What else the replica does.
  ReplicaFigures& figures() { return figures_; }
  const ReplicaFigures& figures() const { return figures_; }

  // Adds what was counted so far. What is counted meanwhile may be in some of the sums already.
  void AddTo(ByKind* by_kind) const;
  void AddTo(ByStage* by_stage) const;
  void AddDuplicateLagTo(LatencyBuckets::Totals* lag) const;
  // What AddTo would add, but for latencies and errors; for those who ask often.
  struct Load {
    uint64_t requests = 0;
    uint64_t asked_bytes = 0;
    uint64_t answered_bytes = 0;
    uint64_t capacity_units = 0;
  };
  using LoadByKind = std::array<Load, kRequestKinds>;
  void AddTo(LoadByKind* loads) const;

 private:
  static constexpr size_t kErrorCodes = static_cast<size_t>(kErrorCodeCount);
  // Counters of one kind of request.
  struct Operation {
    LatencyBuckets latency;
    OwnedCounter asked_bytes;
    OwnedCounter answered_bytes;
    OwnedCounter requests;
    OwnedCounter capacity_units;
    std::array<OwnedCounter, kErrorCodes> errors;
  };
  using Stages = std::array<LatencyBuckets, kWriteStages>;

  // Made when first needed, and then kept.
  std::array<std::atomic<Operation*>, kRequestKinds> operations_{};
  std::atomic<Stages*> stages_{nullptr};
  std::atomic<LatencyBuckets*> duplicate_lag_{nullptr};
  HotKeys hot_keys_;
  ReplicaFigures figures_;
};

// What a server counts, by partition, by table and in all. A replica's counts outlive it in its
// table's sums, and a table's in the server's, so that no sum falls.
//
//   auto stats = book.Open(pid, "temp");
//   ...
//   book.Close(pid, stats);
//   for (const RequestBook::Row& row : book.Read(RequestBook::Level::kTable)) ...
class RequestBook {
 public:
  // How long a table without replicas is kept.
  static constexpr absl::Duration kKeep = absl::Minutes(10);

  // How finely Read tells replicas apart.
  enum class Level : uint8_t { kServer, kTable, kPartition };
  // What several replicas counted together.
  struct Sums {
    RequestStats::ByKind by_kind;
    RequestStats::ByStage by_stage;
    LatencyBuckets::Totals duplicate_lag;
    ReplicaFigures::Counts counts{};
    ReplicaFigures::EngineTotals engine_counts{};

    void Add(const Sums& more);
    void Add(const RequestStats& stats);
  };
  // One line of Read.
  struct Row : Sums {
    // Of kServer: empty; there is one row.
    std::string table;
    // Of kServer and kTable: 0.-1.
    PartitionId pid;
  };

  // What a new replica of that partition counts with from now on. Takes the place of an earlier
  // one.
  std::shared_ptr<RequestStats> Open(PartitionId pid, const std::string& table);
  // The table has another name from now on.
  void Rename(int32_t app_id, const std::string& table);
  // The replica is gone. Its counts go to its table's sums.
  void Close(PartitionId pid, const std::shared_ptr<RequestStats>& stats);
  // Forgets the tables whose time has come. To be called now and then.
  void ForgetGone(Instant now);

  // Ordered by table name, then partition. Tables of one name are one row. kPartition: only
  // replicas that are open. It does not hold the lock while it adds up, for replicas' strands take
  // it too.
  std::vector<Row> Read(Level level) const;
  // One open replica.
  struct Member {
    std::string table;
    PartitionId pid;
    std::shared_ptr<const RequestStats> stats;
  };
  // The replicas that are open, by partition.
  std::vector<Member> Members() const;
  // One key of one replica.
  struct HotKey {
    std::string table;
    PartitionId pid;
    HotKeys::Hot hot;
  };
  // The hottest of each replica, up to ten, hottest first.
  std::vector<HotKey> ReadHotKeys(Instant now) const;

 private:
  // All that was counted for one table.
  struct TableEntry {
    std::string name;
    // Of replicas that are gone.
    Sums gone;
    std::map<int32_t, std::shared_ptr<RequestStats>> partitions;
    // As ForgetGone saw it.
    std::optional<Instant> empty_since;
  };

  std::vector<Member> MembersLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  // By table id. Guarded by mutex_, as the rest.
  std::map<int32_t, TableEntry> tables_ ABSL_GUARDED_BY(mutex_);
  // Of tables that were forgotten.
  Sums forgotten_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
