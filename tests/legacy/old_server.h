// One server of ours on directories that an older version left, in the simulator: no meta server
// answers, so replicas open, take over, and stay inactive. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/raw_key.h"
#include "decrees/log_replay.h"
#include "disks/app_info_file.h"
#include "disks/init_info.h"
#include "engine/memory_engine.h"
#include "replica/replica_options.h"
#include "replica/replica_snapshot.h"
#include "replica_server/replica_server.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"
#include "tests/legacy/shared_log_bytes.h"
#include "wal/private_log.h"

namespace arion {

inline constexpr char kReps[] = "/d1/replica/reps";
inline constexpr char kReps2[] = "/d2/replica/reps";
inline constexpr char kSlog[] = "/d1/replica/slog";

inline std::string ValueOf(int64_t ballot, int64_t decree) {
  return "b" + std::to_string(ballot) + "d" + std::to_string(decree);
}
inline std::string RowOf(int64_t decree) { return "k" + std::to_string(decree % 7); }

// A put of ValueOf under RowOf.
inline Mutation OldMutation(PartitionId pid, int64_t ballot, int64_t decree,
                            std::optional<int64_t> committed = std::nullopt) {
  return {.pid = pid,
          .ballot = Ballot(ballot),
          .decree = Decree(decree),
          .last_committed = Decree(committed.value_or(decree - 1)),
          .timestamp_us = 1000 + decree,
          .updates = {{WriteCode::kPut, 1,
                       PutRequest(JoinRawKey("h", RowOf(decree)), ValueOf(ballot, decree))}}};
}

// Where a replica stands when it was opened, and all it holds.
struct OldReplicaState {
  int64_t applied = -1, ballot = -1;
  std::vector<int64_t> prepared;  // above applied
  std::map<std::string, std::string> rows;
  bool operator==(const OldReplicaState&) const = default;
};
inline void PrintTo(const OldReplicaState& state, std::ostream* out) {
  *out << "applied " << state.applied << " ballot " << state.ballot << " prepared "
       << testing::PrintToString(state.prepared) << " rows " << state.rows.size();
}

class OldServer {
 public:
  explicit OldServer(uint64_t seed = 5) : world_(seed), node_(world_.AddNode("r1")) {
    options_.layout.data_directories = {{"ssd1", kReps}, {"ssd2", kReps2}};
    options_.layout.new_data_directories = {"ssd2"};  // most tests leave it empty
    options_.meta_servers = {*Endpoint::Parse("10.0.0.9:34601")};
    options_.disk.reserve_bytes = 0;
    options_.log_preallocate = false;
    options_.layout.shared_log_directories = {kSlog};
    node_.Start();
  }
  ~OldServer() { Crash(sim::CrashMode::kProcess); }

  FileSystem& files() { return node_.environment().files(); }
  sim::SimNode& node() { return node_; }
  sim::SimWorld& world() { return world_; }
  ReplicaServerOptions& options() { return options_; }
  ReplicaServer& server() { return *server_; }

  static std::string DirectoryOf(PartitionId pid, const char* reps = kReps) {
    return JoinPath(reps, pid.ToString() + ".pegasus");
  }
  // A replica's directory with these records in its private log (none: no plog folder).
  void AddReplica(PartitionId pid, const InitInfo& info,
                  const std::vector<Mutation>& private_log = {}, const char* reps = kReps) {
    const std::string directory = DirectoryOf(pid, reps);
    AppInfo app{.status = AppStatus::kAvailable,
                .app_type = "pegasus",
                .app_name = "t",
                .app_id = pid.app_id,
                .partition_count = 8,
                .is_stateful = true,
                .max_replica_count = 3};
    ASSERT_TRUE(files().CreateDirectories(directory).ok());
    ASSERT_TRUE(StoreAppInfo(files(), directory, app).ok());
    ASSERT_TRUE(StoreInitInfo(files(), directory, info).ok());
    if (private_log.empty()) return;
    SharedLogBytes log(1, 0);
    log.Register(pid);
    log.NewFile();
    for (const Mutation& m : private_log) log.Add(m);
    ASSERT_TRUE(log.Store(files(), JoinPath(directory, "plog")).ok());
  }
  void MakeDurable() { node_.disk().MakeDurable(); }

