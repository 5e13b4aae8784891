// Whole replica servers on the simulator's world, with a meta server that does exactly what a test
// tells it to. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/raw_key.h"
#include "disks/disk_layout.h"
#include "engine/memory_engine.h"
#include "env/file_system.h"
#include "messages/admin_messages.h"
#include "messages/client_messages.h"
#include "messages/meta_messages.h"
#include "replica/replica_options.h"
#include "replica/replica_snapshot.h"
#include "replica_server/replica_server.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"

namespace arion {

inline constexpr PartitionId kPid{2, 1};

// Grants leases, accepts each update that follows the current configuration, proposes what it is
// told.
class FakeMeta {
 public:
  FakeMeta(sim::SimWorld& world, sim::SimNetwork& network)
      : node_(world.AddNode("meta")),
        transport_((node_.Start(), network), node_, *Endpoint::Parse("10.0.0.9:34601")) {
    app_ = {.status = AppStatus::kAvailable,
            .app_type = "pegasus",
            .app_name = "t",
            .app_id = kPid.app_id,
            .partition_count = 4,
            .is_stateful = true,
            .max_replica_count = 3};
    transport_.SetHandler([this](InboundRequest request) { Handle(std::move(request)); });
  }

  Endpoint address() const { return transport_.local(); }
  PartitionConfiguration& configuration(PartitionId pid = kPid) {
    const auto [it, is_new] = configurations_.try_emplace(pid);
    if (is_new) {
      it->second.pid = pid;
      it->second.max_replica_count = app_.max_replica_count;
    }
    return it->second;
  }
  AppInfo& app() { return app_; }
  void SetReplicaCount(int32_t n) {
    app_.max_replica_count = configuration().max_replica_count = n;
    for (auto& [pid, configuration] : configurations_) configuration.max_replica_count = n;
  }
  // No server is told of the partition any more; of garbage only those that SetGarbage names.
  void Forget(PartitionId pid) { configurations_.erase(pid); }
  void SetGarbage(PartitionId pid) { garbage_.push_back({.pid = pid}); }
  // The bytes that it answers to requests of this name from now on.
  void AnswerAs(const std::string& name, std::string body) { scripted_[name] = std::move(body); }
  // Bodies of the requests of this name, as they came.
  const std::vector<std::string>& Asked(const std::string& name) { return asked_[name]; }
  void SetSilent(bool silent) { is_silent_ = silent; }
  // Updates wait until they are let go.
  void HoldUpdates() { holds_updates_ = true; }
  void AnswerUpdates() {
    holds_updates_ = false;
    for (InboundRequest& request : std::exchange(held_, {})) Handle(std::move(request));
  }
  void Propose(Endpoint to, ConfigType type, Endpoint node, PartitionId pid = kPid) {
    const ConfigurationUpdateRequest proposal{
        .info = app_, .config = configuration(pid), .type = type, .node = node};
    transport_.SendOneWay(to, {.name = kRpcConfigProposal, .body = EncodeWrapped(proposal)});
  }
  const std::map<Endpoint, std::vector<ReplicaInfo>>& reports() const { return reports_; }
  // From now on as Arion's meta server does; the first awaited is 1.
  void NumberReports() { awaited_report_ = 1; }
  std::vector<int64_t>& report_numbers() { return report_numbers_; }
  void LoseReportAnswers(bool lose) { loses_report_answers_ = lose; }
  int beacons() const { return beacons_; }
  // What it answers who asks of which cluster it is, by name.
  struct Listed {
    std::string cluster = "onebox";
    std::optional<int64_t> arion_caps;
    std::vector<Endpoint> servers;
    QueryConfigResponse partitions;
    QueryBackupPolicyResponse backups;
  };
  Listed& listed() { return listed_; }

