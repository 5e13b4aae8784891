// MetaFixture: a MetaServer on its real store in a simulated environment, and replica servers
// played by hand: they send beacons and reports, and obey proposals when told to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutation.h"
#include "messages/admin_messages.h"
#include "messages/meta_messages.h"
#include "meta/meta_options.h"
#include "meta/meta_server.h"
#include "meta_state/journal_meta_store.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"
#include "sim/sim_environment.h"
#include "sim/sim_world.h"

namespace arion {

inline Endpoint ServerAt(int n) { return {0x0a000000u + static_cast<uint32_t>(n), 34801}; }

class RecordingTransport : public Transport {
 public:
  struct Sent {
    Endpoint to;
    OutboundRequest request;
  };
  Endpoint local() const override { return {0x7f000001, 34601}; }
  void SetHandler(RequestHandler handler) override { this->handler = std::move(handler); }
  // Answered when the test says so, if at all.
  struct Called {
    Endpoint to;
    OutboundRequest request;
    StrandPtr reply_on;
    absl::AnyInvocable<void(RpcResult)> done;
  };
  void Call(Endpoint to, OutboundRequest request, StrandPtr reply_on,
            absl::AnyInvocable<void(RpcResult)> done) override {
    called.push_back({to, std::move(request), std::move(reply_on), std::move(done)});
  }
  void SendOneWay(Endpoint to, OutboundRequest request) override {
    sent.push_back({to, std::move(request)});
  }
  RequestHandler handler;
  std::deque<Sent> sent;
  std::deque<Called> called;
};

class MetaFixture : public testing::Test {
 protected:
  struct PlayedServer {
    bool up = false;
    int64_t start_time = 0;
    int64_t report_number = 0;
    bool stops = false;
  };
  struct Proposal {
    Endpoint to;
    ConfigurationUpdateRequest request;
  };
  struct Reply {
    ErrorCode error = ErrorCode::kOk;
    std::string body;
  };

  MetaFixture() : node_(world_.AddNode("meta")) {
    options_.grace = absl::Seconds(3);
    options_.max_successive_unstable_restarts = 0;
  }
  ~MetaFixture() override {
    if (node_.alive()) StopMeta(sim::CrashMode::kProcess);
  }

  absl::Status StartMeta() {
    sim::SimEnvironment& env = node_.Start();
    server_ = std::make_unique<MetaServer>(
        env, transport_,
        std::make_shared<JournalMetaStore>(
            env, "/meta", JournalMetaStoreOptions{.reserve_bytes = reserve_bytes_}),
        options_);
    transport_.SetHandler(server_->Handler());
    absl::Status started;
    env.RunInPool([&] { started = server_->Start(); });
    world_.RunFor(absl::Milliseconds(10));
    return started;
  }
  void StopMeta(sim::CrashMode mode) {
    transport_.called.clear();
    node_.Crash(mode);
    server_.reset();
  }

  // What the server answers within `limit`; nullopt: nothing.
  std::optional<Reply> AskBytes(const char* name, std::string body,
                                Framing framing = Framing::kRdsn,
                                absl::Duration limit = absl::Milliseconds(50)) {
    auto reply = std::make_shared<std::optional<Reply>>();
    InboundRequest request;
    request.header.name = name;
    request.header.framing = framing;
    request.body = std::move(body);
    request.responder = Responder([reply](ErrorCode error, std::string bytes) {
      *reply = Reply{error, std::move(bytes)};
    });
    transport_.handler(std::move(request));
    world_.RunUntil([&] { return reply->has_value(); }, limit);
    return *reply;
  }
  // Asks and goes on: what is stored meanwhile is still under way.
  template <class Response, class Request>
  std::shared_ptr<ErrorCode> Begin(const char* name, const Request& body) {
    InboundRequest request;
    request.header.name = name;
    request.body = EncodeWrapped(body);
    auto error = std::make_shared<ErrorCode>(ErrorCode::kUnknown);
    request.responder = Responder(
        [error](ErrorCode, std::string answer) { *error = DecodeWrapped<Response>(answer)->err; });
    transport_.handler(std::move(request));
    return error;
  }
  template <class Response, class Request>
  std::optional<Response> Ask(const char* name, const Request& request,
                              Framing framing = Framing::kRdsn) {
    std::optional<Reply> reply = AskBytes(name, EncodeWrapped(request), framing);
    if (!reply || reply->error != ErrorCode::kOk) return std::nullopt;
    absl::StatusOr<Response> response = DecodeWrapped<Response>(reply->body);
    EXPECT_TRUE(response.ok()) << response.status();
    return *response;
  }

