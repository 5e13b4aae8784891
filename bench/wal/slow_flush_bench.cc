// A private log beside the raw loop on one disk whose flush takes 1 ms (emulated_disk.h), closed
// loop. Arguments: logs, outstanding records in all, bytes a record.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "bench/wal/bench_log.h"
#include "bench/wal/emulated_disk.h"
#include "bench/wal/log_load.h"
#include "posix/posix_environment.h"

namespace arion {
namespace {

template <class Loop>
void BM_SlowFlush(benchmark::State& state) {
  Scratch scratch;
  PosixEnvironment env({});
  EmulatedEnvironment disk(env, scratch.path(), 1, {});
  Loop loop(disk, disk.directories(),
            {.logs = static_cast<int>(state.range(0)),
             .outstanding = static_cast<int>(state.range(1)),
             .record_bytes = static_cast<size_t>(state.range(2))});
  // About half a second for both: a record takes one to two flushes.
  const int64_t records =
      std::max<int64_t>(state.range(1), BenchRunNanos() * state.range(1) / 2'000'000);
  Histogram warming_up, latency;
  loop.Run(records / 4, warming_up);
  const CpuSpent begun = CpuSpent::Now();
  const double emulation = disk.cpu_micros();
  for (auto _ : state) loop.Run(records, latency);
  ReportRecords(state, records, latency, begun);
  state.counters["emulation_cpu_us"] =
      (disk.cpu_micros() - emulation) / static_cast<double>(records);
  state.SetLabel(loop.method());
  env.StopLoops();
}

void Shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"logs", "outstanding", "bytes"});
  for (const int64_t logs : {1, 8, 64})
    for (const int64_t outstanding : {64, 512}) b->Args({logs, outstanding, 1024});
  b->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_TEMPLATE(BM_SlowFlush, PrivateLogLoop)->Apply(Shapes);
BENCHMARK_TEMPLATE(BM_SlowFlush, RawLoop)->Apply(Shapes);

}  // namespace
}  // namespace arion