 private:
  void Handle(InboundRequest request) {
    if (is_silent_) return;
    const std::string& name = request.header.name;
    asked_[name].emplace_back(request.body);
    if (const auto found = scripted_.find(name); found != scripted_.end())
      return request.responder.Reply(ErrorCode::kOk, found->second);
    if (holds_updates_ && name == kRpcUpdateConfiguration)
      return held_.push_back(std::move(request));
    if (AnswerListing(request)) return;
    if (name == kRpcBeacon) {
      ++beacons_;
      const auto beacon = DecodeWrapped<BeaconMessage>(request.body);
      return request.responder.Reply(ErrorCode::kOk,
                                     EncodeWrapped(BeaconAck{.time = beacon->time,
                                                             .this_node = address(),
                                                             .primary_node = address(),
                                                             .is_master = true,
                                                             .allowed = true}));
    }
    if (name == kRpcConfigSync) {
      const auto sync = DecodeWrapped<ConfigSyncRequest>(request.body);
      ConfigSyncResponse response;
      report_numbers_.push_back(sync->number.value_or(-1));
      if (awaited_report_ != 0 && sync->number != awaited_report_) {
        response = {.err = ErrorCode::kInvalidVersion, .next_number = awaited_report_};
        return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
      }
      reports_[sync->node] = sync->stored_replicas.value_or(std::vector<ReplicaInfo>{});
      if (awaited_report_ != 0) response.next_number = ++awaited_report_;
      if (loses_report_answers_) return;
      for (const auto& [pid, configuration] : configurations_)
        if (configuration.IsMember(sync->node))
          response.partitions.push_back(
              {.info = app_, .config = configuration, .host_node = sync->node});
      if (!garbage_.empty()) response.gc_replicas = garbage_;
      return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
    }
    if (name == kRpcUpdateConfiguration) {
      const auto update = DecodeWrapped<ConfigurationUpdateRequest>(request.body);
      ConfigurationUpdateResponse response{.err = ErrorCode::kInvalidVersion};
      PartitionConfiguration& known = configuration(update->config.pid);
      if (update->config.ballot == known.ballot + 1 || update->config == known) {
        known = update->config;
        response.err = ErrorCode::kOk;
      }
      response.config = known;
      return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
    }
    request.responder.Reply(ErrorCode::kHandlerNotFound);
  }

  bool AnswerListing(InboundRequest& request) {
    const std::string& name = request.header.name;
    const auto answer = [&](const auto& response) {
      request.responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
      return true;
    };
    if (name == kRpcClusterInfo)
      return answer(ClusterInfoResponse{.keys = {"meta_servers", "cluster_name"},
                                        .values = {address().ToString(), listed_.cluster},
                                        .arion_caps = listed_.arion_caps});
    if (name == kRpcListApps) return answer(ListAppsResponse{.infos = {app_}});
    if (name == kRpcListNodes) {
      ListNodesResponse nodes;
      for (Endpoint server : listed_.servers)
        nodes.infos.push_back({.status = NodeStatus::kAlive, .node = server});
      return answer(nodes);
    }
    if (name == kRpcQueryConfig) return answer(listed_.partitions);
    if (name == kRpcQueryBackupPolicy) return answer(listed_.backups);
    return false;
  }

  sim::SimNode& node_;
  sim::SimTransport transport_;
  AppInfo app_;
  Listed listed_;
  int beacons_ = 0;
  std::map<PartitionId, PartitionConfiguration> configurations_;
  std::vector<ReplicaInfo> garbage_;
  bool is_silent_ = false;
  bool holds_updates_ = false;
  std::vector<InboundRequest> held_;
  std::map<std::string, std::string> scripted_;
  std::map<std::string, std::vector<std::string>> asked_;
  std::map<Endpoint, std::vector<ReplicaInfo>> reports_;
  int64_t awaited_report_ = 0;
  std::vector<int64_t> report_numbers_;
  bool loses_report_answers_ = false;
};

// One machine and the server of its present life.
struct Server {
  Server(sim::SimWorld& world, int index)
      : Server(world, index, *Endpoint::Parse("10.0.0." + std::to_string(index) + ":34801")) {}
  Server(sim::SimWorld& world, int index, Endpoint at)
      : node(world.AddNode("r" + std::to_string(index))), address(at) {}

