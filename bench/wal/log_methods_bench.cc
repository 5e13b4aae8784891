// The methods of wal/raw_log.h side by side, closed loop: what each way of making log writes
// durable can do on this disk. Arguments: logs, outstanding records in all, bytes a record.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "bench/wal/bench_log.h"
#include "bench/wal/raw_log.h"

namespace arion {
namespace {

template <class Loop, RawMethod method>
void BM_Method(benchmark::State& state) {
  const auto outstanding = static_cast<int>(state.range(1));
  Scratch scratch;
  Loop loop(scratch.path(), static_cast<int>(state.range(0)), static_cast<size_t>(state.range(2)),
            method);
  Histogram warming_up, latency;
  loop.RunClosed(outstanding, BenchWarmUpNanos(), warming_up);
  const CpuSpent begun = CpuSpent::Now();
  int64_t records = 0;
  for (auto _ : state) records += loop.RunClosed(outstanding, BenchRunNanos(), latency);
  ReportRecords(state, records, latency, begun);
  state.SetLabel(RawMethodName(method));
}

void Shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"logs", "outstanding", "bytes"});
  for (const int64_t logs : {1, 8, 64})
    for (const int64_t bytes : {128, 1024, 16384}) b->Args({logs, 64, bytes});
  b->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_TEMPLATE(BM_Method, RawThreads, RawMethod::kPageCache)->Apply(Shapes);
BENCHMARK_TEMPLATE(BM_Method, RawThreads, RawMethod::kAppend)->Apply(Shapes);
BENCHMARK_TEMPLATE(BM_Method, RawThreads, RawMethod::kDirectDsync)->Apply(Shapes);
BENCHMARK_TEMPLATE(BM_Method, RawRing, RawMethod::kRingDsync)->Apply(Shapes);
BENCHMARK_TEMPLATE(BM_Method, RawRing, RawMethod::kRingSharedFlush)->Apply(Shapes);

}  // namespace
}  // namespace arion
