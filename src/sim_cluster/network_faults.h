// NetworkFaults: links that are cut and heal again, connections that break, and weather.
//
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Promises  network_faults/N1  What was cut is whole again when its time is over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sim/sim_transport.h"
#include "sim_checkers/coverage.h"
#include "sim_cluster/cluster_settings.h"
#include "sim_cluster/server_lives.h"
#include "sim_cluster/troubles.h"

namespace arion::sim {

// A member of FaultInjector.
class NetworkFaults {
 public:
  NetworkFaults(const ClusterSettings& settings, SimWorld& world, SimNetwork& network,
                ServerLives& lives, Troubles& troubles, Coverage& coverage);

  // From now on there is the weather of a calm moment, and odd messages.
  void Begin();
  void End();

  // Of the server: cut off from the meta server, from another one, or in one direction.
  // Each begins one trouble that ends by itself after `length`. Links are cut in both directions,
  // unless the name says otherwise.
  void CutFromMeta(const SimServer& server, absl::Duration length);
  void CutFromPeer(const SimServer& server, absl::Duration length);
  void CutInOneDirection(const SimServer& server, absl::Duration length);
  // Into two halves, or links between any two, each from its own moment on.
  void Split(absl::Duration length);
  void Weather(absl::Duration length);
  // Of the server, or of the meta server: again and again.
  void ResetConnections(const SimServer& server, absl::Duration length);

 private:
  void Cut(Endpoint a, Endpoint b, absl::Duration length);
  void CutOneWay(Endpoint from, Endpoint to, absl::Duration length);
  void CutInHalves(absl::Duration length);
  // They heal in another order.
  void CutOneByOne(absl::Duration length);
  void ResetAgain(Endpoint endpoint, absl::Duration left);
  LinkWeather UsualWeather() const;

  const ClusterSettings& settings_;
  SimWorld& world_;
  SimNetwork& network_;
  ServerLives& lives_;
  Troubles& troubles_;
  Coverage& coverage_;
};

}  // namespace arion::sim
