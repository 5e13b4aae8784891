// Clusters with several meta servers by seed, their state in a simulated ZooKeeper.
// ARION_SIM_SEVERAL_METAS is how many seeds (default 100); with ARION_SIM_FRESH_FROM a tenth of
// ARION_SIM_FRESH (default 1,000) follow that nobody ran before.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>

#include "base/log.h"
#include "sim_cluster/run_report.h"
#include "sim_cluster/sim_cluster.h"

namespace arion::sim {
namespace {

using ::testing::IsEmpty;

SimClusterOptions Options(uint64_t seed) {
  SimClusterOptions options = SimClusterOptions::SeveralMetas(seed, seed % 2 == 0 ? 2 : 3);
  options.run_length = absl::Minutes(1);
  return options;
}

struct SeveralMetas : ::testing::Test {
  SeveralMetas() {
    google::SetStderrLogging(google::FATAL);
    FLAGS_minloglevel = google::FATAL;  // a failing seed is replayed with --verbose
  }
};

// What only several meta servers meet, and what of the other kinds befalls them most.
constexpr Fault kTheirs[] = {Fault::kCutFromZooKeeper, Fault::kCutMetaFromServers,
                             Fault::kZooKeeperDown,    Fault::kZooKeeperAnswersLost,
                             Fault::kZooKeeperLags,    Fault::kLockRemoved,
                             Fault::kCrashMeta,        Fault::kPause,
                             Fault::kRestart,          Fault::kLag};

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text == nullptr ? otherwise : strtoull(text, nullptr, 10);
}

// What many seeds did together.
struct Sum {
  std::array<int64_t, kFaultCount> faults{};
  int64_t reigns = 0, takeovers = 0;

  void Run(uint64_t seed) {
    SimCluster cluster(Options(seed));
    const RunReport report = cluster.Run();
    EXPECT_THAT(report.violations, IsEmpty())
        << report.Summary() << "\nreplay: " << report.Replay() << " --minutes 1 --metas "
        << Options(seed).topology.metas;
    for (size_t i = 0; i < faults.size(); ++i) faults[i] += report.faults[i];
    reigns += report.reigns;
    takeovers += report.takeovers;
  }
  void Print() const {
    std::cout << "led " << reigns << " times, " << takeovers << " times by another than before;";
    for (const Fault fault : kTheirs)
      std::cout << " " << FaultName(fault) << "=" << faults[static_cast<size_t>(fault)];
    std::cout << "\n";
  }
};

TEST_F(SeveralMetas, OneLeadsAtATimeAndKnowsWhatTheOthersStored) {
  const uint64_t seeds = FromEnvironment("ARION_SIM_SEVERAL_METAS", 100);
  Sum sum;
  for (uint64_t seed = 1; seed <= seeds; ++seed) sum.Run(seed);
  sum.Print();
  if (seeds < 100) return;
  for (const Fault fault : kTheirs)
    EXPECT_GT(sum.faults[static_cast<size_t>(fault)], 0) << FaultName(fault) << " was never tried";
  EXPECT_GT(sum.takeovers, 0);
}

TEST_F(SeveralMetas, SeedsNobodyRanBeforeAreGreen) {
  const uint64_t first = FromEnvironment("ARION_SIM_FRESH_FROM", 0);
  if (first == 0) GTEST_SKIP() << "ARION_SIM_FRESH_FROM names no first seed";
  Sum sum;
  for (uint64_t i = 0; i < FromEnvironment("ARION_SIM_FRESH", 1000) / 10; ++i) sum.Run(first + i);
  sum.Print();
}

TEST_F(SeveralMetas, ASeedRunsTheSameEventForEvent) {
  const auto run = [] { return SimCluster(Options(7)).Run(); };
  const RunReport first = run(), second = run();
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  EXPECT_EQ(first.Summary(), second.Summary());
}

}  // namespace
}  // namespace arion::sim
