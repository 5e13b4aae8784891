// SPDX-License-Identifier: Apache-2.0
#include "client/table_operations.h"

#include "base/crc.h"
#include "base/raw_key.h"
#include "tests/client/scripted_server.h"

namespace arion {
namespace {

class TableOperationsTest : public ScriptedServerTest {
 protected:
  absl::StatusOr<int64_t> Increment() {
    return Outcome<int64_t>([&](auto done) {
      Incr(*client_, "temp", {.key = JoinRawKey("h1", "s"), .increment = 5}, std::move(done));
    });
  }
  absl::StatusOr<CheckResponse> Set() {
    return Outcome<CheckResponse>([&](auto done) {
      CheckAndSet(*client_, "temp", {.hash_key = "h1", .check_type = 1}, std::move(done));
    });
  }
};

TEST_F(TableOperationsTest, RequestsGoToTheHashKeysPartition) {
  answers_.push_back(Ok(IncrResponse{.new_value = 42}));
  EXPECT_EQ(*Increment(), 42);
  EXPECT_EQ(asked_[0].partition_hash, Crc64("h1"));
  EXPECT_EQ(asked_[0].pid, (PartitionId{2, 2}));
  EXPECT_EQ(DecodeWrapped<IncrRequest>(asked_[0].body)->increment, 5);
  answers_.push_back(Ok(MultiGetResponse{.kvs = {{"s", "v", {}}}}));
  const auto got = Outcome<MultiGetResponse>(
      [&](auto done) { MultiGet(*client_, "temp", {.hash_key = "h1"}, std::move(done)); });
  EXPECT_EQ(got->kvs.size(), 1u);
  EXPECT_EQ(asked_[1].pid, (PartitionId{2, 2}));
}

TEST_F(TableOperationsTest, WhatIsDecidedThereIsSentAgainOnlyAfterARefusal) {
  answers_.push_back(RpcResult{.error = ErrorCode::kInvalidState});
  answers_.push_back(Ok(IncrResponse{.new_value = 1}));
  EXPECT_EQ(*Increment(), 1);
  EXPECT_EQ(asked_.size(), 2u);

  asked_.clear();
  answers_.push_back(std::nullopt);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Increment().status()));
  EXPECT_EQ(asked_.size(), 1u) << "it may have counted";

  // A plain write is sent again, as the options say.
  asked_.clear();
  answers_.push_back(std::nullopt);
  answers_.push_back(Ok(UpdateResponse{}));
  const auto put = Outcome<bool>([&](auto done) {
    MultiPut(*client_, "temp", {.hash_key = "h1", .kvs = {{"s", "v", {}}}},
             [done = std::move(done)](absl::Status status) mutable { done(status.ok()); });
  });
  EXPECT_TRUE(*put);
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(TableOperationsTest, StorageErrorsSayWhetherSomethingWasWritten) {
  answers_.push_back(Ok(IncrResponse{.error = 4}));
  EXPECT_TRUE(absl::IsInvalidArgument(Increment().status()));
  answers_.push_back(Ok(IncrResponse{.error = 5}));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Increment().status()));
  answers_.push_back(RpcResult{.body = "\x0c"});
  EXPECT_TRUE(absl::IsDeadlineExceeded(Increment().status()));
  answers_.push_back(Ok(CheckResponse{.error = 13, .check_value = "old"}));
  const auto not_passed = Set();
  ASSERT_TRUE(not_passed.ok()) << not_passed.status();
  EXPECT_EQ(not_passed->check_value.bytes, "old");
  answers_.push_back(Ok(CheckResponse{.error = 4}));
  EXPECT_TRUE(absl::IsInvalidArgument(Set().status()));
}

TEST_F(TableOperationsTest, PartialAnswersAreAnswers) {
  answers_.push_back(Ok(MultiGetResponse{.error = 7, .kvs = {{"s", "v", {}}}}));
  const auto got = Outcome<MultiGetResponse>(
      [&](auto done) { MultiGet(*client_, "temp", {.hash_key = "h1"}, std::move(done)); });
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->error, 7);
  answers_.push_back(Ok(CountResponse{.count = -1}));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Outcome<int64_t>([&](auto done) {
                                         CountSortKeys(*client_, "temp", "h", std::move(done));
                                       }).status()));
}

