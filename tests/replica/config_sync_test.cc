// How a server's reports are numbered. SPDX-License-Identifier: Apache-2.0
#include "replica_server/config_sync.h"

#include <gtest/gtest.h>

#include "tests/replica/server_world.h"

namespace arion {
namespace {

class ConfigSyncTest : public ReplicaServerWorld {
 protected:
  ConfigSyncTest() {
    meta_.SetReplicaCount(1);
    meta_.NumberReports();
  }
  // Of the reports that came since this was asked last.
  std::vector<int64_t> Numbers() { return std::exchange(meta_.report_numbers(), {}); }
};

TEST_F(ConfigSyncTest, ANewProcessIsToldTheNumberAndReportsAnewAtOnce) {
  AddServer();
  world_.RunFor(absl::Milliseconds(300));
  EXPECT_EQ(Numbers(), (std::vector<int64_t>{0, 1}));
  world_.RunFor(options_.config_sync_interval * 2 + absl::Seconds(1));
  EXPECT_EQ(Numbers(), (std::vector<int64_t>{2, 3}));
}

TEST_F(ConfigSyncTest, ARefusedReportIsMadeAnewAndItsAnswerChangesNothing) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  Numbers();
  meta_.LoseReportAnswers(true);
  world_.RunFor(options_.config_sync_interval + absl::Seconds(1));
  ASSERT_EQ(Numbers().size(), 1u);
  meta_.LoseReportAnswers(false);
  world_.RunFor(options_.config_sync_interval * 3);
  const std::vector<int64_t> numbers = Numbers();
  ASSERT_GE(numbers.size(), 2u);
  EXPECT_EQ(numbers[1], numbers[0] + 1) << "the one that was lost, then the one awaited";
  EXPECT_EQ(Snapshot(server).status, PartitionStatus::kPrimary)
      << "a refusal names no partition, and takes none away";
}

// Whether a server says whose acknowledgements are slow.
class SlowMembersTest : public ReplicaServerWorld {
 protected:
  bool AreSaid() {
    bool are_said = false;
    network_.on_request = [&](Endpoint, Endpoint, const OutboundRequest& request) {
      if (request.name == kRpcConfigSync)
        are_said |= DecodeWrapped<ConfigSyncRequest>(request.body)->slow_members.has_value();
    };
    Server &a = AddServer(), &b = AddServer(), &c = AddServer();
    EXPECT_TRUE(MakePrimary(a) && AddSecondary(a, b) && AddSecondary(a, c));
    c.node.LagFor(absl::Minutes(10), {.percent = 100, .late_max = absl::Milliseconds(150)});
    for (int i = 0; i < 3000 && !are_said; ++i) Put(a, i % 10, "value");
    world_.RunFor(2 * options_.config_sync_interval);
    network_.on_request = nullptr;
    return are_said;
  }
};

TEST_F(SlowMembersTest, ToAMetaServerOfOurs) {
  meta_.NumberReports();
  EXPECT_TRUE(AreSaid());
}

// One of 2.5.0 can't skip an address in a field that it doesn't know, and ends
// (replica/OLDER.md 3). It numbers no reports.
TEST_F(SlowMembersTest, NeverToAnOlderOne) { EXPECT_FALSE(AreSaid()); }

}  // namespace
}  // namespace arion
