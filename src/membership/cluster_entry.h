// ClusterEntry: what comes before the first beacon of a server that may join an older version's
// cluster. A server that sends beacons is given work at once, so it must be sure before.
//
// Shapes    A meta server is asked, and another where it does not answer or does not lead, until
//           one of these holds. Either it is an Arion one (which says by each message of which
//           cluster it is). Or it is an older version's, its cluster has the name that was
//           configured, no table of it is in a state that Arion can't carry on (join_tolerance.h),
//           and what the server has is loaded. The last is needed because servers of older versions
//           load first, so their meta server takes what is said of a replica for what that replica
//           holds. Until then the server waits, is no member of anything, and looks again every
//           kPause.
// Threads   Strand-bound; on_admitted comes once.
// Lifetime  Held by shared_ptr; callbacks under way hold it weakly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "membership/join_notes.h"
#include "rpc/transport.h"

namespace arion {

class OlderServers;

// Start, then on_admitted at some time, unless Stop comes first.
class ClusterEntry : public std::enable_shared_from_this<ClusterEntry> {
 public:
  // Where something is in the way.
  static constexpr absl::Duration kPause = absl::Seconds(10);
  // While replicas are being loaded.
  static constexpr absl::Duration kLoadingPause = absl::Milliseconds(200);
  // Before another meta server is asked, where one does not answer.
  static constexpr absl::Duration kNextMetaPause = absl::Seconds(1);

  // `cluster_name`: the older version's cluster that this server is to join. `older_servers` is
  // told which servers that cluster has.
  struct Options {
    std::vector<Endpoint> meta_servers;
    std::string cluster_name;
    std::shared_ptr<OlderServers> older_servers;
  };
  // All are called on the strand.
  struct Events {
    // May be empty.
    std::function<void()> on_meta_unanswered;
    // What still loads, as text; empty text: all that was found is loaded.
    std::function<std::string()> what_is_loading;
    std::function<void()> on_admitted;
  };
  ClusterEntry(Transport& transport, StrandPtr strand, Options options,
               std::shared_ptr<JoinNotes> notes, Events events);

  // Asks from now on, or from when there is a meta server to ask.
  void Start();
  // In place of those known so far.
  void SetMetaServers(std::vector<Endpoint> meta_servers);
  // Nothing is asked or called any more.
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
  // The index of the meta server to ask next; counts on without an end.
  size_t next_ = 0;
  bool is_started_ = false;
  // Admitted, or stopped.
  bool is_over_ = false;
  bool is_asking_ = false;
  TimerId timer_ = kNoTimer;
};

}  // namespace arion