  // A process begins at server n (a second time: it restarted).
  void StartServer(int n) {
    PlayedServer& server = servers_[n];
    server.up = true;
    server.start_time = ++next_start_time_;
    server.report_number = 0;
    Beacon(n);
  }
  void KillServer(int n) { servers_[n].up = false; }
  bool Beacon(int n) {
    BeaconMessage beacon{.time = 77,
                         .from_node = ServerAt(n),
                         .to_node = transport_.local(),
                         .start_time = servers_[n].start_time,
                         .wall_ms = node_.WallMicros() / 1000,
                         .process_id = servers_[n].start_time};
    if (servers_[n].stops) beacon.stops = true;
    auto ack = Ask<BeaconAck>(kRpcBeacon, beacon);
    return ack && ack->is_master && ack->allowed && ack->time == 77;
  }
  // Written now; sent when the test says so.
  ConfigSyncRequest ReportOf(int n, std::vector<ReplicaInfo> replicas) {
    return {.node = ServerAt(n),
            .stored_replicas = std::move(replicas),
            .number = servers_[n].report_number};
  }
  std::optional<ConfigSyncResponse> Send(const ConfigSyncRequest& report) {
    return Ask<ConfigSyncResponse>(kRpcConfigSync, report);
  }
  // Where its number is not the one awaited it is made again.
  std::optional<ConfigSyncResponse> Sync(int n, std::vector<ReplicaInfo> replicas = {}) {
    const auto send = [&] {
      std::optional<ConfigSyncResponse> answer = Send(ReportOf(n, replicas));
      if (answer && answer->next_number) servers_[n].report_number = *answer->next_number;
      return answer;
    };
    std::optional<ConfigSyncResponse> answer = send();
    return answer && answer->err == ErrorCode::kInvalidVersion ? send() : answer;
  }
  void StartAndSync(int count) {
    for (int n = 1; n <= count; ++n) StartServer(n);
    for (int n = 1; n <= count; ++n) Sync(n);
  }
  // Time passes; servers that are up send beacons.
  void Pass(absl::Duration duration) {
    for (absl::Duration step = absl::Milliseconds(500); duration > absl::ZeroDuration();
         duration -= step) {
      world_.RunFor(std::min(step, duration));
      for (auto& [n, server] : servers_) {
        if (server.up) Beacon(n);
      }
    }
  }

  std::optional<Proposal> TakeProposal() {
    if (transport_.sent.empty()) world_.RunFor(absl::Milliseconds(20));
    if (transport_.sent.empty()) return std::nullopt;
    RecordingTransport::Sent sent = std::move(transport_.sent.front());
    transport_.sent.pop_front();
    EXPECT_EQ(sent.request.name, kRpcConfigProposal);
    auto decoded = DecodeWrapped<ConfigurationUpdateRequest>(sent.request.body);
    EXPECT_TRUE(decoded.ok()) << decoded.status();
    return Proposal{sent.to, *decoded};
  }
  // The update with which an obedient server answers a proposal.
  static ConfigurationUpdateRequest UpdateFor(const Proposal& proposal) {
    ConfigurationUpdateRequest update = proposal.request;
    PartitionConfiguration& config = update.config;
    ++config.ballot;
    std::erase(config.secondaries, update.node);
    switch (update.type) {
      case ConfigType::kAssignPrimary:
      case ConfigType::kUpgradeToPrimary:
        config.primary = update.node;
        break;
      case ConfigType::kDowngradeToSecondary:
        config.primary = {};
        config.secondaries.push_back(update.node);
        break;
      case ConfigType::kRemove:
      case ConfigType::kDowngradeToInactive:
        if (config.primary == update.node) config.primary = {};
        break;
      case ConfigType::kAddSecondary:
      case ConfigType::kAddSecondaryForLoadBalance:
        config.secondaries.push_back(update.node);
        update.type = ConfigType::kUpgradeToSecondary;
        break;
      default:
        break;
    }
    return update;
  }
  std::optional<ConfigurationUpdateResponse> Update(const ConfigurationUpdateRequest& update) {
    return Ask<ConfigurationUpdateResponse>(kRpcUpdateConfiguration, update);
  }
  // Servers that are up carry out what is proposed until nothing more is.
  void Obey() {
    while (std::optional<Proposal> proposal = TakeProposal()) {
      for (auto& [n, server] : servers_) {
        if (server.up && ServerAt(n) == proposal->to) Update(UpdateFor(*proposal));
      }
    }
  }

  ControlMetaResponse Level(FunctionLevel level) {
    return *Ask<ControlMetaResponse>(kRpcControlMeta, ControlMetaRequest{level});
  }
  CreateAppResponse Create(const std::string& name, int32_t partitions, int32_t replicas) {
    CreateAppRequest request{name,
                             {.partition_count = partitions,
                              .replica_count = replicas,
                              .app_type = "pegasus",
                              .is_stateful = true}};
    return Ask<CreateAppResponse>(kRpcCreateApp, request).value();
  }
  QueryConfigResponse Query(const std::string& name, Framing framing = Framing::kRdsn) {
    return Ask<QueryConfigResponse>(kRpcQueryConfig, QueryConfigRequest{name}, framing).value();
  }
  PartitionConfiguration ConfigOf(const std::string& name, int32_t index) {
    return Query(name).partitions.at(index);
  }
  // What server n would report of its part in `config`.
  static ReplicaInfo Report(const PartitionConfiguration& config, PartitionStatus status) {
    return {.pid = config.pid,
            .ballot = config.ballot,
            .status = status,
            .last_committed_decree = Decree(10),
            .last_prepared_decree = Decree(10),
            .app_type = "pegasus",
            .last_mutation_ballot = config.ballot};
  }

  sim::SimWorld world_{1};
  sim::SimNode& node_;
  RecordingTransport transport_;
  MetaServerOptions options_;
  uint64_t reserve_bytes_ = 0;
  std::unique_ptr<MetaServer> server_;
  std::map<int, PlayedServer> servers_;
  int64_t next_start_time_ = 0;
};

}  // namespace arion
