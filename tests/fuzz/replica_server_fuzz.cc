// Whole replica servers on hostile messages: requests of every code, answers to everything they
//           ask,
// from a peer and a meta server that mean harm. No input may end the process, by a CHECK or
// otherwise, and a server whose peers fall silent can be stopped.
//
// Input: choices (hostile_messages.h). The world: servers A and B, a hostile peer F, a hostile meta
// server. Partition 2.0: A is primary, F its secondary; 2.1: F is primary, A its secondary; 2.2: F
// is primary, A learns from it; 2.3: A is primary, alone. The rest are absent.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/log.h"
#include "base/raw_key.h"
#include "engine/memory_engine.h"
#include "messages/client_messages.h"
#include "messages/duplicate_messages.h"
#include "messages/meta_messages.h"
#include "messages/tool_messages.h"
#include "replica/replica_options.h"
#include "replica/replica_snapshot.h"
#include "replica_server/replica_server.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/hostile_messages.h"

namespace arion {
namespace {

constexpr Endpoint kA{0x0a000001, 34801}, kB{0x0a000002, 34801}, kF{0x0a000003, 34801};
constexpr Endpoint kMeta{0x0a000009, 34601};
constexpr int kTable = 2;

const KnownNames& Names() {
  static const KnownNames names = {
      .endpoints = {kA, kB, kF, kMeta, Endpoint{}, Endpoint{1, 0}, Endpoint{0x0a000063, 34801}},
      .partitions = {{2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}, {0, 0}, {-1, -1}, {99, 1}},
      .strings = {"", ".", "..", "/", "../../etc/passwd", "pegasus", "t", "data", "checkpoint.1",
                  "checkpoint.1/a", std::string(3, '\0'), "default_ttl", "-1",
                  "9223372036854775807", "/data/replica/reps/2.0.pegasus/data",
                  "/data/replica/reps/2.3.pegasus/data"}};
  return names;
}

AppInfo Table() {
  return {.status = AppStatus::kAvailable,
          .app_type = "pegasus",
          .app_name = "t",
          .app_id = kTable,
          .partition_count = 8,
          .is_stateful = true,
          .max_replica_count = 3};
}

class World {
 public:
  explicit World(Choices& choices) : choices_(choices), scribble_(choices, Names()) {
    for (Node* node : {&a_, &b_}) {
      FuzzRequire(node->sim.disk().CreateDirectories("/data/replica/reps").ok());
      node->sim.disk().MakeDurable();
      Start(*node);
    }
    f_node_.Start();
    meta_node_.Start();
    f_ = std::make_unique<sim::SimTransport>(network_, f_node_, kF);
    meta_ = std::make_unique<sim::SimTransport>(network_, meta_node_, kMeta);
    f_strand_ = f_node_.environment().NewStrand("f");
    meta_strand_ = meta_node_.environment().NewStrand("meta");
    f_->SetHandler([this](InboundRequest request) { AnswerAsPeer(std::move(request)); });
    meta_->SetHandler([this](InboundRequest request) { AnswerAsMeta(std::move(request)); });
    MakeRoles();
  }
  ~World() {
    for (Node* node : {&a_, &b_}) Kill(*node);
  }

  void Run() {
    is_hostile_ = true;
    while (!choices_.IsEmpty()) {
      SendOne();
      static constexpr int kPausesMs[] = {0, 0, 0, 0, 0, 1, 1, 1, 5, 5, 20, 100, 700, 3000};
      world_.RunFor(absl::Milliseconds(kPausesMs[choices_.Below(std::size(kPausesMs))]));
      if (choices_.Byte() == 255) {
        FuzzCount("restarts");
        Kill(a_);
        Start(a_);
        world_.RunFor(absl::Seconds(1));
      }
    }
    a_.server->Snapshot([](const std::vector<ReplicaSnapshot>& replicas) {
      for (const ReplicaSnapshot& replica : replicas)
        FuzzCount(replica.status == PartitionStatus::kPrimary     ? "primaries in the end"
                  : replica.status == PartitionStatus::kSecondary ? "secondaries in the end"
                  : replica.status == PartitionStatus::kPotentialSecondary ? "learners in the end"
                                                                           : "others in the end");
    });
    // What is under way ends by its timeouts; then all is closed.
    world_.RunFor(absl::Seconds(10));
    for (Node* node : {&a_, &b_}) {
      bool stopped = false;
      node->server->Stop([&](const absl::Status&) { stopped = true; });
      FuzzRequire(world_.RunUntil([&] { return stopped; }, absl::Minutes(5)));
    }
  }

