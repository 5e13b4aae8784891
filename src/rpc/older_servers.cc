// SPDX-License-Identifier: Apache-2.0
#include "rpc/older_servers.h"

#include <algorithm>

#include "env/clock.h"

namespace arion {

OlderServers::OlderServers(Policy policy, const Clock& clock)
    : are_let_in_(policy == Policy::kLetIn), clock_(clock) {}

void OlderServers::SetPolicy(Policy policy) {
  are_let_in_.store(policy == Policy::kLetIn, std::memory_order_release);
}

void OlderServers::SetMetaServers(const std::vector<Endpoint>& servers) {
  const MutexLock lock(mutex_);
  meta_servers_ = {servers.begin(), servers.end()};
}

void OlderServers::SetListed(const std::vector<Endpoint>& servers) {
  // A meta server's list is believed, but not at any length.
  const auto end = servers.begin() + static_cast<ptrdiff_t>(std::min(servers.size(), kServersMax));
  const MutexLock lock(mutex_);
  named_ = {servers.begin(), end};
  are_listed_.store(true, std::memory_order_release);
}

void OlderServers::Introduce(Endpoint server) {
  if (!server.IsValid()) return;
  const MutexLock lock(mutex_);
  // Full: nobody new is let in. Nobody is taken out for a newcomer, or a forger could drive out the
  // cluster's own.
  if (named_.size() < kServersMax) named_.insert(server);
}

bool OlderServers::Knows(Endpoint server) const {
  // First, and without the lock: in a cluster without older servers this is asked for nothing
  // (older_servers/O1).
  if (!are_let_in()) return false;
  const MutexLock lock(mutex_);
  return meta_servers_.contains(server) || named_.contains(server);
}

void OlderServers::NoteHeard(Endpoint server) {
  const Instant now = clock_.Now();
  const MutexLock lock(mutex_);
  heard_[server] = now;
  if (heard_.size() > kServersMax)
    std::erase_if(heard_, [&](const auto& entry) { return now - entry.second > kHeardFor; });
}

std::vector<Endpoint> OlderServers::Heard() const {
  const Instant now = clock_.Now();
  std::vector<Endpoint> servers;
  const MutexLock lock(mutex_);
  for (const auto& [server, at] : heard_)
    if (now - at <= kHeardFor) servers.push_back(server);
  return servers;
}

void OlderServers::NoteStranger() {
  if (!are_let_in() || !ask_) return;
  {
    const Instant now = clock_.Now();
    const MutexLock lock(mutex_);
    if (now < next_ask_) return;
    // Set under the lock, so that of many loops only one asks.
    next_ask_ = now + kStrangerPause;
  }
  // Without the lock: it may call back into this object.
  ask_();
}

}  // namespace arion
