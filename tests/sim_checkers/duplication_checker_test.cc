// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/duplication_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/raw_key.h"
#include "base/value_schema.h"

namespace arion::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint8_t kSource = 1;

// Two clusters with one partition each, of which each decree is one write.
class DuplicationCheckerTest : public ::testing::Test {
 protected:
  DuplicationCheckerTest() { checker_.Said(pid_, Claim(0)); }

  static DuplicationConfirmEntry Claim(int64_t decree, const char* trouble = "") {
    return {.confirmed_decree = decree, .trouble = trouble};
  }
  static WriteOp Op(const std::string& key, const std::string& value, uint64_t time_tag = 0) {
    return {.kind = value.empty() ? WriteOp::Kind::kRemove : WriteOp::Kind::kPut,
            .key = key,
            .value = value,
            .time_tag = time_tag};
  }
  // The source's next decree; it happens at that time.
  void Write(const std::string& value, const std::string& key = "k") {
    const std::string raw = JoinRawKey(key, "s");
    ++written_;
    checker_.AtSource(pid_, Decree(written_), written_, {Op(raw, value)});
  }
  // The receiver's next decree: what the source wrote as `decree`.
  void Receive(int64_t decree, const std::string& value, const std::string& key = "k",
               uint8_t cluster = kSource) {
    const std::string raw = JoinRawKey(key, "s");
    const TimeTag tag{.timestamp_us = decree, .cluster_id = cluster};
    checker_.AtReceiver(pid_, Decree(++received_), {Op(raw, value, tag.packed())}, now_);
  }

  const PartitionId pid_{2, 0};
  DuplicationChecker checker_{kSource};
  int64_t written_ = 0, received_ = 0;
  Instant now_{1};
};

TEST_F(DuplicationCheckerTest, WhatComesInOrderIsRight) {
  Write("a"), Write("b"), Write(""), Write("b");
  Receive(1, "a"), Receive(2, "b"), Receive(3, "");
  checker_.Said(pid_, Claim(3));
  checker_.Stored(pid_, Decree(3), now_);
  EXPECT_THAT(checker_.Judge(), IsEmpty()) << "the last one may be on its way";
  EXPECT_EQ(checker_.CountAgain(), 0);
}

TEST_F(DuplicationCheckerTest, WhatComesAgainFromAnEarlierStateOnIsRight) {
  Write("a"), Write("b"), Write("c");
  Receive(1, "a"), Receive(2, "b");
  Receive(1, "a"), Receive(2, "b"), Receive(3, "c");
  EXPECT_THAT(checker_.Judge(), IsEmpty());
  EXPECT_EQ(checker_.CountAgain(), 2);
}

TEST_F(DuplicationCheckerTest, AStateThatIsLeftOutIsSeen) {
  Write("a"), Write("b"), Write("c");
  Receive(1, "a"), Receive(3, "c");
  EXPECT_THAT(checker_.Judge(), ElementsAre(HasSubstr("/D1: [2.0] k/s becomes \"c\"")));
}

// Late and alone: what follows it must come again, too.
TEST_F(DuplicationCheckerTest, AnOlderStateBehindWhichOneIsLeftOutIsSeen) {
  Write("a"), Write("b"), Write("c");
  Receive(1, "a"), Receive(2, "b"), Receive(1, "a"), Receive(3, "c");
  EXPECT_THAT(checker_.Judge(), ElementsAre(HasSubstr("/D1")));
}

TEST_F(DuplicationCheckerTest, AStateThatNobodyWroteIsSeen) {
  Write("a");
  Receive(1, "x");
  EXPECT_THAT(checker_.Judge(), ElementsAre(HasSubstr("/D1")));
}

TEST_F(DuplicationCheckerTest, AWriteUnderAnotherTimeIsAnother) {
  Write("a");
  Receive(7, "a");
  EXPECT_THAT(checker_.Judge(), ElementsAre(HasSubstr("/D1")));
}

TEST_F(DuplicationCheckerTest, AWriteOfAnotherClusterIsSeen) {
  Write("a");
  Receive(1, "a", "k", 2);
  EXPECT_THAT(checker_.Judge(), ElementsAre(HasSubstr("as cluster 2")));
}

TEST_F(DuplicationCheckerTest, RecordsHaveNoOrderAmongThem) {
  Write("a", "k1"), Write("b", "k2");
  Receive(2, "b", "k2"), Receive(1, "a", "k1");
  EXPECT_THAT(checker_.Judge(), IsEmpty());
}

