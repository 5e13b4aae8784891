// FakeCluster: a strand, a clock moved by hand and a Transport whose servers are functions. One
// thread. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "client/client_core.h"
#include "client/client_runtime.h"
#include "env/environment.h"
#include "rpc/transport.h"

namespace arion {

class FakeCluster : public Environment, public Transport, private Clock {
 public:
  FakeCluster() : strand_(std::make_shared<FakeStrand>(*this)) {}

  // A server answers at once or not at all (std::nullopt).
  using Server = std::function<std::optional<RpcResult>(const OutboundRequest&)>;
  void SetServer(Endpoint at, Server server) { servers_[at] = std::move(server); }
  // How long answers take.
  absl::Duration latency = absl::ZeroDuration();
  std::map<Endpoint, absl::Duration> latencies;  // of those for whom it is another

  struct Sent {
    Endpoint to;
    OutboundRequest request;
    Instant at;
  };
  const std::vector<Sent>& sent() const { return sent_; }
  int CountSent(const std::string& name) const {
    int n = 0;
    for (const Sent& sent : sent_) n += sent.request.name == name;
    return n;
  }

  const std::vector<std::string>& told() const { return told_; }  // names, one way

  StrandPtr strand() const { return strand_; }
  // A user's client, on the strand.
  std::shared_ptr<ClientRuntime> NewRuntime(const ClusterClientOptions& options) {
    std::vector<std::unique_ptr<ClientCore>> cores;
    cores.push_back(std::make_unique<ClientCore>(
        *this, *this, strand_, options, [strand = strand_] { return strand->IsCurrent(); }));
    return std::make_shared<ClientRuntime>(clock(), std::move(cores));
  }
  Instant now() const { return now_; }
  // Runs `task` as one of the strand's, then everything that is due within `duration`.
  void Run(Task task, absl::Duration duration = absl::Minutes(1)) {
    strand_->Post(std::move(task));
    RunFor(duration);
  }
  void RunFor(absl::Duration duration) {
    const Instant end = now_ + duration;
    while (!queue_.empty() && queue_.begin()->first.first <= end) {
      auto node = queue_.extract(queue_.begin());
      now_ = std::max(now_, node.key().first);
      running_ = true;
      node.mapped()();
      running_ = false;
    }
    now_ = end;
  }

  const Clock& clock() const override { return *this; }
  FileSystem& files() override { Refuse(); }
  Random& random() override { return random_; }
  StrandPtr NewStrand(std::string_view) override { return strand_; }
  DiskPool& disk_pool(const std::string&) override { Refuse(); }
  LogDevice& log_device(const std::string&) override { Refuse(); }

  Endpoint local() const override { return {.ip = 0x7f000001, .port = 1}; }
  void SetHandler(RequestHandler) override {}
  void SendOneWay(Endpoint, OutboundRequest request) override { told_.push_back(request.name); }
  void Call(Endpoint to, OutboundRequest request, StrandPtr reply_on,
            absl::AnyInvocable<void(RpcResult)> done) override {
    sent_.push_back({.to = to, .request = request, .at = now_});
    auto server = servers_.find(to);
    std::optional<RpcResult> result =
        RpcResult{.error = ErrorCode::kNetworkFailure, .was_never_sent = true};  // nobody is there
    if (server != servers_.end()) result = server->second(request);
    auto own = latencies.find(to);
    const absl::Duration takes = own != latencies.end() ? own->second : latency;
    const bool in_time = result.has_value() && takes < request.timeout;
    if (!in_time) result = RpcResult{.error = ErrorCode::kTimeout};
    reply_on->PostAfter(in_time ? takes : request.timeout,
                        [done = std::move(done), result = *std::move(result)]() mutable {
                          done(std::move(result));
                        });
  }

 private:
  class FakeStrand : public Strand {
   public:
    explicit FakeStrand(FakeCluster& cluster) : cluster_(cluster) {}
    void Post(Task task) override { PostAfter(absl::ZeroDuration(), std::move(task)); }
    TimerId PostAfter(absl::Duration delay, Task task) override {
      const TimerId id = ++cluster_.last_timer_;
      cluster_.queue_.emplace(std::pair(cluster_.now_ + delay, id), std::move(task));
      return id;
    }
    void Cancel(TimerId timer) override {
      std::erase_if(cluster_.queue_, [&](const auto& item) { return item.first.second == timer; });
    }
    bool IsCurrent() const override { return cluster_.running_; }

   private:
    FakeCluster& cluster_;
  };
  class Middle : public Random {
   public:
    uint64_t Next() override { return UINT64_MAX / 2; }
  };

  [[noreturn]] static void Refuse() {
    LOG(FATAL) << "no disks here";
    abort();
  }
  Instant Now() const override { return now_; }
  int64_t WallMicros() const override {
    return kExpiryEpochUnixSeconds * 1000000 + now_.nanos() / 1000;
  }

  Instant now_{1'000'000'000'000};  // 1000 s
  bool running_ = false;
  TimerId last_timer_ = kNoTimer;
  std::map<std::pair<Instant, TimerId>, Task> queue_;
  std::map<Endpoint, Server> servers_;
  std::vector<Sent> sent_;
  std::vector<std::string> told_;
  Middle random_;
  std::shared_ptr<FakeStrand> strand_;
};

}  // namespace arion
