// sim: runs seeds of the simulated cluster and says what was violated. tools/dev/sim builds and
// calls it.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_format.h>
#include <gflags/gflags.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "sim/sim_cluster.h"
#include "sim/sim_environment.h"

DEFINE_uint64(seeds, 10, "how many seeds to run");
DEFINE_uint64(first, 1, "the first seed");
DEFINE_int32(jobs, 1, "processes that share the seeds");
DEFINE_int32(replicas, 3, "replica servers");
DEFINE_int32(partitions, 2, "partitions of the table");
DEFINE_double(minutes, 2, "simulated minutes with faults, of each seed");
DEFINE_bool(calm, false, "no faults");
DEFINE_bool(verbose, false, "print what the servers log, and a summary of each seed");
DEFINE_bool(stop_at_first, false, "stop at the first seed with a violation");
DEFINE_int64(writes_min, 50, "acknowledged writes below which a seed fails");

namespace arion::sim {
namespace {

// What one process found, as it goes through a pipe.
struct Tally {
  uint64_t seeds = 0;
  uint64_t violations = 0;
  double simulated_seconds = 0;
  int64_t writes = 0;
};

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

const SimWorld* running_world = nullptr;

// What the servers log, led by the simulated time and the node.
class SimLog : public google::LogSink {
 public:
  void send(google::LogSeverity severity, const char*, const char* file, int, const struct ::tm*,
            const char* message, size_t size) override {
    if (running_world == nullptr) return;
    const SimNode* node = running_world->current_node();
    printf("%11.6f %-8s %c %.*s\n", static_cast<double>(running_world->now().nanos()) / 1e9,
           node == nullptr ? "" : node->name().c_str(), google::GetLogSeverityName(severity)[0],
           static_cast<int>(size), message);
  }
};

RunReport RunSeed(uint64_t seed) {
  SimClusterOptions options;
  options.seed = seed;
  options.replicas = FLAGS_replicas;
  options.partitions = FLAGS_partitions;
  options.run_length = absl::Minutes(FLAGS_minutes);
  options.faults = FLAGS_calm ? FaultMix::None() : FaultMix::Swarm(seed);
  options.acknowledged_writes_min = FLAGS_writes_min;
  SimCluster cluster(options);
  running_world = &cluster.world();
  RunReport report = cluster.Run();
  running_world = nullptr;
  return report;
}

// A failed CHECK ends the process: the seed must be known by then.
uint64_t running_seed = 0;
void SayWhichSeed(int) {
  char line[128];
  int n = snprintf(
      line, sizeof(line),
      "sim: seed %llu ended the process; replay: tools/dev/sim --seeds 1 --first %llu\n",
      static_cast<unsigned long long>(running_seed), static_cast<unsigned long long>(running_seed));
  (void)!write(STDOUT_FILENO, line, static_cast<size_t>(n));
  _exit(3);
}

Tally RunShare(uint64_t first, uint64_t step) {
  Tally tally;
  for (uint64_t i = first; i < FLAGS_seeds; i += step) {
    running_seed = FLAGS_first + i;
    RunReport report = RunSeed(running_seed);
    ++tally.seeds;
    tally.violations += report.violations.size();
    tally.simulated_seconds += absl::ToDoubleSeconds(report.simulated);
    tally.writes += report.acknowledged_writes;
    if (FLAGS_verbose || !report.violations.empty()) printf("%s\n", report.Summary().c_str());
    for (const std::string& violation : report.violations)
      printf("  VIOLATION %s\n", violation.c_str());
    if (!report.violations.empty()) printf("  replay: %s\n", report.Replay().c_str());
    fflush(stdout);
    if (FLAGS_stop_at_first && !report.violations.empty()) break;
  }
  return tally;
}

int Main() {
  signal(SIGABRT, SayWhichSeed);
  printf("sim: seeds %llu to %llu, %d replicas, %d partitions, %g minutes each\n",
         static_cast<unsigned long long>(FLAGS_first),
         static_cast<unsigned long long>(FLAGS_first + FLAGS_seeds - 1), FLAGS_replicas,
         FLAGS_partitions, FLAGS_minutes);
  fflush(stdout);
  uint64_t jobs =
      std::max<uint64_t>(1, std::min<uint64_t>(static_cast<uint64_t>(FLAGS_jobs), FLAGS_seeds));
  Tally total;
  double cpu = 0;
  int died = 0;
  if (jobs == 1) {
    total = RunShare(0, 1);
    cpu = CpuSeconds();
  } else {
    std::vector<std::pair<pid_t, int>> children;
    for (uint64_t j = 0; j < jobs; ++j) {
      int ends[2];
      if (pipe(ends) != 0) return 2;
      pid_t pid = fork();
      if (pid == 0) {
        close(ends[0]);
        std::pair<Tally, double> result = {RunShare(j, jobs), 0};
        result.second = CpuSeconds();
        (void)!write(ends[1], &result, sizeof(result));
        _exit(0);
      }
      close(ends[1]);
      children.emplace_back(pid, ends[0]);
    }
    for (auto [pid, pipe_end] : children) {
      std::pair<Tally, double> result;
      if (read(pipe_end, &result, sizeof(result)) == static_cast<ssize_t>(sizeof(result))) {
        total.seeds += result.first.seeds;
        total.violations += result.first.violations;
        total.simulated_seconds += result.first.simulated_seconds;
        total.writes += result.first.writes;
        cpu += result.second;
      } else {
        ++died;
      }
      waitpid(pid, nullptr, 0);
    }
  }
  total.violations += static_cast<uint64_t>(died);
  printf("acknowledged writes: %lld; simulated seconds per CPU second: %.0f\n",
         static_cast<long long>(total.writes), cpu > 0 ? total.simulated_seconds / cpu : 0);
  printf("sim: %llu seeds, %.1f simulated hours, %.0f CPU s, %llu violations\n",
         static_cast<unsigned long long>(total.seeds), total.simulated_seconds / 3600, cpu,
         static_cast<unsigned long long>(total.violations));
  return total.violations == 0 && died == 0 ? 0 : 1;
}

}  // namespace
}  // namespace arion::sim

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity)
    google::SetLogDestination(severity, "");
  FLAGS_stderrthreshold = google::FATAL;
  FLAGS_minloglevel = FLAGS_verbose ? 0 : 3;
  arion::sim::SimLog log;
  if (FLAGS_verbose) google::AddLogSink(&log);
  return arion::sim::Main();
}
