// The warning of partitions whose copies all end before what was committed. SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/older_everywhere.h"

#include <gmock/gmock.h>

#include "meta_state/cluster_warning.h"
#include "tests/meta/one_partition.h"

namespace arion {
namespace {

using testing::HasSubstr;
using testing::Not;

// Without a primary; decree 30 is committed.
class OlderEverywhereTest : public OnePartitionTest {
 protected:
  OlderEverywhereTest() { Headless(partition()); }
  static void Headless(Partition& partition) {
    partition.config.secondaries = {kA, kB};
    partition.config.last_committed_decree = Decree(30);
  }
  void Holds(Endpoint node, PartitionId pid, int64_t prepared) {
    ReplicaInfo info = Durable(5, prepared, 0);
    info.pid = pid;
    state_.nodes[node].replicas[pid] = info;
  }
};

TEST_F(OlderEverywhereTest, WhereEachCopyThatIsThereIsShortAPersonIsTold) {
  Holds(kA, kPid, 29);
  Holds(kB, kPid, 12);
  const auto warning = OlderEverywhere(state_);
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->kind, "older_everywhere");
  EXPECT_EQ(warning->count, 1);
  EXPECT_THAT(warning->problem, HasSubstr("(1.0)"));
  EXPECT_THAT(warning->way, HasSubstr("ddd_diagnose"));
}

TEST_F(OlderEverywhereTest, OneCopyThatHoldsAllIsEnough) {
  Holds(kA, kPid, 29);
  Holds(kB, kPid, 30);
  EXPECT_FALSE(OlderEverywhere(state_));
}

TEST_F(OlderEverywhereTest, WhereSomebodyLeadsNothingIsSaid) {
  Holds(kA, kPid, 29);
  partition().config.primary = kC;
  EXPECT_FALSE(OlderEverywhere(state_));
}

TEST_F(OlderEverywhereTest, WhereNoCopyIsThereAtAllThisIsNotTheReason) {
  EXPECT_FALSE(OlderEverywhere(state_));
  Holds(kA, kPid, 29);
  Holds(kB, kPid, 29);
  state_.nodes[kA].alive = state_.nodes[kB].alive = false;
  EXPECT_FALSE(OlderEverywhere(state_));
}

TEST_F(OlderEverywhereTest, ManyAreCountedAndSomeNamed) {
  Table& table = state_.tables[1];
  const Partition first = table.partitions[0];
  for (int32_t index = 0; index < 9; ++index) {
    if (index > 0) table.partitions.push_back(first);
    const PartitionId pid{1, index};
    table.partitions.back().config.pid = pid;
    Holds(kA, pid, 29);
  }
  const auto warning = OlderEverywhere(state_);
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->count, 9);
  EXPECT_THAT(warning->problem, HasSubstr("1.4"));
  EXPECT_THAT(warning->problem, Not(HasSubstr("1.5")));
}

}  // namespace
}  // namespace arion
