// KnockingServers: servers that ask a meta server of the same cluster_name to join, and are refused
// since they are of another cluster id. A meta server that lost its directory makes a new id and
// has no tables; by these servers it can notice.
//
// Shapes    A server is remembered for kKnockedFor after the last time, kKnockersMax servers at
//           most.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "base/mutex.h"

namespace arion {

class ClusterIdentity;
struct ClusterWarning;

// One for a meta server.
class KnockingServers {
 public:
  static constexpr size_t kKnockersMax = 2000;
  static constexpr absl::Duration kKnockedFor = absl::Minutes(1);

  // A server was refused; `tag` is its tag. Nothing is noted where its cluster_name is another.
  void Note(const ClusterIdentity& ours, Endpoint server, uint64_t tag, Instant now);
  // The servers of the last kKnockedFor, without those that are of our cluster since.
  std::set<Endpoint> Since(const ClusterIdentity& ours, Instant now) const;
  // To be called before the state is learned from `servers`. Where one of them knocks, the id that
  // was made here is forgotten, so that theirs is learned. `alive`: how many servers live that took
  // our id. FailedPrecondition: there are such servers.
  absl::Status LearnFrom(const std::set<Endpoint>& servers, size_t alive, Instant now,
                         ClusterIdentity* ours) const;

  enum class Tables { kNone, kSome };
  // What the knocking means for a meta server that has such tables; nullopt: nobody knocks.
  std::optional<ClusterWarning> Warning(const ClusterIdentity& ours, Tables tables,
                                        Instant now) const;

 private:
  struct Knock {
    uint32_t cluster_id = 0;
    Instant at;
  };
  mutable Mutex mutex_;
  // Guarded by mutex_.
  std::map<Endpoint, Knock> knocks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