TEST_F(DuplicationCheckerTest, WhatOtherMembersApplyIsTheSame) {
  Write("a");
  const std::string raw = JoinRawKey("k", "s");
  checker_.AtSource(pid_, Decree(1), 1, {Op(raw, "a")});
  Receive(1, "a");
  EXPECT_THAT(checker_.Judge(), IsEmpty());
  EXPECT_EQ(checker_.received(), 1);
}

// A sender may be told of it late.
TEST_F(DuplicationCheckerTest, WhoGoesBackBehindWhatWasJustConfirmedIsRight) {
  Write("a"), Write("b");
  Receive(1, "a");
  checker_.Stored(pid_, Decree(1), now_);
  Receive(2, "b");
  now_ = now_ + absl::Minutes(2);
  Receive(1, "a"), Receive(2, "b");
  EXPECT_THAT(checker_.Judge(), IsEmpty());
}

TEST_F(DuplicationCheckerTest, NobodyGoesBackBehindWhatWasConfirmedLongAgo) {
  Write("a"), Write("b");
  Receive(1, "a");
  checker_.Stored(pid_, Decree(1), now_);
  now_ = now_ + absl::Minutes(2);
  Receive(2, "b");
  Receive(1, "a"), Receive(2, "b");
  EXPECT_THAT(checker_.Judge(), ElementsAre(HasSubstr("/D2: [2.0] k/s goes back")));
}

TEST_F(DuplicationCheckerTest, WhatIsConfirmedNeverFalls) {
  checker_.Stored(pid_, Decree(2), now_);
  checker_.Stored(pid_, Decree(1), now_);
  EXPECT_THAT(checker_.Judge(), ElementsAre(HasSubstr("/D2: of [2.0] decree 1 is confirmed")));
}

TEST_F(DuplicationCheckerTest, WhoSaysTooSoonThatItIsReceivedIsSeen) {
  Write("a"), Write("b");
  Receive(1, "a");
  checker_.Said(pid_, Claim(2));
  Receive(2, "b");
  EXPECT_THAT(checker_.Judge(), ElementsAre(HasSubstr("/D3: decree 2 was said to be received")));
}

TEST_F(DuplicationCheckerTest, WhatIsSaidToBeReceivedAndNeverIsIsSeen) {
  Write("a");
  checker_.Said(pid_, Claim(1));
  EXPECT_THAT(checker_.Judge(), ElementsAre(HasSubstr("which it never did")));
}

TEST_F(DuplicationCheckerTest, WhatWasBeforeTheDuplicationNeedNotCome) {
  DuplicationChecker checker(kSource);
  const std::string raw = JoinRawKey("k", "s");
  for (int64_t decree : {1, 2, 3}) checker.AtSource(pid_, Decree(decree), decree, {Op(raw, "abc")});
  checker.Said(pid_, Claim(2));
  const TimeTag tag{.timestamp_us = 3, .cluster_id = kSource};
  checker.AtReceiver(pid_, Decree(1), {Op(raw, "abc", tag.packed())}, now_);
  checker.Said(pid_, Claim(3));
  EXPECT_THAT(checker.Judge(), IsEmpty());
}

TEST_F(DuplicationCheckerTest, AMemberThatDropsLogThatIsNotConfirmedIsSeen) {
  checker_.Stored(pid_, Decree(5), now_);
  checker_.Looked("r1.1", pid_, Ballot(3), Decree(4));
  checker_.Looked("r1.1", pid_, Ballot(3), Decree(7));
  EXPECT_THAT(checker_.Judge(), ElementsAre(HasSubstr("/D4: the log of [2.0] at r1.1")));
}

TEST_F(DuplicationCheckerTest, WhoIsNoMemberNeedsNoLog) {
  checker_.Stored(pid_, Decree(5), now_);
  checker_.Looked("r1.1", pid_, std::nullopt, Decree(7));
  EXPECT_THAT(checker_.Judge(), IsEmpty());
}

TEST_F(DuplicationCheckerTest, ASenderThatStopsForWantOfLogIsSeenOnce) {
  const DuplicationConfirmEntry stopped = Claim(3, "the log no longer has what follows decree 3");
  checker_.Said(pid_, stopped);
  checker_.Said(pid_, stopped);
  EXPECT_EQ(checker_.Judge().size(), 1u);
  checker_.Said(pid_, Claim(4));  // another one goes on
  checker_.Said(pid_, stopped);
  EXPECT_EQ(checker_.Judge().size(), 2u);
}

}  // namespace
}  // namespace arion::sim
