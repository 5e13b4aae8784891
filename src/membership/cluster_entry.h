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
// Threads   Strand-bound; on_admitted comes once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "membership/cluster_question.h"
#include "membership/join_notes.h"
#include "rpc/older_servers.h"
#include "rpc/transport.h"

namespace arion {

class ClusterEntry : public std::enable_shared_from_this<ClusterEntry> {
 public:
  static constexpr absl::Duration kPause = absl::Seconds(10);  // where something is in the way
  static constexpr absl::Duration kLoadingPause = absl::Milliseconds(200);
  static constexpr absl::Duration kNextMetaPause = absl::Seconds(1);  // where one does not answer

  struct Options {
    std::vector<Endpoint> meta_servers;
    std::string cluster_name;
    std::shared_ptr<OlderServers> older_servers;
  };
  // All on the strand.
  struct Events {
    std::function<void()> on_meta_unanswered;      // may be empty
    std::function<std::string()> what_is_loading;  // empty: all that was found is loaded
    std::function<void()> on_admitted;
  };
  ClusterEntry(Transport& transport, StrandPtr strand, Options options,
               std::shared_ptr<JoinNotes> notes, Events events);

  void Start();
  void SetMetaServers(std::vector<Endpoint> meta_servers);
  void Stop();

 private:
  void Ask();
  void AskLater(absl::Duration pause);
  void OnListing(Endpoint meta_server, const absl::StatusOr<ClusterListing>& listing);

  Transport& transport_;
  const StrandPtr strand_;
  Options options_;
  const std::shared_ptr<JoinNotes> notes_;
  const Events events_;
  size_t next_ = 0;
  bool is_started_ = false;
  bool is_over_ = false;  // admitted, or stopped
  bool is_asking_ = false;
  TimerId timer_ = kNoTimer;
};

}  // namespace arion
