// ClusterEntry: what comes before the first beacon of a server that may join an older version's cluster: a
// server that sends beacons is given work at once.
//
// Shapes    A meta server is asked, another where it does not answer or does not lead, until one of these
//           holds: it is an Arion one (which says by each message of which cluster it is); or an older
//           version's, its cluster has the name that was configured, and no table of it is in a state
//           that Arion can't carry on (join_tolerance.h), and what the server has is loaded: as its
//           own servers load first, its meta server takes what is said of a replica for what that
//           holds. Until then the server waits, is no member of anything, and looks again every
//           kPause.
// Threads   Strand-bound; the callback comes on the strand, once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "replica/cluster_question.h"
#include "replica/replica_host.h"

namespace arion {

class ClusterEntry : public std::enable_shared_from_this<ClusterEntry> {
 public:
  static constexpr absl::Duration kPause = absl::Seconds(10);  // where something is in the way
  static constexpr absl::Duration kLoadingPause = absl::Milliseconds(200);
  static constexpr absl::Duration kNextMetaPause = absl::Seconds(1);  // where one does not answer

  ClusterEntry(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
               absl::AnyInvocable<void()> on_admitted);

  void Start();
  void SetMetaServers(std::vector<Endpoint> meta_servers);
  void Stop();

 private:
  void Ask();
  void AskLater(absl::Duration pause);
  void OnListing(Endpoint meta_server, const absl::StatusOr<ClusterListing>& listing);

  const std::shared_ptr<const ReplicaHost> host_;
  const StrandPtr strand_;
  absl::AnyInvocable<void()> on_admitted_;
  std::vector<Endpoint> meta_servers_;
  size_t next_ = 0;
  bool is_started_ = false;
  bool is_over_ = false;  // admitted, or stopped
  bool is_asking_ = false;
  TimerId timer_ = kNoTimer;
};

}  // namespace arion
