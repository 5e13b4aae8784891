// One part of a replica on a simulated machine: what its server shares, its strand, an engine in
// memory and the work of its disk, without the replica. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "disks/disk_watch.h"
#include "engine/memory_engine.h"
#include "replica/disk_work.h"
#include "replica/replica_host.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"

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
        .opening = nullptr,
        .verifying = std::make_shared<CopyThrottle>(CopyLimits{}, 1,
                                                    [](size_t) { return CopyThrottle::Waits{}; })});
    host_->lease->Extend(Instant::InfiniteFuture());
    auto opened = engines_.Open(std::string(kDirectory) + "/data");
    EXPECT_TRUE(opened.ok()) << opened.status();
    engine_ = *std::move(opened);
    work_.emplace(host_, strand_, kDirectory, 0, engine_,
                  DiskWork::Hooks{.owner = [this] { return std::weak_ptr<void>(owner_); },
                                  .is_quiet = [this] { return is_quiet_; },
                                  .on_quiet_wish = [this] { ++quiet_wishes_; },
                                  .tag = [] { return std::string("[2.1]"); }});
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
  std::shared_ptr<int> owner_ = std::make_shared<int>();
  bool is_quiet_ = true;  // what lies beside the pools
  int quiet_wishes_ = 0;
  std::optional<DiskWork> work_;
};

}  // namespace arion
