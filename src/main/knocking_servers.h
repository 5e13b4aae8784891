// KnockingServers: those that ask a meta server of the same cluster_name to join, and are refused since
// they are of another cluster id. A meta server that lost its directory makes a new id and has no tables:
// these servers are how it can know.
//
// Shapes    Remembered for kKnockedFor after the last time, kKnockersMax at most.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/cluster_identity.h"
#include "base/ids.h"
#include "base/instant.h"
#include "base/mutex.h"
#include "meta_state/cluster_warning.h"

namespace arion {

class KnockingServers {
 public:
  static constexpr size_t kKnockersMax = 2000;
  static constexpr absl::Duration kKnockedFor = absl::Minutes(1);

  // `tag` is a refused server's; nothing where its cluster_name is another.
  void Note(const ClusterIdentity& ours, Endpoint server, uint64_t tag, Instant now);
  // Those of the last kKnockedFor, but for who is of our cluster since.
  std::set<Endpoint> Since(const ClusterIdentity& ours, Instant now) const;
  // Before the state is learned from `servers`: where one of them knocks, its id will be ours, and the
  // one that was made here is forgotten. FailedPrecondition: servers live that took ours.
  absl::Status LearnFrom(const std::set<Endpoint>& servers, size_t alive, Instant now,
                         ClusterIdentity* ours) const;

  enum class Tables { kNone, kSome };
  // What it means for a meta server that has these tables; nullopt: nobody knocks.
  std::optional<ClusterWarning> Warning(const ClusterIdentity& ours, Tables tables,
                                        Instant now) const;

 private:
  struct Knock {
    uint32_t cluster_id = 0;
    Instant at;
  };
  mutable Mutex mutex_;
  std::map<Endpoint, Knock> knocks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
