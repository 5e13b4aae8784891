// Whole clusters by seed. ARION_SIM_SHARD "i/n" runs every n-th seed; ARION_SIM_SEEDS is how many
// there are (default 240), ARION_SIM_FRESH how many from ARION_SIM_FRESH_FROM on (default 1,000).
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/match.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/log.h"
#include "sim_cluster/run_report.h"
#include "sim_cluster/sim_cluster.h"
#include "tests/support/source_directory.h"

namespace arion::sim {
namespace {

using ::testing::IsEmpty;

struct Quiet : ::testing::Test {
  Quiet() {
    google::SetStderrLogging(google::FATAL);
    FLAGS_minloglevel = google::FATAL;  // a failing seed is replayed with --verbose
  }
};

RunReport RunSeed(uint64_t seed) {
  SimCluster cluster(SimClusterOptions::Swarm(seed));
  return cluster.Run();
}
// Groups of both versions among them.
RunReport RunDrawn(uint64_t seed) {
  SimCluster cluster(SimClusterOptions::Drawn(seed));
  return cluster.Run();
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text == nullptr ? otherwise : strtoull(text, nullptr, 10);
}

using SimSeeds = Quiet;

// What many seeds did together.
struct Sum {
  std::array<int64_t, kFaultCount> faults{};
  ProbeCounts probes{};
  int64_t writes = 0, reads = 0, data_operations = 0, data_keys = 0;
  absl::Duration simulated;
  KeptMost kept{};

