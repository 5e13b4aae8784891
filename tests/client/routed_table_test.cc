// SPDX-License-Identifier: Apache-2.0
#include "client/routed_table.h"

#include "base/crc.h"
#include "base/raw_key.h"
#include "tests/client/scripted_server.h"

namespace arion {
namespace {

class RoutedTableTest : public ScriptedServerTest {
 protected:
  absl::StatusOr<int64_t> Increment() {
    return Outcome<int64_t>([&](auto done) { table_->Incr("h1", "s", 5, {}, std::move(done)); });
  }
  absl::StatusOr<CheckOutcome> Set() {
    return Outcome<CheckOutcome>([&](auto done) {
      table_->CheckAndSet(
          {.hash_key = "h1", .check = Check::NotExist(), .checked_value = CheckedValue::kReturn},
          std::move(done));
    });
  }
};

TEST_F(RoutedTableTest, RequestsGoToTheHashKeysPartition) {
  answers_.push_back(Ok(IncrResponse{.new_value = 42}));
  EXPECT_EQ(*Increment(), 42);
  EXPECT_EQ(asked_[0].partition_hash, Crc64("h1"));
  EXPECT_EQ(asked_[0].pid, (PartitionId{2, 2}));
  EXPECT_EQ(DecodeWrapped<IncrRequest>(asked_[0].body)->increment, 5);
  answers_.push_back(Ok(MultiGetResponse{.kvs = {{"s", "v", {}}}}));
  const auto got =
      Outcome<MultiGetResult>([&](auto done) { table_->MultiGet("h1", {}, std::move(done)); });
  EXPECT_EQ(got->rows.size(), 1u);
  EXPECT_EQ(asked_[1].pid, (PartitionId{2, 2}));
}

TEST_F(RoutedTableTest, ATimeOfExpiryIsSentAsItIs) {
  const absl::Time at = absl::FromUnixSeconds(kExpiryEpochUnixSeconds) + absl::Hours(300'000);
  const int32_t seconds = 300'000 * 3600;
  for (const auto& [expires, sent] : {std::pair(at, seconds),
                                      {at + absl::Milliseconds(1), seconds + 1},
                                      {absl::InfiniteFuture(), 0}}) {
    asked_.clear();
    answers_ = {Ok(UpdateResponse{}), Ok(UpdateResponse{}), Ok(CheckResponse{}),
                Ok(UpdateResponse{})};
    const PutOptions options{.ttl = absl::Hours(1), .expires = expires};
    const auto put = [](auto done) {
      return [done = std::move(done)](absl::Status status) mutable { done(status.ok()); };
    };
    EXPECT_TRUE(*Outcome<bool>(
        [&](auto done) { table_->Put("h1", "s", "v", options, put(std::move(done))); }));
    EXPECT_TRUE(*Outcome<bool>([&](auto done) {
      table_->MultiPut("h1", {{"s", "v"}}, options, put(std::move(done)));
    }));
    EXPECT_TRUE(Outcome<CheckOutcome>([&](auto done) {
                  table_->CheckAndSet({.hash_key = "h1", .expires = expires}, std::move(done));
                })->is_passed);
    EXPECT_TRUE(Outcome<std::vector<absl::Status>>([&](auto done) {
                  table_->BatchPut({{"h1", "s", "v"}}, options, std::move(done));
                })
                    ->front()
                    .ok());
    EXPECT_EQ(DecodeWrapped<UpdateRequest>(asked_[0].body)->expire_ts_seconds, sent);
    EXPECT_EQ(DecodeWrapped<MultiPutRequest>(asked_[1].body)->expire_ts_seconds, sent);
    EXPECT_EQ(DecodeWrapped<CheckAndSetRequest>(asked_[2].body)->set_expire_ts_seconds, sent);
    EXPECT_EQ(DecodeWrapped<UpdateRequest>(asked_[3].body)->expire_ts_seconds, sent);
  }
  asked_.clear();
  const auto gone = Outcome<bool>([&](auto done) {
    table_->Put("h1", "s", "v", {.expires = absl::FromUnixSeconds(kExpiryEpochUnixSeconds)},
                [done = std::move(done)](absl::Status status) mutable {
                  done(absl::IsInvalidArgument(status));
                });
  });
  EXPECT_TRUE(*gone);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(RoutedTableTest, WhatIsDecidedThereIsSentAgainOnlyAfterARefusal) {
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
    table_->MultiPut("h1", {{"s", "v"}}, {},
                     [done = std::move(done)](absl::Status status) mutable { done(status.ok()); });
  });
  EXPECT_TRUE(*put);
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(RoutedTableTest, StorageErrorsSayWhetherSomethingWasWritten) {
  answers_.push_back(Ok(IncrResponse{.error = 4}));
  EXPECT_TRUE(absl::IsInvalidArgument(Increment().status()));
  answers_.push_back(Ok(IncrResponse{.error = 5}));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Increment().status()));
  answers_.push_back(RpcResult{.body = "\x0c"});
  EXPECT_TRUE(absl::IsDeadlineExceeded(Increment().status()));
  answers_.push_back(Ok(CheckResponse{
      .error = 13, .check_value_returned = true, .check_value_exist = true, .check_value = "old"}));
  const auto not_passed = Set();
  ASSERT_TRUE(not_passed.ok()) << not_passed.status();
  EXPECT_FALSE(not_passed->is_passed);
  EXPECT_EQ(not_passed->value, "old");
  answers_.push_back(Ok(CheckResponse{.error = 4}));
  EXPECT_TRUE(absl::IsInvalidArgument(Set().status()));
}

TEST_F(RoutedTableTest, PartialAnswersAreAnswers) {
  answers_.push_back(Ok(MultiGetResponse{.error = 7, .kvs = {{"s", "v", {}}}}));
  const auto got =
      Outcome<MultiGetResult>([&](auto done) { table_->MultiGet("h1", {}, std::move(done)); });
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_FALSE(got->is_complete);
  answers_.push_back(Ok(CountResponse{.count = -1}));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Outcome<int64_t>([&](auto done) {
                                         table_->SortKeyCount("h", {}, std::move(done));
                                       }).status()));
}

