// The collection of a shared log by itself, round by round; with a whole server:
// shared_log_take_over_test.cc. SPDX-License-Identifier: Apache-2.0
#include "legacy/shared_log_collector.h"
#include "legacy/shared_log_stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "sim/sim_environment.h"
#include "tests/legacy/shared_log_bytes.h"

namespace arion {
namespace {

constexpr PartitionId k10{1, 0}, k21{2, 1};
constexpr char kDirectory[] = "/d1/replica/slog";
using Disposal = SharedLogCollector::Disposal;

class SharedLogCollectorTest : public testing::Test {
 protected:
  // 2.1 has the decrees 1 to 9 in three files, 1.0 has 11 to 19.
  SharedLogCollectorTest() {
    options_.collection_interval = absl::Seconds(1);
    SharedLogBytes log(5, 7000);
    log.Register(k10);
    log.Register(k21);
    for (int file = 0; file < 3; ++file) {
      log.NewFile();
      for (int64_t d = file * 3 + 1; d <= file * 3 + 3; ++d)
        log.Add({Mutation{.pid = k21, .ballot = Ballot(1), .decree = Decree(d)},
                 Mutation{.pid = k10, .ballot = Ballot(1), .decree = Decree(10 + d)}});
    }
    EXPECT_TRUE(log.Store(env_.files(), kDirectory).ok());
    Safe(k10, 19);
    Safe(k21, 9);
  }
  ~SharedLogCollectorTest() override {
    collector_ = nullptr;
    node_.Crash(sim::CrashMode::kProcess);
  }

  // What the replica says from now on.
  void Safe(PartitionId pid, int64_t decree) { replicas_.loaded[pid] = {Decree(decree), 0}; }
  void Begin(Disposal disposal = Disposal::kRemove) {
    auto catalog = ListSharedLog(env_.files(), kDirectory);
    ASSERT_TRUE(catalog.ok()) << catalog.status();
    SharedLogCollector::Server server{
        .ask_replicas =
            [this](auto answer) {
              ++rounds_;
              answer(replicas_);
            },
        .flush = [this](PartitionId pid,
                        absl::Duration after) { flushes_.emplace_back(pid, after); },
        .ask_about_missing =
            [this](SharedLogCollector::Missing missing) { missing_ = std::move(missing); },
        .on_gone = [this] { ++gone_; }};
    collector_ = std::make_shared<SharedLogCollector>(
        env_, strand_, options_, std::move(server), found_, *std::move(catalog), disposal, stats_);
    env_.RunOn(strand_, [&] { collector_->Start({{k10, Decree(19)}, {k21, Decree(9)}}); });
  }
  void Rounds(int n) { world_.RunFor(n * options_.collection_interval + absl::Milliseconds(100)); }
  std::vector<std::string> Files() {
    auto names = env_.files().List(kDirectory).value_or(std::vector<std::string>());
    std::sort(names.begin(), names.end());
    return names;
  }

