// Two clusters by seed, of which one sends its tables' writes to the other, or each to the other.
// ARION_SIM_TWO_CLUSTERS is how many seeds (default 24).
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/match.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

#include "base/log.h"
#include "sim_cluster/run_report.h"
#include "sim_two_clusters/cluster_pair.h"

namespace arion::sim {
namespace {

using ::testing::IsEmpty;

struct TwoClusters : ::testing::Test {
  TwoClusters() {
    google::SetStderrLogging(google::FATAL);
    FLAGS_minloglevel = google::FATAL;  // a failing seed is replayed with --verbose
  }
};

// Crashes, stops, pauses and cuts in both, and between them. Some seeds send both ways, some begin
// with checkpoints.
TEST_F(TwoClusters, WhoReceivesFollowsAndBothAreEqualAtLast) {
  const char* text = getenv("ARION_SIM_TWO_CLUSTERS");
  const uint64_t seeds = text == nullptr ? 24 : strtoull(text, nullptr, 10);
  int64_t received = 0, again = 0, contended = 0, overtaken = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const ClusterPairOptions options = ClusterPairOptions::Swarm(seed);
    ClusterPair pair(options);
    const RunReport report = pair.Run();
    EXPECT_THAT(report.violations, IsEmpty())
        << report.Summary() << "\nreplay: " << report.Replay();
    if (options.both_ways) {
      contended += pair.convergence().CountContended();
      overtaken += pair.convergence().overtaken();
    } else {
      EXPECT_GT(pair.checker().received(), 0) << seed;
    }
    received += pair.checker().received();
    // What a checkpoint held comes again.
    if (options.duplicated_after == absl::ZeroDuration()) again += pair.checker().CountAgain();
  }
  std::cout << "one way: received " << received << ", of them again " << again
            << "; both ways: records that both wrote " << contended << ", writes overtaken "
            << overtaken << "\n";
  EXPECT_EQ(again, 0) << "each request comes twice, and is done once";
  EXPECT_GT(contended, 0);
  EXPECT_GT(overtaken, 0);
}

TEST_F(TwoClusters, ASeedRunsTheSameEventForEvent) {
  const auto run = [] { return ClusterPair(ClusterPairOptions::Swarm(3)).Run(); };
  const RunReport first = run(), second = run();
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  EXPECT_EQ(first.Summary(), second.Summary());
}

// A receiver whose disks forget what they flushed loses what it said that it has: it must be seen,
// or the net has a hole.
TEST_F(TwoClusters, AReceiverThatForgetsIsCaught) {
  int caught = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    ClusterPairOptions options = ClusterPairOptions::Swarm(seed);
    const SimClusterOptions lying = SimClusterOptions::LyingDisks(seed);
    options.source.faults = FaultMix::None();
    options.receiver.faults = lying.faults;
    options.receiver.disks = lying.disks;
    options.receiver.durability = lying.durability;
    options.receiver.crash_mode = lying.crash_mode;
    ClusterPair pair(options);
    const RunReport report = pair.Run();
    caught += std::any_of(report.violations.begin(), report.violations.end(),
                          [](const std::string& violation) {
                            return violation.starts_with("duplication_checker/") ||
                                   violation.starts_with("convergence_checker/") ||
                                   absl::StrContains(violation, "cluster_pair/E1");
                          });
  }
  EXPECT_GE(caught, 2);
}

}  // namespace
}  // namespace arion::sim
