// What no group of meta servers may do is told. SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/leader_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/status.h"

namespace arion::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Endpoint kA{0x0a000001u, 1}, kB{0x0a000002u, 1};

Instant At(int seconds) { return Instant(0) + absl::Seconds(seconds); }

// Answers a batch when it is told to.
class HeldStore : public MetaStore {
 public:
  explicit HeldStore(std::map<std::string, std::string> entries) : entries_(std::move(entries)) {}
  absl::StatusOr<std::map<std::string, std::string>> Load() override { return entries_; }
  void Commit(std::vector<Change>, StoreNeed, StrandPtr,
              absl::AnyInvocable<void(const absl::Status&)> done) override {
    held.push_back(std::move(done));
  }
  void Look(StrandPtr, absl::AnyInvocable<void(const StoreRoom&)>) override {}
  std::vector<absl::AnyInvocable<void(const absl::Status&)>> held;

 private:
  const std::map<std::string, std::string> entries_;
};

class LeaderCheckerTest : public ::testing::Test {
 protected:
  struct Reign {
    std::shared_ptr<HeldStore> inner;
    std::shared_ptr<MetaStore> store;
  };
  // That server has the lock, and has loaded this.
  Reign Begin(Endpoint server, std::map<std::string, std::string> entries) {
    checker_.LockIs({{.session = ++session_, .server = server}}, At(0));
    return Load(server, std::move(entries));
  }
  Reign Load(Endpoint server, std::map<std::string, std::string> entries) {
    Reign reign{.inner = std::make_shared<HeldStore>(std::move(entries)), .store = nullptr};
    reign.store = checker_.Watch(server, reign.inner, [this] { ++led_; });
    EXPECT_TRUE(reign.store->Load().ok());
    return reign;
  }
  static void Store(Reign& reign, const std::string& key, std::optional<std::string> value) {
    reign.store->Commit({{key, std::move(value)}}, StoreNeed::kToServe, nullptr,
                        [](const absl::Status&) {});
  }
  static void Answer(Reign& reign, size_t which) { reign.inner->held[which](absl::OkStatus()); }

  LeaderChecker checker_;
  int64_t session_ = 0;
  int led_ = 0;
};

TEST_F(LeaderCheckerTest, WhoHasLostTheLockGrantsNoLeases) {
  checker_.LockIs({{.session = 1, .server = kA}}, At(1));
  checker_.AnsweredAsLeader(kA, At(2));
  checker_.LockIs({{.session = 2, .server = kB}}, At(5));
  checker_.AnsweredAsLeader(kA, At(4));  // sent when it had it
  checker_.AnsweredAsLeader(kB, At(6));
  EXPECT_THAT(checker_.violations(), IsEmpty());
  checker_.AnsweredAsLeader(kA, At(6));
  EXPECT_THAT(checker_.violations(), ElementsAre(HasSubstr("leader_checker/L1")));
}

TEST_F(LeaderCheckerTest, WhoNeverHadItGrantsNone) {
  checker_.AnsweredAsLeader(kA, At(2));
  EXPECT_THAT(checker_.violations(), ElementsAre(HasSubstr("never had the lock")));
}

TEST_F(LeaderCheckerTest, WhoseLockAPersonRemovedHasAMomentToNotice) {
  checker_.LockIs({{.session = 1, .server = kA}}, At(1));
  checker_.LockIs({{.session = 2, .server = kB}}, At(5), {.notice = absl::Seconds(2)});
  checker_.AnsweredAsLeader(kA, At(6));
  EXPECT_THAT(checker_.violations(), IsEmpty());
  checker_.AnsweredAsLeader(kA, At(8));
  EXPECT_THAT(checker_.violations(), ElementsAre(HasSubstr("leader_checker/L1")));
}

TEST_F(LeaderCheckerTest, OnlyTheLocksSessionStores) {
  checker_.LockIs({{.session = 1, .server = kA}}, At(1));
  checker_.Changed(1, "/apps/1");
  EXPECT_THAT(checker_.violations(), IsEmpty());
  checker_.Changed(2, "/apps/1");
  checker_.LockIs(std::nullopt, At(2));
  checker_.Changed(1, "/apps/1");
  EXPECT_THAT(checker_.violations(),
              ElementsAre(HasSubstr("leader_checker/L3"), HasSubstr("leader_checker/L3")));
}

TEST_F(LeaderCheckerTest, WhatWasAcknowledgedIsLoaded) {
  Reign a = Begin(kA, {{"/apps/1", "old"}});
  Store(a, "/apps/1", "new");
  Store(a, "/apps/2", "made");
  Answer(a, 0);
  Answer(a, 1);
  Begin(kB, {{"/apps/1", "new"}, {"/apps/2", "made"}});
  EXPECT_THAT(checker_.violations(), IsEmpty());
  EXPECT_EQ(checker_.takeovers(), 1);
  EXPECT_EQ(led_, 2);
  Begin(kA, {{"/apps/1", "old"}});
  EXPECT_THAT(checker_.violations(),
              ElementsAre(HasSubstr("has loaded of /apps/1: old; acknowledged was: new"),
                          HasSubstr("has loaded of /apps/2: nothing; acknowledged was: made")));
}

TEST_F(LeaderCheckerTest, WhatWasNotAnsweredMayBeThereOrNot) {
  Reign a = Begin(kA, {{"/apps/1", "0"}});
  Store(a, "/apps/1", "1");
  Store(a, "/apps/1", std::nullopt);
  Reign b = Begin(kB, {{"/apps/1", "1"}});
  Begin(kA, {{"/apps/1", "1"}});
  EXPECT_THAT(checker_.violations(), IsEmpty());
  // The answer comes late: it was carried out before another one loaded.
  Answer(a, 0);
  EXPECT_THAT(checker_.violations(), IsEmpty());
  Answer(a, 1);
  EXPECT_THAT(checker_.violations(), ElementsAre(HasSubstr("acknowledged was: nothing")));
}

TEST_F(LeaderCheckerTest, WhoLoadedWhenItHadLostTheLockStoresNothing) {
  Reign a = Begin(kA, {{"/apps/1", "0"}});
  Store(a, "/apps/1", "1");
  Answer(a, 0);
  // It began to read before, and nobody asks what it has read.
  Reign b = Load(kB, {{"/apps/1", "0"}});
  EXPECT_EQ(led_, 1);
  EXPECT_THAT(checker_.violations(), IsEmpty());
  Store(b, "/apps/1", "2");
  Answer(b, 0);
  EXPECT_THAT(checker_.violations(), ElementsAre(HasSubstr("leader_checker/L2")));
}

}  // namespace
}  // namespace arion::sim
