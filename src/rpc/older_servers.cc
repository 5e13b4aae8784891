// SPDX-License-Identifier: Apache-2.0
#include "rpc/older_servers.h"

#include <algorithm>

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
  const auto end = servers.begin() + static_cast<ptrdiff_t>(std::min(servers.size(), kServersMax));
  const MutexLock lock(mutex_);
  named_ = {servers.begin(), end};
  are_listed_.store(true, std::memory_order_release);
}

void OlderServers::Introduce(Endpoint server) {
  if (!server.IsValid()) return;
  const MutexLock lock(mutex_);
  if (named_.size() < kServersMax) named_.insert(server);
}

bool OlderServers::Knows(Endpoint server) const {
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
    next_ask_ = now + kStrangerPause;
  }
  ask_();
}

}  // namespace arion