 private:
  struct Node {
    sim::SimNode& sim;
    Endpoint address;
    std::unique_ptr<sim::SimTransport> transport;
    std::unique_ptr<MemoryEngineFactory> engines;
    std::unique_ptr<ReplicaServer> server;
  };

  void Start(Node& node) {
    sim::SimEnvironment& env = node.sim.Start();
    node.transport = std::make_unique<sim::SimTransport>(network_, node.sim, node.address);
    node.engines = std::make_unique<MemoryEngineFactory>(env);
    ReplicaServerOptions options;
    options.layout.data_directories = {{"ssd", "/data/replica/reps"}};
    options.meta_servers = {kMeta};
    options.duplication_group = {.ids = {{"here", 1}, {"there", 2}}, .own_id = 1};
    options.config_sync_interval = absl::Seconds(2);
    options.checkpoint_interval = absl::Seconds(2);
    options.group_check_interval = absl::Seconds(2);
    options.closed_replica_linger = absl::Seconds(3);
    options.log_segment_bytes = 64 << 10;
    options.log_preallocate = false;
    options.disk = {.available_bytes_min = 0, .reserve_bytes = 0};
    node.server = std::make_unique<ReplicaServer>(env, *node.transport, *node.engines, options);
    FuzzRequire(node.server->Start().ok());
  }
  void Kill(Node& node) {
    node.sim.Crash(sim::CrashMode::kPowerRandom);
    node.server.reset();
    node.engines.reset();
    node.transport.reset();
  }

  // ---- the roles ----

  PartitionConfiguration& Configuration(PartitionId pid) {
    PartitionConfiguration& config = configurations_[pid];
    config.pid = pid;
    config.max_replica_count = 3;
    return config;
  }
  ReplicaConfiguration RoleConfig(PartitionId pid, PartitionStatus status) {
    const PartitionConfiguration& config = Configuration(pid);
    return {.pid = pid,
            .ballot = config.ballot,
            .primary = config.primary,
            .status = status,
            .learner_signature = status == PartitionStatus::kPotentialSecondary
                                     ? (config.ballot.value() << 32) + 2
                                     : 0};
  }
  GroupCheckRequest Invitation(PartitionId pid, PartitionStatus status) {
    return {.app = Table(),
            .node = kA,
            .config = RoleConfig(pid, status),
            .last_committed_decree = committed_[pid]};
  }
  ConfigurationUpdateRequest Proposal(PartitionId pid, ConfigType type, Endpoint node) {
    return {.info = Table(), .config = Configuration(pid), .type = type, .node = node};
  }
  void Propose(PartitionId pid, ConfigType type, Endpoint node) {
    meta_->SendOneWay(
        kA, {.name = kRpcConfigProposal, .body = EncodeWrapped(Proposal(pid, type, node))});
  }

