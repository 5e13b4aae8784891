// SPDX-License-Identifier: Apache-2.0
#include "stats/request_stats.h"

namespace arion {
namespace {

// A counter block that is made when first used. Most replicas never see most kinds of requests.
template <class T>
T& Made(std::atomic<T*>& slot) {
  T* there = slot.load(std::memory_order_relaxed);  // only this strand stores
  if (there == nullptr) {
    there = new T();
    slot.store(there, std::memory_order_release);
  }
  return *there;
}

void Add(const RequestStats::ByKind& more, RequestStats::ByKind* by_kind) {
  for (const auto& [kind, added] : more) {
    RequestStats::Totals& totals = (*by_kind)[kind];
    totals.latency.Add(added.latency);
    totals.asked_bytes += added.asked_bytes;
    totals.answered_bytes += added.answered_bytes;
    totals.capacity_units += added.capacity_units;
    for (const auto& [code, n] : added.errors) totals.errors[code] += n;
  }
}
void Add(const RequestStats::ByStage& more, RequestStats::ByStage* by_stage) {
  for (size_t i = 0; i < kWriteStages; ++i) (*by_stage)[i].Add(more[i]);
}

template <size_t N>
void Add(const std::array<uint64_t, N>& more, std::array<uint64_t, N>* sums) {
  for (size_t i = 0; i < N; ++i) (*sums)[i] += more[i];
}

// The partition of rows that stand for a table or for the whole server.
constexpr PartitionId kWholeTable = {0, -1};

}  // namespace

std::string_view RequestKindName(RequestKind kind) {
  static constexpr std::array<std::string_view, kRequestKinds> kNames = {
      "get",          "ttl",  "multi_get",     "batch_get",        "sortkey_count",
      "scan",         "find", "put",           "remove",           "multi_put",
      "multi_remove", "incr", "check_and_set", "check_and_mutate", "duplicate"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view WriteStageName(WriteStage stage) {
  static constexpr std::array<std::string_view, kWriteStages> kNames = {
      "queue", "log_append", "log_sync", "replicate", "apply", "reply"};
  return kNames[static_cast<size_t>(stage)];
}

RequestStats::~RequestStats() {
  for (std::atomic<Operation*>& operation : operations_) delete operation.load();
  // The destructor runs when the last holder has let go, so no thread counts any more.
  delete stages_.load();
  delete duplicate_lag_.load();
}

void RequestStats::Answered(RequestKind kind, ErrorCode error, int64_t nanos, uint64_t asked_bytes,
                            uint64_t answered_bytes) {
  Operation& operation = Made(operations_[static_cast<size_t>(kind)]);
  operation.latency.Record(nanos);
  operation.asked_bytes.Add(asked_bytes);
  operation.answered_bytes.Add(answered_bytes);
  operation.requests.Add();
  if (error == ErrorCode::kOk) {
    // A read is billed by what it returns, a write by what it brings; errors are free.
    const uint64_t bytes = IsWrite(kind) ? asked_bytes : answered_bytes;
    operation.capacity_units.Add((bytes + kCapacityUnitBytes - 1) / kCapacityUnitBytes);
  }
  if (error != ErrorCode::kOk) operation.errors[static_cast<size_t>(error) % kErrorCodes].Add();
}

void RequestStats::Staged(const StageNanos& stages) {
  Stages& all = Made(stages_);
  for (size_t i = 0; i < kWriteStages; ++i) all[i].Record(stages[i]);
}

void RequestStats::Duplicated(int64_t nanos) { Made(duplicate_lag_).Record(nanos); }

void RequestStats::AddTo(ByKind* by_kind) const {
  for (size_t i = 0; i < kRequestKinds; ++i) {
    const Operation* operation = operations_[i].load(std::memory_order_acquire);
    if (operation == nullptr) continue;
    Totals& totals = (*by_kind)[static_cast<RequestKind>(i)];
    operation->latency.AddTo(&totals.latency);
    totals.asked_bytes += operation->asked_bytes.value();
    totals.answered_bytes += operation->answered_bytes.value();
    totals.capacity_units += operation->capacity_units.value();
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

void RequestStats::AddDuplicateLagTo(LatencyBuckets::Totals* lag) const {
  const LatencyBuckets* counted = duplicate_lag_.load(std::memory_order_acquire);
  if (counted != nullptr) counted->AddTo(lag);
}

void RequestStats::AddTo(LoadByKind* loads) const {
  for (size_t i = 0; i < kRequestKinds; ++i) {
    const Operation* operation = operations_[i].load(std::memory_order_acquire);
    if (operation == nullptr) continue;
    Load& load = (*loads)[i];
    load.requests += operation->requests.value();
    load.asked_bytes += operation->asked_bytes.value();
    load.answered_bytes += operation->answered_bytes.value();
    load.capacity_units += operation->capacity_units.value();
  }
}

void RequestBook::Sums::Add(const Sums& more) {
  arion::Add(more.by_kind, &by_kind);
  arion::Add(more.by_stage, &by_stage);
  duplicate_lag.Add(more.duplicate_lag);
  arion::Add(more.counts, &counts);
  arion::Add(more.engine_counts, &engine_counts);
}

void RequestBook::Sums::Add(const RequestStats& stats) {
  stats.AddTo(&by_kind);
  stats.AddTo(&by_stage);
  stats.AddDuplicateLagTo(&duplicate_lag);
  arion::Add(stats.figures().ReadCounts(), &counts);
  arion::Add(stats.figures().ReadEngineCounts(), &engine_counts);
}

std::shared_ptr<RequestStats> RequestBook::Open(PartitionId pid, const std::string& table) {
  // The partition's id as the seed: a simulated run samples the same requests each time.
  auto stats = std::make_shared<RequestStats>(static_cast<uint64_t>(pid.packed()));
  const MutexLock lock(mutex_);
  TableEntry& entry = tables_[pid.app_id];
  entry.name = table;
  // A replica that is opened again replaces its earlier counters here; Close adds the earlier ones
  // to the sums by their own pointer.
  entry.partitions[pid.index] = stats;
  entry.empty_since.reset();
  return stats;
}

void RequestBook::Rename(int32_t app_id, const std::string& table) {
  const MutexLock lock(mutex_);
  tables_[app_id].name = table;
}

void RequestBook::Close(PartitionId pid, const std::shared_ptr<RequestStats>& stats) {
  const MutexLock lock(mutex_);
  TableEntry& entry = tables_[pid.app_id];
  // Before it goes, so that a table's sums never fall.
  entry.gone.Add(*stats);
  // The partition may be open again by now with other counters, which must stay.
  const auto it = entry.partitions.find(pid.index);
  if (it != entry.partitions.end() && it->second == stats) entry.partitions.erase(it);
}

void RequestBook::ForgetGone(Instant now) {
  const MutexLock lock(mutex_);
  for (auto it = tables_.begin(); it != tables_.end();) {
    TableEntry& entry = it->second;
    // Only this function sees a table become empty, so the time counts from its first call after
    // that.
    if (!entry.partitions.empty())
      entry.empty_since.reset();
    else if (!entry.empty_since)
      entry.empty_since = now;
    const bool is_due = entry.empty_since && now - *entry.empty_since >= kKeep;
    if (is_due) forgotten_.Add(entry.gone);
    it = is_due ? tables_.erase(it) : std::next(it);
  }
}

std::vector<RequestBook::Member> RequestBook::Members() const {
  const MutexLock lock(mutex_);
  return MembersLocked();
}

std::vector<RequestBook::Member> RequestBook::MembersLocked() const {
  std::vector<Member> members;
  for (const auto& [app_id, entry] : tables_)
    for (const auto& [index, stats] : entry.partitions)
      members.push_back({entry.name, {app_id, index}, stats});
  return members;
}

// First the sums of replicas that are gone, under the lock; then the open ones without it, because
// replicas' strands take the lock too. Tables of one name, such as one that was dropped and made
// again, become one row.
std::vector<RequestBook::Row> RequestBook::Read(Level level) const {
  std::map<std::pair<std::string, PartitionId>, Row> rows;
  const auto row_of = [&rows](const std::string& table, PartitionId pid) -> Row& {
    const auto [it, is_new] = rows.try_emplace({table, pid});
    if (is_new) {
      it->second.table = table;
      it->second.pid = pid;
    }
    return it->second;
  };
  std::vector<Member> members;
  {
    const MutexLock lock(mutex_);
    members = MembersLocked();
    // What tables left behind has no table any more, so only the server's row shows it.
    if (level == Level::kServer) row_of("", kWholeTable).Add(forgotten_);
    for (const auto& [app_id, entry] : tables_)
      if (level != Level::kPartition)
        row_of(level == Level::kTable ? entry.name : "", kWholeTable).Add(entry.gone);
  }
  for (const Member& member : members)
    row_of(level == Level::kServer ? "" : member.table,
           level == Level::kPartition ? member.pid : kWholeTable)
        .Add(*member.stats);
  std::vector<Row> all;
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  return all;
}

std::vector<RequestBook::HotKey> RequestBook::ReadHotKeys(Instant now) const {
  constexpr size_t kOfReplica = 10;
  std::vector<HotKey> keys;
  for (const Member& member : Members())
    for (HotKeys::Hot& hot : member.stats->hot_keys().Top(kOfReplica, now))
      keys.push_back({member.table, member.pid, std::move(hot)});
  // Stable: within one rate the order of tables and partitions stays.
  std::stable_sort(keys.begin(), keys.end(), [](const HotKey& a, const HotKey& b) {
    return a.hot.per_second > b.hot.per_second;
  });
  return keys;
}

}  // namespace arion
