// Whole clusters by seed. ARION_SIM_SHARD "i/n" runs every n-th seed; ARION_SIM_SEEDS how many
// there are (default 200).
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/log.h"
#include "sim/sim_cluster.h"

namespace arion::sim {
namespace {

using ::testing::IsEmpty;

struct Quiet : ::testing::Test {
  Quiet() {
    google::SetStderrLogging(google::FATAL);
    FLAGS_minloglevel = google::FATAL;  // a failing seed is replayed with --verbose
  }
};

SimClusterOptions Options(uint64_t seed) {
  SimClusterOptions options;
  options.seed = seed;
  options.faults = FaultMix::Swarm(seed);
  return options;
}

RunReport RunSeed(uint64_t seed) {
  SimCluster cluster(Options(seed));
  return cluster.Run();
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text == nullptr ? otherwise : strtoull(text, nullptr, 10);
}

using SimSeeds = Quiet;

TEST_F(SimSeeds, NothingIsViolatedAndEverythingHeals) {
  uint64_t seeds = FromEnvironment("ARION_SIM_SEEDS", 200), shard = 0, shards = 1;
  if (const char* text = getenv("ARION_SIM_SHARD")) {
    char slash = 0;
    std::istringstream(text) >> shard >> slash >> shards;
    ASSERT_EQ(slash, '/');
  }
  std::array<int64_t, kFaultCount> faults{};
  int64_t writes = 0, reads = 0;
  absl::Duration simulated;
  for (uint64_t seed = 1 + shard; seed <= seeds; seed += shards) {
    RunReport report = RunSeed(seed);
    EXPECT_THAT(report.violations, IsEmpty())
        << report.Summary() << "\nreplay: " << report.Replay();
    for (size_t i = 0; i < kFaultCount; ++i) faults[i] += report.faults[i];
    writes += report.acknowledged_writes;
    reads += report.reads;
    simulated += report.simulated;
  }
  std::cout << "simulated " << absl::FormatDuration(absl::Trunc(simulated, absl::Seconds(1)))
            << ", " << writes << " acknowledged writes, " << reads << " reads; faults:";
  for (size_t i = 0; i < kFaultCount; ++i) {
    std::cout << " " << FaultName(static_cast<Fault>(i)) << "=" << faults[i];
    if (seeds / shards >= 100) {
      EXPECT_GT(faults[i], 0) << FaultName(static_cast<Fault>(i)) << " was never tried";
    }
  }
  std::cout << "\n";
}

// Seeds that were red once, each with its reason, stay green.
TEST_F(SimSeeds, SeedsThatWereOnceRedAreGreen) {
  std::ifstream file(std::string(ARION_SOURCE_DIR) + "/tests/sim/seeds.txt");
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

using SimCanary = Quiet;

// A cluster whose disks forget flushed bytes must be caught, or the net has a hole.
TEST_F(SimCanary, DisksThatLieAreCaught) {
  int caught = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SimClusterOptions options = Options(seed);
    options.faults = FaultMix::None();
    options.faults.kinds = {Fault::kCrashAll};
    options.disks = SimClusterOptions::Disks::kForgetFlushes;
    SimCluster cluster(options);
    RunReport report = cluster.Run();
    for (const std::string& violation : report.violations) {
      if (violation.starts_with("C")) {
        ++caught;
        break;
      }
    }
  }
  EXPECT_GE(caught, 15);
}

TEST_F(SimCanary, ARunThatDidTooLittleFails) {
  SimClusterOptions options = Options(1);
  options.run_length = absl::Seconds(1);
  options.acknowledged_writes_min = 100000;
  SimCluster cluster(options);
  EXPECT_THAT(cluster.Run().violations, ::testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace arion::sim
