// What an operation costs a client: a closed loop of `range` operations that callbacks keep under way,
// and waiting calls, against a server of the same process that answers from nothing. "client_ns" is
// CPU time of the client's own threads per operation, sockets included. SPDX-License-Identifier: Apache-2.0
#include <arion/client.h>
#include <benchmark/benchmark.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <future>
#include <memory>

#include "messages/client_messages.h"
#include "messages/meta_messages.h"
#include "posix/posix_environment.h"
#include "rpc/asio_transport.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

constexpr int kPartitions = 8;

class Server {
 public:
  Server() {
    transport_.SetHandler([this](InboundRequest request) {
      std::string answer = request.header.name == kRpcQueryConfig ? Config()
                           : request.header.name == kRpcGet       ? get_
                                                                  : put_;
      request.responder.Reply(ErrorCode::kOk, std::move(answer));
    });
    if (!transport_.Listen().ok()) abort();
  }
  ~Server() {
    transport_.Stop();
    environment_.StopLoops();
  }
  std::string address() const { return transport_.local().ToString(); }

 private:
  std::string Config() const {
    QueryConfigResponse answer{.app_id = 1, .partition_count = kPartitions, .is_stateful = true};
    for (int i = 0; i < kPartitions; ++i) {
      PartitionConfiguration& partition = answer.partitions.emplace_back();
      partition.pid = {1, i};
      partition.ballot = Ballot(1);
      partition.primary = transport_.local();
    }
    return EncodeWrapped(answer);
  }
  const std::string get_ =
      EncodeWrapped(ReadResponse{.value = std::string(1000, 'v'), .server = "here"});
  const std::string put_ = EncodeWrapped(UpdateResponse{.server = "here"});
  PosixEnvironment environment_{PosixEnvironmentOptions{.event_loop_threads = 1}};
  AsioTransport transport_{&environment_.loops(),
                           AsioTransportOptions{.listen = Endpoint{.ip = 0x7f000001, .port = 0}}};
};

int64_t CpuNanos(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

enum class Kind { kGet, kPut };

// One chain of operations, each begun in the callback of the one before.
struct Chain {
  void Next() {
    if (left->fetch_sub(1, std::memory_order_relaxed) <= 0) {
      if (open->fetch_sub(1) == 1) end->set_value();
      return;
    }
    if (kind == Kind::kGet) {
      table->Get(hash_key, "field0", {}, [this](absl::StatusOr<std::string> value) {
        if (!value.ok()) abort();
        Next();
      });
    } else {
      table->Put(hash_key, "field0", *value, {}, [this](absl::Status status) {
        if (!status.ok()) abort();
        Next();
      });
    }
  }
  Kind kind;
  AsyncTable* table;
  std::string hash_key;
  const std::string* value;
  std::atomic<int64_t>* left;
  std::atomic<int>* open;
  std::promise<void>* end;
};

void ClosedLoop(benchmark::State& state, Kind kind) {
  Server server;
  auto client = *Client::Create({.meta_servers = {server.address()}});
  auto table = *client->OpenTable("temp");
  std::promise<clockid_t> clock_promise;
  table->async().Get("h", "s", {}, [&](auto) {
    clockid_t clock;
    pthread_getcpuclockid(pthread_self(), &clock);
    clock_promise.set_value(clock);
  });
  const clockid_t client_clock = clock_promise.get_future().get();
  const std::string value(1000, 'v');
  constexpr int64_t kOperations = 20'000;
  int64_t nanos = 0;
  for (auto _ : state) {
    std::atomic<int64_t> left = kOperations;
    std::atomic<int> open = static_cast<int>(state.range(0));
    std::promise<void> end;
    std::vector<Chain> chains;
    for (int i = 0; i < state.range(0); ++i)
      chains.push_back(
          {kind, &table->async(), "user" + std::to_string(i), &value, &left, &open, &end});
    const int64_t before = CpuNanos(client_clock);
    for (Chain& chain : chains) chain.Next();
    end.get_future().wait();
    nanos += CpuNanos(client_clock) - before;
  }
  state.SetItemsProcessed(state.iterations() * kOperations);
  state.counters["client_ns"] =
      static_cast<double>(nanos) / static_cast<double>(state.iterations() * kOperations);
}
BENCHMARK_CAPTURE(ClosedLoop, Get, Kind::kGet)->Arg(1)->Arg(50)->Arg(500)->UseRealTime();
BENCHMARK_CAPTURE(ClosedLoop, Put, Kind::kPut)->Arg(1)->Arg(50)->Arg(500)->UseRealTime();

void WaitingGet(benchmark::State& state) {
  Server server;
  auto client = *Client::Create({.meta_servers = {server.address()}});
  auto table = *client->OpenTable("temp");
  for (auto _ : state) {
    if (!table->Get("user1", "field0").ok()) abort();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(WaitingGet)->UseRealTime();

}  // namespace
}  // namespace arion
