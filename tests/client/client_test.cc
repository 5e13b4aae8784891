// The whole client against a server of one process: threads, sockets, waiting calls.
// SPDX-License-Identifier: Apache-2.0
#include "arion/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "client/admin_client.h"
#include "messages/client_messages.h"
#include "messages/meta_messages.h"
#include "posix/posix_environment.h"
#include "rpc/asio_transport.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

const std::string kLongKey(65535, 'k');

// A meta server and the primary of every partition at one address.
class TinyServer {
 public:
  TinyServer() {
    transport_.SetHandler([this](InboundRequest request) { Serve(std::move(request)); });
    absl::Status status = transport_.Listen();
    EXPECT_TRUE(status.ok()) << status;
  }
  ~TinyServer() {
    transport_.Stop();
    environment_.StopLoops();
  }
  std::string address() const { return transport_.local().ToString(); }
  std::atomic<bool> silent{false};
  // Until so many came while it was silent.
  void WaitForRequests(size_t count) {
    std::unique_lock lock(mutex_);
    kept_more_.wait(lock, [&] { return kept_.size() >= count; });
  }

 private:
  void Serve(InboundRequest request) {
    if (silent && request.header.name != kRpcQueryConfig) {
      std::lock_guard lock(mutex_);
      kept_.push_back(std::move(request.responder));
      kept_more_.notify_all();
      return;
    }
    request.responder.Reply(ErrorCode::kOk, Answer(request));
  }
  std::string Answer(const InboundRequest& request) {
    std::lock_guard lock(mutex_);
    if (request.header.name == kRpcQueryConfig) {
      QueryConfigResponse answer{.app_id = 1, .partition_count = 2, .is_stateful = true};
      if (DecodeWrapped<QueryConfigRequest>(request.body)->app_name != "temp") {
        return EncodeWrapped(QueryConfigResponse{.err = ErrorCode::kObjectNotFound});
      }
      for (int i = 0; i < 2; ++i) {
        PartitionConfiguration& partition = answer.partitions.emplace_back();
        partition.pid = {1, i};
        partition.ballot = Ballot(1);
        partition.primary = transport_.local();
      }
      return EncodeWrapped(answer);
    }
    if (request.header.name == kRpcListApps) {
      return EncodeWrapped(ListAppsResponse{.infos = {AppInfo{.app_name = "temp", .app_id = 1}}});
    }
    if (request.header.name == kRpcPut) {
      auto put = DecodeWrapped<UpdateRequest>(request.body);
      rows_[put->key.bytes] = put->value.bytes;
      return EncodeWrapped(UpdateResponse());
    }
    const std::string key = DecodeWrapped<Blob>(request.body)->bytes;
    if (request.header.name == kRpcRemove) {
      rows_.erase(key);
      return EncodeWrapped(UpdateResponse());
    }
    const int32_t error = rows_.contains(key) ? 0 : 1;
    if (request.header.name == kRpcTtl)
      return EncodeWrapped(TtlResponse{.error = error, .ttl_seconds = -1});
    return EncodeWrapped(ReadResponse{.error = error, .value = rows_[key]});
  }

  std::mutex mutex_;
  std::map<std::string, std::string> rows_;
  std::vector<Responder> kept_;
  std::condition_variable kept_more_;
  PosixEnvironment environment_{PosixEnvironmentOptions{.event_loop_threads = 1}};
  AsioTransport transport_{&environment_.loops(),
                           AsioTransportOptions{.listen = Endpoint{.ip = 0x7f000001, .port = 0}}};
};

TEST(Client, WaitingCallsDoWhatTheySay) {
  TinyServer server;
  auto client = Client::Create({.meta_servers = {server.address()}});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE(absl::IsNotFound((*client)->OpenTable("none").status()));
  auto table = (*client)->OpenTable("temp");
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_TRUE((*table)->Put("h", "s", "value").ok());
  EXPECT_EQ(*(*table)->Get("h", "s"), "value");
  EXPECT_EQ(*(*table)->Ttl("h", "s"), absl::InfiniteDuration());
  ASSERT_TRUE((*table)->Remove("h", "s").ok());
  EXPECT_TRUE(absl::IsNotFound((*table)->Get("h", "s").status()));
}

TEST(Client, ManyThreadsShareIt) {
  TinyServer server;
  auto client = *Client::Create({.meta_servers = {server.address()}});
  auto table = *client->OpenTable("temp");
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const std::string key = std::to_string(t), sort_key = std::to_string(i);
        right += table->Put(key, sort_key, key + sort_key).ok();
        right += table->Get(key, sort_key).value_or("") == key + sort_key;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 800);
}

TEST(Client, CallbacksMayGoOnButNotWait) {
  TinyServer server;
  auto client = *Client::Create({.meta_servers = {server.address()}});
  auto table = *client->OpenTable("temp");
  std::promise<std::pair<absl::Status, std::string>> promise;
  table->async().Put("h", "s", "value", {}, [&](absl::Status) {
    absl::Status waited = table->Get("h", "s").status();
    table->async().Get("h", "s", {}, [&, waited](absl::StatusOr<std::string> value) {
      promise.set_value({waited, value.value_or("none")});
    });
  });
  auto [waited, value] = promise.get_future().get();
  EXPECT_TRUE(absl::IsFailedPrecondition(waited));
  EXPECT_EQ(value, "value");
}

