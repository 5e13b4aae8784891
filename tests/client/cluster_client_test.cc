// SPDX-License-Identifier: Apache-2.0
#include "client/cluster_client.h"

#include <gtest/gtest.h>

#include "base/crc.h"
#include "base/raw_key.h"
#include "client/routed_table.h"
#include "client/table_admin.h"
#include "messages/client_messages.h"
#include "tests/client/fake_cluster.h"

namespace arion {
namespace {

Endpoint Node(uint16_t port) { return {.ip = 0x7f000001, .port = port}; }
const Endpoint kMeta1 = Node(34601), kMeta2 = Node(34602);
const Endpoint kServer1 = Node(34801), kServer2 = Node(34802);

RpcResult Error(ErrorCode error) { return {.error = error}; }
template <class T>
RpcResult Ok(const T& answer) {
  return {.body = EncodeWrapped(answer)};
}

class ClusterClientTest : public testing::Test {
 protected:
  ClusterClientTest() {
    cluster_.SetServer(kMeta1, [this](const OutboundRequest& r) { return Meta(r); });
    cluster_.SetServer(kServer1, [this](const OutboundRequest& r) { return Replica(r, kServer1); });
    cluster_.SetServer(kServer2, [this](const OutboundRequest& r) { return Replica(r, kServer2); });
    Create();
  }
  void Create(WriteRetries write_retries = WriteRetries::kAlways,
              std::vector<Endpoint> meta_servers = {kMeta1, kMeta2},
              absl::Duration timeout = absl::Seconds(5)) {
    runtime_ = cluster_.NewRuntime({.meta_servers = std::move(meta_servers),
                                    .timeout = timeout,
                                    .write_retries = write_retries});
    table_ = std::make_unique<RoutedTable>(runtime_, "temp");
  }
  absl::Status OpenTable(const std::string& name) {
    absl::Status opened = absl::UnknownError("never called");
    cluster_.Run([&] {
      runtime_->cores()[0]->Run([&](ClusterClient& client, TableAdmin&) {
        client.OpenTable(name, [&](absl::Status s) { opened = s; });
      });
    });
    return opened;
  }

  QueryConfigResponse Configuration() {
    QueryConfigResponse answer{.app_id = 2, .partition_count = 4, .is_stateful = true};
    for (int i = 0; i < 4; ++i) {
      PartitionConfiguration partition;
      partition.pid = {2, i};
      partition.ballot = ballot_;
      partition.primary = primary_;
      answer.partitions.push_back(partition);
    }
    return answer;
  }
  std::optional<RpcResult> Meta(const OutboundRequest& request) {
    auto query = DecodeWrapped<QueryConfigRequest>(request.body);
    if (!query.ok() || query->app_name != "temp") {
      return Ok(QueryConfigResponse{.err = ErrorCode::kObjectNotFound});
    }
    return Ok(Configuration());
  }
  // The primary keeps one table; anyone else says that it is none.
  std::optional<RpcResult> Replica(const OutboundRequest& request, Endpoint me) {
    if (me != primary_) return Error(ErrorCode::kInvalidState);
    if (request.name == kRpcIncr && never_sent_ > 0) {
      --never_sent_;
      return RpcResult{.error = ErrorCode::kNetworkFailure, .was_never_sent = true};
    }
    if (!script_.empty()) {
      auto step = script_.front();
      script_.pop_front();
      if (step != ErrorCode::kOk) {
        if (step == ErrorCode::kTimeout) return std::nullopt;
        return Error(step);
      }
    }
    if (request.name == kRpcIncr) {
      ++writes_;
      return Ok(IncrResponse{.new_value = writes_});
    }
    if (request.name == kRpcPut) {
      auto put = DecodeWrapped<UpdateRequest>(request.body);
      rows_[put->key.bytes] = *put;
      ++writes_;
      return Ok(UpdateResponse{.error = storage_error_, .app_id = 2});
    }
    const std::string key = DecodeWrapped<Blob>(request.body)->bytes;
    if (request.name == kRpcRemove) {
      rows_.erase(key);
      ++writes_;
      return Ok(UpdateResponse{.error = storage_error_, .app_id = 2});
    }
    if (!rows_.contains(key)) {
      return request.name == kRpcGet ? Ok(ReadResponse{.error = 1}) : Ok(TtlResponse{.error = 1});
    }
    if (request.name == kRpcGet) return Ok(ReadResponse{.value = rows_[key].value});
    const int32_t expiry = rows_[key].expire_ts_seconds;
    return Ok(TtlResponse{
        .ttl_seconds =
            expiry == 0 ? -1 : expiry - static_cast<int32_t>(ExpiryNow(cluster_.clock()))});
  }

