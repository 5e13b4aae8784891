// RequestStats counts what clients ask of one replica: how often, how long, how many bytes, which
// errors, for writes what the time went into, and which keys are hot; beside it stands what the
// replica does otherwise (replica_figures.h). RequestBook holds those of one server, by table.
//
// Units     Nanoseconds, bytes.
// Threads   RequestStats: the replica's strand counts, any thread reads. RequestBook: thread-safe.
// Lifetime  Held by shared_ptr; what a replica counted stays in its table's sums when it goes, and in
//           the server's when the table is forgotten: kKeep after its last replica here went, so
//           that who reads now and then sees what that counted last.
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

enum class RequestKind : uint8_t {
  kGet,
  kTtl,
  kMultiGet,
  kBatchGet,
  kSortKeyCount,
  kScan,
  kPut,
  kRemove,
  kMultiPut,
  kMultiRemove,
  kIncr,
  kCheckAndSet,
  kCheckAndMutate,
};
constexpr size_t kRequestKinds = 13;
std::string_view RequestKindName(RequestKind kind);  // "multi_get"
constexpr bool IsWrite(RequestKind kind) { return kind >= RequestKind::kPut; }

// What a write's time goes into, one after the other; together they are all of it.
enum class WriteStage : uint8_t {
  kQueue,  // from its arrival until its mutation is given to the log: the loop's queue, throttles,
           // other writes to its hash key, the mutations before it
  kLogAppend,  // until the log's write begins
  kLogSync,    // until it is durable here
  kReplicate,  // until every member has it
  kApply,      // until the engine has it
  kReply,      // until the answer is handed to the connection
};
constexpr size_t kWriteStages = 6;
std::string_view WriteStageName(WriteStage stage);  // "log_append"

// Requests are billed by pieces of this size: reads by their answers, writes as they come; a begun
// piece counts.
constexpr uint64_t kCapacityUnitBytes = 4096;

using StageNanos = std::array<int64_t, kWriteStages>;

class RequestStats {
 public:
  // What was answered that way; kTimeout stands for what was not answered at all.
  struct Totals {
    LatencyBuckets::Totals latency;
    uint64_t asked_bytes = 0;
    uint64_t answered_bytes = 0;
    uint64_t capacity_units = 0;
    std::map<ErrorCode, uint64_t> errors;
  };
  using ByKind = std::map<RequestKind, Totals>;  // those that occurred
  using ByStage = std::array<LatencyBuckets::Totals, kWriteStages>;

  explicit RequestStats(uint64_t seed) : hot_keys_(seed) {}
  RequestStats(const RequestStats&) = delete;
  RequestStats& operator=(const RequestStats&) = delete;
  ~RequestStats();

  void Answered(RequestKind kind, ErrorCode error, int64_t nanos, uint64_t asked_bytes,
                uint64_t answered_bytes);
  void Staged(const StageNanos& stages);

  HotKeys& hot_keys() { return hot_keys_; }
  const HotKeys& hot_keys() const { return hot_keys_; }
  ReplicaFigures& figures() { return figures_; }
  const ReplicaFigures& figures() const { return figures_; }

  void AddTo(ByKind* by_kind) const;
  void AddTo(ByStage* by_stage) const;
  // What AddTo would add, but for latencies and errors: for who asks often.
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
  struct Operation {
    LatencyBuckets latency;
    OwnedCounter asked_bytes;
    OwnedCounter answered_bytes;
    OwnedCounter requests;
    OwnedCounter capacity_units;
    std::array<OwnedCounter, kErrorCodes> errors;
  };
  using Stages = std::array<LatencyBuckets, kWriteStages>;

  // Made when first needed, and then for good.
  std::array<std::atomic<Operation*>, kRequestKinds> operations_{};
  std::atomic<Stages*> stages_{nullptr};
  HotKeys hot_keys_;
  ReplicaFigures figures_;
};

class RequestBook {
 public:
  static constexpr absl::Duration kKeep = absl::Minutes(10);

  enum class Level : uint8_t { kServer, kTable, kPartition };
  struct Sums {
    RequestStats::ByKind by_kind;
    RequestStats::ByStage by_stage;
    ReplicaFigures::Counts counts{};
    ReplicaFigures::EngineTotals engine_counts{};

    void Add(const Sums& more);
    void Add(const RequestStats& stats);
  };
  struct Row : Sums {
    std::string table;  // kServer: "", of one row
    PartitionId pid;    // kServer, kTable: 0.-1
  };

  // What a replica of that partition counts from now on.
  std::shared_ptr<RequestStats> Open(PartitionId pid, const std::string& table);
  void Rename(int32_t app_id, const std::string& table);
  // The replica is gone.
  void Close(PartitionId pid, const std::shared_ptr<RequestStats>& stats);
  // Forgets the tables whose time has come; called now and then.
  void ForgetGone(Instant now);

  // Tables in the order of their names.
  std::vector<Row> Read(Level level) const;
  struct Member {
    std::string table;
    PartitionId pid;
    std::shared_ptr<const RequestStats> stats;
  };
  // Those that are open, by partition.
  std::vector<Member> Members() const;
  struct HotKey {
    std::string table;
    PartitionId pid;
    HotKeys::Hot hot;
  };
  // The hottest of each replica, hottest first.
  std::vector<HotKey> ReadHotKeys(Instant now) const;

 private:
  struct TableEntry {
    std::string name;
    Sums gone;  // of replicas that are gone
    std::map<int32_t, std::shared_ptr<RequestStats>> partitions;
    std::optional<Instant> empty_since;  // as ForgetGone saw it
  };

  std::vector<Member> MembersLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::map<int32_t, TableEntry> tables_ ABSL_GUARDED_BY(mutex_);
  Sums forgotten_ ABSL_GUARDED_BY(mutex_);  // of tables
};

}  // namespace arion
