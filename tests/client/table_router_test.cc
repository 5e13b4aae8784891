// SPDX-License-Identifier: Apache-2.0
#include "client/table_router.h"
#include "messages/meta_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crc.h"
#include "base/raw_key.h"

namespace arion {
namespace {

Endpoint Node(uint16_t port) { return {.ip = 0x7f000001, .port = port}; }

QueryConfigResponse Answer(int32_t app_id,
                           std::vector<std::pair<int64_t, uint16_t>> ballots_and_ports) {
  QueryConfigResponse answer{.app_id = app_id,
                             .partition_count = static_cast<int32_t>(ballots_and_ports.size())};
  for (const auto& [ballot, port] : ballots_and_ports) {
    PartitionConfiguration partition;
    partition.pid = {.app_id = app_id, .index = static_cast<int32_t>(answer.partitions.size())};
    partition.ballot = Ballot(ballot);
    if (port != 0) partition.primary = Node(port);
    answer.partitions.push_back(partition);
  }
  return answer;
}

TEST(TableRouter, TheHashModTheCountChoosesThePartition) {
  TableRouter router;
  EXPECT_FALSE(router.IsKnown());
  ASSERT_TRUE(router.Update(Answer(2, {{3, 10}, {3, 11}, {3, 12}})).ok());
  ASSERT_TRUE(router.IsKnown());
  const uint64_t hash = PartitionHash(JoinRawKey("h1", "s1"));
  EXPECT_EQ(hash, 0xaae1fd17e635e4dau);  // engine/FORMAT.md 5.1
  const TableRouter::Route route = router.Find(hash);
  EXPECT_EQ(route.pid, (PartitionId{2, static_cast<int32_t>(hash % 3)}));
  EXPECT_EQ(route.primary, Node(static_cast<uint16_t>(10 + hash % 3)));
}

TEST(TableRouter, AnOlderBallotChangesNothing) {
  TableRouter router;
  ASSERT_TRUE(router.Update(Answer(2, {{5, 10}})).ok());
  ASSERT_TRUE(router.Update(Answer(2, {{4, 11}})).ok());
  EXPECT_EQ(router.Find(0).primary, Node(10));
  ASSERT_TRUE(router.Update(Answer(2, {{6, 12}})).ok());
  EXPECT_EQ(router.Find(0).primary, Node(12));
}

TEST(TableRouter, AForgottenPartitionTakesAnyBallot) {
  TableRouter router;
  ASSERT_TRUE(router.Update(Answer(2, {{5, 10}, {5, 11}})).ok());
  router.Forget(0);
  EXPECT_FALSE(router.Find(0).primary.IsValid());
  EXPECT_EQ(router.Find(1).primary, Node(11));
  ASSERT_TRUE(router.Update(Answer(2, {{4, 12}, {4, 13}})).ok());
  EXPECT_EQ(router.Find(0).primary, Node(12));
  EXPECT_EQ(router.Find(1).primary, Node(11));
}

TEST(TableRouter, AnotherIdOrCountReplacesEverything) {
  TableRouter router;
  ASSERT_TRUE(router.Update(Answer(2, {{5, 10}, {5, 11}})).ok());
  ASSERT_TRUE(router.Update(Answer(3, {{1, 12}, {1, 13}})).ok());
  EXPECT_EQ(router.Find(0).pid, (PartitionId{3, 0}));
  EXPECT_EQ(router.Find(0).primary, Node(12));
  ASSERT_TRUE(router.Update(Answer(3, {{1, 12}, {1, 13}, {1, 14}, {1, 15}})).ok());
  EXPECT_EQ(router.partition_count(), 4);
}

TEST(TableRouter, UntilASplitHasMadeAPartitionItsParentAnswers) {
  TableRouter router;
  ASSERT_TRUE(router.Update(Answer(2, {{5, 10}, {5, 11}, {-1, 0}, {-1, 0}})).ok());
  EXPECT_EQ(router.partition_count(), 4);
  EXPECT_EQ(router.Find(6).pid, (PartitionId{2, 0}));
  EXPECT_EQ(router.Find(7).primary, Node(11));
  ASSERT_TRUE(router.Update(Answer(2, {{5, 10}, {6, 11}, {-1, 0}, {6, 13}})).ok());
  EXPECT_EQ(router.Find(6).primary, Node(10));
  EXPECT_EQ(router.Find(7).primary, Node(13));
  EXPECT_EQ(router.present_count(), 3);
  EXPECT_THAT(router.Shares(),
              testing::ElementsAre(TableRouter::Share{0, 2}, TableRouter::Share{1, 4},
                                   TableRouter::Share{3, 4}));
  // It is known to be there: the parent would refuse.
  router.Forget(3);
  EXPECT_EQ(router.Find(7).pid, (PartitionId{2, 3}));
  EXPECT_FALSE(router.Find(7).primary.IsValid());
}

TEST(TableRouter, AContradictionIsRefusedWhole) {
  TableRouter router;
  ASSERT_TRUE(router.Update(Answer(2, {{5, 10}, {5, 11}})).ok());
  EXPECT_FALSE(router.Update(QueryConfigResponse{.app_id = 2}).ok());
  QueryConfigResponse outside = Answer(2, {{9, 12}, {9, 13}});
  outside.partitions[1].pid.index = 2;
  EXPECT_FALSE(router.Update(outside).ok());
  QueryConfigResponse foreign = Answer(2, {{9, 12}, {9, 13}});
  foreign.partitions[1].pid.app_id = 7;
  EXPECT_FALSE(router.Update(foreign).ok());
  EXPECT_EQ(router.Find(0).primary, Node(10));
}

}  // namespace
}  // namespace arion
