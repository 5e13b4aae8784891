// The data API on whole servers: what needs a replica around the operations (their edges are in
// read_operations_test and write_operations_test).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/crc.h"
#include "rpc/thrift_codec.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

class DataApiTest : public ReplicaServerWorld {
 protected:
  // A table of one member: the quickest to write to.
  Server& Alone() {
    meta_.SetReplicaCount(1);
    Server& server = AddServer();
    EXPECT_TRUE(MakePrimary(server));
    return server;
  }
  template <class Response, class Request>
  Response Ask(Server& server, const char* name, const Request& request) {
    const RpcResult result = Call(server, name, EncodeWrapped(request, PeerGeneration::kNone, 1));
    EXPECT_EQ(result.error, ErrorCode::kOk) << name;
    auto response = DecodeWrapped<Response>(result.body);
    EXPECT_TRUE(response.ok()) << name << ": " << response.status();
    if (!response.ok()) return {};
    EXPECT_EQ(response->app_id, kPid.app_id);
    EXPECT_EQ(response->partition_index, kPid.index);
    EXPECT_EQ(response->server, server.address.ToString());
    return *std::move(response);
  }
  // Without waiting: requests reach the server in this order.
  template <class Request>
  std::shared_ptr<std::optional<RpcResult>> Send(Server& server, const char* name,
                                                 const Request& request,
                                                 absl::Duration timeout = absl::Seconds(20)) {
    auto result = std::make_shared<std::optional<RpcResult>>();
    client_->Call(server.address,
                  {.name = name, .body = EncodeWrapped(request), .pid = kPid, .timeout = timeout},
                  client_strand_, [result](RpcResult r) { *result = std::move(r); });
    return result;
  }
  using Pending = std::vector<std::shared_ptr<std::optional<RpcResult>>>;
  void Await(const Pending& pending) {
    EXPECT_TRUE(world_.RunUntil(
        [&] {
          return std::all_of(pending.begin(), pending.end(),
                             [](const auto& p) { return p->has_value(); });
        },
        absl::Seconds(60)));
  }

  UpdateResponse MultiPut(Server& server, const std::string& hash, std::vector<KeyValue> kvs) {
    return Ask<UpdateResponse>(server, kRpcMultiPut,
                               MultiPutRequest{.hash_key = hash, .kvs = std::move(kvs)});
  }
  IncrResponse Incr(Server& server, const std::string& sort, int64_t by) {
    return Ask<IncrResponse>(server, kRpcIncr,
                             IncrRequest{.key = JoinRawKey("h", sort), .increment = by});
  }
  std::string Value(Server& server, const std::string& sort) {
    const auto response = Ask<ReadResponse>(server, kRpcGet, Blob(JoinRawKey("h", sort)));
    return response.error == 0 ? response.value.bytes : "none";
  }
  std::string SortKeys(Server& server, const std::string& hash = "h") {
    std::string all;
    const MultiGetRequest request{.hash_key = hash, .start_inclusive = true};
    for (const KeyValue& kv : Ask<MultiGetResponse>(server, kRpcMultiGet, request).kvs)
      all += kv.key.bytes + "=" + kv.value.bytes + " ";
    return all;
  }
  static GetScannerRequest Scanner(int32_t batch_size) {
    return {.start_key = std::string(2, '\0'),
            .stop_key = "\xff\xff",
            .start_inclusive = true,
            .batch_size = batch_size};
  }
  ScanResponse Scan(Server& server, int64_t id) {
    return Ask<ScanResponse>(server, kRpcScan, ScanRequest{.context_id = id});
  }
};