TEST_F(TableOperationsTest, KeysThatCantBeSentAreRefused) {
  const auto refused = Outcome<MultiGetResponse>([&](auto done) {
    MultiGet(*client_, "temp", {.hash_key = std::string(65535, 'x')}, std::move(done));
  });
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status()));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(TableOperationsTest, ASlowPrimaryLosesToASecondary) {
  int backups = 0;
  std::optional<RpcResult> backup = Ok(ReadResponse{.value = "older"});
  cluster_.SetServer(kSecondary, [&](const OutboundRequest& request) {
    EXPECT_TRUE(request.is_backup_request);
    EXPECT_EQ(request.pid, (PartitionId{2, 2}));
    ++backups;
    return backup;
  });
  const Question get = GetQuestion(JoinRawKey("h1", "s"));
  const auto ask = [&](AskOptions options) {
    return Outcome<std::string>([&](auto done) {
      client_->Ask("temp", get, options,
                   [done = std::move(done)](Body body) mutable { done(GetAnswer(body)); });
    });
  };
  const AskOptions with_backup{.backup_after = absl::Milliseconds(20)};
  answers_.push_back(Ok(ReadResponse{.value = "new"}));
  EXPECT_EQ(*ask(with_backup), "new");
  EXPECT_EQ(backups, 0) << "the primary was in time";
  answers_.push_back(std::nullopt);
  EXPECT_EQ(*ask(with_backup), "older");
  EXPECT_EQ(backups, 1);
  EXPECT_FALSE(asked_.back().is_backup_request);

  // What the secondary can't say is left to the primary.
  backup = RpcResult{.error = ErrorCode::kInvalidState};
  answers_.push_back(std::nullopt);
  answers_.push_back(Ok(ReadResponse{.value = "newer"}));
  EXPECT_EQ(*ask(with_backup), "newer");
  EXPECT_EQ(backups, 2);
  answers_.push_back(std::nullopt);
  answers_.push_back(Ok(ReadResponse{.value = "newest"}));
  EXPECT_EQ(*ask({}), "newest");
  EXPECT_EQ(backups, 2) << "only on request";
}

TEST_F(TableOperationsTest, ADeadlineOfOneCallCountsForThatCall) {
  answers_.assign(100, std::nullopt);
  const Instant start = cluster_.now();
  Instant end;
  cluster_.Run([&] {
    client_->Ask("temp", GetQuestion(JoinRawKey("h1", "s")), {.timeout = absl::Milliseconds(300)},
                 [&](Body body) {
                   EXPECT_TRUE(absl::IsDeadlineExceeded(body.status())) << body.status();
                   end = cluster_.now();
                 });
  });
  EXPECT_EQ(end - start, absl::Milliseconds(300));
  bool is_over = false;
  cluster_.Run(
      [&] {
        client_->Ask("temp", GetQuestion(JoinRawKey("h1", "s")), {.timeout = absl::ZeroDuration()},
                     [&](Body body) { is_over = absl::IsDeadlineExceeded(body.status()); });
        EXPECT_FALSE(is_over) << "called inline";
      },
      absl::Milliseconds(1));
  EXPECT_TRUE(is_over);
}

TEST_F(TableOperationsTest, AWriteMayForbidThatItIsSentAgain) {
  answers_.push_back(std::nullopt);
  const auto put = Outcome<std::string>([&](auto done) {
    client_->Ask("temp", QuestionOf(UpdateRequest{.key = JoinRawKey("h1", "s")}),
                 {.write_retries = WriteRetries::kAfterRefusals}, std::move(done));
  });
  EXPECT_TRUE(absl::IsDeadlineExceeded(put.status()));
  EXPECT_EQ(asked_.size(), 1u);
}

}  // namespace
}  // namespace arion