  absl::Status Start(sim::SimNetwork& network, ReplicaServerOptions options) {
    sim::SimEnvironment& env = node.Start();
    transport = std::make_unique<sim::SimTransport>(network, node, address);
    Environment& seen = disguise ? disguise(env) : env;
    engines = std::make_unique<MemoryEngineFactory>(seen);
    server = std::make_unique<ReplicaServer>(seen, *transport, *engines, std::move(options));
    return server->Start();
  }
  void Drop() {
    server.reset();
    engines.reset();
    transport.reset();
  }
  void Crash(sim::CrashMode mode) {
    node.Crash(mode);
    Drop();
  }

  sim::SimNode& node;
  Endpoint address;
  // What the server of the next life sees instead of its machine; outlives it.
  std::function<Environment&(sim::SimEnvironment&)> disguise;
  std::unique_ptr<sim::SimTransport> transport;
  std::unique_ptr<MemoryEngineFactory> engines;
  std::unique_ptr<ReplicaServer> server;
};

class ReplicaServerWorld : public testing::Test {
 protected:
  ReplicaServerWorld() {
    options_.layout.data_directories = {{"ssd1", "/d1/replica/reps"}, {"ssd2", "/d2/replica/reps"}};
    options_.meta_servers = {meta_.address()};
    options_.config_sync_interval = absl::Seconds(5);
    options_.checkpoint_interval = absl::Seconds(2);
    options_.disk.reserve_bytes = 64 << 10;
    client_node_.Start();
    client_ = std::make_unique<sim::SimTransport>(network_, client_node_,
                                                  *Endpoint::Parse("10.0.1.1:1000"));
    client_strand_ = client_node_.environment().NewStrand("client");
  }
  ~ReplicaServerWorld() override {
    for (auto& server : servers_)
      if (server->server != nullptr) server->Crash(sim::CrashMode::kProcess);
  }

  Server& AddServer() { return Add(static_cast<int>(servers_.size()) + 1); }
  Server& AddServerAt(const char* address) {
    return Add(static_cast<int>(servers_.size()) + 1, *Endpoint::Parse(address));
  }
  template <class... Where>
  Server& Add(Where... where) {
    servers_.push_back(std::make_unique<Server>(world_, where...));
    const absl::Status started = servers_.back()->Start(network_, options_);
    EXPECT_TRUE(started.ok()) << started;
    return *servers_.back();
  }
  void Restart(Server& server) {
    const absl::Status started = server.Start(network_, options_);
    ASSERT_TRUE(started.ok()) << started;
  }
  absl::Status Stop(Server& server) {
    std::optional<absl::Status> status;
    server.server->Stop([&](absl::Status s) { status = std::move(s); });
    EXPECT_TRUE(world_.RunUntil([&] { return status.has_value(); }, absl::Seconds(60)));
    server.Crash(sim::CrashMode::kPowerNone);
    return status.value_or(absl::DeadlineExceededError("stop"));
  }

