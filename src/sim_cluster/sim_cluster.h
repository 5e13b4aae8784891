// SimCluster: a whole cluster in one SimWorld: a meta server with its journal, replica servers with
// engines in memory, real clients, the troubles of a FaultMix, and every checker.
//
//   SimCluster cluster({.seed = seed, .faults = FaultMix::Swarm(seed)});
//   RunReport report = cluster.Run();
//   EXPECT_THAT(report.violations, IsEmpty()) << report.Replay();
//
// Shapes   A run: start, create the tables, wait until they are whole; faults and clients for
//          run_length; heal everything and demand that within 60 s each partition takes writes, all
//          members are equal (decree and content), nobody learns, dropped tables are gone, no
//          configuration changes for 10 s, and disks are not fuller than they may be; then that
//          what nobody needs leaves the disks.
// Promises sim_cluster/W2  Equal options give equal runs: the same trace_hash, the same report.
// Demands  Besides those of checkers.h and bounds.h:
//          sim_cluster/H1  What failed heals within 60 s, as Shapes says. A full disk, or a want of
//              descriptors, memory or permission, costs nothing else. The meta server says that its
//              state went back exactly when it did.
//          sim_cluster/V1  When one copy was changed, the verification sets no other one aside.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "disks/disk_layout.h"
#include "engine/memory_engine.h"
#include "messages/verification_messages.h"
#include "meta/meta_server.h"
#include "replica/replica_options.h"
#include "replica/replica_server.h"
#include "sim/disk_image.h"
#include "sim/sim_transport.h"
#include "sim_checkers/bounds.h"
#include "sim_checkers/checked_engine.h"
#include "sim_checkers/checked_meta_store.h"
#include "sim_checkers/checkers.h"
#include "sim_checkers/coverage.h"
#include "sim_checkers/data_checker.h"
#include "sim_cluster/fault_mix.h"
#include "sim_older/old_meta_server.h"
#include "sim_older/old_server.h"
#include "sim_workloads/table_churn.h"
#include "sim_workloads/workload.h"

namespace arion::sim {

struct SimClusterOptions {
  uint64_t seed = 1;
  Topology topology;
  FaultMix faults;
  // For shrinking a red seed: what is left out, though its dice are thrown. Faults are numbered
  // from 1 as they are drawn.
  std::set<Fault> without;
  std::optional<std::set<int64_t>> only;
  absl::Duration run_length = absl::Minutes(2);
  enum class Disks {
    kHonest,
    kForgetFlushes
  };  // the second: a canary that the checkers must catch
  Disks disks = Disks::kHonest;
  // The second: once, in a calm moment, the meta server's state is replaced by a copy that was made
  // when ballots were smaller (meta_state/stale_configuration.h). Then there is no trouble for a while:
  // what such a copy does not know shows by reports only.
  enum class MetaState { kKept, kOlderCopyPutBack };
  MetaState meta_state = MetaState::kKept;
  // The second: config syncs come again long after they were sent, by several graces.
  enum class Reports { kOnce, kLateAgain };
  Reports reports = Reports::kOnce;
  // The second: one server's disk takes nothing more for a minute. After 30 s of it no group may need
  // it any more, where others have room, and no write may be refused for it.
  enum class Space { kEnough, kOneDiskFull };
  Space space = Space::kEnough;
  // Unset: as the seed draws.
  std::optional<Durability> durability;
  std::optional<CrashMode> crash_mode;
  int64_t steps_per_key = DataCheckOptions().steps_per_key;
  // A run that did less proves nothing and fails.
  int64_t acknowledged_writes_min = 20;
  int64_t data_operations_min = 30;

