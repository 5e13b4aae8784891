// sim: runs seeds of the simulated cluster and says what was violated. tools/dev/sim builds and
// calls it.
// SPDX-License-Identifier: Apache-2.0
#include <absl/functional/function_ref.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>
#include <gflags/gflags.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/program_output.h"
#include "seed_shrinker.h"
#include "sim/sim_environment.h"
#include "sim_cluster/run_report.h"
#include "sim_cluster/sim_cluster.h"
#include "sim_two_clusters/cluster_pair.h"

DEFINE_uint64(seeds, 10, "how many seeds to run");
DEFINE_uint64(first, 1, "the first seed");
DEFINE_double(hours, 0, "run seeds for this long instead, whatever --seeds says");
DEFINE_int32(jobs, 1, "processes that share the seeds");
DEFINE_int32(servers, 0, "replica servers; 0: as the seed draws");
DEFINE_int32(tables, 0, "tables; 0: as the seed draws");
DEFINE_int32(partitions, 0, "partitions of each table; 0: as the seed draws");
DEFINE_int32(copies, 0, "copies of each partition; 0: as the seed draws");
DEFINE_int32(
    older, -1,
    "of the servers: of version 2.5.0; -1: as the seed draws, none where --kinds says what "
    "they meet");
DEFINE_bool(old_meta, false, "the meta server is of version 2.5.0; then --older -1 means none");
DEFINE_int32(metas, 1,
             "meta servers; from 2 on their state is in ZooKeeper, and no server is of 2.5.0");
DEFINE_int32(indexes, -1,
             "indexes of each table, no server being of version 2.5.0; -1: as the seed draws, none "
             "where --kinds or --older says what it meets");
DEFINE_int32(splits, -1,
             "1: tables are split, their partitions being a power of two; 0: not; -1: as the seed "
             "draws, not where --kinds, --older or --indexes says what it meets");
DEFINE_bool(
    two_clusters, false,
    "two clusters, of which one sends what it writes to the other; of other options those of "
    "size and version mean nothing then");
DEFINE_double(minutes, 2, "simulated minutes with faults, of each seed");
DEFINE_bool(calm, false, "no faults");
DEFINE_bool(lying_disks, false,
            "a canary: disks forget what was flushed, all servers crash now and then");
DEFINE_string(kinds, "", "kinds of faults, with commas between; empty: as the seed draws");
DEFINE_string(without, "", "kinds of faults that are left out, with commas between");
DEFINE_string(only, "", "numbers of the faults that are not left out, with commas between");
DEFINE_bool(verbose, false, "print what the servers log, and a summary of each seed");
DEFINE_bool(hashes, false, "print each seed's trace hash: equal runs have equal ones");
DEFINE_bool(coverage, false, "print how often the rare was reached");
DEFINE_bool(stop_at_first, false, "stop at the first seed with a violation");
DEFINE_int32(shrink, 0, "attempts to make each red seed's run smaller; --hours: at least 100");
DEFINE_int64(writes_min, 20, "acknowledged writes below which a seed fails");
DEFINE_int64(data_min, 30, "operations of the whole data API below which a seed fails");

namespace arion::sim {
namespace {

// What one process found, as it goes through a pipe.
struct Tally {
  uint64_t seeds = 0;
  uint64_t violations = 0;
  double simulated_seconds = 0;
  double cpu_seconds = 0;
  int64_t writes = 0;
  int64_t data_operations = 0;
  int64_t data_keys = 0;
  ProbeCounts probes{};