  ReplicaSnapshot Snapshot(Server& server, PartitionId pid = kPid) {
    std::optional<ReplicaSnapshot> found;
    bool answered = false;
    server.server->Snapshot([&](std::vector<ReplicaSnapshot> all) {
      answered = true;
      for (ReplicaSnapshot& one : all)
        if (one.pid == pid) found = std::move(one);
    });
    world_.RunUntil([&] { return answered; }, absl::Seconds(10));
    return found.value_or(ReplicaSnapshot{});
  }
  // Runs until `server` holds `status` in the current configuration.
  bool WaitFor(Server& server, PartitionStatus status, PartitionId pid = kPid) {
    const Instant end = world_.now() + absl::Seconds(60);
    while (world_.now() < end) {
      const ReplicaSnapshot snapshot = Snapshot(server, pid);
      if (snapshot.status == status && !snapshot.loading &&
          snapshot.ballot == meta_.configuration(pid).ballot)
        return true;
      world_.RunFor(absl::Milliseconds(100));
    }
    ADD_FAILURE() << server.address << " is " << PartitionStatusName(Snapshot(server, pid).status)
                  << " under ballot " << Snapshot(server, pid).ballot << ", meta's is "
                  << meta_.configuration(pid).ballot;
    return false;
  }
  bool MakePrimary(Server& server, PartitionId pid = kPid) {
    world_.RunFor(absl::Seconds(2));  // connected
    meta_.Propose(server.address, ConfigType::kAssignPrimary, server.address, pid);
    return WaitFor(server, PartitionStatus::kPrimary, pid);
  }
  bool AddSecondary(Server& primary, Server& secondary, PartitionId pid = kPid) {
    world_.RunFor(absl::Seconds(2));
    const Instant end = world_.now() + absl::Seconds(60);
    while (!meta_.configuration(pid).IsSecondary(secondary.address) && world_.now() < end) {
      meta_.Propose(primary.address, ConfigType::kAddSecondary, secondary.address, pid);
      world_.RunFor(absl::Seconds(2));
    }
    return WaitFor(secondary, PartitionStatus::kSecondary, pid) &&
           WaitFor(primary, PartitionStatus::kPrimary, pid);
  }

  RpcResult Call(Server& server, const char* name, std::string body, PartitionId pid = kPid) {
    std::optional<RpcResult> result;
    client_->Call(server.address,
                  {.name = name, .body = std::move(body), .pid = pid, .timeout = absl::Seconds(20)},
                  client_strand_, [&](RpcResult r) { result = std::move(r); });
    EXPECT_TRUE(world_.RunUntil([&] { return result.has_value(); }, absl::Seconds(30)));
    return result.value_or(RpcResult{.error = ErrorCode::kTimeout});
  }
  std::string Key(int i) const { return JoinRawKey(hash_key_, "sort" + std::to_string(i)); }
  ErrorCode Put(Server& server, int i, std::string value, int32_t expire = 0,
                PartitionId pid = kPid) {
    const RpcResult result =
        Call(server, kRpcPut, EncodeWrapped(UpdateRequest{Key(i), std::move(value), expire}), pid);
    if (result.error == ErrorCode::kOk) {
      const auto response = DecodeWrapped<UpdateResponse>(result.body);
      EXPECT_EQ(response->error, 0);
      EXPECT_EQ(response->server, server.address.ToString());
      last_decree_ = Decree(response->decree);
    }
    return result.error;
  }
  std::optional<std::string> Get(Server& server, int i, PartitionId pid = kPid) {
    const RpcResult result = Call(server, kRpcGet, EncodeWrapped(Blob(Key(i))), pid);
    EXPECT_EQ(result.error, ErrorCode::kOk);
    const auto response = DecodeWrapped<ReadResponse>(result.body);
    if (!response.ok() || response->error != 0) return std::nullopt;
    return response->value.bytes;
  }

  // Directories on this server's disks whose names end so.
  int CountDirectories(Server& server, std::string_view suffix) {
    int count = 0;
    for (const DataDirectory& directory : options_.layout.data_directories) {
      const auto names = server.node.environment().files().List(directory.path);
      for (const std::string& name : names.value_or(std::vector<std::string>()))
        count += name.ends_with(suffix) ? 1 : 0;
    }
    return count;
  }

  sim::SimWorld world_{11};
  sim::SimNetwork network_{world_};
  FakeMeta meta_{world_, network_};
  sim::SimNode& client_node_ = world_.AddNode("client");
  std::unique_ptr<sim::SimTransport> client_;
  StrandPtr client_strand_;
  ReplicaServerOptions options_;
  std::vector<std::unique_ptr<Server>> servers_;
  Decree last_decree_;
  // Of all keys. Where a test cares in which partition it lies, it sets another.
  std::string hash_key_ = "hash";
};

}  // namespace arion