  static SimClusterOptions Swarm(uint64_t seed);
  // The canary: disks forget what was flushed, and all servers crash now and then.
  static SimClusterOptions LyingDisks(uint64_t seed);
  static SimClusterOptions OlderCopyPutBack(uint64_t seed);
  static SimClusterOptions LateReports(uint64_t seed);
  static SimClusterOptions OneDiskFull(uint64_t seed);
  // So many servers are of version 2.5.0.
  static SimClusterOptions Mixed(uint64_t seed, int older);
  // The meta server is of version 2.5.0, and so are so many servers.
  static SimClusterOptions OldMeta(uint64_t seed, int older);
  // Mixed in a fifth of the seeds, and OldMeta in a twentieth, else as Swarm.
  static SimClusterOptions Drawn(uint64_t seed);
};

struct RunReport {
  uint64_t seed = 0;
  uint64_t trace_hash = 0;
  absl::Duration simulated;
  uint64_t events = 0;
  int64_t acknowledged_writes = 0, refused_writes = 0, undecided_writes = 0, reads = 0;
  std::array<int64_t, kFaultCount> faults{};
  int64_t faults_injected = 0;                 // or left out: the largest number
  absl::Duration healed_after;                 // from the end of the faults to equal members
  int64_t data_operations = 0, data_keys = 0;  // answered; checked by search
  int64_t search_steps = 0;                    // of the hardest key
  uint64_t disk_bytes = 0;                     // of the fullest server, at the end
  KeptMost kept{};                             // at any time
  ProbeCounts probes{};
  std::string mix;
  std::string replay_options;  // behind the seed, led by a blank
  Violations violations;

  std::string Summary() const;
  std::string Replay() const;  // the command that runs this seed again
};

class SimCluster {
 public:
  static constexpr char kMetaRoot[] = "/data/meta";
  // Of the meta server: more than a run's failovers need on a full disk.
  static constexpr uint64_t kMetaReserveBytes = 256 << 10;

  explicit SimCluster(SimClusterOptions options);
  ~SimCluster();

  RunReport Run();
  const SimWorld& world() const { return world_; }

 private:
  struct Server {
    SimNode* node = nullptr;
    Endpoint endpoint;
    std::string name;
    std::unique_ptr<SimTransport> transport;
    std::unique_ptr<MemoryEngineFactory> memory;
    std::unique_ptr<CheckedEngineFactory> engines;
    std::unique_ptr<ReplicaServer> server;
    // One of version 2.5.0 instead, and what it has on its disk beside its engines' files.
    bool is_older = false;
    std::unique_ptr<OldServer> old;
    OldDisk old_disk;
    bool stopping = false;
    bool started_blind = false;  // its disk could not be read, or failed since
    bool lost_copy = false;      // and may have fenced replicas
    // The end of a pause in which its clock stood still. Nothing inside such a machine can tell the
    // time it missed: until it has an answer to a beacon that it sent later, what it says to readers
    // proves nothing and reaches nobody.
    std::optional<Instant> knows_nothing_since;
    std::vector<std::string> new_directories;  // tags
    std::set<std::string> set_aside;           // names, when it was last looked
    std::array<DiskImage, 2> images;           // copies of its disk, of two moments
    size_t last_image = 0;                     // which was made last
  };
  struct Meta {
    SimNode* node = nullptr;
    Endpoint endpoint;
    std::unique_ptr<SimTransport> transport;
    std::unique_ptr<CheckedMetaStore> store;
    std::unique_ptr<MetaServer> server;
    std::unique_ptr<OldMetaServer> old;  // instead
  };

  // Of a server: its data directories and, if there is one, the log home.
  std::vector<std::string> DiskPaths() const {
    std::vector<std::string> paths;
    for (const DataDirectory& directory : server_options_.layout.data_directories)
      paths.push_back(directory.path);
    if (const std::string& home = server_options_.layout.log_home_directory; !home.empty())
      paths.push_back(home);
    return paths;
  }

  static Endpoint ServerEndpoint(int index) {
    return {0x0a000001u + static_cast<uint32_t>(index), 34801};
  }

  // ---- a life of a server ----
  void StartMeta();
  absl::Status StartMetaServer(Environment& env);
  OldMetaOptions OldMetaServerOptions() const;
  void StartServer(Server& server);
  void StartOldServer(Server& server, Environment& env);
  OldServerOptions OldOptions() const;
  void CrashMeta(CrashMode mode);
  void CrashServer(Server& server, CrashMode mode);
  void BuryServer(Server& server, SimNetwork::Farewell farewell);
  void StopServer(Server& server);
  void RestartLater(Server& server, absl::Duration delay);
  // Asks the meta server of this life until it has said yes.
  void SetLevel(const StrandPtr& strand, FunctionLevel level);

