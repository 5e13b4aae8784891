// What one of several meta servers knows of all of them, for people: pages and the shell.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "meta_ensemble/candidate_list.h"
#include "meta_overview/cluster_overview.h"

namespace arion {

// Something that ZooKeeper carried out for this server.
struct CarriedOut {
  // Not when the answer came: nothing later is known of the ensemble.
  Instant sent;
  // Until the answer came.
  absl::Duration took;
};

// MetaMember makes it, on its strand; a copy.
struct EnsembleOverview {
  Endpoint self;
  std::string root, lock_directory;
  // The session; its number is 0 before the first connection.
  bool is_connected = false;
  int64_t session = 0;
  absl::Duration session_timeout;
  Leadership leadership;
  // How long it leads without another proof of the lock; of who has the lock.
  std::optional<absl::Duration> leads_for;
  // Of who has the lock; and of who leads and has stored something.
  std::optional<CarriedOut> last_proof, last_write;
  // When this was made.
  Instant now;
  int64_t unix_ms = 0;
  // In the order in which they will lead; nullopt: not read in this life, because of `trouble`.
  std::optional<std::vector<Candidate>> candidates;
  Instant candidates_at;
  std::string trouble;
};

}  // namespace arion