  void MakeRoles() {
    world_.RunFor(absl::Seconds(1));
    for (const PartitionId pid : {PartitionId{2, 0}, PartitionId{2, 3}})
      Propose(pid, ConfigType::kAssignPrimary, kA);
    // 2.1 and 2.2: invited by F, which answers that there is nothing to learn.
    for (const PartitionId pid : {PartitionId{2, 1}, PartitionId{2, 2}}) {
      Configuration(pid).ballot = Ballot(3);
      Configuration(pid).primary = kF;
    }
    f_->SendOneWay(
        kA, {.name = kRpcAddLearner,
             .body = EncodeWrapped(Invitation({2, 1}, PartitionStatus::kPotentialSecondary))});
    world_.RunFor(absl::Seconds(2));
    Configuration({2, 1}).secondaries = {kA};
    ++Configuration({2, 1}).ballot;
    f_->SendOneWay(kA, {.name = kRpcGroupCheck,
                        .body = EncodeWrapped(Invitation({2, 1}, PartitionStatus::kSecondary))});
    f_->SendOneWay(
        kA, {.name = kRpcAddLearner,
             .body = EncodeWrapped(Invitation({2, 2}, PartitionStatus::kPotentialSecondary))});
    // 2.0: A restarts as a former member, and is upgraded with F as its secondary.
    PartitionConfiguration& shared = Configuration({2, 0});
    Kill(a_);
    Start(a_);
    world_.RunFor(absl::Seconds(1));
    shared.ballot = shared.ballot + 1;
    shared.primary = Endpoint{};
    shared.secondaries = {kA, kF};
    Propose({2, 0}, ConfigType::kUpgradeToPrimary, kA);
    world_.RunFor(absl::Seconds(1));
  }

  // ---- what A and B ask ----

  template <class T>
  void Reply(InboundRequest& request, T response) {
    if (!is_hostile_) return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
    if (choices_.Byte() >= 250) return request.responder.Reply(ErrorCode::kTimeout);
    request.responder.Reply(ErrorCode::kOk,
                            Damage(EncodeWrapped(scribble_.Maybe(std::move(response))), choices_));
  }

  void AnswerAsPeer(InboundRequest request) {
    const std::string& name = request.header.name;
    FuzzCount(name == kRpcPrepare         ? "asked to prepare"
              : name == kRpcGroupCheck    ? "asked by a group check"
              : name == kRpcLearn         ? "asked by a learner"
              : name == kRpcCopyFile      ? "asked for a file"
              : name == kRpcRemoveReplica ? "asked to go"
                                          : "asked something else");
    if (name == kRpcPrepare) {
      const auto prepare = DecodePrepare(request.body);
      if (!prepare.ok()) return;
      const Mutation& m = *prepare->mutation;
      last_mutation_ = prepare->mutation;
      return Reply(request, PrepareAck{.pid = prepare->pid,
                                       .ballot = m.ballot,
                                       .decree = m.decree,
                                       .last_committed_decree_in_app = m.last_committed,
                                       .last_committed_decree_in_prepare_list = m.last_committed});
    }
    if (name == kRpcGroupCheck) {
      const auto check = DecodeWrapped<GroupCheckRequest>(request.body);
      return Reply(request,
                   GroupCheckResponse{.pid = check->config.pid,
                                      .last_committed_decree_in_app = check->last_committed_decree,
                                      .learner_status = LearnerStatus::kSucceeded,
                                      .learner_signature = check->config.learner_signature,
                                      .node = kF});
    }
    if (name == kRpcLearn) return AnswerLearn(request);
    if (name == kRpcLearnCompletion) {
      const auto report = DecodeWrapped<GroupCheckResponse>(request.body);
      return Reply(request,
                   LearnNotifyResponse{.pid = report->pid, .signature = report->learner_signature});
    }
    if (name == kRpcGetFileSize) {
      const auto sizes = DecodeWrapped<GetFileSizeRequest>(request.body);
      GetFileSizeResponse response{.file_list = sizes->file_list};
      response.size_list.assign(sizes->file_list.size(), kFileBytes);
      return Reply(request, response);
    }
    if (name == kRpcCopyFile) {
      const auto copy = DecodeWrapped<CopyRequest>(request.body);
      const auto size = static_cast<size_t>(std::clamp(copy->size, 0, 1 << 20));
      return Reply(request, CopyResponse{.file_content = std::string(size, 'x'),
                                         .offset = copy->offset,
                                         .size = copy->size});
    }
  }

