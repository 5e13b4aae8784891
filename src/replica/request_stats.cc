// SPDX-License-Identifier: Apache-2.0
#include "replica/request_stats.h"

namespace arion {
namespace {

template <class T>
T& Made(std::atomic<T*>& slot) {
  T* there = slot.load(std::memory_order_relaxed);  // only this strand stores
  if (there == nullptr) {
    there = new T();
    slot.store(there, std::memory_order_release);
  }
  return *there;
}

void Add(const LatencyBuckets::Totals& more, LatencyBuckets::Totals* totals) {
  for (size_t i = 0; i < LatencyBuckets::kBuckets; ++i) totals->buckets[i] += more.buckets[i];
  totals->count += more.count;
  totals->sum += more.sum;
  totals->max = std::max(totals->max, more.max);
}

void Add(const RequestStats::ByKind& more, RequestStats::ByKind* by_kind) {
  for (const auto& [kind, added] : more) {
    RequestStats::Totals& totals = (*by_kind)[kind];
    Add(added.latency, &totals.latency);
    totals.asked_bytes += added.asked_bytes;
    totals.answered_bytes += added.answered_bytes;
    for (const auto& [code, n] : added.errors) totals.errors[code] += n;
  }
}
void Add(const RequestStats::ByStage& more, RequestStats::ByStage* by_stage) {
  for (size_t i = 0; i < kWriteStages; ++i) Add(more[i], &(*by_stage)[i]);
}

constexpr PartitionId kWholeTable = {0, -1};

}  // namespace

std::string_view RequestKindName(RequestKind kind) {
  static constexpr std::array<std::string_view, kRequestKinds> kNames = {
      "get",  "ttl",           "multi_get",       "batch_get", "sortkey_count",
      "scan", "put",           "remove",          "multi_put", "multi_remove",
      "incr", "check_and_set", "check_and_mutate"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view WriteStageName(WriteStage stage) {
  static constexpr std::array<std::string_view, kWriteStages> kNames = {
      "queue", "log_append", "log_sync", "replicate", "apply", "reply"};
  return kNames[static_cast<size_t>(stage)];
}

RequestStats::~RequestStats() {
  for (std::atomic<Operation*>& operation : operations_) delete operation.load();
  delete stages_.load();
}

void RequestStats::Answered(RequestKind kind, ErrorCode error, int64_t nanos, uint64_t asked_bytes,
                            uint64_t answered_bytes) {
  Operation& operation = Made(operations_[static_cast<size_t>(kind)]);
  operation.latency.Record(nanos);
  operation.asked_bytes.Add(asked_bytes);
  operation.answered_bytes.Add(answered_bytes);
  if (error != ErrorCode::kOk) operation.errors[static_cast<size_t>(error) % kErrorCodes].Add();
}

void RequestStats::Staged(const StageNanos& stages) {
  Stages& all = Made(stages_);
  for (size_t i = 0; i < kWriteStages; ++i) all[i].Record(stages[i]);
}

void RequestStats::AddTo(ByKind* by_kind) const {
  for (size_t i = 0; i < kRequestKinds; ++i) {
    const Operation* operation = operations_[i].load(std::memory_order_acquire);
    if (operation == nullptr) continue;
    Totals& totals = (*by_kind)[static_cast<RequestKind>(i)];
    operation->latency.AddTo(&totals.latency);
    totals.asked_bytes += operation->asked_bytes.value();
    totals.answered_bytes += operation->answered_bytes.value();
    for (size_t code = 0; code < kErrorCodes; ++code)
      if (const uint64_t n = operation->errors[code].value(); n > 0)
        totals.errors[static_cast<ErrorCode>(code)] += n;
  }
}

void RequestStats::AddTo(ByStage* by_stage) const {
  const Stages* stages = stages_.load(std::memory_order_acquire);
  if (stages == nullptr) return;
  for (size_t i = 0; i < kWriteStages; ++i) (*stages)[i].AddTo(&(*by_stage)[i]);
}

std::shared_ptr<RequestStats> RequestBook::Open(PartitionId pid, const std::string& table) {
  auto stats = std::make_shared<RequestStats>(static_cast<uint64_t>(pid.packed()));
  const std::lock_guard lock(mutex_);
  TableEntry& entry = tables_[pid.app_id];
  entry.name = table;
  entry.partitions[pid.index] = stats;
  return stats;
}

void RequestBook::Rename(int32_t app_id, const std::string& table) {
  const std::lock_guard lock(mutex_);
  tables_[app_id].name = table;
}

void RequestBook::Close(PartitionId pid, const std::shared_ptr<RequestStats>& stats) {
  const std::lock_guard lock(mutex_);
  TableEntry& entry = tables_[pid.app_id];
  stats->AddTo(&entry.gone_by_kind);
  stats->AddTo(&entry.gone_by_stage);
  const auto it = entry.partitions.find(pid.index);
  if (it != entry.partitions.end() && it->second == stats) entry.partitions.erase(it);
}

// Tables of one name, as one that was dropped and made again, are one.
std::vector<RequestBook::Row> RequestBook::Read(Level level) const {
  std::map<std::pair<std::string, PartitionId>, Row> rows;
  const std::lock_guard lock(mutex_);
  for (const auto& [app_id, entry] : tables_) {
    const auto row_of = [&rows, &entry](PartitionId pid) -> Row& {
      Row& row = rows[{entry.name, pid}];
      row.table = entry.name;
      row.pid = pid;
      return row;
    };
    if (level == Level::kTable) {
      Row& row = row_of(kWholeTable);
      Add(entry.gone_by_kind, &row.by_kind);
      Add(entry.gone_by_stage, &row.by_stage);
    }
    for (const auto& [index, stats] : entry.partitions) {
      Row& row = row_of(level == Level::kTable ? kWholeTable : PartitionId{app_id, index});
      stats->AddTo(&row.by_kind);
      stats->AddTo(&row.by_stage);
    }
  }
  std::vector<Row> all;
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  return all;
}

std::vector<RequestBook::HotKey> RequestBook::ReadHotKeys(Instant now) const {
  constexpr size_t kOfReplica = 10;
  std::vector<HotKey> keys;
  const std::lock_guard lock(mutex_);
  for (const auto& [app_id, entry] : tables_)
    for (const auto& [index, stats] : entry.partitions)
      for (HotKeys::Hot& hot : stats->hot_keys().Top(kOfReplica, now))
        keys.push_back({entry.name, {app_id, index}, std::move(hot)});
  std::stable_sort(keys.begin(), keys.end(), [](const HotKey& a, const HotKey& b) {
    return a.hot.per_second > b.hot.per_second;
  });
  return keys;
}

}  // namespace arion
