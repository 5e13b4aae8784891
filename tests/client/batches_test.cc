// SPDX-License-Identifier: Apache-2.0
#include "client/batches.h"

#include <gmock/gmock.h>

#include <set>

#include "base/crc.h"
#include "base/raw_key.h"
#include "tests/client/scripted_server.h"

namespace arion {
namespace {

class BatchesTest : public ScriptedServerTest {
 protected:
  BatchValues Get(std::vector<FullKey> keys) {
    std::optional<BatchValues> outcome;
    cluster_.Run([&] {
      BatchGet(*client_, "temp", std::move(keys), {},
               [&](BatchValues v) { outcome = std::move(v); });
      EXPECT_FALSE(outcome.has_value()) << "called inline";
    });
    return outcome.value_or(BatchValues());
  }
  std::vector<absl::Status> Put(int count) {
    std::vector<Question> writes;
    for (int i = 0; i < count; ++i)
      writes.push_back(QuestionOf(UpdateRequest{.key = JoinRawKey(std::to_string(i), "s")}));
    std::optional<std::vector<absl::Status>> outcome;
    cluster_.Run([&] {
      BatchWrite(*client_, "temp", std::move(writes), {},
                 [&](std::vector<absl::Status> s) { outcome = std::move(s); });
      EXPECT_FALSE(outcome.has_value()) << "called inline";
    });
    return outcome.value_or(std::vector<absl::Status>());
  }
  // A server that has every key but those that begin with '-'; hash keys with '!' fail.
  void ServeGets() {
    cluster_.SetServer(kServer, [this](const OutboundRequest& request) -> std::optional<RpcResult> {
      asked_.push_back(request);
      BatchGetResponse answer;
      const auto asked = *DecodeWrapped<BatchGetRequest>(request.body);
      for (const FullKey& key : asked.keys) {
        EXPECT_EQ(static_cast<int32_t>(Crc64(key.hash_key) % 4), request.pid.index);
        if (key.hash_key.bytes[0] == '!') return RpcResult{.error = ErrorCode::kAclDeny};
        if (key.hash_key.bytes[0] == '-') continue;
        answer.data.push_back(
            {key.hash_key, key.sort_key, key.hash_key.bytes + key.sort_key.bytes});
      }
      return Ok(answer);
    });
  }
};

TEST_F(BatchesTest, EachPartitionIsAskedOnceAndAnswersComeInOrder) {
  ServeGets();
  std::vector<FullKey> keys;
  std::string expected, got;
  for (int i = 0; i < 40; ++i) {
    keys.push_back({i % 5 == 0 ? "-" + std::to_string(i) : std::to_string(i), "s"});
    expected += i % 5 == 0 ? "NOT_FOUND: no such record|" : std::to_string(i) + "s|";
  }
  keys.push_back(keys[1]);
  expected += "1s|";
  for (const auto& value : Get(keys))
    got += (value.ok() ? *value : value.status().ToString()) + "|";
  EXPECT_EQ(got, expected);
  EXPECT_EQ(asked_.size(), 4u);
}

TEST_F(BatchesTest, APartitionThatRefusesSpoilsOnlyItsOwn) {
  ServeGets();
  const BatchValues values = Get({{"h1", "s"}, {"!1", "s"}, {"!2", "s"}, {"hello world", "s"}});
  ASSERT_EQ(values.size(), 4u);
  std::set<uint64_t> spoilt = {Crc64("!1") % 4, Crc64("!2") % 4};
  EXPECT_EQ(values[0].ok(), !spoilt.contains(Crc64("h1") % 4));
  EXPECT_TRUE(absl::IsPermissionDenied(values[1].status()));
  EXPECT_TRUE(absl::IsPermissionDenied(values[2].status()));
}

TEST_F(BatchesTest, KeysAreSortedAnewWhenTheTableIsSplit) {
  const auto is_elsewhere = [this](const FullKey& key, const OutboundRequest& request) {
    return static_cast<int32_t>(Crc64(key.hash_key) % 8) != request.pid.index;
  };
  cluster_.SetServer(kServer,
                     [&, this](const OutboundRequest& request) -> std::optional<RpcResult> {
                       asked_.push_back(request);
                       count_ = made_ = 8;
                       BatchGetResponse answer;
                       const auto asked = *DecodeWrapped<BatchGetRequest>(request.body);
                       for (const FullKey& key : asked.keys) {
                         if (is_elsewhere(key, request))
                           return RpcResult{.error = ErrorCode::kParentPartitionMisused};
                         answer.data.push_back({key.hash_key, key.sort_key, key.hash_key.bytes});
                       }
                       return Ok(answer);
                     });
  std::vector<FullKey> keys;
  for (int i = 0; i < 40; ++i) keys.push_back({std::to_string(i), "s"});
  const BatchValues values = Get(keys);
  ASSERT_EQ(values.size(), 40u);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i].value_or("none"), std::to_string(i));
  EXPECT_EQ(asked_.size(), 4u + 8u);
}

TEST_F(BatchesTest, ManyKeysOfOnePartitionGoInSeveralRequests) {
  ServeGets();
  const BatchValues values = Get(std::vector<FullKey>(2500, FullKey{"h1", "s"}));
  EXPECT_EQ(values.size(), 2500u);
  for (const auto& value : values) ASSERT_EQ(value.value_or("none"), "h1s");
  EXPECT_EQ(asked_.size(), 3u);
}

TEST_F(BatchesTest, NothingAskedIsAnsweredToo) {
  EXPECT_TRUE(Get({}).empty());
  EXPECT_TRUE(Put(0).empty());
  EXPECT_TRUE(asked_.empty());
}

TEST_F(BatchesTest, AMissingTableAnswersForEachKey) {
  cluster_.SetServer(kMeta, [](const OutboundRequest&) {
    return Ok(QueryConfigResponse{.err = ErrorCode::kObjectNotFound});
  });
  const BatchValues values = Get({{"a", ""}, {"b", ""}});
  ASSERT_EQ(values.size(), 2u);
  EXPECT_TRUE(absl::IsNotFound(values[1].status()));
}

TEST_F(BatchesTest, WritesAreBoundedInFlightAndAnsweredInOrder) {
  cluster_.latency = absl::Milliseconds(1);
  for (int i = 0; i < 1000; ++i)
    answers_.push_back(Ok(UpdateResponse{.error = i % 100 == 7 ? 4 : 0}));
  const auto outcomes = Put(1000);
  ASSERT_EQ(outcomes.size(), 1000u);
  for (size_t i = 0; i < outcomes.size(); ++i) ASSERT_EQ(outcomes[i].ok(), i % 100 != 7) << i;
  std::map<Instant, int> sent_at;
  for (const FakeCluster::Sent& sent : cluster_.sent()) ++sent_at[sent.at];
  for (const auto& [at, count] : sent_at) EXPECT_LE(count, 256);
}

TEST_F(BatchesTest, TheWholeBatchHasOneDeadline) {
  const Instant start = cluster_.now();
  std::optional<Instant> end;
  std::vector<Question> writes(600, QuestionOf(UpdateRequest{.key = JoinRawKey("h", "s")}));
  cluster_.Run([&] {
    BatchWrite(*client_, "temp", std::move(writes), {.timeout = absl::Seconds(2)},
               [&](auto outcomes) {
                 end = cluster_.now();
                 for (const absl::Status& status : outcomes) EXPECT_FALSE(status.ok());
               });
  });
  ASSERT_TRUE(end.has_value());
  EXPECT_LE(*end - start, absl::Seconds(2));
}

}  // namespace
}  // namespace arion
