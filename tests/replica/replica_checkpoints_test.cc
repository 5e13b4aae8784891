// A replica's checkpoints by themselves; with its server: replica_maintenance_test.cc.
// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_checkpoints.h"

#include <gmock/gmock.h>

#include "client_requests/hot_reads.h"
#include "tests/replica/part_world.h"

namespace arion {
namespace {

using ::testing::ElementsAre;

class ReplicaCheckpointsTest : public PartWorld {
 protected:
  ReplicaCheckpointsTest() {
    EXPECT_TRUE(engine_->Apply(Decree(1), 0, {}).ok());
    checkpoints_.emplace(host_, strand_, kDirectory, 0, 0, *core_, *office_, *work_, engine_, log_,
                         Hooks());
  }
  ReplicaCheckpoints::Hooks Hooks() {
    return {.owner = [this] { return std::weak_ptr<void>(owner_); },
            .needed_by_child = [this] { return child_needs_; },
            .duplicated = [this] { return duplicated_; },
            .is_holding = [this] { return is_holding_; },
            .hot_keys = [] { return std::vector<std::string>{"a key"}; },
            .on_interval = [this] { ++intervals_; },
            .write_nothing = [this] { ++empty_writes_; },
            .step = [this](const Event&) { ++steps_; },
            .fence = [](const std::string& why) { ADD_FAILURE() << why; },
            .tag = [] { return std::string("[2.1]"); }};
  }
  void MakeIfNeeded() {
    Do([&] { checkpoints_->MakeIfNeeded(); });
    Run(absl::Seconds(1));
  }

  // A decree, in a log file of its own.
  void Write() {
    const Instant now = env_.clock().Now();
    const Effects effects = core_->Step(
        ClientWrite{.token = 1, .updates = {{.code = WriteCode::kPut, .data = "x"}}}, now);
    ASSERT_EQ(effects.append.size(), 1);
    Do([&] {
      log_->LeaveFile();
      log_->Append(effects.append[0].mutation, [](const absl::Status&) {});
    });
    Run(absl::Seconds(1));
    core_->Step(Logged{effects.append[0].sequence}, env_.clock().Now());
    core_->Step(Applied{effects.append[0].mutation->decree}, env_.clock().Now());
  }
  void DropThrough(int64_t durable) {
    Do([&] { checkpoints_->DropUnneededLog(Decree(durable)); });
    Run(absl::Seconds(1));
  }

  std::optional<Decree> child_needs_, duplicated_;
  bool is_holding_ = false;
  int intervals_ = 0, empty_writes_ = 0, steps_ = 0;
  std::optional<ReplicaCheckpoints> checkpoints_;
};

TEST_F(ReplicaCheckpointsTest, OnlyAMemberMakesOne) {
  MakeIfNeeded();
  EXPECT_EQ(engine_->last_durable(), Decree(0));
  MakePrimary();
  MakeIfNeeded();
  EXPECT_EQ(engine_->last_durable(), Decree(1));
  EXPECT_EQ(steps_, 1);
}

TEST_F(ReplicaCheckpointsTest, NoneBeginsWhileEffectsWaitForTheDisk) {
  MakePrimary();
  is_holding_ = true;
  MakeIfNeeded();
  EXPECT_EQ(engine_->last_durable(), Decree(0));
}

TEST_F(ReplicaCheckpointsTest, AfterACompactionTheNewestIsMadeAnewOnceNobodyHoldsIt) {
  MakePrimary();
  MakeIfNeeded();
  const std::string mark = std::string(kDirectory) + "/data/checkpoint.1/a replaced file";
  std::shared_ptr<void> hold;
  env_.RunInPool([&] {
    EXPECT_TRUE(WriteFileDurably(env_.files(), mark, "much").ok());
    EXPECT_TRUE(engine_->NewestCheckpoint(&hold).ok());
  });
  const auto is_there = [&] {
    bool found = false;
    env_.RunInPool([&] { found = Exists(env_.files(), mark); });
    return found;
  };
  Do([&] { checkpoints_->Renew(); });
  Run(absl::Seconds(1));
  EXPECT_TRUE(is_there()) << "a learner copies it";
  hold.reset();
  MakeIfNeeded();
  EXPECT_FALSE(is_there());
  EXPECT_EQ(engine_->last_durable(), Decree(1));
  steps_ = 0;
  MakeIfNeeded();
  EXPECT_EQ(steps_, 0) << "once";
}

// Or a split's child would have to be made anew.
TEST_F(ReplicaCheckpointsTest, WhatAChildOrAnotherClusterIsToGetIsKeptOfTheLog) {
  MakePrimary();
  for (int i = 0; i < 5; ++i) Write();
  child_needs_ = Decree(2);
  DropThrough(5);
  EXPECT_TRUE(log_->Covers(Decree(3)));
  EXPECT_FALSE(log_->Covers(Decree(1)));
  child_needs_.reset();
  duplicated_ = Decree(3);
  DropThrough(5);
  EXPECT_FALSE(log_->Covers(Decree(3)));
  EXPECT_TRUE(log_->Covers(Decree(4)));
  duplicated_ = Decree(5);
  DropThrough(5);
  EXPECT_FALSE(log_->Covers(Decree(4)));
}

// Another cluster may be to get it, and nobody has told that in this life.
TEST_F(ReplicaCheckpointsTest, NothingOfTheLogGoesByWhatTheDirectoryRemembersOfTheTable) {
  AppInfo nothing = core_->app();
  nothing.app_name.clear();
  MakePrimary(*core_, nothing);
  for (int i = 0; i < 5; ++i) Write();
  DropThrough(5);
  EXPECT_TRUE(log_->Covers(Decree(1)));
  core_->Step(TableChanged{core_->app()}, env_.clock().Now());
  DropThrough(5);
  EXPECT_FALSE(log_->Covers(Decree(1)));
}

TEST_F(ReplicaCheckpointsTest, WithoutANewWriteNoneIsMade) {
  MakePrimary();
  MakeIfNeeded();
  MakeIfNeeded();
  EXPECT_EQ(steps_, 1);
}

TEST_F(ReplicaCheckpointsTest, EachIntervalOneIsLookedFor) {
  MakePrimary();
  Do([&] { checkpoints_->Start(); });
  Run(host_->options.checkpoint_interval * 3);
  EXPECT_GE(intervals_, 2);
  EXPECT_EQ(engine_->last_durable(), Decree(1));
  Do([&] { checkpoints_->Close(); });
  const int until_then = intervals_;
  Run(host_->options.checkpoint_interval * 3);
  EXPECT_EQ(intervals_, until_then);
}

TEST_F(ReplicaCheckpointsTest, WhatWasReadLastIsKeptWithIt) {
  MakePrimary();
  MakeIfNeeded();
  absl::StatusOr<std::vector<std::string>> keys;
  env_.RunInPool([&] { keys = LoadHotReads(env_.files(), kDirectory); });
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_THAT(*keys, ElementsAre("a key"));
}

TEST_F(ReplicaCheckpointsTest, BehindDamageAnIdleTableIsWrittenTo) {
  MakePrimary();
  Do([&] { checkpoints_->OnLogDamaged(absl::DataLossError("a block")); });
  Run(absl::Seconds(1));
  EXPECT_GE(empty_writes_, core_->WriteGate() == ErrorCode::kOk ? 1 : 0);
  EXPECT_EQ(engine_->last_durable(), Decree(1)) << "a checkpoint takes its place";
}

}  // namespace
}  // namespace arion
