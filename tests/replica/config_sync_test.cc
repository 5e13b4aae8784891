// How a server's reports are numbered. SPDX-License-Identifier: Apache-2.0
#include "replica/config_sync.h"

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

}  // namespace
}  // namespace arion
