// Who stands in the election: the nodes of the lock's directory, as they are now. The lock itself is
// leader_lock.h's.
//
// Errors    Those of the session.
// Threads   Strand-bound: the session's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace arion {

class ZooKeeperSession;

// As many are read; there are three or five, as a rule.
constexpr size_t kCandidatesMax = 64;

struct Candidate {
  // Without the directory; its number is the candidate's place.
  std::string node;
  // What it says: an address as text, if it is a meta server.
  std::string address;
  // When it entered the election, by the ensemble's clock; 0: not known.
  int64_t since_unix_ms = 0;
  // Whose node it is.
  int64_t session = 0;
};

// By number: the first one leads. `done` comes once, unless the session is destroyed before.
void ReadCandidates(ZooKeeperSession& session, const std::string& directory,
                    absl::AnyInvocable<void(absl::StatusOr<std::vector<Candidate>>)> done);

}  // namespace arion
