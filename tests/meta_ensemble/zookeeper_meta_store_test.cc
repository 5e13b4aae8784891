// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/zookeeper_meta_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meta_state/store_room.h"
#include "sim/sim_environment.h"
#include "sim_zookeeper/sim_zookeeper.h"

namespace arion {
namespace {

using ::testing::ElementsAre;

class ZooKeeperMetaStoreTest : public ::testing::Test {
 protected:
  ZooKeeperMetaStoreTest() {
    EXPECT_TRUE(zookeeper_.Create("/r", "").ok());
    env_.RunOn(strand_, [&] {
      session_ = zookeeper_.ClientOf(node_).Connect(strand_, [&](auto state) {
        is_connected_ = state == ZooKeeperSession::State::kConnected;
        if (is_connected_ && store_) store_->OnConnected();
      });
    });
    EXPECT_TRUE(world_.RunUntil([&] { return is_connected_; }, absl::Seconds(5)));
    env_.RunOn(strand_, [&] {
      session_->Create("/r/LOCKNODE", "m", ZooKeeperSession::Mode::kEphemeralSequential,
                       [&](const absl::StatusOr<std::string>& made) { lock_ = *made; });
    });
    EXPECT_TRUE(world_.RunUntil([&] { return !lock_.empty(); }, absl::Seconds(5)));
    store_ = std::make_unique<ZooKeeperMetaStore>(*session_, env_.clock(), strand_, "/r", lock_,
                                                  StoredTree{},
                                                  [&](const std::string& why) { lost_ = why; });
  }
  ~ZooKeeperMetaStoreTest() override {
    node_.Crash(sim::CrashMode::kProcess);
    store_.reset();
    session_.reset();
  }
  void Commit(std::vector<StoreChange> batch) {
    store_->Commit(std::move(batch), StoreNeed::kToServe, strand_,
                   [&](const absl::Status& stored) { stored_.push_back(stored.code()); });
  }
  bool Answered(size_t count) {
    return world_.RunUntil([&] { return stored_.size() >= count; }, absl::Minutes(1));
  }

