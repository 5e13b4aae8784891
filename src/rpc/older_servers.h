// OlderServers: the servers of an older version (Apache Pegasus), which name no cluster, that are let in
// as long as an operator says so (join_pegasus_cluster).
//
// Known     A replica server knows the meta servers of its configuration, the servers that these listed
//           last, and whom a configuration has named since. A meta server knows who sent it a beacon
//           from the address that the beacon names.
// Judgement A request counts whose sender says that it is a known server and whose bytes come from that
//           server's IP address; an answer, if a known server was asked.
// Limits    More the older version's messages do not tell. Who can use a known server's IP address (a
//           process of that machine, or one that forges it, for which a datagram is enough where
//           beacons come by UDP) is taken for it. They don't tell the cluster either: a replica
//           server asks its meta server for the cluster's name before it takes part
//           (membership/cluster_entry.h); a meta server can only ask which tables the other has, and see
//           that one is another's (meta_state/foreign_tables.h). So while this lasts nobody but the cluster's
//           own servers should reach its ports. A server whose connections leave by
//           another address than the one it listens at is not let in.
// Threads   Thread-safe. On loop threads: a mutex, held for a look-up.
// Lifetime  The clock outlives it.
// Promises  older_servers/O1  While nobody is let in, Knows is false for all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "base/mutex.h"
#include "env/clock.h"

namespace arion {

class OlderServers {
 public:
  enum class Policy { kRefused, kLetIn };
  static constexpr size_t kServersMax = 4000;  // that are known by one of the three ways
  static constexpr absl::Duration kHeardFor = absl::Seconds(30);
  static constexpr absl::Duration kStrangerPause = absl::Seconds(1);

  OlderServers(Policy policy, const Clock& clock);

  void SetPolicy(Policy policy);
  bool are_let_in() const { return are_let_in_.load(std::memory_order_acquire); }

  void SetMetaServers(const std::vector<Endpoint>& servers);
  // These, and nobody else but the meta servers, until Introduce names others.
  void SetListed(const std::vector<Endpoint>& servers);
  // Whether a meta server said yet who there is.
  bool are_listed() const { return are_listed_.load(std::memory_order_acquire); }
  void Introduce(Endpoint server);

  // Whether `server` may take part.
  bool Knows(Endpoint server) const;
  // It did, just now.
  void NoteHeard(Endpoint server);
  // Those that did within kHeardFor.
  std::vector<Endpoint> Heard() const;

  // `ask` runs when one that nobody named wanted to take part, once in kStrangerPause at most, on a
  // loop's thread: it may be new. Before any request.
  void OnStranger(std::function<void()> ask) { ask_ = std::move(ask); }
  void NoteStranger();

 private:
  std::atomic<bool> are_let_in_;
  std::atomic<bool> are_listed_{false};
  const Clock& clock_;
  std::function<void()> ask_;
  mutable Mutex mutex_;
  std::set<Endpoint> meta_servers_ ABSL_GUARDED_BY(mutex_);
  std::set<Endpoint> named_ ABSL_GUARDED_BY(mutex_);
  std::map<Endpoint, Instant> heard_ ABSL_GUARDED_BY(mutex_);
  Instant next_ask_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
