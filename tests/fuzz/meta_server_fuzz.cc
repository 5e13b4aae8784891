// A whole meta server on hostile messages: requests of every code by servers, clients and tools
// that mean harm. No input may end the process, and afterwards it answers, stops, and starts again
// from what it stored.
//
// Input: choices (hostile_messages.h). The world: a meta server with two tables, three servers that
// keep their leases most of the time. SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "base/log.h"
#include "base/mutation.h"
#include "messages/duplication_messages.h"
#include "messages/meta_messages.h"
#include "messages/tool_messages.h"
#include "meta/meta_options.h"
#include "meta/meta_server.h"
#include "meta_state/journal_meta_store.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/hostile_messages.h"

namespace arion {
namespace {

constexpr Endpoint kMeta{0x0a000009, 34601};
constexpr Endpoint kServers[] = {{0x0a000001, 34801}, {0x0a000002, 34801}, {0x0a000003, 34801}};

const KnownNames& Names() {
  static const KnownNames names = {
      .endpoints = {kServers[0], kServers[1], kServers[2], kMeta, Endpoint{}, Endpoint{1, 0},
                    Endpoint{0x0a000063, 34801}},
      .partitions = {{1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 3}, {0, 0}, {-1, -1}, {99, 1}},
      .strings = {"", "t", "u", "w", ".", "/", "a/b", "pegasus", "default_ttl", "-1", "0",
                  "9223372036854775807", "replica.deny_client_request", "timeout*all",
                  "rocksdb.usage_scenario", "x=y"}};
  return names;
}

class World {
 public:
  explicit World(Choices& choices) : choices_(choices), scribble_(choices, Names()) {
    FuzzRequire(meta_node_.disk().CreateDirectories("/meta").ok());
    meta_node_.disk().MakeDurable();
    StartMeta();
    for (size_t i = 0; i < std::size(kServers); ++i) {
      sim::SimNode& node = world_.AddNode("r" + std::to_string(i));
      node.Start();
      servers_.push_back(std::make_unique<sim::SimTransport>(network_, node, kServers[i]));
      strands_.push_back(node.environment().NewStrand("server"));
      servers_.back()->SetHandler(
          [this, i](InboundRequest request) { OnProposal(i, std::move(request)); });
    }
    for (int round = 0; round < 3; ++round) {
      Beacons();
      world_.RunFor(absl::Seconds(1));
    }
    for (const char* name : {"t", "u"}) {
      Call(0, kRpcCreateApp,
           EncodeWrapped(CreateAppRequest{.app_name = name,
                                          .options = {.partition_count = 4,
                                                      .replica_count = 3,
                                                      .app_type = "pegasus",
                                                      .is_stateful = true}}));
      world_.RunFor(absl::Seconds(1));
    }
  }
  ~World() { KillMeta(); }

  void Run() {
    is_hostile_ = true;
    while (!choices_.IsEmpty()) {
      SendOne();
      static constexpr int kPausesMs[] = {0, 0, 0, 0, 0, 1, 1, 5, 20, 100, 700, 3000};
      world_.RunFor(absl::Milliseconds(kPausesMs[choices_.Below(std::size(kPausesMs))]));
      if (choices_.Byte() < 64) Beacons();
      if (choices_.Byte() == 255) Restart();
    }
    is_hostile_ = false;
    Restart();
    bool answered = false;
    servers_[0]->Call(kMeta, {.name = kRpcClusterInfo, .body = EncodeWrapped(ClusterInfoRequest{})},
                      strands_[0], [&](const RpcResult&) { answered = true; });
    FuzzRequire(world_.RunUntil([&] { return answered; }, absl::Minutes(1)));
    bool stopped = false;
    meta_->Stop([&] { stopped = true; });
    FuzzRequire(world_.RunUntil([&] { return stopped; }, absl::Minutes(1)));
  }

