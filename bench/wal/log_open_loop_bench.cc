// Open loop at half of capacity: records arrive by a Poisson process fixed beforehand, whatever the
// log does, and latency counts from when they were due. Arguments: logs, bytes a record, durable or
// page cache (the private log alone), event loops (the ring is one thread).
//
// Shapes    Capacity: the smaller closed-loop rate (64 outstanding) of PrivateLog and MinimalLog,
//           measured once per shape, so that all have the same arrivals at every repetition; of
//           PrivateLog alone for the page cache.
//           PrivateLog and MinimalLog get theirs from timers of their strands, RawRing from its own
//           loop's timeout. ArrivalsOnly runs the same timers and answers at once: what the load
//           itself costs.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <map>
#include <tuple>

#include "bench/wal/bench_log.h"
#include "bench/wal/log_load.h"
#include "bench/wal/minimal_log.h"
#include "bench/wal/raw_log.h"
#include "posix/posix_environment.h"
#include "wal/private_log.h"

namespace arion {
namespace {

struct NoLog {
  void Append(const MutationPtr&, PrivateLog::DurableCallback on_durable) {
    on_durable(absl::OkStatus());
  }
};

// One kind of log with its load, in a directory of its own.
template <class Log>
struct Bed;

template <>
struct Bed<BenchLog> {
  Bed(const std::string& directory, int loops, int logs, size_t bytes, Durability durability)
      : env({.event_loop_threads = loops}),
        load(bytes),
        private_logs(env, {directory}, logs, durability) {
    private_logs.AddTo(load);
  }
  ~Bed() { env.StopLoops(); }
  double RecordsPerWrite() const { return private_logs.RecordsPerWrite(); }
  PosixEnvironment env;
  LogLoad<BenchLog> load;
  BenchPrivateLogs private_logs;
};

template <>
struct Bed<MinimalLog> {
  Bed(const std::string& directory, int loops, int logs, size_t bytes, Durability)
      : env({.event_loop_threads = loops}), load(bytes), device(env.log_device(directory)) {
    for (int i = 0; i < logs; ++i) {
      all.push_back(std::make_unique<MinimalLog>(
          device, env.NewStrand("log"), absl::StrCat(directory, "/", i), RawFileBytes(logs)));
      load.Add(all.back()->strand(), all.back().get());
    }
  }
  ~Bed() { env.StopLoops(); }
  double RecordsPerWrite() const { return device.stats().records_per_write.Read().Mean(); }
  PosixEnvironment env;
  LogLoad<MinimalLog> load;
  LogDevice& device;
  std::vector<std::unique_ptr<MinimalLog>> all;
};

template <>
struct Bed<NoLog> {
  Bed(const std::string&, int loops, int logs, size_t bytes, Durability)
      : env({.event_loop_threads = loops}), load(bytes) {
    for (int i = 0; i < logs; ++i) load.Add(env.NewStrand("log"), &no_log);
  }
  ~Bed() { env.StopLoops(); }
  double RecordsPerWrite() const { return 0; }
  PosixEnvironment env;
  LogLoad<NoLog> load;
  NoLog no_log;
};

template <class Log>
double ClosedLoopRate(int loops, int logs, size_t bytes, Durability durability) {
  Scratch scratch;
  Bed<Log> bed(scratch.path(), loops, logs, bytes, durability);
  Histogram unused;
  bed.load.RunClosed(64, BenchWarmUpNanos(), unused);
  const int64_t begun = BenchNanos();
  const int64_t records = bed.load.RunClosed(64, BenchRunNanos(), unused);
  return static_cast<double>(records) * 1e9 / static_cast<double>(BenchNanos() - begun);
}

double HalfOfCapacity(int loops, int logs, size_t bytes, Durability durability) {
  static std::map<std::tuple<int, int, size_t, Durability>, double> known;
  double& rate = known[{loops, logs, bytes, durability}];
  if (rate > 0) return rate;
  rate = ClosedLoopRate<BenchLog>(loops, logs, bytes, durability) / 2;
  if (durability == Durability::kFsync)
    rate = std::min(rate, ClosedLoopRate<MinimalLog>(loops, logs, bytes, durability) / 2);
  return rate;
}

void Report(benchmark::State& state, const Arrivals& arrivals, double rate,
            const Histogram& latency, const CpuSpent& begun, double records_per_write) {
  ReportRecords(state, CountArrivals(arrivals), latency, begun);
  state.counters["rate"] = rate;
  state.counters["records_per_write"] = records_per_write;
}

template <class Log>
void BM_OpenLoop(benchmark::State& state) {
  const auto logs = static_cast<int>(state.range(0));
  const auto bytes = static_cast<size_t>(state.range(1));
  const Durability durability = state.range(2) != 0 ? Durability::kFsync : Durability::kOs;
  const auto loops = static_cast<int>(state.range(3));
  const double rate = HalfOfCapacity(loops, logs, bytes, durability);
  Scratch scratch;
  Bed<Log> bed(scratch.path(), loops, logs, bytes, durability);
  Histogram warming_up, latency;
  bed.load.RunOpen(PoissonArrivals(logs, rate, BenchWarmUpNanos()), warming_up);
  const Arrivals arrivals = PoissonArrivals(logs, rate, BenchRunNanos());
  const CpuSpent begun = CpuSpent::Now();
  for (auto _ : state) bed.load.RunOpen(arrivals, latency);
  Report(state, arrivals, rate, latency, begun, bed.RecordsPerWrite());
}

void BM_OpenLoopRawRing(benchmark::State& state) {
  const auto logs = static_cast<int>(state.range(0));
  const auto bytes = static_cast<size_t>(state.range(1));
  const double rate = HalfOfCapacity(/*loops=*/1, logs, bytes, Durability::kFsync);
  Scratch scratch;
  RawRing ring(scratch.path(), logs, bytes, RawMethod::kRingSharedFlush);
  Histogram warming_up, latency;
  ring.RunOpen(PoissonArrivals(logs, rate, BenchWarmUpNanos()), warming_up);
  const Arrivals arrivals = PoissonArrivals(logs, rate, BenchRunNanos());
  const CpuSpent begun = CpuSpent::Now();
  for (auto _ : state) ring.RunOpen(arrivals, latency);
  Report(state, arrivals, rate, latency, begun, ring.RecordsPerWrite());
}

template <int durable, int loops>
void Shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"logs", "bytes", "durable", "loops"});
  for (const int64_t logs : {1, 8, 64})
    for (const int64_t bytes : {128, 1024, 16384}) b->Args({logs, bytes, durable, loops});
  b->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_TEMPLATE(BM_OpenLoop, BenchLog)->Apply(Shapes<1, 1>)->Apply(Shapes<1, 2>);
BENCHMARK_TEMPLATE(BM_OpenLoop, MinimalLog)->Apply(Shapes<1, 1>)->Apply(Shapes<1, 2>);
BENCHMARK(BM_OpenLoopRawRing)->Apply(Shapes<1, 1>);
BENCHMARK_TEMPLATE(BM_OpenLoop, NoLog)->Apply(Shapes<1, 1>)->Apply(Shapes<1, 2>);
BENCHMARK_TEMPLATE(BM_OpenLoop, BenchLog)->Apply(Shapes<0, 2>);

}  // namespace
}  // namespace arion
