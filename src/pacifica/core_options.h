// CoreOptions: who a replica is, the numbers that its protocol runs by, and what its disk held when
// it was opened.
//
// Units     Limits of memory are bytes, limits of work are counts of mutations or members. Times
//           are durations of the core's own clock, which is the `now` of each Step.
// Errors    Values that cannot work together are a CHECK failure when the core is constructed:
//           main/ and config/ validate what an operator wrote before that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/mutation.h"
#include "messages/configuration.h"
#include "pacifica/role_transition.h"

namespace arion {

// Fixed for the life of a core. Only `app` changes later, by what the meta server says; the core
// keeps its own copy of that (ReplicaCore::app).
struct CoreOptions {
  // The partition, and this server's endpoint. Every message names both; `self` must be valid.
  PartitionId pid;
  Endpoint self;
  // The table as it was known when the replica was opened. A max_replica_count of 0 means unknown
  // and is taken from the first configuration.
  AppInfo app;

  // Mutations that may be prepared and not committed (`staleness_for_commit`). Above 0. A primary
  // starts no new mutation at this number.
  int64_t mutations_in_flight_max = 20;
  // Decrees that a prepare list spans, committed ones that learners may be given included. At least
  // mutations_in_flight_max. Members of one group may have different values: a prepare that lies
  // too far ahead for this replica is refused.
  int64_t prepare_list_span_max = 110;
  // Bytes of requests after which a mutation takes no more. One request may be larger.
  size_t mutation_bytes_max = 1 << 20;
  // Bytes of client requests that wait for their turn. A write that finds this many is answered
  // kBusy.
  size_t queued_bytes_max = 64 << 20;
  // Members that must be there for a write (`mutation_2pc_min_replica_count`), at most as many as
  // the table has. 0 means a majority of the table's replicas, or 1 of 2
  // (messages/write_members.h).
  int32_t replica_count_min = 2;

  // How long a secondary, or a learner, may take to acknowledge a prepare. Counted from the first
  // sending: repeats do not begin it anew.
  absl::Duration prepare_timeout = absl::Seconds(3);
  absl::Duration learner_prepare_timeout = absl::Seconds(5);
  // How long one sending may stay without an answer before the oldest prepare to that receiver is
  // repeated.
  absl::Duration prepare_attempt_timeout = absl::Seconds(1);
  // Pause before a prepare is repeated to a receiver that is not ready.
  absl::Duration prepare_retry_delay = absl::Milliseconds(5);
  // Timeout of every other call that the core sends.
  absl::Duration rpc_timeout = absl::Seconds(5);
  absl::Duration group_check_interval = absl::Seconds(10);
  // An idle primary tells its group a new committed point after this long, because no further
  // prepare does.
  absl::Duration commit_notice_delay = absl::Milliseconds(500);
  // Pause before a configuration update is repeated that the meta server did not answer, or
  // refused.
  absl::Duration update_retry_delay = absl::Seconds(1);
  // The same after kBusy: the meta server waits for what other servers hold, which takes no longer
  // than their start.
  absl::Duration update_busy_delay = absl::Milliseconds(100);
  // A primary that is to step down lets its writes commit first, but waits no longer than this.
  absl::Duration hand_over_patience = absl::Milliseconds(200);
  // Pause of a learner before it asks again for what was not ready or got lost.
  absl::Duration learn_retry_delay = absl::Seconds(1);
  // A learner that copies no checkpoint must get further within this time, or may lose its session.
  absl::Duration learner_patience = absl::Minutes(2);
  // An INACTIVE replica that the meta server does not know is closed after this long.
  absl::Duration closed_linger = absl::Minutes(10);
};

// How the last process that held this replica ended. An unclean stop may have lost the log's last
// block to damage that looks like a torn tail. So a primary never resumes its office in place after
// it.
enum class LastStop { kClean, kUnclean };

// What the engine and the log held when the replica was opened. The driver fills it from
// .init-info, from the engine and from the replay of the log; the core copies what it needs.
struct RecoveredState {
  // The ballot of .init-info. The core raises it to the largest ballot in `logged`.
  Ballot ballot;
  // The engine has applied everything up to here.
  Decree last_applied;
  // The ballot of the mutation at last_applied, of its newest version in the log. 0: the log does
  // not tell.
  Ballot last_applied_ballot;
  // The engine alone would stand here after a crash. Values above last_applied are taken as
  // last_applied.
  Decree last_durable;
  // The largest ballot of any mutation in the log, including those that the engine has already.
  Ballot last_mutation_ballot;
  // The log's mutations in log order. The core skips those up to last_applied. All of them count as
  // logged.
  std::vector<MutationPtr> logged;
  LastStop last_stop = LastStop::kClean;
  // kRemoved: the replica may only learn, because something that it may have acknowledged is
  // missing (the log has a hole, or was lost), or because its state is a learner's (Standing in
  // effects.h).
  Inactivity inactivity = Inactivity::kTransient;
  // What is applied is another cluster's, and the replica has not been a member since. Its group
  // has it if it becomes the partition's first primary; a learner sets it aside.
  bool is_foreign = false;
};

}  // namespace arion
