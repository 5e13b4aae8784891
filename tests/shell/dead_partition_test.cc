// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/dead_partition.h"

#include <gtest/gtest.h>

namespace arion::shell {
namespace {

DddNode Member(uint16_t port, int64_t ballot, int64_t prepared) {
  return {.node = {.ip = 0x7f000001, .port = port},
          .is_alive = true,
          .is_collected = true,
          .ballot = Ballot(ballot),
          .last_committed_decree = Decree(prepared - 1),
          .last_prepared_decree = Decree(prepared),
          .is_ballot_of_data = true};
}
DddNode Silent(uint16_t port) {
  return {.node = {.ip = 0x7f000001, .port = port}, .ballot = Ballot(-1)};
}

TEST(DeadPartitionTest, WhoHasMostIsTheCandidate) {
  DddPartition partition{.dropped = {Member(1, 7, 30), Member(2, 8, 20), Member(3, 8, 20)}};
  EXPECT_EQ(BestCandidate(partition), &partition.dropped[2]) << "the later of equals";
  partition.dropped[1].last_prepared_decree = Decree(21);
  EXPECT_EQ(BestCandidate(partition), &partition.dropped[1]);
  partition.dropped[2].last_committed_decree = Decree(20);
  EXPECT_EQ(BestCandidate(partition), &partition.dropped[1])
      << "it holds all that the other one does, whatever it knows to be committed";
  for (DddNode& node : partition.dropped) node.is_ballot_of_data = std::nullopt;
  EXPECT_EQ(BestCandidate(partition), &partition.dropped[2])
      << "one that tells the ballot it knows may have a longer log of an older one";
  partition.dropped = {Silent(1), Member(2, 3, 4)};
  EXPECT_EQ(BestCandidate(partition), &partition.dropped[1]) << "a dead one is not waited for";
  partition.dropped = {Silent(1)};
  EXPECT_EQ(BestCandidate(partition), nullptr);
}

TEST(DeadPartitionTest, ALivingMemberThatHasNotReportedIsWaitedFor) {
  DddPartition partition{.dropped = {Member(1, 7, 30), Silent(2)}};
  partition.dropped[1].is_alive = true;
  EXPECT_EQ(BestCandidate(partition), nullptr);
  partition.dropped[1].is_collected = true;  // and has no such replica
  EXPECT_EQ(BestCandidate(partition), &partition.dropped[0]);
}

}  // namespace
}  // namespace arion::shell
