// Appends, closed loop: PrivateLog beside a raw loop that writes, copies and checksums the same
// bytes through the same device. Arguments: logs, outstanding records in all, bytes a record,
// durable or page cache, event loops. TMPDIR chooses the disk. For medians: report.py.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "bench/wal/bench_log.h"
#include "posix/posix_environment.h"

namespace arion {
namespace {

constexpr int64_t kRecordsPerIteration = 20000;

template <class Loop>
void BM_Closed(benchmark::State& state) {
  Scratch scratch;
  PosixEnvironment env({.event_loop_threads = static_cast<int>(state.range(4))});
  Loop loop(env, {scratch.path()},
            {.logs = static_cast<int>(state.range(0)),
             .outstanding = static_cast<int>(state.range(1)),
             .record_bytes = static_cast<size_t>(state.range(2)),
             .durability = state.range(3) != 0 ? Durability::kFsync : Durability::kOs});
  Histogram warming_up, latency;
  loop.Run(kRecordsPerIteration / 4, warming_up);
  const CpuSpent begun = CpuSpent::Now();
  const LogDeviceStats& device = env.log_device(scratch.path()).stats();
  const DeviceWork work = DeviceWork::Of(device);
  for (auto _ : state) loop.Run(kRecordsPerIteration, latency);
  ReportRecords(state, state.iterations() * kRecordsPerIteration, latency, begun);
  ReportDeviceWork(state, state.iterations() * kRecordsPerIteration, device, work);
  state.SetLabel(loop.method());
  env.StopLoops();
}

void Shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"logs", "outstanding", "bytes", "durable", "loops"});
  for (const int64_t logs : {1, 8, 64})
    for (const int64_t bytes : {128, 1024, 16384}) {
      b->Args({logs, 64, bytes, /*durable=*/1, /*loops=*/1});
      b->Args({logs, 64, bytes, /*durable=*/1, /*loops=*/2});
      b->Args({logs, 64, bytes, /*durable=*/0, /*loops=*/2});
    }
  b->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_TEMPLATE(BM_Closed, PrivateLogLoop)->Apply(Shapes);
BENCHMARK_TEMPLATE(BM_Closed, RawLoop)->Apply(Shapes);

}  // namespace
}  // namespace arion