TEST_F(RoutedTableTest, KeysThatCantBeSentAreRefused) {
  const auto refused = Outcome<MultiGetResult>(
      [&](auto done) { table_->MultiGet(std::string(65535, 'x'), {}, std::move(done)); });
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status()));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(RoutedTableTest, WhatIsAskedOffItsStrandIsPosted) {
  answers_.push_back(Ok(ReadResponse{.value = "v"}));
  absl::StatusOr<std::string> value = absl::UnknownError("never called");
  table_->Get("h1", "s", {}, [&](absl::StatusOr<std::string> v) { value = v; });
  EXPECT_TRUE(asked_.empty());
  cluster_.RunFor(absl::Seconds(1));
  EXPECT_EQ(*value, "v");
}

TEST_F(RoutedTableTest, WhatIsUnderWayWhenItsCoreIsDroppedIsUndecided) {
  absl::Status status = absl::UnknownError("never called");
  table_->Put("h1", "s", "v", {}, [&](absl::Status s) { status = s; });
  client_.reset();
  runtime_->cores()[0]->Close();
  runtime_->cores()[0]->Drop();
  cluster_.RunFor(absl::Minutes(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  table_->Get("h1", "s", {}, [&](absl::StatusOr<std::string> v) { status = v.status(); });
  EXPECT_EQ(status, ClientRuntime::Closed());
}

TEST_F(RoutedTableTest, ASlowPrimaryLosesToASecondary) {
  int backups = 0;
  std::optional<RpcResult> backup = Ok(ReadResponse{.value = "older"});
  cluster_.SetServer(kSecondary, [&](const OutboundRequest& request) {
    EXPECT_TRUE(request.is_backup_request);
    EXPECT_EQ(request.pid, (PartitionId{2, 2}));
    ++backups;
    return backup;
  });
  const auto ask = [&](const ReadOptions& options) {
    return Outcome<std::string>(
        [&](auto done) { table_->Get("h1", "s", options, std::move(done)); });
  };
  const ReadOptions with_backup{.backup_after = absl::Milliseconds(20)};
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

TEST_F(RoutedTableTest, ADeadlineOfOneCallCountsForThatCall) {
  answers_.assign(100, std::nullopt);
  const Instant start = cluster_.now();
  Instant end;
  cluster_.Run([&] {
    table_->Get("h1", "s", {.timeout = absl::Milliseconds(300)},
                [&](absl::StatusOr<std::string> body) {
                  EXPECT_TRUE(absl::IsDeadlineExceeded(body.status())) << body.status();
                  end = cluster_.now();
                });
  });
  EXPECT_EQ(end - start, absl::Milliseconds(300));
  bool is_over = false;
  cluster_.Run(
      [&] {
        table_->Get("h1", "s", {.timeout = absl::ZeroDuration()},
                    [&](absl::StatusOr<std::string> body) {
                      is_over = absl::IsDeadlineExceeded(body.status());
                    });
        EXPECT_FALSE(is_over) << "called inline";
      },
      absl::Milliseconds(1));
  EXPECT_TRUE(is_over);
}

TEST_F(RoutedTableTest, AWriteMayForbidThatItIsSentAgain) {
  answers_.push_back(std::nullopt);
  const auto put = Outcome<bool>([&](auto done) {
    table_->Put("h1", "s", "", {.write_retries = WriteRetries::kAfterRefusals},
                [done = std::move(done)](absl::Status status) mutable { done(std::move(status)); });
  });
  EXPECT_TRUE(absl::IsDeadlineExceeded(put.status()));
  EXPECT_EQ(asked_.size(), 1u);
}

}  // namespace
}  // namespace arion