  sim::SimWorld world_{1};
  sim::SimNode& node_ = world_.AddNode("r1");
  sim::SimEnvironment& env_ = node_.Start();
  const StrandPtr strand_ = env_.NewStrand("server");
  const std::shared_ptr<SharedLogStats> stats_ = std::make_shared<SharedLogStats>();
  SharedLogOptions options_;
  NotLoadedReplicas found_;
  SharedLogCollector::Replicas replicas_;
  std::shared_ptr<SharedLogCollector> collector_;
  int rounds_ = 0, gone_ = 0;
  std::vector<std::pair<PartitionId, absl::Duration>> flushes_;
  std::optional<SharedLogCollector::Missing> missing_;
};

TEST_F(SharedLogCollectorTest, WhatNobodyNeedsGoesAndThatIsSaidOnce) {
  Begin();
  EXPECT_EQ(Files().size(), 3u) << "not before an interval is over";
  Rounds(3);
  EXPECT_TRUE(Files().empty());
  EXPECT_EQ(gone_, 1);
  EXPECT_EQ(rounds_, 1);
  EXPECT_TRUE(missing_->replicas.empty());
  EXPECT_EQ(stats_->files, 0);
  EXPECT_EQ(stats_->bytes, 0);
}

TEST_F(SharedLogCollectorTest, WhatAReplicaLacksInItsCheckpointHoldsTheFileAndAllBehindIt) {
  Safe(k21, 5);
  Begin();
  Rounds(1);
  EXPECT_EQ(Files().size(), 2u);
  EXPECT_EQ(stats_->files, 2);
  EXPECT_EQ(stats_->replicas_blocking, 1);
  EXPECT_EQ(stats_->decrees_behind, 4);
  EXPECT_EQ(stats_->Blocking(), std::vector<std::string>{"2.1 by 4 decrees (no checkpoint yet)"});
  EXPECT_EQ(gone_, 0);
  Safe(k21, 9);
  Rounds(1);
  EXPECT_TRUE(Files().empty());
  EXPECT_TRUE(stats_->Blocking().empty());
  EXPECT_EQ(stats_->decrees_behind, 0);
}

TEST_F(SharedLogCollectorTest, WhoHoldsItBackIsMadeToFlushWithinHalfARound) {
  Safe(k21, 5);
  replicas_.unopened = {k10};
  replicas_.loaded.erase(k10);
  Begin();
  Rounds(1);
  ASSERT_EQ(flushes_.size(), 1u) << "who is not open can't flush";
  EXPECT_EQ(flushes_[0].first, k21);
  EXPECT_GE(flushes_[0].second, absl::ZeroDuration());
  EXPECT_LT(flushes_[0].second, options_.collection_interval / 2);
}

TEST_F(SharedLogCollectorTest, FlushesAtATimeAreBounded) {
  options_.flushes_max = 1;
  Safe(k10, 10);
  Safe(k21, 5);
  Begin();
  Rounds(1);
  EXPECT_EQ(flushes_.size(), 1u);
}

TEST_F(SharedLogCollectorTest, AMissingReplicaIsAskedForAndReleasedWhenNobodyNeedsIt) {
  replicas_.loaded.erase(k21);
  Begin();
  Rounds(1);
  EXPECT_EQ(missing_->replicas, std::set<PartitionId>{k21});
  EXPECT_EQ(stats_->replicas_missing, 1);
  EXPECT_EQ(Files().size(), 3u);
  env_.RunOn(strand_, [&] { missing_->on_unneeded({k21}); });
  Rounds(1);
  EXPECT_TRUE(Files().empty());
  EXPECT_EQ(gone_, 1);
}

TEST_F(SharedLogCollectorTest, WhileADiskIsMissingNobodysWordReleasesAReplica) {
  found_.disks = CollectionInput::Disks::kSomeMissing;
  replicas_.loaded.erase(k21);
  Begin();
  Rounds(1);
  env_.RunOn(strand_, [&] { missing_->on_unneeded({k21}); });
  Rounds(3);
  EXPECT_EQ(Files().size(), 3u);
  EXPECT_EQ(
      stats_->Blocking(),
      std::vector<std::string>{"2.1 by 9 decrees (not found, perhaps on a disk that is missing)"});
}

TEST_F(SharedLogCollectorTest, MissingReplicasAreWaitedForAsLongAsTheOperatorSaid) {
  options_.missing_wait_max = absl::Seconds(5);
  replicas_.loaded.erase(k21);
  Begin();
  Rounds(4);
  EXPECT_EQ(Files().size(), 3u);
  Rounds(2);
  EXPECT_TRUE(Files().empty());
}

TEST_F(SharedLogCollectorTest, OneThatWasSetAsideIsWaitedForOnlyWhileADiskIsMissing) {
  replicas_.loaded.erase(k21);
  found_.set_aside = {k21};
  found_.disks = CollectionInput::Disks::kSomeMissing;
  Begin();
  Rounds(2);
  EXPECT_EQ(Files().size(), 3u);
  found_.disks = CollectionInput::Disks::kAllReadable;
  Begin();
  Rounds(2);
  EXPECT_TRUE(Files().empty());
}

TEST_F(SharedLogCollectorTest, OneThatCouldNotBeLoadedAtTheStartHoldsIt) {
  replicas_.loaded.erase(k21);
  found_.unloaded = {k21};
  options_.missing_wait_max = absl::ZeroDuration();
  Begin();
  Rounds(3);
  EXPECT_EQ(Files().size(), 3u);
  EXPECT_EQ(stats_->Blocking(), std::vector<std::string>{"2.1 by 9 decrees (not open)"});
}

// Then these may be another server's files.
TEST_F(SharedLogCollectorTest, WhereNoneOfItsReplicasIsHereNobodyIsAskedAndNothingGoes) {
  replicas_.loaded.clear();
  Safe({7, 3}, 100);
  Begin();
  Rounds(3);
  EXPECT_FALSE(missing_);
  EXPECT_EQ(rounds_, 3);
  EXPECT_EQ(Files().size(), 3u);
}

TEST_F(SharedLogCollectorTest, ADamagedOneIsSetAsideAsAWholeOrNotAtAll) {
  Safe(k21, 5);
  Begin(Disposal::kSetAside);
  Rounds(1);
  const std::vector<std::string> before = Files();
  EXPECT_EQ(before.size(), 3u) << "the first file would have gone otherwise";
  Safe(k21, 9);
  Rounds(1);
  const std::vector<std::string> after = Files();
  ASSERT_EQ(after.size(), 3u) << "kept under other names";
  for (size_t i = 0; i < 3; ++i) EXPECT_NE(after[i], before[i]);
  EXPECT_EQ(gone_, 1);
}

TEST_F(SharedLogCollectorTest, WhatCanNotBeRemovedIsTriedAgain) {
  Begin();
  node_.disk().FailCalls(kDirectory, sim::DiskTrouble::kNotPermitted, 100);
  Rounds(2);
  EXPECT_EQ(Files().size(), 3u);
  EXPECT_EQ(gone_, 0);
  EXPECT_EQ(stats_->files, 3);
  node_.disk().FailCalls(kDirectory, sim::DiskTrouble::kNotPermitted, 0);
  Rounds(1);
  EXPECT_TRUE(Files().empty());
  EXPECT_EQ(gone_, 1);
}

TEST_F(SharedLogCollectorTest, StoppedOrDestroyedItBeginsNoRound) {
  Begin();
  env_.RunOn(strand_, [&] { collector_->Stop(); });
  Rounds(3);
  EXPECT_EQ(rounds_, 0);
  Begin();
  collector_ = nullptr;
  Rounds(3);
  EXPECT_EQ(rounds_, 0);
  EXPECT_EQ(Files().size(), 3u);
}

}  // namespace
}  // namespace arion
