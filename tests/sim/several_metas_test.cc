// Clusters with several meta servers by seed, their state in a simulated ZooKeeper.
// ARION_SIM_SEVERAL_METAS is how many seeds (default 100).
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

struct SeveralMetas : ::testing::Test {
  SeveralMetas() {
    google::SetStderrLogging(google::FATAL);
    FLAGS_minloglevel = google::FATAL;  // a failing seed is replayed with --verbose
  }
  static SimClusterOptions Options(uint64_t seed) {
    SimClusterOptions options = SimClusterOptions::SeveralMetas(seed, seed % 2 == 0 ? 2 : 3);
    options.run_length = absl::Minutes(1);
    return options;
  }
};

// What only several meta servers meet, and what of the other kinds befalls them most.
constexpr Fault kTheirs[] = {Fault::kCutFromZooKeeper, Fault::kCutMetaFromServers,
                             Fault::kZooKeeperDown,    Fault::kZooKeeperAnswersLost,
                             Fault::kZooKeeperLags,    Fault::kLockRemoved,
                             Fault::kCrashMeta,        Fault::kPause,
                             Fault::kRestart,          Fault::kLag};

TEST_F(SeveralMetas, OneLeadsAtATimeAndKnowsWhatTheOthersStored) {
  const char* text = getenv("ARION_SIM_SEVERAL_METAS");
  const uint64_t seeds = text == nullptr ? 100 : strtoull(text, nullptr, 10);
  std::array<int64_t, kFaultCount> faults{};
  int64_t reigns = 0, takeovers = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SimCluster cluster(Options(seed));
    const RunReport report = cluster.Run();
    EXPECT_THAT(report.violations, IsEmpty()) << report.Summary() << "\nreplay: " << report.Replay()
                                              << " --minutes 1 --metas " << (seed % 2 == 0 ? 2 : 3);
    for (size_t i = 0; i < faults.size(); ++i) faults[i] += report.faults[i];
    reigns += report.reigns;
    takeovers += report.takeovers;
  }
  std::cout << "led " << reigns << " times, " << takeovers << " times by another than before;";
  for (const Fault fault : kTheirs)
    std::cout << " " << FaultName(fault) << "=" << faults[static_cast<size_t>(fault)];
  std::cout << "\n";
  if (seeds < 100) return;
  for (const Fault fault : kTheirs)
    EXPECT_GT(faults[static_cast<size_t>(fault)], 0) << FaultName(fault) << " was never tried";
  EXPECT_GT(takeovers, 0);
}

TEST_F(SeveralMetas, ASeedRunsTheSameEventForEvent) {
  const auto run = [] { return SimCluster(Options(7)).Run(); };
  const RunReport first = run(), second = run();
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  EXPECT_EQ(first.Summary(), second.Summary());
}

}  // namespace
}  // namespace arion::sim