 private:
  void StartMeta() {
    sim::SimEnvironment& env = meta_node_.Start();
    meta_transport_ = std::make_unique<sim::SimTransport>(network_, meta_node_, kMeta);
    const auto store = std::make_shared<JournalMetaStore>(
        env, "/meta", JournalMetaStoreOptions{.reserve_bytes = 0});
    MetaServerOptions options;
    options.guardian_interval = absl::Seconds(1);
    options.replica_assign_delay_for_dropouts = absl::Seconds(2);
    options.max_successive_unstable_restarts = 0;
    options.cluster_ids = {{options.cluster_name, 1}, {"other", 2}};
    options.clusters = {{"other", {{"elsewhere", 34601}}}};
    meta_ = std::make_unique<MetaServer>(env, *meta_transport_, store, options);
    meta_transport_->SetHandler(meta_->Handler());
    const absl::Status started = meta_->Start();
    if (!started.ok()) std::fprintf(stderr, "%s\n", started.ToString().c_str());
    FuzzRequire(started.ok());
  }
  void KillMeta() {
    meta_node_.Crash(sim::CrashMode::kPowerRandom);
    meta_.reset();
    meta_transport_.reset();
  }
  void Restart() {
    FuzzCount("restarts");
    KillMeta();
    StartMeta();
    Beacons();
    world_.RunFor(absl::Seconds(1));
  }

  BeaconMessage Beacon(size_t server) {
    return {.time = 1, .from_node = kServers[server], .to_node = kMeta, .start_time = 1000};
  }
  void Beacons() {
    for (size_t i = 0; i < servers_.size(); ++i) Call(i, kRpcBeacon, EncodeWrapped(Beacon(i)));
  }

  void Call(size_t from, const char* name, std::string body) {
    servers_[from]->Call(kMeta, {.name = name, .body = std::move(body)}, strands_[from],
                         [this](const RpcResult& result) {
                           if (result.error == ErrorCode::kOk) FuzzCount("answers");
                           if (const auto query = DecodeWrapped<QueryConfigResponse>(result.body);
                               query.ok() && !query->partitions.empty())
                             configs_ = query->partitions;
                         });
  }

  // A server that is told to change its partition's members: it does, or something like it.
  void OnProposal(size_t server, InboundRequest request) {
    if (request.header.name != kRpcConfigProposal) return;
    FuzzCount("proposals received");
    auto proposal = DecodeWrapped<ConfigurationUpdateRequest>(request.body);
    FuzzRequire(proposal.ok());
    proposal_ = *proposal;
    ConfigurationUpdateRequest update = *std::move(proposal);
    ++update.config.ballot;
    switch (update.type) {
      case ConfigType::kAssignPrimary:
      case ConfigType::kUpgradeToPrimary:
        update.config.primary = update.node;
        std::erase(update.config.secondaries, update.node);
        break;
      case ConfigType::kAddSecondary:
        update.type = ConfigType::kUpgradeToSecondary;
        update.config.secondaries.push_back(update.node);
        break;
      default:
        std::erase(update.config.secondaries, update.node);
    }
    if (is_hostile_) update = scribble_.Maybe(std::move(update));
    Call(server, kRpcUpdateConfiguration, EncodeWrapped(update));
  }

  template <class T>
  std::string Body(T message) {
    return EncodeWrapped(scribble_.Maybe(std::move(message)));
  }
  PartitionConfiguration Config() {
    if (configs_.empty()) return {.pid = {1, 0}, .max_replica_count = 3};
    return configs_[choices_.Below(configs_.size())];
  }
  ConfigurationUpdateRequest Update() {
    ConfigurationUpdateRequest update = proposal_;
    if (choices_.Byte() % 2 == 0) {
      update.config = Config();
      update.type = static_cast<ConfigType>(choices_.Below(12));
      update.node = kServers[choices_.Below(3)];
      update.info.app_id = update.config.pid.app_id;
    }
    ++update.config.ballot;
    return update;
  }
  ConfigSyncRequest Sync(size_t server) {
    ConfigSyncRequest sync{.node = kServers[server], .stored_replicas = {{}}};
    for (size_t n = choices_.Below(4); n > 0; --n) {
      const PartitionConfiguration config = Config();
      sync.stored_replicas->push_back({.pid = config.pid,
                                       .ballot = config.ballot,
                                       .status = config.RoleOf(kServers[server]),
                                       .app_type = "pegasus",
                                       .disk_tag = "ssd"});
    }
    return sync;
  }
  static CreateAppOptions TableOptions() {
    return {.partition_count = 4, .replica_count = 3, .app_type = "pegasus", .is_stateful = true};
  }