  void AnswerLearn(InboundRequest& request) {
    const auto learn = DecodeWrapped<LearnRequest>(request.body);
    const PartitionId pid = learn->pid;
    if (is_hostile_ && choices_.Below(8) == 0) return;  // it goes on as a learner
    const Decree start = learn->last_committed_decree_in_app + 1;
    LearnResponse response{.config = RoleConfig(pid, PartitionStatus::kPotentialSecondary),
                           .last_committed_decree = committed_[pid],
                           .prepare_start_decree = kInvalidDecree,
                           .type = LearnType::kCache,
                           .learnee = kF,
                           .base_local_dir = "/f"};
    response.config.learner_signature = 0;
    response.state.learn_start_decree = start;
    const int type = is_hostile_ ? static_cast<int>(choices_.Below(3)) : 0;
    if (type == 0) {
      response.prepare_start_decree = response.last_committed_decree + 1;
      response.state.meta = Mutations(pid, start, response.last_committed_decree);
    } else if (type == 1) {
      response.type = LearnType::kLog;
      response.state.meta = Mutations(pid, start, response.last_committed_decree);
      response.state.to_decree_included = response.last_committed_decree;
    } else {
      response.type = LearnType::kApp;
      response.last_committed_decree = std::max(response.last_committed_decree, start + 3);
      response.state.to_decree_included = start + 3;
      response.state.files = {"checkpoint.4/a", "checkpoint.4/b"};
      response.state.file_sizes = {{kFileBytes, kFileBytes}};
    }
    Reply(request, std::move(response));
  }

  void AnswerAsMeta(InboundRequest request) {
    FuzzCount("answers as a meta server");
    const std::string& name = request.header.name;
    if (name == kRpcBeacon) {
      const auto beacon = DecodeWrapped<BeaconMessage>(request.body);
      const BeaconAck ack{.time = beacon->time,
                          .this_node = kMeta,
                          .primary_node = kMeta,
                          .is_master = true,
                          .allowed = true};
      // Mostly true: without a lease little happens.
      if (is_hostile_ && choices_.Byte() < 16) return Reply(request, ack);
      return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(ack));
    }
    if (name == kRpcConfigSync) {
      const auto sync = DecodeWrapped<ConfigSyncRequest>(request.body);
      ConfigSyncResponse response;
      for (const auto& [pid, config] : configurations_)
        if (config.IsMember(sync->node))
          response.partitions.push_back(
              {.info = Table(), .config = config, .host_node = sync->node});
      return Reply(request, std::move(response));
    }
    if (name == kRpcUpdateConfiguration) {
      const auto update = DecodeWrapped<ConfigurationUpdateRequest>(request.body);
      Configuration(update->config.pid) = update->config;
      return Reply(request, ConfigurationUpdateResponse{.config = update->config});
    }
  }

  // ---- what is sent to A and B ----

  MutationPtr MakeMutation(PartitionId pid, Decree decree) {
    auto m = std::make_shared<Mutation>();
    m->pid = pid;
    m->ballot = Configuration(pid).ballot;
    m->decree = decree;
    m->last_committed = std::min(decree - 1, committed_[pid]);
    m->timestamp_us = 1;
    const std::string key = JoinRawKey("h", "s");
    switch (is_hostile_ ? choices_.Below(8) : 0) {
      case 0:
        m->updates = {{WriteCode::kEmpty, 0, ""}};
        break;
      case 1:
        m->updates = {
            {WriteCode::kIncr, 1, EncodeWrapped(scribble_.Maybe(IncrRequest{key, 1, 0}))}};
        break;
      case 2:
        m->updates = {{static_cast<WriteCode>(choices_.Below(kWriteCodeCount)), 1, "not thrift"}};
        break;
      case 3:
        m->updates = {{WriteCode::kMultiPut, 1,
                       EncodeWrapped(scribble_.Maybe(MultiPutRequest{"h", {{"s", "v"}}, 0}))}};
        break;
      case 4:
        m->updates = {{WriteCode::kCheckAndSet, 1,
                       EncodeWrapped(scribble_.Maybe(CheckAndSetRequest{.hash_key = "h"}))}};
        break;
      default:
        for (size_t n = 1 + choices_.Below(3); n > 0; --n)
          m->updates.push_back(
              {WriteCode::kPut, 1, EncodeWrapped(scribble_.Maybe(UpdateRequest{key, "v", 0}))});
    }
    if (is_hostile_ && choices_.Byte() % 4 == 0) {
      scribble_(0, m->ballot);
      scribble_(0, m->decree);
      scribble_(0, m->last_committed);
      scribble_(0, m->timestamp_us);
    }
    return m;
  }
  std::string Mutations(PartitionId pid, Decree first, Decree last) {
    std::string bytes;
    for (Decree d = std::max(first, last - 20); d <= last; ++d)
      AppendMutation(*MakeMutation(pid, d), -1, &bytes);
    return bytes;
  }

