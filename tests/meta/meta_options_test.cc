// SPDX-License-Identifier: Apache-2.0
#include "meta/meta_options.h"
#include "meta_judgement/partition_guardian.h"
#include "meta_state/table_lifecycle.h"

#include <gtest/gtest.h>

#include "tests/meta/one_partition.h"

namespace arion {
namespace {

class MetaOptionsTest : public OnePartitionTest {
 protected:
  MetaOptionsTest() { state_.function_level = FunctionLevel::kLively; }
  FunctionLevel Level() const { return LevelOf(state_, options_); }

  MetaServerOptions options_;
};

TEST_F(MetaOptionsTest, TheLevelThatWasSetHoldsWhileEnoughServersLive) {
  EXPECT_EQ(Level(), FunctionLevel::kLively);
  Dead(kD);
  EXPECT_EQ(Level(), FunctionLevel::kLively) << "three of four";
  Dead(kC);
  EXPECT_EQ(Level(), FunctionLevel::kFreezed) << "three are needed, min(3, servers - 1)";
}

TEST_F(MetaOptionsTest, AsManyMustLiveAsTheOptionSays) {
  options_.min_live_node_count_for_unfreeze = 2;
  Dead(kD);
  Dead(kC);
  EXPECT_EQ(Level(), FunctionLevel::kLively);
  options_.min_live_node_count_for_unfreeze = 3;
  EXPECT_EQ(Level(), FunctionLevel::kFreezed);
}

TEST_F(MetaOptionsTest, AndSuchAShareOfThem) {
  options_.min_live_node_count_for_unfreeze = 1;
  Dead(kD);
  Dead(kC);
  options_.node_live_percentage_threshold_for_update = 50;
  EXPECT_EQ(Level(), FunctionLevel::kLively);
  options_.node_live_percentage_threshold_for_update = 51;
  EXPECT_EQ(Level(), FunctionLevel::kFreezed);
}

TEST_F(MetaOptionsTest, AFrozenClusterIsNeverRaisedByItsServers) {
  state_.function_level = FunctionLevel::kStopped;
  EXPECT_EQ(Level(), FunctionLevel::kStopped);
  for (const Endpoint node : {kB, kC, kD}) Dead(node);
  EXPECT_EQ(Level(), FunctionLevel::kStopped) << "not kFreezed, which would be more";
}

// Each judgement is given values that differ from all defaults, so that none is taken for another.
TEST_F(MetaOptionsTest, EachJudgementGetsItsOwnSettings) {
  options_.grace = absl::Seconds(11);
  options_.replica_assign_delay_for_dropouts = absl::Minutes(12);
  options_.mutation_2pc_min_replica_count = 13;
  options_.min_allowed_replica_count = 14;
  options_.max_allowed_replica_count = 15;
  options_.hold_dropped_app = absl::Hours(16);
  const GuardianOptions guardian = GuardianOf(options_);
  EXPECT_EQ(guardian.grace, absl::Seconds(11));
  EXPECT_EQ(guardian.replica_assign_delay_for_dropouts, absl::Minutes(12));
  EXPECT_EQ(guardian.mutation_2pc_min_replica_count, 13);
  const TableLimits limits = LimitsOf(options_);
  EXPECT_EQ(limits.min_replica_count, 14);
  EXPECT_EQ(limits.max_replica_count, 15);
  EXPECT_EQ(limits.hold_dropped, absl::Hours(16));
}

}  // namespace
}  // namespace arion
