// crash_test: constructs the crash states of the private log's workloads and judges each (goal:
// bench/RESULTS.md G8; tests/crash/README.md). The last line says how many there were.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>
#include <gflags/gflags.h>
#include <time.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/log.h"
#include "tests/crash/enumeration.h"
#include "tests/crash/faults.h"
#include "tests/crash/workloads.h"

DEFINE_uint64(states, 200000, "distinct crash states to try at least");
DEFINE_uint64(seed, 1, "the first seed; rounds of all workloads follow until there are enough");
DEFINE_string(workload, "", "only this one");
DEFINE_string(only, "", "WORKLOAD:SEED[:PREFIX:STATE[:PREFIX:STATE]]: just this, told in full");
DEFINE_bool(stop_at_first, false, "stop after the first recording with a violation");
DEFINE_bool(verbose, false, "what the log itself says; a line for each recording");

namespace arion::crash {
namespace {

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void RunOne(const Workload& workload, uint64_t seed, const std::string& only, Tally* tally) {
  EnumerationOptions options;
  options.name = absl::StrFormat("%s:%d", workload.name, seed);
  options.only = only;
  const auto before = tally->total();
  const double cpu = CpuSeconds();
  const auto recording = workload.record(seed, {});
  Enumeration(*recording, options, *tally).Run();
  if (FLAGS_verbose)
    absl::PrintF("%s: %d operations, %d mutations, %d states, %.1f s\n", options.name,
                 recording->ops().size(), recording->mutations().count(), tally->total() - before,
                 CpuSeconds() - cpu);
}

// "appends:3:17:4": the workload, its seed, and what is left. "appends:3@sync7:..": with a fault.
void RunOnly(Tally* tally) {
  FaultTally places;
  const std::vector<std::string> parts = absl::StrSplit(FLAGS_only, absl::MaxSplits(':', 2));
  for (const Workload& workload : Workloads())
    if (parts.size() > 1 && workload.name == parts[0]) {
      if (parts[1].find('@') != std::string::npos)
        TryFaults(workload, std::stoull(parts[1]), FLAGS_only, tally, &places);
      else
        RunOne(workload, std::stoull(parts[1]), parts.size() > 2 ? parts[2] : "", tally);
    }
}

int Run() {
  Tally tally;
  FaultTally places;
  if (!FLAGS_only.empty()) {
    RunOnly(&tally);
  } else {
    for (const Workload& workload : Workloads())
      if (FLAGS_workload.empty() || workload.name == FLAGS_workload)
        TryFaults(workload, FLAGS_seed, "", &tally, &places);
    const auto is_enough = [&] { return FLAGS_stop_at_first && tally.violations > 0; };
    for (uint64_t seed = FLAGS_seed; tally.total() < FLAGS_states && !is_enough(); ++seed) {
      for (const Workload& workload : Workloads())
        if ((FLAGS_workload.empty() || workload.name == FLAGS_workload) && !is_enough())
          RunOne(workload, seed, "", &tally);
    }
  }
  absl::PrintF("%-24s %10s\n", "kind", "states");
  for (size_t i = 0; i < kOrigins; ++i)
    absl::PrintF("%-24s %10d\n", OriginName(static_cast<Origin>(i)), tally.states[i]);
  absl::PrintF("%d writes and %d syncs failed, the disk was full at %d places\n", places.writes,
               places.syncs, places.full);
  absl::PrintF("%d recoveries, %.1f CPU s\n", tally.recoveries, CpuSeconds());
  absl::PrintF("crash states: %d, violations: %d\n", tally.total(), tally.violations);
  return tally.violations == 0 ? 0 : 1;
}

}  // namespace
}  // namespace arion::crash

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = FLAGS_verbose || !FLAGS_only.empty() ? 0 : google::GLOG_FATAL;
  return arion::crash::Run();
}