  absl::Status Put(const std::string& value, absl::Duration ttl = absl::InfiniteDuration()) {
    std::optional<absl::Status> outcome;
    cluster_.Run([&] {
      table_->Put("h1", "s1", value, {.ttl = ttl}, [&](absl::Status status) {
        EXPECT_FALSE(outcome.has_value()) << "called twice";
        outcome = status;
        ended_ = cluster_.now();
      });
      EXPECT_FALSE(outcome.has_value()) << "called inline";
    });
    return outcome.value_or(absl::UnknownError("never called"));
  }
  absl::StatusOr<std::string> Get() {
    absl::StatusOr<std::string> outcome = absl::UnknownError("never called");
    cluster_.Run([&] {
      table_->Get("h1", "s1", {}, [&](absl::StatusOr<std::string> value) {
        outcome = value;
        ended_ = cluster_.now();
      });
    });
    return outcome;
  }

  FakeCluster cluster_;
  Endpoint primary_ = kServer1;
  Ballot ballot_{3};
  std::deque<ErrorCode> script_;  // of the primary's next answers; kOk: the real one
  std::map<std::string, UpdateRequest> rows_;
  int writes_ = 0;
  int never_sent_ = 0;  // INCRs that find no connection, before one does
  int32_t storage_error_ = 0;
  Instant ended_;
  std::shared_ptr<ClientRuntime> runtime_;
  std::unique_ptr<AsyncTable> table_;
};

TEST_F(ClusterClientTest, WritesReadsAndRemoves) {
  EXPECT_TRUE(Put("value").ok());
  EXPECT_EQ(*Get(), "value");
  absl::Status removed = absl::UnknownError("");
  cluster_.Run([&] { table_->Remove("h1", "s1", {}, [&](absl::Status s) { removed = s; }); });
  EXPECT_TRUE(removed.ok());
  EXPECT_TRUE(absl::IsNotFound(Get().status()));
  EXPECT_EQ(cluster_.CountSent(kRpcQueryConfig), 1);
}

TEST_F(ClusterClientTest, HeadersNamePartitionAndHashes) {
  ASSERT_TRUE(Put("value").ok());
  const FakeCluster::Sent& sent = cluster_.sent().back();
  EXPECT_EQ(sent.to, kServer1);
  EXPECT_EQ(sent.request.partition_hash, 0xaae1fd17e635e4dau);
  EXPECT_EQ(sent.request.pid, (PartitionId{2, 2}));
  EXPECT_EQ(sent.request.thread_hash, 0x3de0);  // rpc/PROTOCOL.md 2.5
}

TEST_F(ClusterClientTest, TimeToLiveBecomesAnAbsoluteExpiry) {
  ASSERT_TRUE(Put("value", absl::Seconds(100)).ok());
  EXPECT_EQ(rows_.begin()->second.expire_ts_seconds, 1100);
  absl::StatusOr<absl::Duration> ttl = absl::UnknownError("");
  cluster_.Run(
      [&] { table_->Ttl("h1", "s1", {}, [&](absl::StatusOr<absl::Duration> t) { ttl = t; }); });
  EXPECT_EQ(*ttl, absl::Seconds(40));  // a minute has gone by
  ASSERT_TRUE(Put("value").ok());
  cluster_.Run(
      [&] { table_->Ttl("h1", "s1", {}, [&](absl::StatusOr<absl::Duration> t) { ttl = t; }); });
  EXPECT_EQ(*ttl, absl::InfiniteDuration());
  EXPECT_TRUE(absl::IsInvalidArgument(Put("value", -absl::Seconds(1))));
}

TEST_F(ClusterClientTest, FollowsAMovedPrimary) {
  ASSERT_TRUE(Put("1").ok());
  primary_ = kServer2;
  ballot_ = Ballot(4);
  ASSERT_TRUE(Put("2").ok());
  EXPECT_EQ(cluster_.sent().back().to, kServer2);
  EXPECT_EQ(cluster_.CountSent(kRpcQueryConfig), 2);
  EXPECT_LT(ended_ - cluster_.sent()[2].at, absl::Milliseconds(50));
}

TEST_F(ClusterClientTest, WaitsForAPrimaryWhenThereIsNone) {
  primary_ = Endpoint();
  cluster_.strand()->PostAfter(absl::Seconds(2), [this] { primary_ = kServer2; });
  EXPECT_TRUE(Put("value").ok());
  EXPECT_LT(cluster_.CountSent(kRpcQueryConfig), 50);  // with pauses
}

TEST_F(ClusterClientTest, AWriteRefusedUntilTheDeadlineIsRefused) {
  script_.assign(1000, ErrorCode::kNotEnoughMember);
  const Instant start = cluster_.now();
  absl::Status status = Put("value");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_LE(ended_ - start, absl::Seconds(5));
  EXPECT_EQ(cluster_.CountSent(kRpcQueryConfig), 1);
  EXPECT_EQ(writes_, 0);
  EXPECT_GT(script_.size(), 980u);  // with pauses
}

TEST_F(ClusterClientTest, AWriteWithoutAnAnswerIsUndecided) {
  script_.assign(1000, ErrorCode::kTimeout);
  const Instant start = cluster_.now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(Put("value")));
  EXPECT_LE(ended_ - start, absl::Seconds(5));
}

TEST_F(ClusterClientTest, ARefusalDoesNotUndoAnEarlierAttempt) {
  for (ErrorCode refusal :
       {ErrorCode::kBusy, ErrorCode::kNotEnoughMember, ErrorCode::kInvalidParameters}) {
    for (ErrorCode lost : {ErrorCode::kTimeout, ErrorCode::kNetworkFailure, ErrorCode::kUnknown}) {
      script_.assign(1000, refusal);
      script_.push_front(lost);
      EXPECT_TRUE(absl::IsDeadlineExceeded(Put("value"))) << lost << " then " << refusal;
    }
  }
}

TEST_F(ClusterClientTest, ALostAttemptIsRepeatedWhenAllowed) {
  script_ = {ErrorCode::kTimeout};
  EXPECT_TRUE(Put("value").ok());
  EXPECT_EQ(cluster_.CountSent(kRpcPut), 2);
}

TEST_F(ClusterClientTest, ASlowServerIsWaitedForAndAskedSeldom) {
  Create(WriteRetries::kAlways, {kMeta1}, absl::Seconds(30));
  const auto expect = [&](int seconds, const char* name, int sent, auto ask) {
    const Instant start = cluster_.now();
    const int before = cluster_.CountSent(name);
    EXPECT_TRUE(ask());
    EXPECT_EQ(ended_ - start, absl::Seconds(seconds));
    EXPECT_EQ(cluster_.CountSent(name) - before, sent) << seconds;
  };
  const auto put = [&] { return Put("value").ok(); };
  const auto get = [&] { return Get().ok(); };
  cluster_.latencies[kServer1] = absl::Seconds(2);
  expect(2, kRpcPut, 1, put);
  expect(2, kRpcGet, 2, get);
  EXPECT_EQ(cluster_.sent()[1].request.timeout, absl::Seconds(30)) << "what the server is told";
  cluster_.latencies[kServer1] = absl::Seconds(8);
  expect(8 + 3, kRpcPut, 2, put);  // what was sent after 3 s must not happen after the answer
  expect(8, kRpcGet, 3, get);
}

TEST_F(ClusterClientTest, AFrozenServerIsLeftWhenAnotherServes) {
  for (const absl::Duration moved_after : {absl::Seconds(1), absl::Seconds(2)}) {
    primary_ = kServer1;
    ballot_ = ballot_ + 1;
    Create();
    script_.assign(100, ErrorCode::kTimeout);
    cluster_.strand()->PostAfter(moved_after, [this] {
      primary_ = kServer2;
      ballot_ = ballot_ + 1;
      script_.clear();
    });
    const Instant start = cluster_.now();
    EXPECT_TRUE(Put("value").ok());
    EXPECT_LE(ended_ - start, moved_after + absl::Milliseconds(1100));
  }
}

// The first may still be carried out.
TEST_F(ClusterClientTest, ARefusalBesideAnAttemptInFlightLeavesAWriteOpen) {
  script_ = {ErrorCode::kTimeout, ErrorCode::kBusy};
  const Instant start = cluster_.now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(Put("value")));
  EXPECT_LE(ended_ - start, absl::Milliseconds(3100));
}