  // ---- faults ----
  void ScheduleFault();
  void Inject(Fault fault);
  void Cut(Endpoint a, Endpoint b, absl::Duration length);
  void CutOneWay(Endpoint from, Endpoint to, absl::Duration length);
  // One of the troubles that last; `end` runs when it is over.
  void LastFor(absl::Duration length, absl::AnyInvocable<void()> end);
  // Starts it after `delay` and crashes it between two steps of its recovery.
  void CrashInRecovery(Server& server, absl::Duration delay, CrashMode mode);
  void DamageAtRest(Server& server, Fault fault);
  // Of a secondary there; then it is verified until the copies are found equal
  // (sim_cluster_verifying.cc).
  void ChangeSilently(Server& server);
  void AwaitCalm();  // for that
  bool WallClocksAgree() const;
  void VerifyUntilEqual(PartitionId pid);
  // While nothing else happens none but the one that was changed is.
  void WatchWhoIsSetAside(Server& server);
  void OnVerified(PartitionId pid, const VerifyReplicasResponse& answer);
  // All of the data directories, or one.
  void LoseDirectories(Server& server, Fault fault);
  static void MakeEmpty(SimDisk& disk, const std::string& path);
  void RotSomething(Server& server);
  bool KeepsImages() const;
  // Of some server's disk, now and then: torn, or not.
  void KeepImages();
  void KeepImage(Server& server);
  // The power of the others may go with it.
  void PutBackDisk(Server& server);
  enum class Moments { kOne, kTwo };
  void PutBackDisks(Server& first, Moments moments);
  void PutBackDirectories(Server& server, Moments moments);
  // Nobody has said yet whose it is.
  void PutBackDiskOf(const Server& owner, Server& server);
  bool HaveAllWithout(const std::set<Endpoint>& lost) const;  // each group, a member
  void CrashOthers(const Server& server);
  bool MayGoBack(const Server& server, Fault fault) const;
  void LoseCopy(Server& server, Fault fault);
  static std::set<std::string> SetAsideAsFailed(const SimDisk& disk);
  void CrashOne(Server& server, absl::Duration length);
  void CrashAll();
  // What the meta server had stored at one moment.
  struct KeptState {
    std::string journal;
    std::map<PartitionId, PartitionConfiguration> stored;
    std::set<Endpoint> listed;

    bool Knows(PartitionId pid, Endpoint member) const;  // as one that may hold it
  };
  KeptState StateNow() const;
  bool NamesOneGoneForGood(const KeptState& state) const;
  // Of the meta server, on whose disk nothing runs.
  void ReplaceState(const KeptState& state);
  bool IsOlder(const KeptState& state, int64_t ballots) const;  // somewhere by so many
  // PutBack waits for its moment.
  void KeepCopyOfState();
  void PutBackCopyOfState();
  void KeepStates();
  void PutBackState(Server& server);
  void PutBackDisksWithPower(Server& server);
  // The meta server says that its state went back, or does not.
  void CheckItIsSaid(bool went_back);
  void FillOneDisk();
  void JudgeFullDisk(const Server& full);
  // Once its reserve is whole: then no failover may be refused.
  void FillMetaDisk(absl::Duration length);
  // Of the reserve, on a full disk of the meta server, at least a part.
  bool HasGivenUpReserve() const;
  void Weather(absl::Duration length);
  void Split(absl::Duration length);
  // Links between any two, each from its own moment on; they heal in another order.
  void CutOneByOne(absl::Duration length);
  // Connections of it, again and again.
  void ResetConnections(Endpoint endpoint, absl::Duration length);
  void Lag(SimNode& node, absl::Duration length);
  // Of the meta server: nullptr.
  void PauseMachine(Server* server, absl::Duration length);
  void FailCalls(SimNode& node, DiskTrouble trouble, absl::Duration length);
  // No replica may be fenced for what its server lacks for a while.
  void FailCallsForWant(Server& server, DiskTrouble trouble, absl::Duration length);
  void HealAll();
  CrashMode DrawCrashMode();
  absl::Duration DrawLength();
  Server* ServerAt(Endpoint endpoint);  // nullptr: it is none, or was replaced
  Server& AnyServer() { return *servers_[world_.random().Below(servers_.size())]; }
  LinkWeather UsualWeather() const;
  bool IsCalm() const;

