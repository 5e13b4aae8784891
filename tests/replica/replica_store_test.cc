// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_store.h"

#include <gmock/gmock.h>

#include "disks/init_info.h"
#include "tests/replica/part_world.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReplicaStoreTest : public PartWorld {
 protected:
  ReplicaStoreTest() : stats_(0) {
    OpenedReplica opened{.pid = kPart, .directory = kDirectory, .disk = 0};
    opened.engine = engine_;
    auto log = PrivateLog::Open(
        env_, strand_,
        {.directory = "/d1/other/plog", .identity_path = "/d1/other/.arion-log", .pid = kPart},
        [](const MutationPtr&) { return absl::OkStatus(); }, &summary_);
    EXPECT_TRUE(log.ok()) << log.status();
    opened.log = *std::move(log);
    const auto note = [this](const char* what) { return [this, what] { said_.push_back(what); }; };
    store_.emplace(host_, opened, *work_, stats_.figures(),
                   ReplicaStore::Hooks{
                       .hold = note("hold"),
                       .release = note("release"),
                       .drop_held = note("drop"),
                       .is_holding = [this] { return is_holding_; },
                       .end_views = note("views"),
                       .on_content = note("content"),
                       .on_exchanged = [this](uint64_t) { said_.push_back("exchanged"); },
                       .on_exchange_failed =
                           [this](uint64_t, const absl::Status&) { said_.push_back("failed"); },
                       .fence = [this](const std::string&) { said_.push_back("fence"); },
                       .tag = [] { return std::string("[2.1]"); }});
    engine_ = nullptr;
  }
  std::vector<std::string> Said() { return std::exchange(said_, {}); }

  RequestStats stats_;
  ReplaySummary summary_;
  bool is_holding_ = false;
  std::vector<std::string> said_;
  std::optional<ReplicaStore> store_;
};

TEST_F(ReplicaStoreTest, EffectsWaitUntilABallotIsDurable) {
  Do([&] { store_->StoreBallot(Ballot(5), Standing::kLearner); });
  EXPECT_THAT(Said(), ElementsAre("hold"));
  Run(absl::Seconds(1));
  EXPECT_THAT(Said(), ElementsAre("release"));
  EXPECT_EQ(store_->info().ballot, Ballot(5));
  EXPECT_TRUE(store_->info().is_learner);
  absl::StatusOr<InitInfo> stored;
  env_.RunInPool([&] { stored = LoadInitInfo(env_.files(), kDirectory); });
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(*stored, store_->info());
}

TEST_F(ReplicaStoreTest, ABallotNeverFalls) {
  Do([&] { store_->StoreBallot(Ballot(5), std::nullopt); });
  Run(absl::Seconds(1));
  Do([&] { store_->StoreBallot(Ballot(4), std::nullopt); });
  Run(absl::Seconds(1));
  EXPECT_EQ(store_->info().ballot, Ballot(5));
}

TEST_F(ReplicaStoreTest, AnEngineIsExchangedOnceTheWorkIsQuiet) {
  is_quiet_ = false;
  Do([&] { store_->ExchangeEngine(1, Decree(0), [] { return absl::OkStatus(); }); });
  EXPECT_THAT(Said(), ElementsAre("hold", "views"));
  EXPECT_NE(store_->engine(), nullptr);
  is_quiet_ = true;
  Do([&] { work_->CheckQuiet(); });
  EXPECT_EQ(store_->engine(), nullptr);
  Run(absl::Seconds(1));
  EXPECT_THAT(Said(), ElementsAre("content", "exchanged", "release"));
  ASSERT_NE(store_->engine(), nullptr);
  EXPECT_TRUE(store_->info().is_learner);
}

TEST_F(ReplicaStoreTest, ItWaitsForOtherStores) {
  is_holding_ = true;
  Do([&] { store_->ExchangeEngine(1, Decree(0), [] { return absl::OkStatus(); }); });
  Run(absl::Seconds(2));
  EXPECT_THAT(Said(), IsEmpty());
  is_holding_ = false;
  Run(absl::Seconds(2));
  EXPECT_THAT(Said(), ElementsAre("hold", "views", "content", "exchanged", "release"));
}

TEST_F(ReplicaStoreTest, ContentThatStandsElsewhereIsAFailure) {
  Do([&] { store_->ExchangeEngine(1, Decree(7), [] { return absl::OkStatus(); }); });
  Run(absl::Seconds(1));
  EXPECT_THAT(Said(), ElementsAre("hold", "views", "content", "drop", "failed"));
}

TEST_F(ReplicaStoreTest, AfterCloseNothingIsReleased) {
  Do([&] {
    store_->StoreBallot(Ballot(5), std::nullopt);
    store_->Close();
  });
  Run(absl::Seconds(1));
  EXPECT_THAT(Said(), ElementsAre("hold"));
  bool is_done = false;
  Do([&] {
    store_->Finish(ReplicaStore::CloseMode::kFlushed, {}, [&](const absl::Status& status) {
      EXPECT_TRUE(status.ok()) << status;
      is_done = true;
    });
  });
  Run(absl::Seconds(5));
  EXPECT_TRUE(is_done);
  EXPECT_EQ(store_->engine(), nullptr);
  EXPECT_EQ(store_->log(), nullptr);
}

}  // namespace
}  // namespace arion