TEST_F(ClusterClientTest, ALostWriteIsNotRepeatedWhenNotAllowed) {
  Create(WriteRetries::kAfterRefusals);
  for (ErrorCode lost : {ErrorCode::kTimeout, ErrorCode::kNetworkFailure}) {
    script_ = {ErrorCode::kNotEnoughMember, lost};
    const int before = cluster_.CountSent(kRpcPut);
    EXPECT_TRUE(absl::IsDeadlineExceeded(Put("value"))) << lost;
    EXPECT_EQ(cluster_.CountSent(kRpcPut), before + 2);  // the refusal was repeated, the loss not
  }
  EXPECT_EQ(writes_, 0);
}

TEST_F(ClusterClientTest, WhatWasNeverSentIsRefusedAndSentAgain) {
  absl::StatusOr<int64_t> outcome = absl::UnknownError("never called");
  const auto increment = [&] {
    outcome = absl::UnknownError("never called");
    cluster_.Run([&] { table_->Incr("h1", "s1", 1, {}, [&](auto sum) { outcome = sum; }); });
  };
  never_sent_ = 2;
  increment();
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(writes_, 1);
  EXPECT_EQ(cluster_.CountSent(kRpcIncr), 3);
  EXPECT_EQ(cluster_.CountSent(kRpcQueryConfig), 3);  // another may be the primary by now

  never_sent_ = 1000;
  increment();
  EXPECT_TRUE(absl::IsUnavailable(outcome.status())) << outcome.status();
  never_sent_ = 1;
  script_ = {ErrorCode::kNetworkFailure};
  increment();
  EXPECT_TRUE(absl::IsDeadlineExceeded(outcome.status())) << outcome.status();
  EXPECT_EQ(writes_, 1);
}