TEST_F(DataApiTest, EveryOperationAnswersAndActs) {
  Server& server = Alone();
  EXPECT_EQ(MultiPut(server, "h", {{"a", "1", {}}, {"b", "2", {}}, {"c", "3", {}}}).decree, 1);
  EXPECT_EQ(SortKeys(server), "a=1 b=2 c=3 ");
  const auto removed = Ask<MultiRemoveResponse>(
      server, kRpcMultiRemove, MultiRemoveRequest{.hash_key = "h", .sort_keys = {"a", "none"}});
  EXPECT_EQ(removed.error, 0);
  EXPECT_EQ(removed.count, 2);
  EXPECT_EQ(removed.decree, 2);
  const IncrResponse incr = Incr(server, "b", 40);
  EXPECT_EQ(incr.error, 0);
  EXPECT_EQ(incr.new_value, 42);
  EXPECT_EQ(incr.decree, 3);
  const auto set = Ask<CheckResponse>(server, kRpcCheckAndSet,
                                      CheckAndSetRequest{.hash_key = "h",
                                                         .check_sort_key = "b",
                                                         .check_type = 15,
                                                         .check_operand = "42",
                                                         .set_value = "set",
                                                         .return_check_value = true});
  EXPECT_EQ(set.error, 0);
  EXPECT_EQ(set.check_value.bytes, "42");
  EXPECT_EQ(set.decree, 4);
  const auto mutated = Ask<CheckResponse>(
      server, kRpcCheckAndMutate,
      CheckAndMutateRequest{
          .hash_key = "h",
          .check_sort_key = "b",
          .check_type = 10,
          .check_operand = "set",
          .mutate_list = {{Mutate::kPut, "d", "4", 0}, {Mutate::kDelete, "c", "", 0}}});
  EXPECT_EQ(mutated.error, 0);
  EXPECT_EQ(mutated.decree, 5) << "one mutation";
  EXPECT_EQ(SortKeys(server), "b=set d=4 ");
  EXPECT_EQ(Ask<CountResponse>(server, kRpcSortKeyCount, Blob("h")).count, 2);
  const auto batch = Ask<BatchGetResponse>(
      server, kRpcBatchGet, BatchGetRequest{.keys = {{"h", "d"}, {"h", "c"}, {"h", "b"}}});
  EXPECT_EQ(batch.data, (std::vector<FullData>{{"h", "d", "4"}, {"h", "b", "set"}}));
  const auto scan = Ask<ScanResponse>(server, kRpcGetScanner, Scanner(10));
  EXPECT_EQ(scan.kvs.size(), 2u);
  EXPECT_EQ(scan.context_id, kScanEnded);

  EXPECT_TRUE(Stop(server).ok());
  Restart(server);
  ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary));
  EXPECT_EQ(SortKeys(server), "b=set d=4 ");
}

