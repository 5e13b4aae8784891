// OlderServers: the servers of an older version (Apache Pegasus), which name no cluster, that are
// let in as long as an operator says so (join_pegasus_cluster).
//
// Known     A replica server knows the meta servers of its configuration, the servers that these
//           listed last, and servers that a configuration has named since. A meta server knows who
//           sent it a beacon from the address that the beacon names.
// Judgement A request counts whose sender says that it is a known server and whose bytes come from
// that server's IP address; an answer, if a known server was asked.
// Limits    The older version's messages do not tell more. Whoever can use a known server's IP
//           address (a process of that machine, or one that forges it, for which a datagram is
//           enough where beacons come by UDP) is taken for it. They don't tell the cluster either.
//           A replica server asks its meta server for the cluster's name before it takes part
//           (membership/cluster_entry.h). A meta server can only ask which tables the other has,
//           and see that one is another cluster's (meta_state/foreign_tables.h). So while this
//           lasts nobody but the cluster's own servers should reach its ports. A server whose
//           connections leave by another address than the one it listens at is not let in.
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

namespace arion {

class Clock;

// One for a server, replica or meta; main/ makes it, the gate asks it, and whoever learns of
// servers tells it.
class OlderServers {
 public:
  // Whether older servers are let in at all.
  enum class Policy { kRefused, kLetIn };
  // How many are known at most by each of the three ways.
  static constexpr size_t kServersMax = 4000;
  // How long after its last request a server counts as heard.
  static constexpr absl::Duration kHeardFor = absl::Seconds(30);
  // How often at most the `ask` of OnStranger runs.
  static constexpr absl::Duration kStrangerPause = absl::Seconds(1);

  OlderServers(Policy policy, const Clock& clock);

  // From now on.
  void SetPolicy(Policy policy);
  bool are_let_in() const { return are_let_in_.load(std::memory_order_acquire); }

  // The meta servers of the configuration, in place of those before.
  void SetMetaServers(const std::vector<Endpoint>& servers);
  // These servers are known, and nobody else but the meta servers, until Introduce names others.
  void SetListed(const std::vector<Endpoint>& servers);
  // Whether a meta server has said yet who there is.
  bool are_listed() const { return are_listed_.load(std::memory_order_acquire); }
  // A configuration named this server, or it sent a beacon from its address.
  void Introduce(Endpoint server);

  // Whether `server` may take part.
  bool Knows(Endpoint server) const;
  // It took part, just now.
  void NoteHeard(Endpoint server);
  // Those that took part within kHeardFor.
  std::vector<Endpoint> Heard() const;

  // Before any request. `ask` runs when a server that nobody named wanted to take part (it may be
  // new), on a loop's thread, at most once in kStrangerPause.
  void OnStranger(std::function<void()> ask) { ask_ = std::move(ask); }
  // A server that is not known wanted to take part.
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