  // ---- the run ----
  bool CreateTables();
  void CreateTable(ProbeClient& admin, const StrandPtr& strand, WorkloadTable* table);
  void StartWorkload();
  bool IsWanted(PartitionId pid) const;  // of a table that is to stay
  bool IsWhole() const;                  // each partition has as many members as it should
  bool MembersAreEqual() const;
  bool DroppedTablesAreGone() const;
  std::string WhoLearns();  // led by blanks; of the tables that are to stay
  bool IsLeftToOperator() const;
  void NoteLastCopy(const PartitionConfiguration& before, const PartitionConfiguration& now);
  static uint64_t DiskBytesOf(SimNode& node);
  std::string WhatIsMissing() const;
  void AwaitHealth();
  bool IsAtRest();  // for 10 s
  // What nobody needs and what was kept for longer than it is to be: directories, requests.
  std::string WhatIsLeftOver() const;
  std::string WhatIsLeftOver(const Server& server, const ClusterState& state) const;
  void AwaitTidiness();
  // What everybody keeps, every few seconds.
  void WatchBounds();
  void NoteWhatIsKept(Server& server);
  void Violate(std::string what) { violations_.push_back(std::move(what)); }
  void CollectViolations(RunReport* report);
  bool HasDoneTooLittle() const;
  RunReport Report();
  int64_t WallErrorSeconds() const;
  void WatchTheNetwork();
  void NotePrepare(Endpoint from, Endpoint to, const std::string& body);
  void NoteAnswer(const OutboundRequest& request, ErrorCode error, const std::string& body);

  SimClusterOptions options_;
  OpenEngines engines_;  // what the world still has to do at its end may hold one
  SimWorld world_;
  SimNetwork network_;
  History history_;
  DataHistory data_history_;
  Coverage coverage_;
  struct DecodedPrepare {
    std::string body;
    PrepareRequest request;
  };
  DecodedPrepare last_prepare_;
  CommitChecker commits_;
  PrimaryChecker primaries_;
  BallotChecker ballots_;
  std::optional<Bounds> bounds_;  // once the settings are drawn
  std::map<PartitionId, PartitionConfiguration> stored_;
  Instant stored_last_{0};  // when
  ReplicaServerOptions server_options_;
  MetaServerOptions meta_options_;
  Meta meta_;
  std::vector<std::unique_ptr<Server>> servers_;
  const int replica_count_;
  std::vector<WorkloadTable> tables_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<TableChurn> churn_;
  int replacements_ = 0;
  bool faults_on_ = false;
  bool balances_ = false;
  int64_t troubles_ = 0;                       // that last and have not ended
  SimNode* leapt_ = nullptr;                   // the one whose wall clock is wrong
  std::optional<Endpoint> lost_copy_;          // the one copy a run may lose: whose
  std::set<PartitionId> lost_with_last_copy_;  // of tables of one or two copies
  Instant calm_until_{0};
  std::array<int64_t, kFaultCount> faults_{};
  int64_t faults_drawn_ = 0;
  std::vector<KeptState> kept_states_;
  // While its state is put back: what the meta server will begin with.
  const KeptState* begins_with_ = nullptr;
  int states_put_back_ = 0;
  bool is_meta_disk_full_ = false;  // and its reserve was whole when that began
  bool awaits_calm_ = false;
  bool must_take_writes_ = false;  // each partition, since a full disk is left
  std::set<int64_t> found_equal_;  // runs, since a copy was changed silently
  absl::Duration healed_after_ = absl::InfiniteDuration();
  Violations violations_;
};

}  // namespace arion::sim
