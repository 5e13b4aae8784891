// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/network_faults.h"

#include "tests/sim_cluster/small_cluster.h"

namespace arion::sim {
namespace {

class NetworkFaultsTest : public SmallCluster {
 protected:
  NetworkFaults faults_{settings_, world_, network_, lives_, troubles_, checkers_.coverage};
};

TEST_F(NetworkFaultsTest, WhatWasCutHearsItsPeersAgainWhenItsTimeIsOver) {
  StartAll();
  int beacons = 0;
  network_.told = {kRpcBeacon, [&beacons](Endpoint, Instant, const RpcResult& result) {
                     beacons += result.error == ErrorCode::kOk;
                   }};
  for (const auto& server : lives_.servers()) faults_.CutFromMeta(*server, absl::Seconds(10));
  EXPECT_FALSE(troubles_.IsCalm());
  world_.RunFor(absl::Seconds(1));  // what was on its way
  beacons = 0;
  world_.RunFor(absl::Seconds(8));
  EXPECT_EQ(beacons, 0);
  world_.RunFor(absl::Seconds(20));
  EXPECT_GT(beacons, 0);
  EXPECT_TRUE(troubles_.IsCalm());
}

TEST_F(NetworkFaultsTest, WeatherIsAsUsualAgainAfterAWhile) {
  troubles_.Begin();
  faults_.Begin();
  const double usual = network_.weather.late_percent;
  faults_.Weather(absl::Seconds(5));
  world_.RunFor(absl::Seconds(6));
  EXPECT_EQ(network_.weather.late_percent, usual);
  EXPECT_EQ(network_.weather.loss_percent, 0);
}

}  // namespace
}  // namespace arion::sim
