// SPDX-License-Identifier: Apache-2.0
#include "duplication/duplication_sender.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/raw_key.h"
#include "messages/client_messages.h"
#include "messages/duplicate_messages.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

class DuplicationSenderTest : public testing::Test {
 protected:
  void Begin(std::optional<Decree> confirmed) {
    sender_ = std::make_shared<DuplicationSender>(
        int8_t{1}, /*duplication_id=*/9, confirmed,
        DuplicationSender::Hooks{
            .committed = [this] { return committed_; },
            .read_history =
                [this](Decree first, Decree through, DuplicationSender::OnMutations then) {
                  ++reads_;
                  if (first <= dropped_through_)
                    return then(absl::OutOfRangeError("decree was dropped from the log"));
                  std::vector<MutationPtr> read;
                  for (const auto& [decree, mutation] : log_)
                    if (decree >= first && decree <= through && read.size() < piece_)
                      read.push_back(mutation);
                  then(std::move(read));
                },
            .send =
                [this](const DuplicateBatch& batch, DuplicationSender::SentDone then) {
                  under_way_.emplace_back(batch.body, std::move(then));
                },
            .after =
                [this](absl::Duration delay, absl::AnyInvocable<void()> task) {
                  delays_.push_back(delay);
                  tasks_.push_back(std::move(task));
                },
            .wall_micros = [this] { return wall_us_; },
            .log_end = [this] { return committed_.value() * 1000 + 1000; },
            .tag = [] { return std::string("[2.1]"); }});
    sender_->SetActive(true);
  }
  void Commit(int64_t decree, const std::string& value) {
    Mutation m;
    m.pid = {2, 1};
    m.ballot = Ballot(1);
    m.decree = Decree(decree);
    m.timestamp_us = decree;
    m.log_offset = decree * 1000;
    m.updates = {
        {.code = WriteCode::kPut,
         .serialization = 1,
         .data = EncodeWrapped(UpdateRequest{.key = JoinRawKey("h", "s"), .value = value})}};
    log_[m.decree] = std::make_shared<const Mutation>(m);
    committed_ = m.decree;
    if (sender_ != nullptr) sender_->Proceed();
  }
  void RunTasks() {
    for (auto& task : std::exchange(tasks_, {})) task();
  }
  // The values of the request that is under way.
  std::vector<std::string> UnderWay() {
    std::vector<std::string> values;
    if (under_way_.empty()) return values;
    const auto request = DecodeWrapped<DuplicateRequest>(under_way_.front().first);
    for (const DuplicateEntry& entry : request->entries)
      values.push_back(DecodeWrapped<UpdateRequest>(entry.raw_message->bytes)->value.bytes);
    return values;
  }
  void Answer(SendOutcome outcome) {
    ASSERT_FALSE(under_way_.empty());
    auto then = std::move(under_way_.front().second);
    under_way_.pop_front();
    then(std::move(outcome));
  }
  using Values = std::vector<std::string>;

  Decree committed_;
  Decree dropped_through_;
  size_t piece_ = 1000;
  int64_t wall_us_ = 50;
  int reads_ = 0;
  std::map<Decree, MutationPtr> log_;
  std::deque<std::pair<std::string, DuplicationSender::SentDone>> under_way_;
  std::vector<absl::Duration> delays_;
  std::vector<absl::AnyInvocable<void()>> tasks_;
  std::shared_ptr<DuplicationSender> sender_;
};

TEST_F(DuplicationSenderTest, ItBeginsBehindWhatIsCommittedAndSendsOneAfterTheOther) {
  Commit(1, "1");
  Begin(std::nullopt);
  EXPECT_EQ(sender_->sent(), Decree(1));
  EXPECT_TRUE(tasks_.empty()) << "there is nothing to do";
  Commit(2, "2");
  Commit(3, "3");
  RunTasks();
  EXPECT_EQ(UnderWay(), (Values{"2", "3"}));
  Commit(4, "4");
  RunTasks();
  EXPECT_EQ(under_way_.size(), 1u) << "duplication_sender/D1";
  EXPECT_EQ(sender_->sent(), Decree(1));
  Answer({});
  EXPECT_EQ(sender_->sent(), Decree(3));
  RunTasks();
  EXPECT_EQ(UnderWay(), (Values{"4"}));
  Answer({});
  EXPECT_EQ(sender_->sent(), Decree(4));
  EXPECT_EQ(sender_->totals().updates, 3);
  EXPECT_EQ(reads_, 2);
}

TEST_F(DuplicationSenderTest, ItGoesOnBehindWhatTheMetaServerKnows) {
  for (int64_t decree = 1; decree <= 5; ++decree) Commit(decree, std::to_string(decree));
  Begin(Decree(3));
  RunTasks();
  EXPECT_EQ(UnderWay(), (Values{"4", "5"}));
}