  void Add(const RunReport& report) {
    for (size_t i = 0; i <= static_cast<size_t>(kLastOfSwarm); ++i) faults[i] += report.faults[i];
    for (size_t i = 0; i < kProbeCount; ++i) probes[i] += report.probes[i];
    writes += report.acknowledged_writes;
    reads += report.reads;
    data_operations += report.data_operations;
    data_keys += report.data_keys;
    simulated += report.simulated;
    for (size_t i = 0; i < kKeptCount; ++i) kept[i] = std::max(kept[i], report.kept[i]);
  }
  bool HasReachedAll() const {
    return std::all_of(probes.begin(), probes.end(), [](int64_t count) { return count > 0; });
  }
  void Print() const {
    std::cout << "simulated " << absl::FormatDuration(absl::Trunc(simulated, absl::Seconds(1)))
              << ", " << writes << " acknowledged writes, " << reads << " reads, "
              << data_operations << " data operations on " << data_keys << " keys; faults:";
    for (size_t i = 0; i < kFaultCount; ++i)
      std::cout << " " << FaultName(static_cast<Fault>(i)) << "=" << faults[i];
    std::cout << "\nreached:";
    for (size_t i = 0; i < kProbeCount; ++i)
      std::cout << " " << ProbeName(static_cast<Probe>(i)) << "=" << probes[i];
    std::cout << "\nat most: " << Describe(kept) << "\n";
  }
};

// This process' share of `count` seeds from `first` on is added.
void RunSeeds(uint64_t first, uint64_t count, Sum* sum) {
  uint64_t shard = 0, shards = 1;
  if (const char* text = getenv("ARION_SIM_SHARD")) {
    char slash = 0;
    std::istringstream(text) >> shard >> slash >> shards;
    CHECK(slash == '/' && shards > 0) << text;
  }
  for (uint64_t i = shard; i < count; i += shards) {
    const RunReport report = RunDrawn(first + i);
    EXPECT_THAT(report.violations, IsEmpty())
        << report.Summary() << "\nreplay: " << report.Replay();
    sum->Add(report);
  }
}

TEST_F(SimSeeds, NothingIsViolatedAndEverythingHeals) {
  const uint64_t seeds = FromEnvironment("ARION_SIM_SEEDS", 240);
  Sum sum;
  RunSeeds(1, seeds, &sum);
  // Two halves, each of which meets all; what is rare may take a few more.
  for (uint64_t more = seeds; seeds >= 240 && more < 2 * seeds && !sum.HasReachedAll(); more += 20)
    RunSeeds(1 + more, 20, &sum);
  sum.Print();
  if (seeds < 240) return;
  for (size_t i = 0; i <= static_cast<size_t>(kLastOfSwarm); ++i)
    EXPECT_GT(sum.faults[i], 0) << FaultName(static_cast<Fault>(i)) << " was never tried";
  for (size_t i = 0; i < kProbeCount; ++i)
    EXPECT_GT(sum.probes[i], 0) << ProbeName(static_cast<Probe>(i)) << " was never reached";
}

// CI gives each commit seeds that nobody ran before.
TEST_F(SimSeeds, SeedsNobodyRanBeforeAreGreen) {
  const uint64_t first = FromEnvironment("ARION_SIM_FRESH_FROM", 0);
  if (first == 0) GTEST_SKIP() << "ARION_SIM_FRESH_FROM names no first seed";
  const uint64_t count = FromEnvironment("ARION_SIM_FRESH", 1000);
  std::cout << "fresh seeds " << first << " to " << first + count - 1 << "\n";
  Sum sum;
  RunSeeds(first, count, &sum);
  sum.Print();
}

// Seeds that were red once, each with its reason, stay green.
TEST_F(SimSeeds, SeedsThatWereOnceRedAreGreen) {
  std::ifstream file(SourceDirectory() + "/tests/sim/seeds.txt");
  ASSERT_TRUE(file.good());
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    RunReport report = RunSeed(strtoull(line.c_str(), nullptr, 10));
    EXPECT_THAT(report.violations, IsEmpty()) << line << "\n" << report.Summary();
    ++count;
  }
  EXPECT_GT(count, 0);
}

// The meta server's state put back, in whole clusters: nothing acknowledged is lost, nobody reads
// what is outdated, and each partition has its members again.
TEST_F(SimSeeds, AnOlderCopyOfMetasStateIsCaughtUp) {
  for (uint64_t seed = 1; seed <= FromEnvironment("ARION_SIM_OLDER_COPIES", 8); ++seed) {
    SimCluster cluster(SimClusterOptions::OlderCopyPutBack(seed));
    const RunReport report = cluster.Run();
    EXPECT_THAT(report.violations, IsEmpty()) << report.Summary();
  }
}

// While all servers run, or with disks that go back at the same time (meta-put-back).
TEST_F(SimSeeds, TheStateOfMetaThatGoesBackWithDisksIsCaughtUpAndSaid) {
  int64_t times = 0;
  for (uint64_t seed = 1; seed <= FromEnvironment("ARION_SIM_OLDER_STATES", 8); ++seed) {
    SimClusterOptions options = SimClusterOptions::Swarm(seed);
    options.faults.kinds = {Fault::kMetaPutBack, Fault::kCrashOne, Fault::kRestart};
    SimCluster cluster(options);
    const RunReport report = cluster.Run();
    EXPECT_THAT(report.violations, IsEmpty()) << report.Summary();
    times += report.faults[static_cast<size_t>(Fault::kMetaPutBack)];
  }
  EXPECT_GT(times, 0);
}

// Its members leave, the others take writes on, copies are made where there is room; when it has
// room again it takes part again.
TEST_F(SimSeeds, AFullDiskIsLeft) {
  for (uint64_t seed = 1; seed <= FromEnvironment("ARION_SIM_FULL_DISKS", 8); ++seed) {
    SimCluster cluster(SimClusterOptions::OneDiskFull(seed));
    const RunReport report = cluster.Run();
    EXPECT_THAT(report.violations, IsEmpty()) << report.Summary();
  }
}

// What a server said long ago ends no primary, and makes nobody lead.
TEST_F(SimSeeds, ReportsThatComeLateAndAgainChangeNothing) {
  for (uint64_t seed = 1; seed <= FromEnvironment("ARION_SIM_LATE_REPORTS", 8); ++seed) {
    SimCluster cluster(SimClusterOptions::LateReports(seed));
    const RunReport report = cluster.Run();
    EXPECT_THAT(report.violations, IsEmpty()) << report.Summary();
  }
}

// Stand-ins for servers of 2.5.0 beside ours: members, primaries and learners, killed and cut off.
TEST_F(SimSeeds, GroupsOfBothVersionsAreGreen) {
  ProbeCounts probes{};
  for (uint64_t seed = 1; seed <= FromEnvironment("ARION_SIM_MIXED", 20); ++seed) {
    SimCluster cluster(SimClusterOptions::Mixed(seed, 1 + static_cast<int>(seed % 2)));
    const RunReport report = cluster.Run();
    EXPECT_THAT(report.violations, IsEmpty()) << report.Summary();
    for (size_t i = 0; i < probes.size(); ++i) probes[i] += report.probes[i];
  }
  for (Probe probe : {Probe::kLearnFromCache, Probe::kLearnFromLog, Probe::kLearnFromCheckpoint,
                      Probe::kReconciliation, Probe::kPrimaryUpgraded})
    EXPECT_GT(probes[static_cast<size_t>(probe)], 0) << ProbeName(probe);
}

// A 2.5.0 meta server leads ours, alone and beside stand-ins for servers of 2.5.0: they enter its
// cluster, are members, primaries and learners as it proposes, and nothing they say ends it.
TEST_F(SimSeeds, ClustersOfAnOldMetaServerAreGreen) {
  ProbeCounts probes{};
  for (uint64_t seed = 1; seed <= FromEnvironment("ARION_SIM_OLD_META", 20); ++seed) {
    SimCluster cluster(SimClusterOptions::OldMeta(seed, static_cast<int>(seed % 3)));
    const RunReport report = cluster.Run();
    EXPECT_THAT(report.violations, IsEmpty()) << report.Summary();
    for (size_t i = 0; i < probes.size(); ++i) probes[i] += report.probes[i];
  }
  for (Probe probe : {Probe::kLearnFromCache, Probe::kLearnFromCheckpoint, Probe::kReconciliation,
                      Probe::kPrimaryUpgraded})
    EXPECT_GT(probes[static_cast<size_t>(probe)], 0) << ProbeName(probe);
}

using SimReplay = Quiet;

TEST_F(SimReplay, ASeedRunsTheSameEventForEvent) {
  for (uint64_t seed : {7u, 11u, 42u}) {
    RunReport first = RunSeed(seed), second = RunSeed(seed);
    EXPECT_EQ(first.trace_hash, second.trace_hash);
    EXPECT_EQ(first.events, second.events);
    EXPECT_EQ(first.Summary(), second.Summary());
  }
  EXPECT_NE(RunSeed(7).trace_hash, RunSeed(8).trace_hash);
}

TEST_F(SimReplay, SoDoesOneOfAnOldMetaServer) {
  const auto run = [] { return SimCluster(SimClusterOptions::OldMeta(5, 1)).Run(); };
  const RunReport first = run(), second = run();
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  EXPECT_EQ(first.Summary(), second.Summary());
}

using SimCanary = Quiet;

// A cluster whose disks forget flushed bytes must be caught, or the net has a hole.
TEST_F(SimCanary, DisksThatLieAreCaught) {
  const auto shows_loss = [](const std::string& violation) {
    return violation.starts_with("checkers/") && !violation.starts_with("checkers/C7") &&
           !absl::StrContains(violation, "stayed undecided");
  };
  int caught = 0;
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SimCluster cluster(SimClusterOptions::LyingDisks(seed));
    const RunReport report = cluster.Run();
    caught += std::any_of(report.violations.begin(), report.violations.end(), shows_loss);
  }
  EXPECT_GE(caught, 8);  // of 60 seeds 46 to 48
}

TEST_F(SimCanary, ARunThatDidTooLittleFails) {
  SimClusterOptions options = SimClusterOptions::Swarm(1);
  options.run_length = absl::Seconds(1);
  options.acknowledged_writes_min = 100000;
  SimCluster cluster(options);
  EXPECT_THAT(cluster.Run().violations, ::testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace arion::sim
