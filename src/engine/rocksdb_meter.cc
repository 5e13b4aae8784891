// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_meter.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <array>
#include <atomic>
#include <string>
#include <utility>

#include "engine/rocksdb_database.h"

namespace arion {
namespace {

constexpr int8_t kNotKept = -1;

// By ticker: what it counts here.
constexpr auto kKept = [] {
  std::array<int8_t, rocksdb::TICKER_ENUM_MAX> kept{};
  kept.fill(kNotKept);
  const auto keep = [&](rocksdb::Tickers ticker, EngineCount count) {
    kept[ticker] = static_cast<int8_t>(count);
  };
  keep(rocksdb::BLOCK_CACHE_HIT, EngineCount::kCacheHits);
  keep(rocksdb::BLOCK_CACHE_MISS, EngineCount::kCacheMisses);
  keep(rocksdb::MEMTABLE_HIT, EngineCount::kMemoryHits);
  keep(rocksdb::MEMTABLE_MISS, EngineCount::kMemoryMisses);
  keep(rocksdb::GET_HIT_L0, EngineCount::kLevel0Hits);
  keep(rocksdb::GET_HIT_L1, EngineCount::kLevel1Hits);
  keep(rocksdb::GET_HIT_L2_AND_UP, EngineCount::kDeeperHits);
  keep(rocksdb::BLOOM_FILTER_USEFUL, EngineCount::kFilterNegatives);
  keep(rocksdb::BLOOM_FILTER_FULL_POSITIVE, EngineCount::kFilterPositives);
  keep(rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE, EngineCount::kFilterTruePositives);
  keep(rocksdb::BLOOM_FILTER_PREFIX_CHECKED, EngineCount::kSeekFilterChecks);
  keep(rocksdb::BLOOM_FILTER_PREFIX_USEFUL, EngineCount::kSeekFilterNegatives);
  keep(rocksdb::FLUSH_WRITE_BYTES, EngineCount::kFlushedBytes);
  keep(rocksdb::COMPACT_READ_BYTES, EngineCount::kCompactionReadBytes);
  keep(rocksdb::COMPACT_WRITE_BYTES, EngineCount::kCompactionWrittenBytes);
  return kept;
}();

}  // namespace

// Shared by the meter and by what RocksDB holds of it, because either may end first.
struct RocksdbMeter::Book {
  std::array<std::atomic<uint64_t>, kEngineCounts> values{};
  void Add(EngineCount what, uint64_t n = 1) {
    values[static_cast<size_t>(what)].fetch_add(n, std::memory_order_relaxed);
  }
};

class RocksdbMeter::Tickers : public rocksdb::Statistics {
 public:
  explicit Tickers(std::shared_ptr<Book> book) : book_(std::move(book)) {
    // RocksDB then reads no clock for us.
    set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
  }
  const char* Name() const override { return "arion tickers"; }
  void recordTick(uint32_t ticker, uint64_t n) override {
    // Called within reads and writes, by many threads: one relaxed addition at most.
    if (ticker < kKept.size() && kKept[ticker] != kNotKept)
      book_->Add(static_cast<EngineCount>(kKept[ticker]), n);
  }
  uint64_t getTickerCount(uint32_t ticker) const override {
    if (ticker >= kKept.size() || kKept[ticker] == kNotKept) return 0;
    return book_->values[static_cast<size_t>(kKept[ticker])].load(std::memory_order_relaxed);
  }
  // Nobody of ours sets tickers, or asks for what is not kept.
  void setTickerCount(uint32_t, uint64_t) override {}
  uint64_t getAndResetTickerCount(uint32_t ticker) override { return getTickerCount(ticker); }
  void histogramData(uint32_t, rocksdb::HistogramData* data) const override { *data = {}; }
  void reportTimeToHistogram(uint32_t, uint64_t) override {}
  void recordInHistogram(uint32_t, uint64_t) override {}
  bool HistEnabledForType(uint32_t) const override { return false; }

 private:
  const std::shared_ptr<Book> book_;
};

class RocksdbMeter::Jobs : public rocksdb::EventListener {
 public:
  explicit Jobs(std::shared_ptr<Book> book) : book_(std::move(book)) {}
  // A flush takes both families to disk together; that of the records counts.
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& flush) override {
    if (flush.cf_name == rocksdb::kDefaultColumnFamilyName) book_->Add(EngineCount::kFlushes);
  }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    book_->Add(EngineCount::kCompactions);
  }
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo& stall) override {
    // Each change into such a condition counts, the one back to normal does not.
    if (stall.condition.cur == rocksdb::WriteStallCondition::kDelayed)
      book_->Add(EngineCount::kWriteDelays);
    if (stall.condition.cur == rocksdb::WriteStallCondition::kStopped)
      book_->Add(EngineCount::kWriteStops);
  }

 private:
  const std::shared_ptr<Book> book_;
};

RocksdbMeter::RocksdbMeter() : book_(std::make_shared<Book>()) {}

std::shared_ptr<rocksdb::Statistics> RocksdbMeter::Statistics() const {
  return std::make_shared<Tickers>(book_);
}
std::shared_ptr<rocksdb::EventListener> RocksdbMeter::Listener() const {
  return std::make_shared<Jobs>(book_);
}

void RocksdbMeter::Watch(std::shared_ptr<const Database> database) {
  const MutexLock lock(mutex_);
  database_ = std::move(database);
}

std::array<uint64_t, kEngineCounts> RocksdbMeter::Counts() const {
  std::array<uint64_t, kEngineCounts> counts{};
  for (size_t i = 0; i < kEngineCounts; ++i)
    counts[i] = book_->values[i].load(std::memory_order_relaxed);
  return counts;
}

EngineFigures RocksdbMeter::Read() const {
  EngineFigures figures{.counts = Counts()};
  const MutexLock lock(mutex_);
  // Held while the database is asked: Watch(nullptr) waits for it, and the database goes only
  // after.
  if (database_ == nullptr) return figures;
  rocksdb::DB& db = database_->db();
  rocksdb::ColumnFamilyHandle* const records = database_->data();
  using Properties = rocksdb::DB::Properties;
  const auto number = [&](const std::string& property) {
    uint64_t value = 0;
    // 0 where RocksDB has no such figure.
    return db.GetIntProperty(records, property, &value) ? value : 0;
  };
  for (int level = 0; level < db.NumberLevels(records); ++level) {
    std::string text;
    uint64_t files = 0;
    // Levels are asked by text: RocksDB has no number for them.
    if (!db.GetProperty(records, absl::StrCat(Properties::kNumFilesAtLevelPrefix, level), &text) ||
        !absl::SimpleAtoi(text, &files))
      continue;
    figures.files += files;
    if (level == 0) figures.level0_files = files;
  }
  figures.file_bytes = number(Properties::kLiveSstFilesSize);
  figures.keys = number(Properties::kEstimateNumKeys);
  figures.memory_bytes = number(Properties::kCurSizeAllMemTables);
  figures.reader_bytes = number(Properties::kEstimateTableReadersMem);
  figures.uncompacted_bytes = number(Properties::kEstimatePendingCompactionBytes);
  return figures;
}

}  // namespace arion
