// SPDX-License-Identifier: Apache-2.0
#include "decrees/learned_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

// A learner that has 10, taught by a primary of ballot 7.
class LearnedLogTest : public testing::Test {
 protected:
  void Begin(int64_t through) {
    learned_.clear();
    log_ = std::make_unique<LearnedLog>(
        kTestPid, LogTerms{.applied = Decree(10), .through = Decree(through), .ballot = Ballot(7)});
  }
  absl::Status Add(int64_t ballot, int64_t decree, int64_t committed, std::string data = "") {
    return log_->Add(MakeMutation(ballot, decree, committed, std::move(data)), &learned_);
  }
  // "11 12": decrees, with what they say.
  std::string Learned() const {
    std::string text;
    for (const MutationPtr& m : learned_) {
      text += (text.empty() ? "" : " ") + std::to_string(m->decree.value());
      if (!m->updates[0].data.empty()) text += m->updates[0].data;
    }
    return text;
  }

  std::unique_ptr<LearnedLog> log_;
  std::vector<MutationPtr> learned_;
};

TEST_F(LearnedLogTest, WhatLaterMutationsProveComesAtOnceAndTheRestAtTheEnd) {
  Begin(13);
  for (int64_t d = 8; d <= 12; ++d) ASSERT_TRUE(Add(7, d, d - 1).ok());
  EXPECT_EQ(Learned(), "11");
  ASSERT_TRUE(Add(7, 13, 11).ok());
  EXPECT_FALSE(log_->IsWhole());
  ASSERT_TRUE(log_->Finish(&learned_).ok());
  EXPECT_EQ(Learned(), "11 12 13");
  EXPECT_TRUE(log_->IsWhole());
}

TEST_F(LearnedLogTest, NothingBeyondWhatThePrimaryCountedAsCommitted) {
  Begin(12);
  for (int64_t d = 11; d <= 20; ++d) ASSERT_TRUE(Add(7, d, d - 1).ok());
  EXPECT_EQ(Learned(), "11 12");
  EXPECT_TRUE(log_->IsWhole());
  ASSERT_TRUE(log_->Finish(&learned_).ok());
  EXPECT_EQ(Learned(), "11 12");
}

TEST_F(LearnedLogTest, TheLargerBallotOfADecreeCounts) {
  Begin(13);
  ASSERT_TRUE(Add(5, 11, 10, "old").ok());
  ASSERT_TRUE(Add(5, 12, 10, "old").ok());
  ASSERT_TRUE(Add(6, 11, 10, "new").ok());
  ASSERT_TRUE(Add(6, 12, 10, "new").ok());
  ASSERT_TRUE(Add(6, 13, 10, "new").ok());
  ASSERT_TRUE(log_->Finish(&learned_).ok());
  EXPECT_EQ(Learned(), "11new 12new 13new");
}

// It stopped before the version that counts: what is there may be an overruled one.
TEST_F(LearnedLogTest, OlderVersionsBehindANewerOneAreNoHistory) {
  Begin(12);
  ASSERT_TRUE(Add(5, 11, 10, "old").ok());
  ASSERT_TRUE(Add(5, 12, 10, "old").ok());
  ASSERT_TRUE(Add(6, 11, 10, "new").ok());
  EXPECT_TRUE(absl::IsDataLoss(log_->Finish(&learned_)));
  EXPECT_EQ(Learned(), "");
}

TEST_F(LearnedLogTest, AHoleIsNeverPassedNorAnythingBeforeItThatItsRecordWouldProve) {
  Begin(20);
  ASSERT_TRUE(Add(7, 11, 10).ok());
  ASSERT_TRUE(Add(7, 12, 11).ok());
  const absl::Status hole = Add(7, 15, 14);
  EXPECT_TRUE(absl::IsDataLoss(hole)) << hole;
  EXPECT_EQ(Learned(), "11");
  EXPECT_EQ(Add(7, 12, 11), hole) << "it is over";
  EXPECT_EQ(log_->Finish(&learned_), hole);
  EXPECT_EQ(Learned(), "11");
}

TEST_F(LearnedLogTest, ALogThatBeginsBehindWhatIsLackedTeachesNothing) {
  Begin(30);
  ASSERT_TRUE(Add(7, 30, 10).ok());
  EXPECT_TRUE(absl::IsDataLoss(log_->Finish(&learned_)));
  Begin(30);
  EXPECT_TRUE(absl::IsDataLoss(Add(7, 30, 29)));
  EXPECT_EQ(Learned(), "");
}

TEST_F(LearnedLogTest, ATailThatIsMissingIsSaid) {
  Begin(14);
  ASSERT_TRUE(Add(7, 11, 10).ok());
  ASSERT_TRUE(Add(7, 12, 11).ok());
  EXPECT_TRUE(absl::IsDataLoss(log_->Finish(&learned_)));
  EXPECT_EQ(Learned(), "11") << "that much was proven";
}

// It is primary under another ballot by now, or another's secondary.
TEST_F(LearnedLogTest, WhatWasLoggedSinceUnderALargerBallotIsLeftOut) {
  Begin(12);
  ASSERT_TRUE(Add(7, 11, 10, "7").ok());
  ASSERT_TRUE(Add(7, 12, 10, "7").ok());
  ASSERT_TRUE(Add(9, 11, 10, "9").ok());
  ASSERT_TRUE(Add(9, 13, 12, "9").ok());
  ASSERT_TRUE(log_->Finish(&learned_).ok());
  EXPECT_EQ(Learned(), "117 127");
}

TEST_F(LearnedLogTest, NumbersThatNobodyReachesAreRefused) {
  constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;
  for (const auto& [ballot, decree, committed] :
       std::vector<std::array<int64_t, 3>>{{kMin, 11, 10},
                                           {kMax, 11, 10},
                                           {7, kMin, 10},
                                           {7, kMax, 10},
                                           {7, 11, kMin},
                                           {7, 11, kMax},
                                           {7, 11, 11},
                                           {7, 1 << 30, 10}}) {
    Begin(13);
    EXPECT_TRUE(absl::IsDataLoss(Add(ballot, decree, committed))) << ballot << " " << decree;
    EXPECT_EQ(Learned(), "");
  }
  Begin(13);
  Mutation foreign = *MakeMutation(7, 11, 10, "");
  foreign.pid = {9, 9};
  EXPECT_TRUE(absl::IsDataLoss(log_->Add(std::make_shared<Mutation>(foreign), &learned_)));
}

// Whatever a peer sends: the promises are CHECKs.
TEST_F(LearnedLogTest, MutationsOfAnyKindBreakNoPromise) {
  std::mt19937_64 random(5);
  const auto below = [&random](uint64_t n) { return static_cast<int64_t>(random() % n); };
  int whole = 0, refused = 0;
  for (int run = 0; run < 20'000; ++run) {
    Begin(10 + below(8));
    bool is_over = false;
    int64_t decree = 9;
    for (int i = 0; i < 30 && !is_over; ++i) {
      decree = below(4) == 0 ? 8 + below(14) : decree + 1;
      const int64_t committed = below(6) == 0 ? below(24) : decree - 1 - below(4);
      is_over = !Add(below(3) == 0 ? below(9) : 7, decree, std::max<int64_t>(committed, 0)).ok();
    }
    is_over = !log_->Finish(&learned_).ok();
    ++(is_over ? refused : whole);
    for (size_t i = 0; i < learned_.size(); ++i)
      ASSERT_EQ(learned_[i]->decree, Decree(11 + static_cast<int64_t>(i)));
    ASSERT_TRUE(is_over || log_->IsWhole());
  }
  EXPECT_GT(whole, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace arion