  void Add(const Tally& other) {
    seeds += other.seeds;
    violations += other.violations;
    simulated_seconds += other.simulated_seconds;
    cpu_seconds += other.cpu_seconds;
    writes += other.writes;
    data_operations += other.data_operations;
    data_keys += other.data_keys;
    for (size_t i = 0; i < probes.size(); ++i) probes[i] += other.probes[i];
  }
};

double Seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
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

std::vector<Fault> Faults(const std::string& names) {
  std::vector<Fault> faults;
  for (absl::string_view name : absl::StrSplit(names, ',', absl::SkipEmpty())) {
    const std::optional<Fault> fault = FindFault(std::string_view(name.data(), name.size()));
    LOG_IF(FATAL, !fault) << "no fault is called " << name;
    faults.push_back(*fault);
  }
  return faults;
}

SimClusterOptions Options(uint64_t seed) {
  const bool draws_older = FLAGS_older < 0 && FLAGS_kinds.empty() && FLAGS_indexes <= 0;
  SimClusterOptions options = FLAGS_metas > 1   ? SimClusterOptions::SeveralMetas(seed, FLAGS_metas)
                              : FLAGS_old_meta  ? SimClusterOptions::OldMeta(seed, FLAGS_older)
                              : draws_older     ? SimClusterOptions::Drawn(seed)
                              : FLAGS_older > 0 ? SimClusterOptions::Mixed(seed, FLAGS_older)
                                                : SimClusterOptions::Swarm(seed);
  if (FLAGS_servers > 0) options.topology.servers = FLAGS_servers;
  if (FLAGS_tables > 0) options.topology.tables = FLAGS_tables;
  if (FLAGS_partitions > 0) options.topology.partitions = FLAGS_partitions;
  if (FLAGS_copies > 0) options.topology.copies = FLAGS_copies;
  if (FLAGS_indexes >= 0) options.indexes = FLAGS_indexes;
  // Where a server is of version 2.5.0 nothing is split.
  const bool may_split = options.topology.older == 0 && !options.topology.has_old_meta;
  if (FLAGS_splits >= 0) options.splits = FLAGS_splits > 0 && may_split;
  if (options.splits)
    options.topology.partitions =
        static_cast<int>(std::bit_floor(static_cast<uint32_t>(options.topology.partitions)));
  options.run_length = absl::Minutes(FLAGS_minutes);
  if (FLAGS_calm) options.faults = FaultMix::None();
  if (FLAGS_lying_disks) options = SimClusterOptions::LyingDisks(seed);
  if (!FLAGS_kinds.empty()) options.faults.kinds = Faults(FLAGS_kinds);
  for (Fault fault : Faults(FLAGS_without)) options.without.insert(fault);
  if (!FLAGS_only.empty()) options.only.emplace();
  for (absl::string_view text : absl::StrSplit(FLAGS_only, ',', absl::SkipEmpty())) {
    int64_t number = 0;
    LOG_IF(FATAL, !absl::SimpleAtoi(text, &number)) << "no number: " << text;
    options.only->insert(number);
  }
  options.acknowledged_writes_min = FLAGS_writes_min;
  options.data_operations_min = FLAGS_data_min;
  return options;
}

ClusterPairOptions PairOptions(uint64_t seed) {
  ClusterPairOptions options = ClusterPairOptions::Swarm(seed);
  options.run_length = absl::Minutes(FLAGS_minutes);
  if (FLAGS_calm) options.link_trouble_every = absl::ZeroDuration();
  for (SimClusterOptions* one : {&options.source, &options.receiver}) {
    if (FLAGS_calm) one->faults = FaultMix::None();
    if (!FLAGS_kinds.empty()) one->faults.kinds = Faults(FLAGS_kinds);
    for (Fault fault : Faults(FLAGS_without)) one->without.insert(fault);
    one->acknowledged_writes_min = FLAGS_writes_min;
    one->data_operations_min = FLAGS_data_min;
  }
  return options;
}

RunReport RunPair(uint64_t seed) {
  ClusterPair pair(PairOptions(seed));
  running_world = &pair.world();
  RunReport report = pair.Run();
  running_world = nullptr;
  return report;
}

RunReport RunSeed(uint64_t seed) {
  if (FLAGS_two_clusters) return RunPair(seed);
  SimClusterOptions options = Options(seed);
  SimCluster cluster(options);
  running_world = &cluster.world();
  RunReport report = cluster.Run();
  running_world = nullptr;
  report.replay_options = ReplayOptions(options);
  return report;
}

// A failed CHECK ends the process: the seed must be known by then.
uint64_t running_seed = 0;
void SayWhichSeed(int) {
  char line[128];
  int n = snprintf(
      line, sizeof(line),
      "sim: seed %llu ended the process; replay: tools/dev/sim --seeds 1 --first %llu%s\n",
      static_cast<unsigned long long>(running_seed), static_cast<unsigned long long>(running_seed),
      FLAGS_two_clusters ? " --two_clusters" : "");
  (void)!write(STDOUT_FILENO, line, static_cast<size_t>(n));
  _exit(3);
}

void ShrinkAndTell(uint64_t seed) {
  const int runs = FLAGS_hours > 0 ? std::max(FLAGS_shrink, 100) : FLAGS_shrink;
  if (runs == 0 || FLAGS_two_clusters) return;
  const SimClusterOptions small = Shrink(Options(seed), runs);
  printf("  smaller: tools/dev/sim --seeds 1 --first %llu%s\n",
         static_cast<unsigned long long>(seed), ReplayOptions(small).c_str());
}

void Tell(const RunReport& report) {
  if (FLAGS_hashes)
    printf("%llu %016llx\n", static_cast<unsigned long long>(running_seed),
           static_cast<unsigned long long>(report.trace_hash));
  if (FLAGS_verbose || !report.violations.empty()) printf("%s\n", report.Summary().c_str());
  for (const std::string& violation : report.violations)
    printf("  VIOLATION %s\n", violation.c_str());
  if (!report.violations.empty()) printf("  replay: %s\n", report.Replay().c_str());
  fflush(stdout);
}

Tally RunHere(uint64_t seed) {
  running_seed = seed;
  const double begin = Seconds(CLOCK_PROCESS_CPUTIME_ID);
  const RunReport report = RunSeed(seed);
  Tell(report);
  Tally tally;
  tally.seeds = 1;
  tally.violations = report.violations.size();
  tally.simulated_seconds = absl::ToDoubleSeconds(report.simulated);
  tally.cpu_seconds = Seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
  tally.writes = report.acknowledged_writes;
  tally.data_operations = report.data_operations;
  tally.data_keys = report.data_keys;
  tally.probes = report.probes;
  return tally;
}

// A process whose death costs one seed only.
struct Child {
  pid_t pid = 0;
  int pipe_end = 0;
};
Child Fork(absl::FunctionRef<Tally()> run) {
  int ends[2];
  if (pipe(ends) != 0) LOG(FATAL) << "pipe failed";
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    const Tally tally = run();
    fflush(stdout);
    (void)!write(ends[1], &tally, sizeof(tally));
    _exit(0);
  }
  close(ends[1]);
  return {pid, ends[0]};
}
// One violation where it died.
Tally Await(const Child& child) {
  Tally tally;
  if (read(child.pipe_end, &tally, sizeof(tally)) != static_cast<ssize_t>(sizeof(tally))) {
    tally = Tally();
    tally.violations = 1;
  }
  close(child.pipe_end);
  waitpid(child.pid, nullptr, 0);
  return tally;
}

Tally RunShare(uint64_t first, uint64_t step) {
  Tally all;
  const double end = Seconds(CLOCK_MONOTONIC) + FLAGS_hours * 3600;
  const auto is_over = [end](uint64_t i) {
    return FLAGS_hours > 0 ? Seconds(CLOCK_MONOTONIC) >= end : i >= FLAGS_seeds;
  };
  for (uint64_t i = first; !is_over(i); i += step) {
    const uint64_t seed = FLAGS_first + i;
    const Tally tally =
        FLAGS_hours > 0 ? Await(Fork([seed] { return RunHere(seed); })) : RunHere(seed);
    all.Add(tally);
    if (tally.violations > 0) ShrinkAndTell(seed);
    fflush(stdout);
    if (FLAGS_stop_at_first && tally.violations > 0) break;
  }
  return all;
}

Tally RunShares(uint64_t jobs) {
  std::vector<Child> children;
  for (uint64_t j = 0; j < jobs; ++j)
    children.push_back(Fork([j, jobs] { return RunShare(j, jobs); }));
  Tally total;
  for (const Child& child : children) total.Add(Await(child));
  return total;
}

int Main() {
  signal(SIGABRT, SayWhichSeed);
  printf("sim: seeds from %llu, %.1f minutes each%s\n",
         static_cast<unsigned long long>(FLAGS_first), FLAGS_minutes, FLAGS_calm ? ", calm" : "");
  fflush(stdout);
  uint64_t jobs = std::max<uint64_t>(1, static_cast<uint64_t>(FLAGS_jobs));
  if (FLAGS_hours == 0) jobs = std::min(jobs, std::max<uint64_t>(FLAGS_seeds, 1));
  const Tally total = jobs == 1 ? RunShare(0, 1) : RunShares(jobs);
  if (FLAGS_coverage) {
    for (int i = 0; i < kProbeCount; ++i)
      printf("%12lld %s\n", static_cast<long long>(total.probes[static_cast<size_t>(i)]),
             ProbeName(static_cast<Probe>(i)));
  }
  printf(
      "acknowledged writes: %lld; data operations: %lld on %lld keys; simulated "
      "hours per CPU hour: %.0f\n",
      static_cast<long long>(total.writes), static_cast<long long>(total.data_operations),
      static_cast<long long>(total.data_keys),
      total.cpu_seconds > 0 ? total.simulated_seconds / total.cpu_seconds : 0);
  printf("sim: %llu seeds, %.1f simulated hours, %.0f CPU s, %llu violations\n",
         static_cast<unsigned long long>(total.seeds), total.simulated_seconds / 3600,
         total.cpu_seconds, static_cast<unsigned long long>(total.violations));
  return total.violations == 0 ? 0 : 1;
}

}  // namespace
}  // namespace arion::sim

int main(int argc, char** argv) {
  arion::CheckStandardOutputAtExit(EXIT_FAILURE);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  // glog asks for the local time of each line, also of those that nobody sees: without this each
  // looks for /etc/localtime anew.
  setenv("TZ", "UTC0", 0);
  google::InitGoogleLogging(argv[0]);
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity)
    google::SetLogDestination(severity, "");
  FLAGS_stderrthreshold = google::FATAL;
  FLAGS_minloglevel = FLAGS_verbose ? 0 : 3;
  arion::sim::SimLog log;
  if (FLAGS_verbose) google::AddLogSink(&log);
  return arion::sim::Main();
}