TEST_F(DuplicationSenderTest, WhatFailsIsSentAgainEverLessOften) {
  Begin(Decree(0));
  Commit(1, "1");
  RunTasks();
  for (int i = 0; i < 8; ++i) {
    Answer({SendOutcome::Kind::kAgain, "nobody answers"});
    EXPECT_EQ(sender_->trouble(), "nobody answers");
    EXPECT_TRUE(under_way_.empty());
    RunTasks();
    EXPECT_EQ(UnderWay(), (Values{"1"}));
  }
  EXPECT_EQ(delays_[1], absl::Seconds(1));
  EXPECT_EQ(delays_.back(), absl::Seconds(60));
  Answer({});
  EXPECT_EQ(sender_->trouble(), "");
  EXPECT_EQ(sender_->sent(), Decree(1));
  EXPECT_EQ(reads_, 1) << "what was read is kept";
}

TEST_F(DuplicationSenderTest, ARefusalStopsItOrIsLeftOut) {
  Begin(Decree(0));
  Commit(1, "1");
  RunTasks();
  Answer({SendOutcome::Kind::kRefused, "self-duplicating"});
  EXPECT_NE(sender_->trouble().find("self-duplicating"), std::string::npos);
  Commit(2, "2");
  RunTasks();
  EXPECT_TRUE(under_way_.empty()) << "duplication_sender/D1";
  sender_->SetFailMode(DuplicationFailMode::kSkip);
  RunTasks();
  EXPECT_EQ(UnderWay(), (Values{"1"})) << "perhaps it is taken now";
  Answer({SendOutcome::Kind::kRefused, "self-duplicating"});
  EXPECT_EQ(sender_->totals().left_out, 1);
  RunTasks();
  EXPECT_EQ(UnderWay(), (Values{"2"}));
  Answer({});
  EXPECT_EQ(sender_->sent(), Decree(2));
}

TEST_F(DuplicationSenderTest, AHoleIsNeverPassedSilently) {
  for (int64_t decree = 1; decree <= 5; ++decree) Commit(decree, std::to_string(decree));
  dropped_through_ = Decree(4);
  Begin(Decree(3));
  RunTasks();
  EXPECT_NE(sender_->trouble().find("decree 3"), std::string::npos);
  EXPECT_EQ(sender_->sent(), Decree(3));
  sender_->SetActive(false);
  sender_->SetFailMode(DuplicationFailMode::kSkip);
  sender_->SetActive(true);
  RunTasks();
  EXPECT_EQ(sender_->sent(), Decree(5));
  Commit(6, "6");
  RunTasks();
  EXPECT_EQ(UnderWay(), (Values{"6"}));
}

TEST_F(DuplicationSenderTest, APauseKeepsItsPlace) {
  piece_ = 2;
  for (int64_t decree = 1; decree <= 5; ++decree) Commit(decree, std::to_string(decree));
  Begin(Decree(0));
  RunTasks();
  sender_->SetActive(false);
  Answer({});
  RunTasks();
  EXPECT_EQ(sender_->sent(), Decree(2));
  EXPECT_TRUE(under_way_.empty());
  sender_->SetActive(true);
  RunTasks();
  EXPECT_EQ(UnderWay(), (Values{"3", "4"}));
  sender_->Close();
  Answer({});
  EXPECT_TRUE(under_way_.empty());
  EXPECT_EQ(sender_->sent(), Decree(2)) << "nobody asks any more";
}

TEST_F(DuplicationSenderTest, WhatTheOtherClusterLacksIsShown) {
  Begin(Decree(0));
  const DuplicationFigures& figures = sender_->figures();
  EXPECT_EQ(figures.decrees_behind, 0);
  EXPECT_EQ(figures.behind_since_us, 0);
  Commit(1, "1");
  EXPECT_EQ(figures.decrees_behind, 1);
  EXPECT_EQ(figures.behind_since_us, 50) << "nothing says when it was ordered, before it is read";
  EXPECT_EQ(figures.bytes_behind, -1);
  Commit(2, "2");
  wall_us_ = 70;
  RunTasks();
  EXPECT_EQ(figures.behind_since_us, 1) << "the first of them";
  EXPECT_EQ(figures.bytes_behind, 2000);
  Answer({SendOutcome::Kind::kAgain, "nobody answers"});
  EXPECT_EQ(sender_->totals().retries, 1);
  RunTasks();
  Answer({});
  EXPECT_EQ(figures.decrees_behind, 0);
  EXPECT_EQ(figures.behind_since_us, 0);
  EXPECT_EQ(figures.bytes_behind, 0);
  Commit(3, "3");
  Commit(4, "4");
  RunTasks();
  EXPECT_EQ(figures.decrees_behind, 2);
  EXPECT_EQ(figures.bytes_behind,
            5000 - 2000 - static_cast<int64_t>(EncodedSize(*log_[Decree(2)])));
  Answer({SendOutcome::Kind::kRefused, "no"});
  EXPECT_TRUE(figures.is_stopped && figures.is_active);
  EXPECT_EQ(figures.decrees_behind, 2);
  sender_->SetFailMode(DuplicationFailMode::kSkip);
  EXPECT_FALSE(figures.is_stopped);
  sender_->SetActive(false);
  EXPECT_FALSE(figures.is_active);
}

}  // namespace
}  // namespace arion
