// SPDX-License-Identifier: Apache-2.0
#include "disks/open_file_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace arion {
namespace {

using testing::HasSubstr;

TEST(OpenFileSharesTest, NoLimitIsPromisedTwice) {
  for (const int64_t limit : {128, 256, 1024, 4096, 20000, 65536, 524288, 1 << 20}) {
    const int64_t most = ShareOpenFiles(limit, 0).replicas_max;
    for (const int64_t replicas : {int64_t{0}, most / 2, most}) {
      const OpenFileShares shares = ShareOpenFiles(limit, replicas);
      const int64_t tables = shares.tables_per_engine < 0 ? 10 : shares.tables_per_engine - 10;
      EXPECT_LE(shares.connections + replicas * (6 + tables), limit) << limit << " " << replicas;
      EXPECT_GE(shares.connections, limit / 4) << limit;
    }
  }
}

TEST(OpenFileSharesTest, WhereTooManyReplicasWereFoundConnectionsGetWhatTheyLeave) {
  EXPECT_EQ(ShareOpenFiles(1024, 150).connections, 48 + 1024 - 80 - 5 * 150);
  EXPECT_EQ(ShareOpenFiles(280, 40).connections, 48);
  EXPECT_FALSE(ShareOpenFiles(280, 40).has_spares) << "logs give way first";
  EXPECT_TRUE(ShareOpenFiles(280, 7).has_spares);
}

TEST(OpenFileSharesTest, WhatTheCaseShowed) {
  EXPECT_EQ(ShareOpenFiles(1024, 0).replicas_max, 42) << "208 were taken";
  EXPECT_EQ(ShareOpenFiles(1024, 42).tables_per_engine, 20);
}

TEST(OpenFileSharesTest, TablesGetLessAsReplicasComeButNeverLessThanRocksdbTakes) {
  EXPECT_EQ(ShareOpenFiles(65536, 1).tables_per_engine, 256) << "more replicas may come";
  EXPECT_EQ(ShareOpenFiles(65536, 100).tables_per_engine, 256);
  EXPECT_EQ(ShareOpenFiles(65536, 1000).tables_per_engine, 32);
  EXPECT_EQ(ShareOpenFiles(65536, 2800).tables_per_engine, 20);
  EXPECT_EQ(ShareOpenFiles(256, 100).tables_per_engine, 20);
}

TEST(OpenFileSharesTest, TenThousandConnectionsFitIntoTwentyThousand) {
  EXPECT_GE(ShareOpenFiles(20000, 64).connections, 10000 + 250);
}

TEST(OpenFileSharesTest, WithPlentyAllTablesStayOpen) {
  EXPECT_EQ(ShareOpenFiles(1 << 20, 64).tables_per_engine, -1);
}

class OpenFileBudgetTest : public testing::Test {
 protected:
  bool Second() { return budget_.OnSecond(now_ = now_ + absl::Seconds(1)); }

  OpenFileBudget::Sight sight_{.limit = 1024};
  Instant now_{int64_t{1} << 40};
  OpenFileBudget budget_{[this] { return sight_; }};
};

TEST_F(OpenFileBudgetTest, BeyondWhatTheLimitCarriesNoReplicaIsTakenAndTheLimitIsNamed) {
  budget_.SetReplicas(41);
  EXPECT_TRUE(budget_.MayTakeReplica());
  budget_.SetReplicas(42);
  EXPECT_FALSE(budget_.MayTakeReplica());
  EXPECT_THAT(budget_.Refusal(), HasSubstr("open files: the limit of 1024 carries 42 replicas"));
  EXPECT_THAT(budget_.Refusal(), HasSubstr("LimitNOFILE="));
}

TEST_F(OpenFileBudgetTest, ALimitThatWasRaisedCounts) {
  EXPECT_TRUE(Second()) << "the first word";
  EXPECT_FALSE(Second());
  std::vector<OpenFileShares> heard;
  budget_.OnChanged([&](const OpenFileShares& shares) { heard.push_back(shares); });
  sight_.limit = 65536;
  EXPECT_TRUE(Second());
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0], ShareOpenFiles(65536, 0));
  EXPECT_GT(budget_.replicas_max(), 2000);
}

TEST_F(OpenFileBudgetTest, WhereTheLimitIsMetCachesShrinkAndNothingNewComesUntilAWhileAfter) {
  sight_.limit = 65536;
  budget_.SetReplicas(10);
  Second();
  std::vector<int> tables;
  budget_.OnChanged(
      [&](const OpenFileShares& shares) { tables.push_back(shares.tables_per_engine); });
  sight_.is_met = true;
  EXPECT_TRUE(Second());
  sight_.is_met = false;
  EXPECT_TRUE(budget_.is_short());
  EXPECT_FALSE(budget_.MayTakeReplica());
  EXPECT_EQ(budget_.replicas_max(), 10);
  for (int i = 0; i < 20; ++i) Second();
  EXPECT_TRUE(budget_.is_short());
  for (int i = 0; i < 20; ++i) Second();
  EXPECT_FALSE(budget_.is_short());
  EXPECT_TRUE(budget_.MayTakeReplica());
  EXPECT_EQ(tables, (std::vector<int>{20, 256}));
}

TEST_F(OpenFileBudgetTest, WhatAStartFoundMayComeBack) {
  OpenFileBudget budget([this] { return sight_; }, 150);
  EXPECT_FALSE(budget.MayTakeReplica());
  budget.SetReplicas(140);
  EXPECT_TRUE(budget.MayTakeReplica());
  EXPECT_EQ(budget.replicas_max(), 150);
}

TEST_F(OpenFileBudgetTest, TablesDoNotComeAndGoWithEachReplica) {
  sight_.limit = 65536;
  budget_.SetReplicas(300);
  Second();
  std::vector<int> tables;
  budget_.OnChanged(
      [&](const OpenFileShares& shares) { tables.push_back(shares.tables_per_engine); });
  for (const int64_t replicas : {301, 400, 300, 350}) {
    budget_.SetReplicas(replicas);
    Second();
  }
  for (size_t i = 1; i < tables.size(); ++i) EXPECT_EQ(tables[i], tables[0]);
}

}  // namespace
}  // namespace arion
