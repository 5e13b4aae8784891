// One part of a replica on a simulated machine: what its server shares, its strand, an engine in
// memory, a log, a core and the work of its disk, without the replica.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "copies/served_files.h"
#include "disks/disk_watch.h"
#include "engine/memory_engine.h"
#include "pacifica/replica_core.h"
#include "recovery/replica_opener.h"
#include "replica/disk_work.h"
#include "replica/replica_host.h"
#include "replica/replica_office.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"
#include "wal/private_log.h"

namespace arion {

class PartWorld : public testing::Test {
 protected:
  static constexpr PartitionId kPart{2, 1};
  static constexpr char kDirectory[] = "/d1/2.1.pegasus";

  PartWorld() {
    EXPECT_TRUE(env_.files().CreateDirectories(kDirectory).ok());
    options_.layout.data_directories = {{"ssd1", "/d1"}};
    const auto watch = std::make_shared<DiskWatch>(env_, strand_, DiskHealthOptions{},
                                                   options_.layout.data_directories);
    host_ = std::make_shared<const ReplicaHost>(ReplicaHost{
        .env = env_,
        .transport = transport_,
        .options = options_,
        .self = transport_.local(),
        .lease = std::make_shared<ServerLease>(),
        .served = std::make_shared<ServedFiles>(env_.files()),
        .disks = std::make_shared<const ServerDisks>(ServerDisks{env_, options_.layout, watch}),
        .opening =
            std::make_shared<const OpeningHost>(OpeningHost{.disks = nullptr, .engines = engines_}),
        .verifying = std::make_shared<CopyThrottle>(CopyLimits{}, 1,
                                                    [](size_t) { return CopyThrottle::Waits{}; })});
    host_->lease->Extend(Instant::InfiniteFuture());
    auto opened = engines_.Open(std::string(kDirectory) + "/data");
    EXPECT_TRUE(opened.ok()) << opened.status();
    engine_ = *std::move(opened);
    env_.RunInPool([&] {
      ReplaySummary summary;
      const std::string directory = kDirectory;
      auto log = PrivateLog::Open(
          env_, strand_,
          {.directory = directory + "/plog",
           .identity_path = directory + "/.arion-log",
           .pid = kPart},
          [](const MutationPtr&) { return absl::OkStatus(); }, &summary);
      EXPECT_TRUE(log.ok()) << log.status();
      log_ = *std::move(log);
    });
    CoreOptions core;
    core.pid = kPart;
    core.self = host_->self;
    core.app = {
        .app_name = "t", .app_id = kPart.app_id, .partition_count = 4, .max_replica_count = 1};
    core_ = std::make_unique<ReplicaCore>(core, RecoveredState{}, env_.clock().Now());
    office_.emplace(host_, *core_, engine_, 0, 0, [] { return std::string("[2.1]"); });
    work_.emplace(host_, strand_, kDirectory, 0, engine_,
                  DiskWork::Hooks{.owner = [this] { return std::weak_ptr<void>(owner_); },
                                  .is_quiet = [this] { return is_quiet_; },
                                  .on_quiet_wish = [this] { ++quiet_wishes_; },
                                  .catch_up = [this] { ++catch_ups_; },
                                  .tag = [] { return std::string("[2.1]"); }});
  }

  // The meta server makes it a primary without others.
  void MakePrimary() {
    MakePrimary(*core_, core_->app());
    ASSERT_EQ(core_->role(), PartitionStatus::kPrimary);
  }
  // `table`: as it says it; one without a name is what the replica remembers of it.
  void MakePrimary(ReplicaCore& core, const AppInfo& table) {
    office_->Connect(host_->lease->term());
    core.Step(Connected{}, env_.clock().Now());
    ConfigurationUpdateRequest proposal{.type = ConfigType::kAssignPrimary, .node = host_->self};
    proposal.info = table;
    proposal.config.pid = kPart;
    proposal.config.max_replica_count = 1;
    const Effects asked = core.Step(ProposalReceived{proposal}, env_.clock().Now());
    for (const Envelope& envelope : asked.send)
      if (const auto* update = std::get_if<SendConfigurationUpdate>(&envelope))
        core.Step(ConfigurationUpdateAnswered{.serial = update->serial,
                                              .response = {.err = ErrorCode::kOk,
                                                           .config = update->request.config}},
                  env_.clock().Now());
  }
  // On the part's strand.
  template <class Task>
  void Do(Task task) {
    env_.RunOn(strand_, task);
  }
  void Run(absl::Duration time) { world_.RunFor(time); }

  sim::SimWorld world_{7};
  sim::SimNetwork network_{world_};
  sim::SimNode& node_ = world_.AddNode("r");
  sim::SimEnvironment& env_ = node_.Start();
  sim::SimTransport transport_{network_, node_, *Endpoint::Parse("10.0.0.1:34801")};
  MemoryEngineFactory engines_{env_};
  StrandPtr strand_ = env_.NewStrand("replica");
  ReplicaServerOptions options_;
  std::shared_ptr<const ReplicaHost> host_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<PrivateLog> log_;
  std::unique_ptr<ReplicaCore> core_;
  std::optional<ReplicaOffice> office_;
  std::shared_ptr<int> owner_ = std::make_shared<int>();
  bool is_quiet_ = true;  // what lies beside the pools
  int quiet_wishes_ = 0;
  int catch_ups_ = 0;
  std::optional<DiskWork> work_;
};

}  // namespace arion
