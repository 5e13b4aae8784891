// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/network_faults.h"

namespace arion::sim {

NetworkFaults::NetworkFaults(const ClusterSettings& settings, SimWorld& world, SimNetwork& network,
                             ServerLives& lives, Troubles& troubles, Coverage& coverage)
    : settings_(settings),
      world_(world),
      network_(network),
      lives_(lives),
      troubles_(troubles),
      coverage_(coverage) {}

// The weather between faults: in some runs messages are late at all times.
LinkWeather NetworkFaults::UsualWeather() const {
  LinkWeather weather;
  if (settings_.run.faults.always_late_percent > 0) {
    weather.late_percent = settings_.run.faults.always_late_percent;
    weather.late_max = absl::Seconds(3);
  }
  return weather;
}

void NetworkFaults::Begin() {
  network_.weather = UsualWeather();
  network_.odd_percent = settings_.run.faults.odd_percent;
  if (settings_.run.reports == SimClusterOptions::Reports::kLateAgain)
    // Copies of a report come when its sender may have died and come back meanwhile.
    network_.echoes = {
        .request = kRpcConfigSync, .copies = 3, .late_max = 5 * settings_.meta.grace};
}

// What is cut heals at once here; the events that would have healed it then find nothing to do.
void NetworkFaults::End() {
  network_.UnblockAll();
  network_.weather = LinkWeather{};
  network_.odd_percent = 0;
  network_.echoes = {};
}

void NetworkFaults::CutOneWay(Endpoint from, Endpoint to, absl::Duration length) {
  network_.Block(from, to);
  world_.After(length, EventKind::kFault, [this, from, to] { network_.Unblock(from, to); });
}

void NetworkFaults::Cut(Endpoint a, Endpoint b, absl::Duration length) {
  CutOneWay(a, b, length);
  CutOneWay(b, a, length);
}

void NetworkFaults::CutFromMeta(const SimServer& server, absl::Duration length) {
  for (const Endpoint meta : settings_.MetaEndpoints()) Cut(server.endpoint, meta, length);
  troubles_.LastFor(length);
}

void NetworkFaults::CutFromPeer(const SimServer& server, absl::Duration length) {
  Cut(server.endpoint, lives_.AnyServer().endpoint, length);
  troubles_.LastFor(length);
}

void NetworkFaults::CutInOneDirection(const SimServer& server, absl::Duration length) {
  // Nothing that the server sends arrives there, its answers included; what it is sent does.
  const bool is_to_meta = world_.random().Percent(30);
  CutOneWay(server.endpoint, is_to_meta ? lives_.AnyMetaEndpoint() : lives_.AnyServer().endpoint,
            length);
  troubles_.LastFor(length);
}

void NetworkFaults::Split(absl::Duration length) {
  world_.random().Coin() ? CutInHalves(length) : CutOneByOne(length);
  troubles_.LastFor(length);
}

void NetworkFaults::CutInHalves(absl::Duration length) {
  // The meta server's side may hold all servers, or none.
  // Of several, some.
  const std::vector<Endpoint> metas = settings_.MetaEndpoints();
  std::vector<Endpoint> here = {metas.front()}, there;
  for (size_t i = 1; i < metas.size(); ++i)
    (world_.random().Coin() ? here : there).push_back(metas[i]);
  for (const auto& one : lives_.servers())
    (world_.random().Coin() ? here : there).push_back(one->endpoint);
  for (Endpoint a : here) {
    for (Endpoint b : there) Cut(a, b, length);
  }
}

void NetworkFaults::CutOneByOne(absl::Duration length) {
  SimRandom& random = world_.random();
  std::vector<Endpoint> nodes = settings_.MetaEndpoints();
  for (const auto& one : lives_.servers()) nodes.push_back(one->endpoint);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (random.Coin()) continue;
      // Each link from its own moment, so that views of who is there differ between servers.
      const absl::Duration from = random.Between(absl::ZeroDuration(), length / 2);
      const absl::Duration lasting = random.Between(absl::ZeroDuration(), length - from);
      world_.After(from, EventKind::kFault, [this, a = nodes[i], b = nodes[j], lasting] {
        // It may begin when all is to heal already.
        if (troubles_.are_on()) Cut(a, b, lasting);
      });
    }
  }
}

void NetworkFaults::Weather(absl::Duration length) {
  SimRandom& random = world_.random();
  LinkWeather& weather = network_.weather;
  weather.loss_percent = random.Coin() ? static_cast<double>(random.Below(15)) : 0;
  weather.duplicate_percent = random.Coin() ? static_cast<double>(random.Below(20)) : 0;
  weather.late_percent = static_cast<double>(random.Below(40));
  weather.late_max = random.Between(absl::Milliseconds(1),
                                    random.Coin() ? absl::Milliseconds(800) : absl::Seconds(4));
  troubles_.LastFor(length, [this] {
    if (troubles_.are_on()) network_.weather = UsualWeather();
  });
}

void NetworkFaults::ResetConnections(const SimServer& server, absl::Duration length) {
  ResetAgain(world_.random().Percent(20) ? lives_.AnyMetaEndpoint() : server.endpoint, length);
  troubles_.LastFor(length);
}

void NetworkFaults::ResetAgain(Endpoint endpoint, absl::Duration left) {
  // Each reset plans the next one, until the trouble's time is over.
  if (!troubles_.are_on() || left <= absl::ZeroDuration()) return;
  SimRandom& random = world_.random();
  if (network_.Reset(endpoint, static_cast<double>(random.Between(10, 100))) > 0)
    coverage_.Hit(Probe::kCallsReset);
  const absl::Duration pause = random.Between(
      absl::Milliseconds(1), random.Coin() ? absl::Milliseconds(50) : absl::Seconds(2));
  world_.After(pause, EventKind::kFault,
               [this, endpoint, left = left - pause] { ResetAgain(endpoint, left); });
}

}  // namespace arion::sim
