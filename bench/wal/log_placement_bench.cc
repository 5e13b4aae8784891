// Private logs against one shared log, closed loop, the same records and the same outstanding: on
// this disk with its cheap flush, and on 2 and 4 emulated disks with flushes of their own.
// Arguments: partitions, outstanding records in all, bytes a record; disks, and MB/s of each (0:
// flushes only).
// shared_log_baseline.h says what the shared log is, emulated_disk.h what the disks are.
//
// Both are measured with files that were written before, those of private logs and, with our method,
// the shared log's; they are prepared while the disks are not limited.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "bench/wal/bench_log.h"
#include "bench/wal/emulated_disk.h"
#include "bench/wal/log_load.h"
#include "bench/wal/shared_log_baseline.h"
#include "posix/posix_environment.h"

namespace arion {
namespace {

// A server's logs, on one real disk (`disks` null) or on several emulated ones.
class PrivateLogs {
 public:
  PrivateLogs(Environment& env, EmulatedEnvironment*, const std::vector<std::string>& directories,
              int partitions, size_t record_bytes)
      : load_(record_bytes), logs_(env, directories, partitions) {
    logs_.AddTo(load_);
  }
  LogLoad<BenchLog>& load() { return load_; }
  double RecordsPerWrite() const { return logs_.RecordsPerWrite(); }

 private:
  LogLoad<BenchLog> load_;
  BenchPrivateLogs logs_;
};

template <SharedLogMethod method>
class SharedLog {
 public:
  SharedLog(Environment& env, EmulatedEnvironment* disks,
            const std::vector<std::string>& directories, int partitions, size_t record_bytes)
      : load_(record_bytes), log_(env, disks, method, directories[0]) {
    const std::vector<std::string> data = DataDirectories(directories);
    for (int i = 0; i < partitions; ++i) {
      SharedLogBaseline::Partition& partition =
          log_.Add(env.NewStrand("partition"),
                   absl::StrCat(data[static_cast<size_t>(i) % data.size()], "/plog", i));
      partition.CountAsBuffered(static_cast<size_t>(i) *
                                SharedLogBaseline::Partition::kBufferedRecordsMax /
                                static_cast<size_t>(partitions));
      load_.Add(partition.strand(), &partition);
    }
  }
  LogLoad<SharedLogBaseline::Partition>& load() { return load_; }
  double RecordsPerWrite() const { return log_.RecordsPerWrite(); }

 private:
  static std::vector<std::string> DataDirectories(const std::vector<std::string>& directories) {
    if (directories.size() == 1) return directories;
    return {directories.begin() + 1, directories.end()};
  }
  LogLoad<SharedLogBaseline::Partition> load_;
  SharedLogBaseline log_;
};

template <class Logs>
void Measure(benchmark::State& state, PosixEnvironment& env, EmulatedEnvironment* disks,
             const std::vector<std::string>& directories) {
  const auto partitions = static_cast<int>(state.range(0));
  const auto outstanding = static_cast<int>(state.range(1));
  const auto record_bytes = static_cast<size_t>(state.range(2));
  Environment& world = disks != nullptr ? static_cast<Environment&>(*disks) : env;
  {
    if (disks != nullptr) disks->Unlimit();
    Logs logs(world, disks, directories, partitions, record_bytes);
    if (disks != nullptr) disks->LimitAgain();
    Histogram warming_up, latency;
    logs.load().RunClosed(outstanding, BenchRunNanos(), warming_up);
    const double emulation = disks != nullptr ? disks->cpu_micros() : 0;
    const CpuSpent begun = CpuSpent::Now();
    int64_t records = 0;
    for (auto _ : state) records += logs.load().RunClosed(outstanding, BenchRunNanos(), latency);
    ReportRecords(state, records, latency, begun);
    state.counters["mean_us"] = latency.Read().Mean() / 1e3;
    state.counters["records_per_write"] = logs.RecordsPerWrite();
    if (disks != nullptr) {
      state.counters["emulation_cpu_us"] =
          (disks->cpu_micros() - emulation) / static_cast<double>(records);
      state.counters["flush_us"] = disks->disk(0).stats().sync_nanos.Read().Mean() / 1e3;
    }
    env.StopLoops();
  }
}

template <class Logs>
void BM_OneDisk(benchmark::State& state) {
  Scratch scratch;
  PosixEnvironment env({});
  Measure<Logs>(state, env, nullptr, {scratch.path()});
}

template <class Logs>
void BM_EmulatedDisks(benchmark::State& state) {
  Scratch scratch;
  PosixEnvironment env({});
  EmulatedEnvironment disks(env, scratch.path(), static_cast<int>(state.range(3)),
                            {.bytes_per_second = state.range(4) * 1'000'000});
  Measure<Logs>(state, env, &disks, disks.directories());
}

using SharedAppend = SharedLog<SharedLogMethod::kAppend>;
using SharedPrewritten = SharedLog<SharedLogMethod::kPrewritten>;

void OneDisk(benchmark::internal::Benchmark* b) {
  b->ArgNames({"partitions", "outstanding", "bytes"});
  for (const int64_t outstanding : {64, 512}) b->Args({8, outstanding, 1024});
  for (const int64_t outstanding : {64, 256, 512, 2048}) b->Args({64, outstanding, 1024});
  b->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_TEMPLATE(BM_OneDisk, PrivateLogs)->Apply(OneDisk);
BENCHMARK_TEMPLATE(BM_OneDisk, SharedAppend)->Apply(OneDisk);
BENCHMARK_TEMPLATE(BM_OneDisk, SharedPrewritten)->Apply(OneDisk);

void EmulatedDisks(benchmark::internal::Benchmark* b) {
  b->ArgNames({"partitions", "outstanding", "bytes", "disks", "mbps"});
  for (const int64_t disks : {2, 4}) {
    b->Args({64, 64, 1024, disks, 200});
    b->Args({64, 512, 1024, disks, 0});
    for (const int64_t partitions : {8, 64})
      for (const int64_t bytes : {1024, 16384}) b->Args({partitions, 512, bytes, disks, 200});
  }
  b->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_TEMPLATE(BM_EmulatedDisks, PrivateLogs)->Apply(EmulatedDisks);
BENCHMARK_TEMPLATE(BM_EmulatedDisks, SharedAppend)->Apply(EmulatedDisks);
BENCHMARK_TEMPLATE(BM_EmulatedDisks, SharedPrewritten)->Apply(EmulatedDisks);

}  // namespace
}  // namespace arion