  std::string HostilePrepare(PartitionId pid) {
    Decree& prepared = prepared_[pid];
    const size_t kind = choices_.Below(4);
    const Decree decree = kind == 0 ? prepared : prepared + 1;
    MutationPtr mutation =
        choices_.Byte() % 16 == 0 && last_mutation_ ? last_mutation_ : MakeMutation(pid, decree);
    prepared = std::max(prepared, decree);
    if (choices_.Byte() % 2 == 0) committed_[pid] = std::max(committed_[pid], prepared - 1);
    PrepareRequest prepare{
        .pid = mutation->pid,
        .config = RoleConfig(mutation->pid, choices_.Byte() % 8 == 0
                                                ? PartitionStatus::kPotentialSecondary
                                                : PartitionStatus::kSecondary),
        .mutation = mutation};
    prepare.config.ballot = mutation->ballot;  // or it does not decode
    if (choices_.Byte() % 4 == 0) {
      const ReplicaConfiguration kept = prepare.config;
      scribble_.Message(prepare.config);
      prepare.config.pid = kept.pid;
      prepare.config.ballot = kept.ballot;
    }
    return EncodePrepare(prepare);
  }

  template <class T>
  std::string Body(T message) {
    return EncodeWrapped(scribble_.Maybe(std::move(message)));
  }

  struct Kind {
    const char* name;
    std::string (*body)(World&, PartitionId);
  };
  static const std::vector<Kind>& Kinds();

  void SendOne() {
    static constexpr PartitionId kPids[] = {{2, 0}, {2, 1}, {2, 2}, {2, 3}};
    const PartitionId pid = kPids[choices_.Below(std::size(kPids))];
    const Kind& kind = Kinds()[choices_.Below(Kinds().size())];
    const bool to_b = choices_.Byte() < 16;
    const bool as_meta = choices_.Byte() % 4 == 0;
    OutboundRequest request{.name = kind.name, .body = kind.body(*this, pid), .pid = pid};
    request.body = Damage(std::move(request.body), choices_);
    if (choices_.Byte() < 8) scribble_(0, request.pid);
    request.partition_hash = choices_.Byte() < 8 ? choices_.Raw<uint64_t>() : 0;
    FuzzCount(kind.name);
    FuzzCount("messages");
    sim::SimTransport& from = as_meta ? *meta_ : *f_;
    from.Call(to_b ? kB : kA, std::move(request), as_meta ? meta_strand_ : f_strand_,
              [this](const RpcResult& result) {
                if (result.error != ErrorCode::kOk) return;
                FuzzCount("answers");
                if (const auto scan = DecodeWrapped<ScanResponse>(result.body);
                    scan.ok() && scan->context_id >= 0)
                  scan_ = scan->context_id;
              });
  }

  static constexpr int64_t kFileBytes = 1000;