  struct Kind {
    const char* name;
    std::string (*body)(World&, size_t server);
  };
  static const std::vector<Kind>& Kinds();

  void SendOne() {
    const size_t server = choices_.Below(servers_.size());
    const Kind& kind = Kinds()[choices_.Below(Kinds().size())];
    FuzzCount(kind.name);
    FuzzCount("messages");
    Call(server, kind.name, Damage(kind.body(*this, server), choices_));
  }

  Choices& choices_;
  Scribble scribble_;
  sim::SimWorld world_{7};
  sim::SimNetwork network_{world_};
  sim::SimNode& meta_node_ = world_.AddNode("meta");
  std::unique_ptr<sim::SimTransport> meta_transport_;
  std::unique_ptr<MetaServer> meta_;
  std::vector<std::unique_ptr<sim::SimTransport>> servers_;
  std::vector<StrandPtr> strands_;
  std::vector<PartitionConfiguration> configs_;
  ConfigurationUpdateRequest proposal_;
  bool is_hostile_ = false;
};

const std::vector<World::Kind>& World::Kinds() {
  static const std::vector<Kind> kinds = {
      {kRpcBeacon, [](World& w, size_t server) { return w.Body(w.Beacon(server)); }},
      {kRpcConfigSync, [](World& w, size_t server) { return w.Body(w.Sync(server)); }},
      {kRpcUpdateConfiguration, [](World& w, size_t) { return w.Body(w.Update()); }},
      {kRpcUpdateConfiguration, [](World& w, size_t) { return w.Body(w.Update()); }},
      {kRpcQueryConfig,
       [](World& w, size_t) {
         return w.Body(QueryConfigRequest{w.choices_.Byte() % 2 ? "t" : "u", {}});
       }},
      {kRpcQueryConfig,
       [](World&, size_t) {
         return EncodeWrapped(QueryConfigRequest{"t", {}});
       }},
      {kRpcCreateApp,
       [](World& w, size_t) {
         return w.Body(CreateAppRequest{"w", TableOptions()});
       }},
      {kRpcDropApp,
       [](World& w, size_t) {
         return w.Body(DropAppRequest{"w", {}});
       }},
      {kRpcListApps, [](World& w, size_t) { return w.Body(ListAppsRequest{}); }},
      {kRpcListNodes, [](World& w, size_t) { return w.Body(ListNodesRequest{}); }},
      {kRpcClusterInfo, [](World& w, size_t) { return w.Body(ClusterInfoRequest{}); }},
      {kRpcDuplicationSync,
       [](World& w, size_t server) {
         return w.Body(DuplicationSyncRequest{
             .node = kServers[server],
             .confirm_list = {{{1, 0}, {{.dupid = 1, .confirmed_decree = 7}}}}});
       }},
      {kRpcAddDuplication,
       [](World& w, size_t) {
         return w.Body(AddDuplicationRequest{"t", "other"});
       }},
      {kRpcModifyDuplication,
       [](World& w, size_t) {
         return w.Body(ModifyDuplicationRequest{"t", 1, 4});
       }},
      {kRpcCommand,
       [](World& w, size_t) {
         return w.Body(CommandRequest{"help", {"x"}});
       }},
      {kRpcNegotiation, [](World& w, size_t) { return w.Body(NegotiationRequest{}); }},
      {kRpcConfigProposal, [](World& w, size_t) { return w.Body(w.proposal_); }},
      {"RPC_OF_ANOTHER_WORLD", [](World&, size_t) { return std::string("body"); }},
  };
  return kinds;
}

}  // namespace

std::vector<std::string> FuzzSeeds() { return ChoiceSeeds(); }
void FuzzMend(std::string* input, FuzzRandom& random) { ChooseAnew(input, random); }

}  // namespace arion

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FLAGS_minloglevel = google::GLOG_FATAL;
  arion::Choices choices(data, size);
  arion::World(choices).Run();
  return 0;
}