// In turns of the disk's pool; the client sees one answer.
TEST_F(DataApiTest, ReadsOverManyRecordsTakeTurnsUntilTheyFindOne) {
  constexpr int kRecords = 12'000, kPerWrite = 3'000;
  Server& server = Alone();
  for (int first = 0; first < kRecords; first += kPerWrite) {
    std::vector<KeyValue> kvs;
    for (int i = first; i < first + kPerWrite; ++i)
      kvs.push_back({std::to_string(100'000 + i), "", {}});
    ASSERT_EQ(MultiPut(server, "h", std::move(kvs)).error, 0);
  }
  ASSERT_EQ(MultiPut(server, "h", {{"live", "1", {}}}).error, 0);
  MultiGetRequest request{.hash_key = "h", .sort_key_filter_type = 1};
  request.sort_key_filter_pattern = "live";
  const auto found = Ask<MultiGetResponse>(server, kRpcMultiGet, request);
  EXPECT_EQ(found.error, 0);
  EXPECT_EQ(found.kvs, (std::vector<KeyValue>{{"live", "1", {}}}));
  EXPECT_EQ(Ask<CountResponse>(server, kRpcSortKeyCount, Blob("h")).count, kRecords + 1);
}

TEST_F(DataApiTest, OutcomesThatWriteNothingGetNoMutation) {
  Server& server = Alone();
  ASSERT_EQ(MultiPut(server, "h", {{"text", "x", {}}}).decree, 1);
  EXPECT_EQ(Incr(server, "text", 1).decree, -1);
  EXPECT_EQ(Incr(server, "text", 1).error, 4);
  const auto failed = Ask<CheckResponse>(
      server, kRpcCheckAndSet,
      CheckAndSetRequest{
          .hash_key = "h", .check_sort_key = "text", .check_type = 1, .return_check_value = true});
  EXPECT_EQ(failed.error, 13);
  EXPECT_EQ(failed.check_value.bytes, "x");
  EXPECT_EQ(failed.decree, -1);
  for (const auto& [name, body] : std::vector<std::pair<const char*, std::string>>{
           {kRpcMultiPut, EncodeWrapped(MultiPutRequest{.hash_key = "h"})},
           {kRpcMultiRemove, EncodeWrapped(MultiRemoveRequest{.hash_key = "h"})},
           {kRpcPut, EncodeWrapped(UpdateRequest{.key = "\x09"})},
           {kRpcIncr, EncodeWrapped(IncrRequest{.key = "\x09"})}}) {
    const RpcResult refused = Call(server, name, body);
    ASSERT_EQ(refused.error, ErrorCode::kOk) << name;
    EXPECT_EQ(DecodeWrapped<UpdateResponse>(refused.body)->error, 4) << name;
  }
  EXPECT_EQ(Snapshot(server).last_prepared, Decree(1));
}

// The network may bring them in another order than they were sent.
TEST_F(DataApiTest, PipelinedIncrementsEachSeeTheOneBefore) {
  Server& server = Alone();
  Pending pending;
  for (int i = 1; i <= 100; ++i)
    pending.push_back(
        Send(server, kRpcIncr, IncrRequest{.key = JoinRawKey("h", "n"), .increment = i}));
  Await(pending);
  std::map<int64_t, int64_t> added;  // new value -> increment
  for (size_t i = 0; i < pending.size(); ++i) {
    ASSERT_EQ(pending[i]->value().error, ErrorCode::kOk);
    const auto response = DecodeWrapped<IncrResponse>(pending[i]->value().body);
    EXPECT_TRUE(added.emplace(response->new_value, i + 1).second) << "told twice";
  }
  int64_t sum = 0;
  for (const auto& [value, increment] : added) EXPECT_EQ(value, sum += increment);
  EXPECT_EQ(Value(server, "n"), "5050");
}

TEST_F(DataApiTest, PipelinedWritesOfAllKindsActInTheOrderOfTheirDecrees) {
  Server& server = Alone();
  const std::string key = JoinRawKey("h", "n");
  enum class Kind { kIncr, kPut, kSet };
  std::vector<Kind> kinds;
  Pending pending;
  for (int i = 0; i < 150; ++i) {
    kinds.push_back(static_cast<Kind>(i % 3));
    if (kinds.back() == Kind::kIncr)
      pending.push_back(Send(server, kRpcIncr, IncrRequest{.key = key, .increment = 1}));
    else if (kinds.back() == Kind::kPut)
      pending.push_back(
          Send(server, kRpcMultiPut,
               MultiPutRequest{.hash_key = "h", .kvs = {{"n", std::to_string(i * 1000), {}}}}));
    else
      pending.push_back(Send(server, kRpcCheckAndSet,
                             CheckAndSetRequest{.hash_key = "h",
                                                .check_sort_key = "n",
                                                .check_type = 16,
                                                .check_operand = std::to_string(i * 500),
                                                .set_value = std::to_string(-i)}));
  }
  Await(pending);
  std::map<int64_t, size_t> by_decree;
  for (size_t i = 0; i < pending.size(); ++i) {
    ASSERT_EQ(pending[i]->value().error, ErrorCode::kOk);
    const std::string& body = pending[i]->value().body;
    const int64_t decree = kinds[i] == Kind::kIncr  ? DecodeWrapped<IncrResponse>(body)->decree
                           : kinds[i] == Kind::kPut ? DecodeWrapped<UpdateResponse>(body)->decree
                                                    : DecodeWrapped<CheckResponse>(body)->decree;
    if (decree == -1) {
      EXPECT_EQ(DecodeWrapped<CheckResponse>(body)->error, 13);
    } else {
      EXPECT_TRUE(by_decree.emplace(decree, i).second);
    }
  }
  int64_t value = 0;
  int sets = 0;
  for (const auto& [decree, i] : by_decree) {
    const auto number = static_cast<int64_t>(i);
    if (kinds[i] == Kind::kIncr) {
      EXPECT_EQ(DecodeWrapped<IncrResponse>(pending[i]->value().body)->new_value, ++value);
    } else if (kinds[i] == Kind::kPut) {
      value = number * 1000;
    } else {
      EXPECT_GE(value, number * 500);
      value = -number;
      ++sets;
    }
  }
  EXPECT_GT(sets, 0);
  EXPECT_LT(by_decree.size(), pending.size());
  EXPECT_EQ(Value(server, "n"), std::to_string(value));
}

TEST_F(DataApiTest, OfManyThatCreateARecordOneWins) {
  Server& server = Alone();
  Pending pending;
  for (int i = 0; i < 50; ++i)
    pending.push_back(Send(server, kRpcCheckAndSet,
                           CheckAndSetRequest{.hash_key = "h",
                                              .check_sort_key = "lock",
                                              .check_type = 1,
                                              .set_value = std::to_string(i)}));
  Await(pending);
  std::vector<std::string> winners;
  for (size_t i = 0; i < pending.size(); ++i) {
    const int32_t error = DecodeWrapped<CheckResponse>(pending[i]->value().body)->error;
    if (error == 0) {
      winners.push_back(std::to_string(i));
    } else {
      EXPECT_EQ(error, 13);
    }
  }
  EXPECT_EQ(winners, std::vector<std::string>{Value(server, "lock")});
}

TEST_F(DataApiTest, MembersHoldWhatThePrimaryDecided) {
  Server& a = AddServer();
  Server& b = AddServer();
  ASSERT_TRUE(MakePrimary(a));
  ASSERT_TRUE(AddSecondary(a, b));
  Pending pending;
  for (int i = 0; i < 30; ++i) {
    pending.push_back(
        Send(a, kRpcIncr,
             IncrRequest{.key = JoinRawKey("h", "n" + std::to_string(i % 3)), .increment = 1}));
    pending.push_back(Send(a, kRpcMultiPut,
                           MultiPutRequest{.hash_key = "i" + std::to_string(i),
                                           .kvs = {{"x", "1", {}}, {"y", "2", {}}}}));
  }
  Await(pending);
  const std::string before = SortKeys(a);
  EXPECT_EQ(before, "n0=10 n1=10 n2=10 ");
  a.Crash(sim::CrashMode::kPowerRandom);
  auto& configuration = meta_.configuration();
  configuration.primary = Endpoint{};
  configuration.ballot = configuration.ballot + 1;
  meta_.SetReplicaCount(1);
  meta_.Propose(b.address, ConfigType::kUpgradeToPrimary, b.address);
  ASSERT_TRUE(WaitFor(b, PartitionStatus::kPrimary));
  EXPECT_EQ(SortKeys(b), before);
  EXPECT_EQ(SortKeys(b, "i29"), "x=1 y=2 ");
  EXPECT_EQ(Incr(b, "n0", 5).new_value, 15);
}

TEST_F(DataApiTest, WhatWaitsForAWriteThatNeverCommitsIsRefusedWithTheOffice) {
  options_.prepare_timeout = absl::Seconds(300);
  options_.group_check_interval = absl::Seconds(300);
  Server& a = AddServer();
  Server& b = AddServer();
  ASSERT_TRUE(MakePrimary(a));
  ASSERT_TRUE(AddSecondary(a, b));
  ASSERT_EQ(Incr(a, "n", 1).new_value, 1);
  network_.Block(a.address, b.address);
  network_.Block(b.address, a.address);
  Pending pending;
  for (int i = 0; i < 5; ++i)
    pending.push_back(Send(a, kRpcIncr, IncrRequest{.key = JoinRawKey("h", "n"), .increment = 1},
                           absl::Seconds(100)));
  world_.RunFor(absl::Seconds(2));
  meta_.SetSilent(true);  // the lease goes, and the office with it
  world_.RunFor(options_.lease + absl::Seconds(2));
  int open = 0;
  for (const auto& result : pending) {
    if (result->has_value()) {
      EXPECT_EQ(result->value().error, ErrorCode::kInvalidState);
    } else {
      ++open;
    }
  }
  EXPECT_EQ(open, 1) << "the one that is logged";
}

TEST_F(DataApiTest, TooMuchAtOnceIsRefusedBeforeAnythingIsLogged) {
  Server& server = Alone();
  const std::string mebibyte(1 << 20, 'x');
  EXPECT_EQ(Call(server, kRpcMultiPut,
                 EncodeWrapped(MultiPutRequest{.hash_key = "h", .kvs = {{"a", mebibyte, {}}}}))
                .error,
            ErrorCode::kInvalidData);
  MultiPutRequest many{.hash_key = std::string(65000, 'h')};
  for (int i = 0; i < 3000; ++i) many.kvs.push_back({std::to_string(i), "", {}});
  EXPECT_EQ(Call(server, kRpcMultiPut, EncodeWrapped(many)).error, ErrorCode::kInvalidData)
      << "200 MB once each key is whole";
  many.kvs.resize(100);
  EXPECT_EQ(Call(server, kRpcMultiPut, EncodeWrapped(many)).error, ErrorCode::kOk);
  EXPECT_EQ(Snapshot(server).last_prepared, Decree(1));
}

TEST_F(DataApiTest, TheTablesEnvironmentsActOnceTheyArrive) {
  Server& server = Alone();
  const auto ttl = [&](int i) {
    return Ask<TtlResponse>(server, kRpcTtl, Blob(Key(i))).ttl_seconds;
  };
  ASSERT_EQ(Put(server, 1, "v"), ErrorCode::kOk);
  meta_.app().envs = {{"default_ttl", "100"}};
  world_.RunFor(options_.config_sync_interval * 2);
  ASSERT_EQ(Put(server, 2, "v"), ErrorCode::kOk);
  EXPECT_EQ(ttl(1), -1);
  EXPECT_GT(ttl(2), 90);
  EXPECT_LE(ttl(2), 100);

  // Key(…) hashes to another partition than 1 of 4.
  meta_.app().envs = {{"replica.split.validate_partition_hash", "true"}};
  world_.RunFor(options_.config_sync_interval * 2);
  EXPECT_EQ(Put(server, 3, "v"), ErrorCode::kParentPartitionMisused);
  EXPECT_EQ(Call(server, kRpcMultiGet, EncodeWrapped(MultiGetRequest{.hash_key = "h"})).error,
            ErrorCode::kParentPartitionMisused);
}

TEST_F(DataApiTest, AScanGoesOnWithEachAnswersOwnId) {
  Server& server = Alone();
  MultiPut(server, "h", {{"a", "1", {}}, {"b", "2", {}}, {"c", "3", {}}});
  const auto first = Ask<ScanResponse>(server, kRpcGetScanner, Scanner(1));
  ASSERT_GE(first.context_id, 0);
  MultiPut(server, "h", {{"c", "changed", {}}, {"d", "4", {}}});
  const ScanResponse second = Scan(server, first.context_id);
  EXPECT_EQ(second.kvs[0].value.bytes, "2");
  EXPECT_NE(second.context_id, first.context_id);
  EXPECT_EQ(Scan(server, first.context_id).error, 1) << "used";
  const ScanResponse third = Scan(server, second.context_id);
  EXPECT_EQ(third.kvs[0].value.bytes, "3") << "as it was when the scan began";
  EXPECT_EQ(third.context_id, kScanEnded);
  for (const int64_t id : {second.context_id, int64_t{0}, int64_t{77}, int64_t{-1}, int64_t{-2}}) {
    const ScanResponse unknown = Scan(server, id);
    EXPECT_EQ(unknown.error, 1);
    EXPECT_EQ(unknown.context_id, kScanEnded);
  }
}

TEST_F(DataApiTest, ClearScannerForgetsAndIsNeverAnswered) {
  Server& server = Alone();
  MultiPut(server, "h", {{"a", "1", {}}, {"b", "2", {}}});
  const auto scan = Ask<ScanResponse>(server, kRpcGetScanner, Scanner(1));
  const auto other = Ask<ScanResponse>(server, kRpcGetScanner, Scanner(1));
  Pending cleared;
  for (const int64_t id : {scan.context_id, scan.context_id, int64_t{-1}})  // two close the same
    cleared.push_back(Send(server, kRpcClearScanner, id, absl::Seconds(3)));
  Await(cleared);
  for (const auto& result : cleared)
    EXPECT_EQ(result->value().error, ErrorCode::kTimeout) << "any answer makes clients deaf";
  EXPECT_EQ(Scan(server, scan.context_id).error, 1);
  EXPECT_EQ(Scan(server, other.context_id).kvs.size(), 1u);
}

TEST_F(DataApiTest, ScansEndWithFiveIdleMinutes) {
  Server& server = Alone();
  MultiPut(server, "h", {{"a", "1", {}}, {"b", "2", {}}});
  const auto idle = Ask<ScanResponse>(server, kRpcGetScanner, Scanner(1));
  world_.RunFor(absl::Minutes(5));
  EXPECT_EQ(Scan(server, idle.context_id).error, 1);
}

TEST_F(DataApiTest, ScansSurviveAChangeOfMembersAndEndWithTheLease) {
  Server& a = AddServer();
  Server& b = AddServer();
  Server& c = AddServer();
  ASSERT_TRUE(MakePrimary(a));
  ASSERT_TRUE(AddSecondary(a, b));
  MultiPut(a, "h", {{"a", "1", {}}, {"b", "2", {}}, {"c", "3", {}}});
  const auto scan = Ask<ScanResponse>(a, kRpcGetScanner, Scanner(1));
  ASSERT_TRUE(AddSecondary(a, c));
  const ScanResponse next = Scan(a, scan.context_id);
  ASSERT_EQ(next.error, 0);
  EXPECT_EQ(next.kvs[0].value.bytes, "2");

  meta_.SetSilent(true);
  world_.RunFor(options_.lease + absl::Seconds(2));
  meta_.SetSilent(false);
  ASSERT_TRUE(WaitFor(a, PartitionStatus::kPrimary));
  EXPECT_EQ(Scan(a, next.context_id).error, 1);
}

TEST_F(DataApiTest, WithoutALeaseNothingIsReadOrDecided) {
  Server& server = Alone();
  MultiPut(server, "h", {{"a", "1", {}}});
  meta_.SetSilent(true);
  world_.RunFor(options_.lease + absl::Seconds(1));
  const auto error = [&](const char* name, std::string body) {
    return Call(server, name, std::move(body)).error;
  };
  const ErrorCode kRefused = ErrorCode::kInvalidState;
  EXPECT_EQ(error(kRpcMultiGet, EncodeWrapped(MultiGetRequest{.hash_key = "h"})), kRefused);
  EXPECT_EQ(error(kRpcBatchGet, EncodeWrapped(BatchGetRequest{.keys = {{"h", "a"}}})), kRefused);
  EXPECT_EQ(error(kRpcSortKeyCount, EncodeWrapped(Blob("h"))), kRefused);
  EXPECT_EQ(error(kRpcGetScanner, EncodeWrapped(Scanner(1))), kRefused);
  EXPECT_EQ(error(kRpcScan, EncodeWrapped(ScanRequest{.context_id = 1})), kRefused);
  EXPECT_EQ(error(kRpcIncr, EncodeWrapped(IncrRequest{.key = JoinRawKey("h", "a")})), kRefused);
  EXPECT_EQ(error(kRpcCheckAndSet, EncodeWrapped(CheckAndSetRequest{.hash_key = "h"})), kRefused);
}

TEST_F(DataApiTest, WhatDoesNotDecodeIsInvalidData) {
  Server& server = Alone();
  for (const char* name : {kRpcPut, kRpcRemove, kRpcMultiPut, kRpcMultiRemove, kRpcIncr,
                           kRpcCheckAndSet, kRpcCheckAndMutate, kRpcGet, kRpcTtl, kRpcMultiGet,
                           kRpcBatchGet, kRpcSortKeyCount, kRpcGetScanner, kRpcScan})
    EXPECT_EQ(Call(server, name, "\x0c").error, ErrorCode::kInvalidData) << name;
}

}  // namespace
}  // namespace arion
