// CoreOptions: who a replica is, the numbers its protocol runs by, and what its disk held when it
// was opened. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/mutation.h"
#include "messages/configuration.h"
#include "pacifica/role_transition.h"

namespace arion {

struct CoreOptions {
  PartitionId pid;
  Endpoint self;
  AppInfo app;  // max_replica_count = 0 (unknown) is taken from the first configuration

  int64_t mutations_in_flight_max = 20;  // staleness_for_commit
  int64_t prepare_list_span_max = 110;   // decrees a prepare list spans; >= mutations_in_flight_max
  size_t mutation_bytes_max = 1 << 20;   // of requests; a mutation that reached it takes no more
  size_t queued_bytes_max = 64 << 20;    // client requests that wait for their turn
  int32_t replica_count_min = 2;         // mutation_2pc_min_replica_count; 0 = a majority

  absl::Duration prepare_timeout = absl::Seconds(3);  // from the first sending, repeats included
  absl::Duration learner_prepare_timeout = absl::Seconds(5);
  absl::Duration prepare_attempt_timeout = absl::Seconds(1);  // of one sending
  absl::Duration prepare_retry_delay = absl::Milliseconds(5);
  absl::Duration rpc_timeout = absl::Seconds(5);  // every other call
  absl::Duration group_check_interval = absl::Seconds(10);
  absl::Duration commit_notice_delay =
      absl::Milliseconds(500);  // an idle primary tells the committed point after
  absl::Duration update_retry_delay = absl::Seconds(1);
  // Where the meta server waits for what others have, which takes no longer than their start.
  absl::Duration update_busy_delay = absl::Milliseconds(100);
  absl::Duration hand_over_patience =
      absl::Milliseconds(200);  // a primary that is to step down lets its writes end first
  absl::Duration learn_retry_delay = absl::Seconds(1);
  absl::Duration learner_patience =
      absl::Minutes(2);  // a learner that is not at a copy gets further within
  absl::Duration closed_linger =
      absl::Minutes(10);  // an INACTIVE replica meta does not know is closed after
};

// How the last incarnation ended: an unclean one may have lost its last block to damage that looks
// like a torn tail, so a primary never resumes in place after it.
enum class LastStop { kClean, kUnclean };

// What the engine and the log held.
struct RecoveredState {
  Ballot ballot;               // the larger of .init-info's and of every mutation replayed
  Decree last_applied;         // the engine stands here; = last_durable at open
  Ballot last_applied_ballot;  // of that mutation, the newest in the log; 0: the log does not tell
  Decree last_durable;
  // The largest ballot of any mutation in the log, also of those the engine has.
  Ballot last_mutation_ballot;
  // The log's mutations in log order; those <= last_applied are skipped.
  std::vector<MutationPtr> logged;
  LastStop last_stop = LastStop::kClean;
  // kRemoved: something it may have acknowledged is missing (the log has a hole, or was lost), or
  // its standing is a learner's: it may only learn.
  Inactivity inactivity = Inactivity::kTransient;
};

}  // namespace arion