  // Where the set-up ends and our server begins.
  absl::Status Start() {
    refused_.reset();
    if (!node_.alive()) node_.Start();
    transport_ = std::make_unique<sim::SimTransport>(network_, node_, address_);
    engines_ = std::make_unique<MemoryEngineFactory>(node_.environment());
    server_ =
        std::make_unique<ReplicaServer>(node_.environment(), *transport_, *engines_, options_);
    server_->OnRefused([this](const absl::Status& status) { refused_ = status; });
    return server_->Start();
  }
  std::vector<ReplicaSnapshot> Snapshots() {
    auto found = std::make_shared<std::optional<std::vector<ReplicaSnapshot>>>();
    server_->Snapshot([found](std::vector<ReplicaSnapshot> all) { *found = std::move(all); });
    world_.RunUntil([&] { return found->has_value() || !node_.alive(); }, absl::Seconds(10));
    return found->value_or(std::vector<ReplicaSnapshot>());
  }
  // True: all replicas are open. False: the server died, or refused.
  bool WaitOpen() {
    for (int i = 0; i < 600; ++i) {
      if (!node_.alive() || refused_) return false;
      bool all_open = true;
      for (const ReplicaSnapshot& one : Snapshots()) all_open = all_open && !one.loading;
      if (all_open && node_.alive()) return true;
      world_.RunFor(absl::Milliseconds(50));
    }
    return false;
  }
  void RunFor(absl::Duration duration) { world_.RunFor(duration); }
  const std::optional<absl::Status>& refused() const { return refused_; }

  void Crash(sim::CrashMode mode) {
    if (node_.alive()) node_.Crash(mode);
    Drop();
  }
  void Drop() {
    server_.reset();
    engines_.reset();
    transport_.reset();
  }

  std::vector<std::string> SharedLogFiles() {
    std::vector<std::string> names;
    for (const std::string& name : files().List(kSlog).value_or(std::vector<std::string>()))
      names.push_back(name);
    return names;
  }
  InitInfo InfoOf(PartitionId pid, const char* reps = kReps) {
    return LoadInitInfo(files(), DirectoryOf(pid, reps)).value_or(InitInfo{});
  }

  // What lies on the disk after the server died, as a start without any shared log finds it: only the
  // private log and the engine. In a life of its own that leaves things as they are enough.
  OldReplicaState StateFromPrivateLog(PartitionId pid, const char* reps = kReps) {
    OldReplicaState state;
    if (!node_.alive()) node_.Start();
    sim::SimEnvironment& env = node_.environment();
    env.RunInPool([&] {
      MemoryEngineFactory engines(env);
      auto engine = engines.Open(JoinPath(DirectoryOf(pid, reps), "data"));
      ASSERT_TRUE(engine.ok()) << engine.status();
      const InitInfo info = InfoOf(pid, reps);
      LogReplay replay(pid, (*engine)->last_applied());
      std::vector<MutationPtr> committed;
      state.applied = (*engine)->last_applied().value();
      const auto log = PrivateLog::Open(
          env, env.NewStrand("look"),
          {.directory = JoinPath(DirectoryOf(pid, reps), "plog"),
           .identity_path = JoinPath(DirectoryOf(pid, reps), ".arion-log"),
           .pid = pid,
           .preallocate = false,
           .applied = (*engine)->last_applied(),
           .valid_start_offset = info.offset_in_private_log},
          [&](MutationPtr m) {
            state.ballot = std::max(state.ballot, m->ballot.value());
            return replay.Add(std::move(m), &committed);
          },
          nullptr);
      ASSERT_TRUE(log.ok()) << log.status();
      const auto view = (*engine)->View();
      const auto walk = view->Walk({}, Direction::kForward);
      for (; walk->Valid(); walk->Next())
        state.rows[std::string(walk->key())] = std::string(walk->value());
      for (const MutationPtr& m : committed) {
        state.applied = m->decree.value();
        state.rows[JoinRawKey("h", RowOf(state.applied))] =
            ValueOf(m->ballot.value(), state.applied);
      }
      for (const MutationPtr& m : replay.Uncommitted())
        if (m->decree.value() > state.applied) state.prepared.push_back(m->decree.value());
      state.ballot = std::max(state.ballot, info.ballot.value());
    });
    node_.Crash(sim::CrashMode::kProcess);
    return state;
  }

 private:
  sim::SimWorld world_;
  sim::SimNetwork network_{world_};
  sim::SimNode& node_;
  const Endpoint address_ = *Endpoint::Parse("10.0.0.1:34801");
  ReplicaServerOptions options_;
  std::unique_ptr<sim::SimTransport> transport_;
  std::unique_ptr<MemoryEngineFactory> engines_;
  std::unique_ptr<ReplicaServer> server_;
  std::optional<absl::Status> refused_;
};

}  // namespace arion