  Choices& choices_;
  Scribble scribble_;
  sim::SimWorld world_{7};
  sim::SimNetwork network_{world_};
  Node a_{world_.AddNode("a"), kA, nullptr, nullptr, nullptr};
  Node b_{world_.AddNode("b"), kB, nullptr, nullptr, nullptr};
  sim::SimNode& f_node_ = world_.AddNode("f");
  sim::SimNode& meta_node_ = world_.AddNode("meta");
  std::unique_ptr<sim::SimTransport> f_, meta_;
  StrandPtr f_strand_, meta_strand_;
  bool is_hostile_ = false;
  std::map<PartitionId, PartitionConfiguration> configurations_;
  std::map<PartitionId, Decree> committed_, prepared_;
  MutationPtr last_mutation_;
  int64_t scan_ = 0;
};

const std::vector<World::Kind>& World::Kinds() {
  static const std::string key = JoinRawKey("h", "s");
  static const std::vector<Kind> kinds = {
      {kRpcPut,
       [](World& w, PartitionId) {
         return w.Body(UpdateRequest{key, "1", 0});
       }},
      {kRpcPut,
       [](World& w, PartitionId) {
         return w.Body(UpdateRequest{key, "1", 0});
       }},
      {kRpcRemove,
       [](World& w, PartitionId) {
         Blob raw = key;
         w.scribble_(0, raw);
         return EncodeWrapped(raw);
       }},
      {kRpcMultiPut,
       [](World& w, PartitionId) {
         return w.Body(MultiPutRequest{"h", {{"s", "v"}, {"t", "v"}}, 0});
       }},
      {kRpcMultiRemove,
       [](World& w, PartitionId) {
         return w.Body(MultiRemoveRequest{"h", {"s", "t"}, 1});
       }},
      {kRpcIncr,
       [](World& w, PartitionId) {
         return w.Body(IncrRequest{key, 1, 0});
       }},
      {kRpcCheckAndSet,
       [](World& w, PartitionId) {
         return w.Body(CheckAndSetRequest{.hash_key = "h",
                                          .check_sort_key = "s",
                                          .set_sort_key = "t",
                                          .set_value = "v",
                                          .return_check_value = true});
       }},
      {kRpcCheckAndMutate,
       [](World& w, PartitionId) {
         return w.Body(CheckAndMutateRequest{.hash_key = "h",
                                             .check_sort_key = "s",
                                             .mutate_list = {{0, "s", "v", 0}, {1, "t", "", 0}}});
       }},
      {kRpcDuplicate,
       [](World& w, PartitionId) {
         DuplicateRequest request;
         const auto add = [&](WriteCode code, std::string body) {
           request.entries.push_back({.timestamp_us = 7,
                                      .task_code = Blob(WriteCodeName(code)),
                                      .raw_message = Blob(Damage(std::move(body), w.choices_)),
                                      .cluster_id = int8_t{2}});
           DuplicateEntry& entry = request.entries.back();
           // It is compared with what is there, or has a place.
           if (w.choices_.Byte() < 128) entry.verify_timetag = true;
           if (w.choices_.Byte() < 128) entry.source_decree = w.choices_.Below(8);
           if (w.choices_.Byte() < 192) entry.source_update = w.choices_.Below(4);
         };
         if (w.choices_.Byte() < 128) request.duplication_id = w.choices_.Below(3);
         add(WriteCode::kPut, w.Body(UpdateRequest{key, "1", 0}));
         add(WriteCode::kMultiPut, w.Body(MultiPutRequest{"h", {{"s", "v"}}, 0}));
         add(WriteCode::kMultiRemove, w.Body(MultiRemoveRequest{"i", {"s", "t"}, 1}));
         return w.Body(std::move(request));
       }},
      {kRpcGet,
       [](World& w, PartitionId) {
         Blob raw = key;
         w.scribble_(0, raw);
         return EncodeWrapped(raw);
       }},
      {kRpcTtl,
       [](World& w, PartitionId) {
         Blob raw = key;
         w.scribble_(0, raw);
         return EncodeWrapped(raw);
       }},
      {kRpcSortKeyCount,
       [](World& w, PartitionId) {
         Blob raw("h");
         w.scribble_(0, raw);
         return EncodeWrapped(raw);
       }},
      {kRpcMultiGet,
       [](World& w, PartitionId) { return w.Body(MultiGetRequest{.hash_key = "h"}); }},
      {kRpcBatchGet,
       [](World& w, PartitionId) {
         return w.Body(BatchGetRequest{{{"h", "s"}, {"h", "t"}}});
       }},
      {kRpcGetScanner,
       [](World& w, PartitionId) {
         return w.Body(GetScannerRequest{.start_key = std::string(2, '\0'), .batch_size = 1});
       }},
      {kRpcGetScanner,
       [](World& w, PartitionId) {
         return w.Body(GetScannerRequest{.start_key = std::string(2, '\0'),
                                         .stop_key = "\xff\xff",
                                         .start_inclusive = true,
                                         .return_expire_ts = true,
                                         .only_return_sum = true});
       }},
      {kRpcScan, [](World& w, PartitionId) { return w.Body(ScanRequest{w.scan_}); }},
      {kRpcClearScanner,
       [](World& w, PartitionId) {
         return EncodeWrapped(w.scan_ + static_cast<int64_t>(w.choices_.Below(2)));
       }},
      {kRpcPrepare, [](World& w, PartitionId pid) { return w.HostilePrepare(pid); }},
      {kRpcPrepare,
       [](World& w, PartitionId) {
         return w.HostilePrepare({2, 1});
       }},
      {kRpcPrepare,
       [](World& w, PartitionId) {
         return w.HostilePrepare({2, 2});
       }},
      {kRpcGroupCheck,
       [](World& w, PartitionId pid) {
         return w.Body(w.Invitation(pid, PartitionStatus::kSecondary));
       }},
      {kRpcGroupCheck,
       [](World& w, PartitionId pid) {
         return w.Body(w.Invitation(pid, PartitionStatus::kPotentialSecondary));
       }},
      {kRpcAddLearner,
       [](World& w, PartitionId pid) {
         return w.Body(w.Invitation(pid, PartitionStatus::kPotentialSecondary));
       }},
      {kRpcLearn,
       [](World& w, PartitionId pid) {
         return w.Body(LearnRequest{.pid = pid,
                                    .learner = kF,
                                    .signature = (w.Configuration(pid).ballot.value() << 32) + 2});
       }},
      {kRpcLearnCompletion,
       [](World& w, PartitionId pid) {
         return w.Body(GroupCheckResponse{
             .pid = pid,
             .learner_status = LearnerStatus::kSucceeded,
             .learner_signature = (w.Configuration(pid).ballot.value() << 32) + 2,
             .node = kF});
       }},
      {kRpcRemoveReplica,
       [](World& w, PartitionId pid) {
         return w.Body(w.RoleConfig(pid, PartitionStatus::kInactive));
       }},
      {kRpcConfigProposal,
       [](World& w, PartitionId pid) {
         // Of a node that is no member, as a meta server would.
         return w.Body(w.Proposal(pid, ConfigType::kAddSecondary, w.choices_.Byte() % 2 ? kB : kF));
       }},
      {kRpcConfigProposal,
       [](World& w, PartitionId pid) {
         return w.Body(w.Proposal(pid, static_cast<ConfigType>(w.choices_.Below(12)),
                                  w.choices_.Byte() % 2 ? kA : kF));
       }},
      {kRpcGetFileSize,
       [](World& w, PartitionId pid) {
         return w.Body(GetFileSizeRequest{
             .source = kA, .source_dir = "/data/replica/reps/2.0.pegasus/data", .pid = pid});
       }},
      {kRpcCopyFile,
       [](World& w, PartitionId pid) {
         return w.Body(CopyRequest{.source = kA,
                                   .source_dir = "/data/replica/reps/2.0.pegasus/data",
                                   .file_name = "checkpoint.1/data",
                                   .size = 100,
                                   .pid = pid});
       }},
      {kRpcQueryDecree,
       [](World& w, PartitionId pid) {
         return w.Body(QueryDecreeRequest{.pid = pid, .node = kA});
       }},
      {kRpcQueryReplicaInfo,
       [](World& w, PartitionId) { return w.Body(QueryReplicaInfoRequest{.node = kA}); }},
      {kRpcQueryAppInfo,
       [](World& w, PartitionId) { return w.Body(QueryAppInfoRequest{.meta_server = kMeta}); }},
      {kRpcCommand,
       [](World& w, PartitionId) {
         return w.Body(CommandRequest{"help", {"x"}});
       }},
      {kRpcNegotiation, [](World& w, PartitionId) { return w.Body(NegotiationRequest{}); }},
      {kRpcBeacon, [](World& w, PartitionId) { return w.Body(BeaconMessage{.from_node = kF}); }},
      {"RPC_OF_ANOTHER_WORLD", [](World&, PartitionId) { return std::string("body"); }},
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
