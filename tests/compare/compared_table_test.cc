// A table of two partitions, behind a server that answers as Arion's do, or as those of 2.5.0.
// SPDX-License-Identifier: Apache-2.0
#include "tools/compare/compared_table.h"

#include <absl/time/clock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "base/crc.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "messages/meta_messages.h"
#include "posix/posix_environment.h"
#include "rpc/asio_transport.h"
#include "rpc/thrift_codec.h"

namespace arion::compare {
namespace {

// Meta server and replica server. Both partitions hold the same records.
class OneServer {
 public:
  enum class Version { kArion, kPegasus };
  explicit OneServer(Version version) : version_(version) {
    transport_.SetHandler([this](InboundRequest request) {
      const std::string name(request.header.name);
      if (name == kRpcClearScanner) {
        ++cleared_;
        return;
      }
      if (name == kRpcQueryConfig)
        return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(Configuration()));
      if (name == kRpcGetScanner)
        return request.responder.Reply(
            ErrorCode::kOk, EncodeWrapped(Answer(*DecodeWrapped<GetScannerRequest>(request.body))));
      request.responder.Reply(ErrorCode::kHandlerNotFound, "");
    });
    EXPECT_TRUE(transport_.Listen().ok());
  }
  ~OneServer() {
    transport_.Stop();
    environment_.StopLoops();
  }
  std::string address() const { return transport_.local().ToString(); }
  void Put(const std::string& key, const std::string& value, int32_t expires) {
    records_[key] = {key, value, expires};
  }
  void HideExpiries() { hides_expiries_ = true; }
  int cleared() const { return cleared_; }

 private:
  static constexpr int32_t kBatchMax = 3;

  QueryConfigResponse Configuration() const {
    QueryConfigResponse answer{.app_id = 2, .partition_count = 2, .is_stateful = true};
    for (int32_t i = 0; i < 2; ++i)
      answer.partitions.push_back(
          {.pid = {2, i}, .ballot = Ballot(1), .primary = transport_.local()});
    return answer;
  }
  ScanResponse Answer(const GetScannerRequest& request) const {
    EXPECT_TRUE(request.full_scan.value_or(false));
    ScanResponse answer;
    const bool only_sum = version_ == Version::kArion && request.only_return_sum.value_or(false);
    const int32_t max = only_sum ? request.batch_size : std::min(request.batch_size, kBatchMax);
    int32_t count = 0;
    uint64_t sum = 0;
    for (auto at = records_.lower_bound(request.start_key.bytes);
         at != records_.end() && at->first < request.stop_key.bytes; ++at, ++count) {
      if (count == max) {
        if (only_sum)
          answer.next_key = Blob(at->first);
        else
          answer.context_id = 7;
        break;
      }
      KeyValue record = at->second;
      const bool tells = request.return_expire_ts.value_or(false);
      sum += RecordHash(record.key, record.value,
                        tells ? static_cast<uint32_t>(*record.expire_ts_seconds) : 0);
      if (!tells || hides_expiries_) record.expire_ts_seconds.reset();
      if (!only_sum) answer.kvs.push_back(std::move(record));
    }
    if (only_sum) {
      answer.kv_count = count;
      answer.sum = static_cast<int64_t>(sum);
    }
    return answer;
  }

  const Version version_;
  std::map<std::string, KeyValue> records_;
  bool hides_expiries_ = false;
  std::atomic<int> cleared_ = 0;
  PosixEnvironment environment_{PosixEnvironmentOptions{.event_loop_threads = 1}};
  AsioTransport transport_{&environment_.loops(),
                           AsioTransportOptions{.listen = Endpoint{.ip = 0x7f000001, .port = 0}}};
};

class ComparedTableTest : public testing::TestWithParam<OneServer::Version> {
 protected:
  ComparedTableTest() : server_(GetParam()) {
    for (int i = 0; i < 8; ++i) server_.Put(Key(i), "value", i == 4 ? 100 : 0);
  }
  static std::string Key(int i) { return JoinRawKey("h", std::to_string(i)); }
  std::unique_ptr<ComparedTable> Open(Expiries expiries = Expiries::kCompared) {
    auto table = ComparedTable::Create({.meta_servers = {server_.address()},
                                        .table = "t",
                                        .expiries = expiries,
                                        .timeout = absl::Seconds(5)});
    EXPECT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(*(*table)->Learn(), 2);
    return *std::move(table);
  }

  OneServer server_;
};

INSTANTIATE_TEST_SUITE_P(Versions, ComparedTableTest,
                         testing::Values(OneServer::Version::kArion, OneServer::Version::kPegasus),
                         [](const auto& info) {
                           return info.param == OneServer::Version::kArion ? "Arion" : "Pegasus";
                         });

// What is added up by one version's server is the same as what the other's records come to.
TEST_P(ComparedTableTest, ASumIsThatOfTheRecords) {
  const auto table = Open();
  const auto partition = table->Partition(1);
  int64_t records = 0;
  uint64_t sum = 0;
  for (std::string at = kFirstKey; !at.empty();) {
    const auto part = partition->Sum(at, kBehindAllKeys, 5);
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_GT(part->records, 0);
    records += part->records;
    sum += part->sum;
    at = part->next;
  }
  uint64_t expected = 0;
  for (int i = 0; i < 8; ++i) expected += RecordHash(Key(i), "value", i == 4 ? 100 : 0);
  EXPECT_EQ(records, 8);
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(table->fetched(), GetParam() == OneServer::Version::kArion ? 0 : 8);
  const auto bounded = partition->Sum(Key(2), Key(4), 100);
  EXPECT_EQ(bounded->records, 2);
  EXPECT_EQ(bounded->next, "");
}

TEST_P(ComparedTableTest, RecordsComeWithTheirStates) {
  const auto table = Open();
  const auto some = table->Partition(0)->Read(Key(3), Key(5), 100);
  ASSERT_TRUE(some.ok()) << some.status();
  ASSERT_EQ(some->records.size(), 2u);
  EXPECT_EQ(some->records[0].key, Key(3));
  EXPECT_EQ(some->records[1].state,
            (RecordState{
                .exists = true, .value_hash = Crc64("value"), .value_bytes = 5, .expires = 100}));
  EXPECT_EQ(some->next, "");
  const auto one = table->Partition(0)->Read(Key(9), JustBehind(Key(9)), 1);
  EXPECT_TRUE(one.ok() && one->records.empty());
  // A scan that is not gone on with is not left at the server.
  const auto first = table->Partition(0)->Read(Key(0), kBehindAllKeys, 2);
  EXPECT_EQ(first->next, JustBehind(Key(1)));
  for (int i = 0; i < 500 && server_.cleared() == 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(server_.cleared(), 1);
}

TEST_P(ComparedTableTest, WithoutExpiriesTheyDoNotCount) {
  const auto table = Open(Expiries::kNotCompared);
  const auto sum = table->Partition(0)->Sum(Key(4), Key(5), 10);
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(sum->sum, RecordHash(Key(4), "value", 0));
  EXPECT_EQ(table->Partition(0)->Read(Key(4), Key(5), 10)->records[0].state.expires, 0u);
}

TEST_P(ComparedTableTest, AServerThatHidesExpiriesIsNotComparedByThem) {
  server_.HideExpiries();
  const auto table = Open();
  EXPECT_TRUE(absl::IsUnimplemented(table->Partition(0)->Read(Key(4), Key(5), 10).status()));
}

}  // namespace
}  // namespace arion::compare
