// SPDX-License-Identifier: Apache-2.0
#include "client/table_operations.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>

#include "base/crc.h"
#include "base/raw_key.h"
#include "rpc/thrift_codec.h"
#include "tests/client/fake_cluster.h"

namespace arion {
namespace {

const Endpoint kMeta = *Endpoint::Parse("127.0.0.1:34601");
const Endpoint kServer = *Endpoint::Parse("127.0.0.1:34801");

template <class T>
RpcResult Ok(const T& answer) {
  return {.body = EncodeWrapped(answer)};
}

class TableOperationsTest : public testing::Test {
 protected:
  TableOperationsTest() {
    cluster_.SetServer(kMeta, [](const OutboundRequest&) -> std::optional<RpcResult> {
      QueryConfigResponse answer{.app_id = 2, .partition_count = 4, .is_stateful = true};
      for (int i = 0; i < 4; ++i) {
        PartitionConfiguration partition;
        partition.pid = {2, i};
        partition.ballot = Ballot(3);
        partition.primary = kServer;
        answer.partitions.push_back(partition);
      }
      return Ok(answer);
    });
    cluster_.SetServer(kServer, [this](const OutboundRequest& request) {
      asked_.push_back(request);
      std::optional<RpcResult> answer = RpcResult{.error = ErrorCode::kTimeout};
      if (!answers_.empty()) {
        answer = std::move(answers_.front());
        answers_.pop_front();
      }
      return answer;
    });
    client_ =
        ClusterClient::Create(cluster_, cluster_, cluster_.strand(),
                              {.meta_servers = {kMeta}, .write_retries = WriteRetries::kAlways});
  }
  // Runs `start(done)` and returns what done got.
  template <class T>
  absl::StatusOr<T> Outcome(std::function<void(Answered<T>)> start) {
    std::optional<absl::StatusOr<T>> outcome;
    cluster_.Run([&] {
      start([&](absl::StatusOr<T> answer) {
        EXPECT_FALSE(outcome.has_value()) << "called twice";
        outcome = std::move(answer);
      });
      EXPECT_FALSE(outcome.has_value()) << "called inline";
    });
    return outcome.value_or(absl::UnknownError("never called"));
  }
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
  std::string Drain(TableScan& scan) {
    std::string text;
    for (int i = 0; i < 20; ++i) {
      auto batch = Outcome<std::vector<KeyValue>>([&](auto done) { scan.Next(std::move(done)); });
      if (!batch.ok()) return text + batch.status().ToString();
      if (batch->empty()) return text;
      for (const KeyValue& kv : *batch) text += SplitRawKey(kv.key)->sort_key;
      text += "|";
    }
    return text + "without end";
  }
  static ScanResponse Batch(std::vector<std::string> sort_keys, int64_t id) {
    ScanResponse response{.context_id = id};
    for (const std::string& key : sort_keys)
      response.kvs.push_back({JoinRawKey("h1", key), "v", {}});
    return response;
  }

  FakeCluster cluster_;
  std::deque<std::optional<RpcResult>> answers_;  // nullopt: none
  std::deque<OutboundRequest> asked_;
  std::shared_ptr<ClusterClient> client_;
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

TEST_F(TableOperationsTest, AScanOfAHashKeyFollowsItsIds) {
  answers_.push_back(Ok(Batch({"a", "b"}, 7)));
  answers_.push_back(Ok(Batch({}, 8)));
  answers_.push_back(Ok(Batch({"c"}, kScanEnded)));
  const auto scan =
      TableScan::OfHashKey(client_, "temp", {.start_key = JoinRawKey("h1", ""), .batch_size = 2});
  EXPECT_EQ(Drain(*scan), "ab|c|");
  EXPECT_EQ(asked_[0].pid, (PartitionId{2, 2}));
  EXPECT_EQ(DecodeWrapped<ScanRequest>(asked_[1].body)->context_id, 7);
  EXPECT_EQ(DecodeWrapped<ScanRequest>(asked_[2].body)->context_id, 8);
}

TEST_F(TableOperationsTest, AForgottenScanGoesOnBehindTheLastRecord) {
  answers_.push_back(Ok(Batch({"a", "b"}, 7)));
  answers_.push_back(Ok(ScanResponse{.error = 1}));
  answers_.push_back(Ok(Batch({"c"}, kScanEnded)));
  const auto scan = TableScan::OfHashKey(
      client_, "temp", {.start_key = JoinRawKey("h1", ""), .start_inclusive = true});
  EXPECT_EQ(Drain(*scan), "ab|c|");
  const auto again = DecodeWrapped<GetScannerRequest>(asked_[2].body);
  EXPECT_EQ(again->start_key.bytes, JoinRawKey("h1", "b"));
  EXPECT_FALSE(again->start_inclusive);
}

TEST_F(TableOperationsTest, AScanOfATableGoesThroughAllPartitions) {
  answers_.push_back(Ok(Batch({"a"}, 7)));
  answers_.push_back(Ok(Batch({"b"}, kScanEnded)));
  answers_.push_back(Ok(Batch({}, kScanEnded)));
  answers_.push_back(Ok(Batch({"c"}, kScanEnded)));
  answers_.push_back(Ok(Batch({"d"}, kScanEnded)));
  const auto scan = TableScan::OfTable(client_, "temp", {});
  EXPECT_EQ(Drain(*scan), "a|b|c|d|");
  std::vector<int32_t> partitions;
  for (const OutboundRequest& request : asked_) partitions.push_back(request.pid.index);
  EXPECT_EQ(partitions, (std::vector<int32_t>{3, 3, 2, 1, 0}));
  const auto first = DecodeWrapped<GetScannerRequest>(asked_[3].body);
  EXPECT_EQ(first->start_key.bytes, std::string(2, '\0')) << "each from its beginning";
  EXPECT_TRUE(first->start_inclusive);
}

TEST_F(TableOperationsTest, AFailedBatchMayBeAskedForAgain) {
  answers_.push_back(Ok(Batch({"a"}, kScanEnded)));
  answers_.push_back(RpcResult{.error = ErrorCode::kAclDeny});
  for (int i = 0; i < 3; ++i) answers_.push_back(Ok(Batch({std::to_string(i)}, kScanEnded)));
  const auto scan = TableScan::OfTable(client_, "temp", {});
  EXPECT_TRUE(Drain(*scan).starts_with("a|PERMISSION_DENIED"));
  EXPECT_EQ(Drain(*scan), "0|1|2|") << "no partition is left out";
}

}  // namespace
}  // namespace arion