// The deadline's timer runs from the time the routes were waited for; the write in flight may still
// land.
TEST_F(ClusterClientTest, ADeadlineWithAnAttemptInFlightIsUndecided) {
  Create(WriteRetries::kAfterRefusals);
  script_ = {ErrorCode::kTimeout};
  EXPECT_TRUE(absl::IsDeadlineExceeded(Put("value")));
  EXPECT_EQ(cluster_.CountSent(kRpcPut), 1);
}

TEST_F(ClusterClientTest, AWriteThatFoundNoMetaServerIsRefused) {
  cluster_.SetServer(kMeta1, [](const OutboundRequest&) { return std::nullopt; });
  const Instant start = cluster_.now();
  EXPECT_TRUE(absl::IsUnavailable(Put("value")));
  EXPECT_EQ(ended_ - start, absl::Seconds(5));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Get().status()));
}

TEST_F(ClusterClientTest, AsksTheOtherMetaServer) {
  Create(WriteRetries::kAlways, {kMeta2, kMeta1});  // nobody is at the first
  EXPECT_TRUE(Put("value").ok());
  EXPECT_EQ(cluster_.sent()[0].to, kMeta2);
  EXPECT_EQ(cluster_.sent()[1].to, kMeta1);
}

TEST_F(ClusterClientTest, GoesWhereAFollowerPoints) {
  QueryConfigResponse forward{.err = ErrorCode::kForwardToOthers};
  forward.partitions.emplace_back().primary = kMeta1;
  cluster_.SetServer(kMeta2, [&](const OutboundRequest&) { return Ok(forward); });
  Create(WriteRetries::kAlways, {kMeta2});
  EXPECT_TRUE(Put("1").ok());
  cluster_.SetServer(kMeta2, [&](const OutboundRequest&) {
    return RpcResult{.error = ErrorCode::kForwardToOthers, .body = EncodeWrapped(kMeta1)};
  });
  Create(WriteRetries::kAlways, {kMeta2});
  EXPECT_TRUE(Put("2").ok());
}