  using Code = absl::StatusCode;
  sim::SimWorld world_{5};
  sim::SimZooKeeper zookeeper_{world_};
  sim::SimNode& node_ = world_.AddNode("m");
  sim::SimEnvironment& env_ = node_.Start();
  StrandPtr strand_ = env_.NewStrand("meta");
  bool is_connected_ = false;
  std::unique_ptr<ZooKeeperSession> session_;
  std::string lock_, lost_;
  std::unique_ptr<ZooKeeperMetaStore> store_;
  std::vector<Code> stored_;
};

TEST_F(ZooKeeperMetaStoreTest, BatchesAreStoredInOrder) {
  Commit({{"/apps/1", "a"}, {"/apps/1/0", "p"}});
  Commit({{"/apps/1", "b"}});
  Commit({{"/apps/1/0", std::nullopt}, {"/arion/function_level", "steady"}});
  ASSERT_TRUE(Answered(3));
  EXPECT_THAT(stored_, ElementsAre(Code::kOk, Code::kOk, Code::kOk));
  EXPECT_EQ(zookeeper_.Read("/r/apps/1")->data, "b");
  EXPECT_FALSE(zookeeper_.Read("/r/apps/1/0").ok());
  EXPECT_EQ(zookeeper_.Read("/r/arion/function_level")->data, "steady");
}

TEST_F(ZooKeeperMetaStoreTest, ALostAnswerIsLookedUpAndNothingIsDoneTwice) {
  int transactions = 0;
  zookeeper_.OnExecuted([&](int64_t, const std::vector<ZooKeeperStep>& steps) {
    if (steps.size() > 1) ++transactions;
  });
  zookeeper_.LoseAnswer(node_);
  Commit({{"/apps/1", "a"}});
  ASSERT_TRUE(Answered(1));
  EXPECT_THAT(stored_, ElementsAre(Code::kOk));
  EXPECT_EQ(transactions, 1);
  EXPECT_EQ(lost_, "");
}

TEST_F(ZooKeeperMetaStoreTest, WhatDidNotArriveIsSentAgain) {
  zookeeper_.TakeDown();
  world_.RunFor(absl::Milliseconds(100));
  Commit({{"/apps/1", "a"}});
  world_.RunFor(absl::Seconds(12));
  EXPECT_TRUE(stored_.empty());
  zookeeper_.BringUp();
  ASSERT_TRUE(Answered(1));
  EXPECT_THAT(stored_, ElementsAre(Code::kOk));
  EXPECT_EQ(zookeeper_.Read("/r/apps/1")->data, "a");
}

// zookeeper_meta_store/Z1
TEST_F(ZooKeeperMetaStoreTest, WithoutTheLockNothingIsStored) {
  Commit({{"/apps/1", "a"}});
  ASSERT_TRUE(Answered(1));
  ASSERT_TRUE(zookeeper_.Remove(lock_).ok());
  Commit({{"/apps/1", "b"}});
  Commit({{"/apps/1", "c"}});
  ASSERT_TRUE(Answered(3));
  EXPECT_THAT(stored_, ElementsAre(Code::kOk, Code::kCancelled, Code::kCancelled));
  EXPECT_NE(lost_, "");
  EXPECT_EQ(zookeeper_.Read("/r/apps/1")->data, "a");
}

TEST_F(ZooKeeperMetaStoreTest, WhatAStrangerMadeEndsTheOffice) {
  ASSERT_TRUE(zookeeper_.Create("/r/apps", "").ok());
  Commit({{"/apps/1", "a"}});
  ASSERT_TRUE(Answered(1));
  EXPECT_THAT(stored_, ElementsAre(Code::kCancelled));
  EXPECT_NE(lost_.find("/r/apps"), std::string::npos) << lost_;
}

TEST_F(ZooKeeperMetaStoreTest, AValueThatIsTooLargeIsRefusedAlone) {
  Commit({{"/apps/1", std::string(ZooKeeperSession::kNodeBytesMax, 'x')}});
  Commit({{"/apps/2", "a"}});
  ASSERT_TRUE(Answered(2));
  EXPECT_THAT(stored_, ElementsAre(Code::kInvalidArgument, Code::kOk));
  EXPECT_EQ(lost_, "");
}

TEST_F(ZooKeeperMetaStoreTest, TheLargestValueIsStored) {
  Commit({{"/apps/1", std::string(ZooKeeperSession::kTransactionBytesMax - (20 << 10) - 7, 'x')}});
  ASSERT_TRUE(Answered(1));
  EXPECT_THAT(stored_, ElementsAre(Code::kOk));
}

TEST_F(ZooKeeperMetaStoreTest, ALargeTableTakesSeveralTransactions) {
  std::vector<StoreChange> batch = {{"/apps/1", "table"}};
  for (int i = 0; i < 4096; ++i)
    batch.push_back({"/apps/1/" + std::to_string(i), std::string(400, 'p')});
  size_t largest = 0;
  bool is_table_first = false;
  zookeeper_.OnExecuted([&](int64_t, const std::vector<ZooKeeperStep>& steps) {
    if (largest == 0)
      for (const ZooKeeperStep& step : steps) is_table_first |= step.path == "/r/apps/1";
    size_t bytes = 0;
    for (const ZooKeeperStep& step : steps) bytes += BytesOf(step);
    largest = std::max(largest, bytes);
  });
  Commit(std::move(batch));
  ASSERT_TRUE(Answered(1));
  EXPECT_THAT(stored_, ElementsAre(Code::kOk));
  EXPECT_LE(largest, ZooKeeperSession::kTransactionBytesMax);
  EXPECT_TRUE(is_table_first);
  EXPECT_TRUE(zookeeper_.Read("/r/apps/1/4095").ok());
}

TEST_F(ZooKeeperMetaStoreTest, OnceItHasEndedAllHearIt) {
  zookeeper_.TakeDown();
  Commit({{"/apps/1", "a"}});
  world_.RunFor(absl::Milliseconds(100));
  env_.RunOn(strand_, [&] { store_->End(); });
  Commit({{"/apps/2", "a"}});
  ASSERT_TRUE(Answered(2));
  EXPECT_THAT(stored_, ElementsAre(Code::kCancelled, Code::kCancelled));
  EXPECT_EQ(lost_, "");
}

}  // namespace
}  // namespace arion
