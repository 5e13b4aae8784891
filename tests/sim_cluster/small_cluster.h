// SmallCluster: the parts of a SimCluster below its faults, put together by hand: three servers and a meta
// server that have not begun yet.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "sim_cluster/cluster_settings.h"
#include "sim_cluster/groups.h"
#include "sim_cluster/run_checkers.h"
#include "sim_cluster/server_lives.h"
#include "sim_cluster/troubles.h"
#include "sim_workloads/table_churn.h"

namespace arion::sim {

class SmallCluster : public ::testing::Test {
 protected:
  static SimClusterOptions Calm() {
    SimClusterOptions options;
    options.topology = {.servers = 3, .tables = 1, .partitions = 1};
    options.durability = Durability::kFsync;
    return options;
  }

  static ClusterSettings Drawn(SimRandom& random) {
    ClusterSettings settings = ClusterSettings::Draw(Calm(), random);
    settings.DrawLayout(random);
    return settings;
  }

  ~SmallCluster() override { lives_.EndAll(); }

  void StartAll() {
    lives_.StartMeta();
    for (const auto& server : lives_.servers()) lives_.StartServer(*server);
    world_.RunFor(absl::Seconds(5));
  }
  SimServer& server(size_t index) { return *lives_.servers()[index]; }

  OpenEngines engines_;
  SimWorld world_{1};
  SimNetwork network_{world_};
  const ClusterSettings settings_ = Drawn(world_.random());
  RunCheckers checkers_{settings_.Bounds()};
  Groups groups_{settings_.replica_count};
  ServerLives lives_{settings_, world_.AddNode("meta1"), world_, network_, engines_, checkers_,
                     groups_};
  TableChurn churn_{world_,
                    network_,
                    checkers_.history,
                    checkers_.coverage,
                    settings_.MetaEndpoints(),
                    settings_.replica_count};
  Troubles troubles_{world_, groups_, lives_, churn_};
};

}  // namespace arion::sim