TEST_F(ClusterClientTest, FollowersThatPointAtEachOtherAreAskedWithPauses) {
  for (Endpoint meta : {kMeta1, kMeta2}) {
    cluster_.SetServer(meta, [meta](const OutboundRequest&) {
      return RpcResult{.error = ErrorCode::kForwardToOthers,
                       .body = EncodeWrapped(meta == kMeta1 ? kMeta2 : kMeta1)};
    });
  }
  EXPECT_TRUE(absl::IsUnavailable(Put("value")));
  EXPECT_LT(cluster_.CountSent(kRpcQueryConfig), 100);
}

TEST_F(ClusterClientTest, OperationsShareOneLookup) {
  cluster_.latency = absl::Milliseconds(1);
  int done = 0;
  cluster_.Run([&] {
    for (int i = 0; i < 100; ++i) {
      table_->Put(std::to_string(i), "", "v", {}, [&](absl::Status s) { done += s.ok(); });
    }
  });
  EXPECT_EQ(done, 100);
  EXPECT_EQ(cluster_.CountSent(kRpcQueryConfig), 1);
  primary_ = kServer2;
  ballot_ = Ballot(4);
  cluster_.Run([&] {
    for (int i = 0; i < 100; ++i) {
      table_->Put(std::to_string(i), "", "v", {}, [&](absl::Status s) { done += s.ok(); });
    }
  });
  EXPECT_EQ(done, 200);
  EXPECT_LE(cluster_.CountSent(kRpcQueryConfig), 3);
}

TEST_F(ClusterClientTest, AMissingTableIsSaidAtOnce) {
  EXPECT_TRUE(absl::IsNotFound(OpenTable("none")));
  EXPECT_EQ(cluster_.sent().size(), 1u);
  EXPECT_TRUE(OpenTable("temp").ok());
  table_ = std::make_unique<RoutedTable>(runtime_, "none");
  EXPECT_TRUE(absl::IsNotFound(Put("value")));
  EXPECT_EQ(cluster_.sent().size(), 3u);
}

TEST_F(ClusterClientTest, StorageErrorsOfWritesStayOpen) {
  storage_error_ = static_cast<int32_t>(StorageError::kInvalidArgument);
  EXPECT_TRUE(absl::IsInvalidArgument(Put("value")));
  storage_error_ = static_cast<int32_t>(StorageError::kIOError);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Put("value")));
}

TEST_F(ClusterClientTest, AnUnreadableAnswerLeavesAWriteOpen) {
  ASSERT_TRUE(Put("value").ok());
  cluster_.SetServer(kServer1, [](const OutboundRequest&) { return RpcResult{.body = "?"}; });
  EXPECT_TRUE(absl::IsDeadlineExceeded(Put("value")));
  EXPECT_EQ(Get().status().code(), absl::StatusCode::kInternal);
}

TEST_F(ClusterClientTest, ATooLargeWriteIsRefused) {
  script_.assign(2, ErrorCode::kInvalidData);
  EXPECT_TRUE(absl::IsInvalidArgument(Put(std::string(2 << 20, 'v'))));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Put("small")));  // no server says that of a small one
  std::optional<absl::Status> status;
  cluster_.Run([&] {
    table_->Put(std::string(kHashKeyBytesMax + 1, 'h'), "", "v", {},
                [&](absl::Status s) { status = s; });
  });
  EXPECT_TRUE(absl::IsInvalidArgument(*status));
}

TEST_F(ClusterClientTest, ADestroyedClientCallsNobody) {
  auto client =
      ClusterClient::Create(cluster_, cluster_, cluster_.strand(), {.meta_servers = {kMeta1}});
  bool called = false;
  cluster_.Run([&] {
    client->Ask("temp", RemoveQuestion(JoinRawKey("h", "s")), {}, [&](auto) { called = true; });
    client.reset();
  });
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace arion
