// CPU of one Apply and one Get (1000-byte values), in memory and in RocksDB. Wall time says little:
// flushes and compactions run beside. SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/log.h"
#include "base/raw_key.h"
#include "engine/memory_engine.h"
#include "engine/rocksdb_engine.h"
#include "posix/posix_environment.h"

namespace arion {
namespace {

constexpr int kKeys = 100000;
constexpr size_t kValueBytes = 1000;

// An engine in a directory of its own.
class Bench {
 public:
  template <class Factory>
  static Bench Make(size_t value_bytes = kValueBytes, int keys = kKeys) {
    Bench bench(value_bytes, keys);
    bench.factory_ = std::make_unique<Factory>(*bench.environment_);
    auto engine = bench.factory_->Open(bench.root_ + "/data");
    CHECK(engine.ok()) << engine.status();
    bench.engine_ = *std::move(engine);
    return bench;
  }
  Bench(Bench&&) = default;
  ~Bench() {
    engine_.reset();
    if (!root_.empty() && environment_ != nullptr) std::filesystem::remove_all(root_);
  }

  Engine& engine() { return *engine_; }
  // One mutation of `ops` puts.
  void Put(int ops) {
    puts_.clear();
    keys_.clear();
    for (int i = 0; i < ops; ++i) keys_.push_back(Key(next_++));
    for (const std::string& key : keys_) puts_.push_back({.key = key, .value = value_});
    CHECK(engine_->Apply(engine_->last_applied() + 1, 1, puts_).ok());
  }
  std::string Key(int64_t i) const {
    return JoinRawKey("user" + std::to_string(i * 7919 % key_count_), "f");
  }

 private:
  Bench(size_t value_bytes, int keys) : value_(value_bytes, 'v'), key_count_(keys) {
    std::string name = (std::filesystem::temp_directory_path() / "arion_bench.XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr);
    root_ = name;
  }

  std::string root_;
  std::unique_ptr<PosixEnvironment> environment_ =
      std::make_unique<PosixEnvironment>(PosixEnvironmentOptions{.event_loop_threads = 1});
  std::unique_ptr<EngineFactory> factory_;
  std::unique_ptr<Engine> engine_;
  const std::string value_;
  const int64_t key_count_;
  std::vector<std::string> keys_;
  std::vector<WriteOp> puts_;
  int next_ = 0;
};

template <class Factory>
void BM_Apply(benchmark::State& state) {
  Bench bench = Bench::Make<Factory>();
  const int ops = static_cast<int>(state.range(0));
  for (auto _ : state) bench.Put(ops);
  state.SetItemsProcessed(state.iterations() * ops);
}

template <class Factory>
void BM_Get(benchmark::State& state) {
  Bench bench = Bench::Make<Factory>();
  for (int i = 0; i < kKeys; i += 100) bench.Put(100);
  if (state.range(0) != 0) CHECK(bench.engine().Flush().ok());
  int i = 0;
  for (auto _ : state) {
    auto record = bench.engine().Get(bench.Key(i++ % kKeys), 1, ReadTier::kAll);
    CHECK(record.ok());
    benchmark::DoNotOptimize(record->value.data());
  }
  state.SetItemsProcessed(state.iterations());
}

// Of so many records of 100 bytes, flushed: how much deeper trees cost, whoever asks.
template <class Factory>
void BM_GetOf(benchmark::State& state) {
  Bench bench = Bench::Make<Factory>(100, static_cast<int>(state.range(0)));
  for (int64_t i = 0; i < state.range(0); i += 100) bench.Put(100);
  CHECK(bench.engine().Flush().ok());
  uint64_t i = 0;
  for (auto _ : state) {
    const uint64_t record = i++ * 2654435761 % static_cast<uint64_t>(state.range(0));
    auto read = bench.engine().Get(bench.Key(static_cast<int64_t>(record)), 1, ReadTier::kAll);
    CHECK(read.ok());
    benchmark::DoNotOptimize(read->value.data());
  }
  state.SetItemsProcessed(state.iterations());
}

// Updates in a mutation; then: 0 from memory, 1 flushed to files before.
BENCHMARK(BM_Apply<MemoryEngineFactory>)->Arg(1)->Arg(16);
BENCHMARK(BM_Apply<RocksdbEngineFactory>)->Arg(1)->Arg(16);
BENCHMARK(BM_Get<MemoryEngineFactory>)->Arg(0);
BENCHMARK(BM_Get<RocksdbEngineFactory>)->Arg(0)->Arg(1);
// Records; ten million take a minute to write.
BENCHMARK(BM_GetOf<RocksdbEngineFactory>)->Arg(10000)->Arg(100000)->Arg(1000000)->Arg(10000000);

}  // namespace
}  // namespace arion
