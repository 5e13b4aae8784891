// SPDX-License-Identifier: Apache-2.0
#include "exposition/perf_counters.h"

#include <absl/strings/str_cat.h>

#include <array>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "disks/disk_snapshot.h"
#include "engine/rocksdb_engine.h"
#include "exposition/process_metrics.h"
#include "exposition/replica_sampler.h"
#include "recovery/recovery_progress.h"
#include "replica_server/replica_server.h"

namespace arion {
namespace {

// The types as 2.5 prints them. A NUMBER is the latest figure. A RATE and a VOLATILE_NUMBER are
// made from two samples ten seconds apart: a reading resets nothing, so several tools may read.
constexpr char kNumber[] = "NUMBER";
constexpr char kRate[] = "RATE";
constexpr char kVolatile[] = "VOLATILE_NUMBER";

using Row = ReplicaSampler::Row;
using Load = RequestStats::Load;

// Of one row now, an earlier one of the same partition, and the seconds between.
struct Two {
  const Row& now;
  const Row& then;
  double seconds;

  // A counter that fell belongs to another life of the replica.
  static double Risen(uint64_t now, uint64_t then) {
    return now < then ? 0 : static_cast<double>(now - then);
  }
  double Rate(RequestKind kind, uint64_t Load::*what) const {
    const auto i = static_cast<size_t>(kind);
    // Two samples of one moment have no rate.
    return seconds <= 0 ? 0 : Risen(now.loads[i].*what, then.loads[i].*what) / seconds;
  }
  double Units(bool (*is_of)(RequestKind)) const {
    double sum = 0;
    for (size_t i = 0; i < kRequestKinds; ++i)
      if (is_of(static_cast<RequestKind>(i)))
        sum += Risen(now.loads[i].capacity_units, then.loads[i].capacity_units);
    return sum;
  }
  double Recent(ReplicaCount what) const {
    const auto i = static_cast<size_t>(what);
    return Risen(now.counts[i], then.counts[i]);
  }
  double Count(EngineCount what) const { return static_cast<double>(now.engine.count(what)); }
};

struct Definition {
  const char* section;  // "app.pegasus"
  const char* name;
  const char* type;
  double (*of)(const Two&);
};

template <RequestKind kKind>
double Qps(const Two& two) {
  return two.Rate(kKind, &Load::requests);
}
template <RequestKind kKind>
double Asked(const Two& two) {
  return two.Rate(kKind, &Load::asked_bytes);
}
template <RequestKind kKind>
double Answered(const Two& two) {
  return two.Rate(kKind, &Load::answered_bytes);
}
template <ReplicaCount kWhat>
double Recent(const Two& two) {
  return two.Recent(kWhat);
}
template <EngineCount kWhat>
double EngineTotal(const Two& two) {
  return two.Count(kWhat);
}
template <uint64_t EngineFigures::*kWhat>
double Figure(const Two& two) {
  return static_cast<double>(two.now.engine.*kWhat);
}

constexpr char kApp[] = "app.pegasus";
constexpr char kReplication[] = "eon.replica";

// Names are those of 2.5 to the letter: tools choose by parts of them.
constexpr Definition kOfPartition[] = {
    {kApp, "get_qps", kRate, Qps<RequestKind::kGet>},
    {kApp, "multi_get_qps", kRate, Qps<RequestKind::kMultiGet>},
    {kApp, "batch_get_qps", kRate, Qps<RequestKind::kBatchGet>},
    {kApp, "scan_qps", kRate, Qps<RequestKind::kScan>},
    {kApp, "put_qps", kRate, Qps<RequestKind::kPut>},
    {kApp, "multi_put_qps", kRate, Qps<RequestKind::kMultiPut>},
    {kApp, "remove_qps", kRate, Qps<RequestKind::kRemove>},
    {kApp, "multi_remove_qps", kRate, Qps<RequestKind::kMultiRemove>},
    {kApp, "incr_qps", kRate, Qps<RequestKind::kIncr>},
    {kApp, "check_and_set_qps", kRate, Qps<RequestKind::kCheckAndSet>},
    {kApp, "check_and_mutate_qps", kRate, Qps<RequestKind::kCheckAndMutate>},
    {kApp, "duplicate_qps", kRate, Qps<RequestKind::kDuplicate>},
    {kApp, "get_bytes", kRate, Answered<RequestKind::kGet>},
    {kApp, "multi_get_bytes", kRate, Answered<RequestKind::kMultiGet>},
    {kApp, "batch_get_bytes", kRate, Answered<RequestKind::kBatchGet>},
    {kApp, "scan_bytes", kRate, Answered<RequestKind::kScan>},
    {kApp, "put_bytes", kRate, Asked<RequestKind::kPut>},
    {kApp, "multi_put_bytes", kRate, Asked<RequestKind::kMultiPut>},
    {kApp, "check_and_set_bytes", kRate, Asked<RequestKind::kCheckAndSet>},
    {kApp, "check_and_mutate_bytes", kRate, Asked<RequestKind::kCheckAndMutate>},
    {kApp, "recent.read.cu", kVolatile,
     [](const Two& two) { return two.Units([](RequestKind kind) { return !IsWrite(kind); }); }},
    {kApp, "recent.write.cu", kVolatile,
     [](const Two& two) { return two.Units([](RequestKind kind) { return IsWrite(kind); }); }},
    {kApp, "recent.expire.count", kVolatile, Recent<ReplicaCount::kExpiredRecords>},
    {kApp, "recent.filter.count", kVolatile, Recent<ReplicaCount::kFilteredRecords>},
    {kApp, "recent.abnormal.count", kVolatile, Recent<ReplicaCount::kSlowReads>},
    {kApp, "dup.lagging_writes", kVolatile, Recent<ReplicaCount::kLateDuplicates>},
    {kApp, "disk.storage.sst(MB)", kNumber,
     [](const Two& two) { return static_cast<double>(two.now.engine.file_bytes >> 20); }},
    {kApp, "disk.storage.sst.count", kNumber, Figure<&EngineFigures::files>},
    {kApp, "rdb.block_cache.hit_count", kNumber, EngineTotal<EngineCount::kCacheHits>},
    {kApp, "rdb.block_cache.total_count", kNumber,
     [](const Two& two) {
       return two.Count(EngineCount::kCacheHits) + two.Count(EngineCount::kCacheMisses);
     }},
    {kApp, "rdb.index_and_filter_blocks.memory_usage", kNumber,
     Figure<&EngineFigures::reader_bytes>},
    {kApp, "rdb.memtable.memory_usage", kNumber, Figure<&EngineFigures::memory_bytes>},
    {kApp, "rdb.estimate_num_keys", kNumber, Figure<&EngineFigures::keys>},
    {kApp, "rdb.bf_seek_negatives", kNumber, EngineTotal<EngineCount::kSeekFilterNegatives>},
    {kApp, "rdb.bf_seek_total", kNumber, EngineTotal<EngineCount::kSeekFilterChecks>},
    {kApp, "rdb.bf_point_positive_true", kNumber, EngineTotal<EngineCount::kFilterTruePositives>},
    {kApp, "rdb.bf_point_positive_total", kNumber, EngineTotal<EngineCount::kFilterPositives>},
    {kApp, "rdb.bf_point_negatives", kNumber, EngineTotal<EngineCount::kFilterNegatives>},
    {kReplication, "recent.write.throttling.delay.count", kVolatile,
     Recent<ReplicaCount::kDelayedWrites>},
    {kReplication, "recent.write.throttling.reject.count", kVolatile,
     Recent<ReplicaCount::kRejectedWrites>},
    {kReplication, "recent.read.throttling.delay.count", kVolatile,
     Recent<ReplicaCount::kDelayedReads>},
    {kReplication, "recent.read.throttling.reject.count", kVolatile,
     Recent<ReplicaCount::kRejectedReads>},
};

void Add(std::string name, const char* type, double value, const PerfCounterChoice& is_wanted,
         std::vector<PerfCounter>* out) {
  if (is_wanted(name)) out->push_back({std::move(name), type, value});
}

}  // namespace

void PerfCounters::ReadServer(const PerfCounterChoice& is_wanted, size_t open,
                              std::vector<PerfCounter>* out) const {
  uint64_t capacity = 0, available = 0;
  for (const DiskSnapshot& disk : server_.Disks()) {
    // The log home holds no data; older tools add up data directories.
    if (disk.tag == kLogHomeTag) continue;
    capacity += disk.total_bytes >> 20;
    available += disk.available_bytes >> 20;
  }
  const RecoveryReport recovery = server_.RecoveryNow();
  // What is being opened counts as a replica in older versions.
  const size_t opening = recovery.all.replicas - recovery.all.done - recovery.all.failed;
  const auto stub = [&](const char* name, double value) {
    Add(absl::StrCat("replica*eon.replica_stub*", name), kNumber, value, is_wanted, out);
  };
  stub("replica(Count)", static_cast<double>(open + opening));
  stub("opening.replica(Count)", static_cast<double>(opening));
  stub("closing.replica(Count)", 0);  // what closes is not counted above either
  stub("disk.capacity.total(MB)", static_cast<double>(capacity));
  stub("disk.available.total(MB)", static_cast<double>(available));
  stub("disk.available.total.ratio",
       static_cast<double>(capacity == 0 ? 0 : 100 * available / capacity));
  Add("replica*server*memused.res(MB)", kNumber, std::floor(ResidentBytes() / (1 << 20)), is_wanted,
      out);
  Add("replica*server*memused.virt(MB)", kNumber, std::floor(VirtualBytes() / (1 << 20)), is_wanted,
      out);
  Add("replica*app.pegasus*rdb.block_cache.memory_usage", kNumber,
      static_cast<double>(engines_.block_cache().used_bytes), is_wanted, out);
}

std::vector<PerfCounter> PerfCounters::Read(const PerfCounterChoice& is_wanted) const {
  const ReplicaSampler::Sample now = sampler_.Now();
  const ReplicaSampler::SamplePtr then = sampler_.TenSecondsAgo();
  const double seconds = absl::ToDoubleSeconds(now.at - then->at);
  std::vector<PerfCounter> out;
  ReadServer(is_wanted, now.rows.size(), &out);
  // Stands for a replica that was not there then: all that it counted is of the time between.
  const Row nothing{};
  // Each name is built to be judged: choices are functions of the whole name.
  for (const Row& row : now.rows) {
    const std::string at = absl::StrCat("@", row.pid.ToString());
    const Row* before = then->Find(row.pid);
    // One that was closed and opened again counts from 0.
    if (before != nullptr && before->life != row.life) before = nullptr;
    const Two two{row, before == nullptr ? nothing : *before, seconds};
    for (const Definition& one : kOfPartition)
      Add(absl::StrCat("replica*", one.section, "*", one.name, at), one.type, one.of(two),
          is_wanted, &out);
  }
  return out;
}

}  // namespace arion