TEST(Client, WhatIsUnderWayWhenItGoesIsUndecided) {
  TinyServer server;
  auto client = *Client::Create({.meta_servers = {server.address()}});
  auto table = *client->OpenTable("temp");
  server.silent = true;
  int called = 0;
  absl::Status status;
  for (int i = 0; i < 3; ++i) {
    table->async().Put("h", "s", "value", {}, [&](absl::Status s) {
      ++called;
      status = s;
    });
  }
  client.reset();
  EXPECT_EQ(called, 3);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_TRUE(absl::IsDeadlineExceeded(table->Put("h", "s", "later")));
  EXPECT_TRUE(absl::IsDeadlineExceeded(table->Get("h", "s").status()));
}

TEST(Client, ScansAndBatchesUnderWayWhenItGoesEndToo) {
  TinyServer server;
  auto client = *Client::Create({.meta_servers = {server.address()}, .threads = 2});
  auto table = *client->OpenTable("temp");
  server.silent = true;
  std::vector<absl::Status> ends(5);
  const std::vector<Key> keys = {{"a", "s"}, {"abc", "s"}, {std::string_view(kLongKey), "s"}};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (auto& row : table->ScanTable()) ends[0] = row.status();
  });
  threads.emplace_back([&] {
    for (auto& row : table->Scan("h")) ends[1] = row.status();
  });
  threads.emplace_back([&] { ends[2] = table->CountTable().status(); });
  threads.emplace_back([&] { ends[3] = table->BatchGet(keys).at(1).status(); });
  threads.emplace_back([&] { ends[4] = table->BatchRemove(keys).at(2); });
  server.WaitForRequests(7);  // a scanner, a scanner, a count, two partitions, two removes
  client.reset();
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& end : ends) EXPECT_TRUE(absl::IsDeadlineExceeded(end)) << end;
  for (auto& row : table->ScanTable()) EXPECT_TRUE(absl::IsDeadlineExceeded(row.status()));
  EXPECT_EQ(table->BatchGet(keys).size(), 3u) << "later too";
}

TEST(Client, SeveralThreadsShareTheWork) {
  TinyServer server;
  auto client = *Client::Create({.meta_servers = {server.address()}, .threads = 3});
  auto table = *client->OpenTable("temp");
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const std::string key = std::to_string(t);
      for (int i = 0; i < 50; ++i) {
        right += table->Put(key, "s", std::to_string(i)).ok();
        right += table->Get(key, "s").value_or("") == std::to_string(i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 600);
}

TEST(Client, WhatCannotBeIsRefused) {
  TinyServer server;
  auto client = *Client::Create({.meta_servers = {server.address()}});
  auto table = *client->OpenTable("temp");
  EXPECT_TRUE(absl::IsInvalidArgument(table->Get(kLongKey, "s").status()));
  for (auto& row : table->ScanTable({.part = 3, .parts = 2}))
    EXPECT_TRUE(absl::IsInvalidArgument(row.status()));
}

TEST(Client, ATimeoutMayBeInfinite) {
  TinyServer server;
  const absl::Duration never = absl::InfiniteDuration();
  auto client = *Client::Create({.meta_servers = {server.address()}, .timeout = never});
  auto table = *client->OpenTable("temp");
  EXPECT_TRUE(table->Put("h", "s", "value").ok());
  client = *Client::Create({.meta_servers = {server.address()}});
  table = *client->OpenTable("temp");
  EXPECT_TRUE(table->Put("h", "s", "more", {.timeout = never}).ok());
  EXPECT_EQ(table->Get("h", "s", {.timeout = never}).value_or("none"), "more");
  EXPECT_TRUE(absl::IsUnavailable(table->Put("h", "s", "late", {.timeout = -never})));
}

TEST(Client, RefusesOptionsThatCannotBe) {
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Create({}).status()));
  for (int threads : {0, -1, 65})
    EXPECT_TRUE(absl::IsInvalidArgument(
        Client::Create({.meta_servers = {"127.0.0.1:1"}, .threads = threads}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Client::Create({.meta_servers = {"nonsense"}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Client::Create({.meta_servers = {"127.0.0.1:1"}, .timeout = absl::ZeroDuration()}).status()));
}

TEST(AdminClient, WaitsForAnswers) {
  TinyServer server;
  auto admin = *AdminClient::Create({server.address()}, absl::Seconds(5));
  auto tables = admin->ListTables();
  ASSERT_TRUE(tables.ok()) << tables.status();
  EXPECT_EQ(tables->infos.at(0).app_name, "temp");
  EXPECT_EQ(admin->QueryTable("temp")->partitions.size(), 2u);
  EXPECT_TRUE(absl::IsNotFound(admin->QueryTable("none").status()));
}

}  // namespace
}  // namespace arion
