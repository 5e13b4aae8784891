// Whether a root of ZooKeeper may hold a cluster's state. It is asked before anything is written
// there: a root that was mistyped may be another system's.
//
// Shapes    A cluster's: there is nothing; or <root>/apps, which has tables' ids as children; or,
//           before the first table, <root>/arion. Beside a lock's directory and what Pegasus keeps
//           for backups and bulk loads, a root that has neither may have no nodes.
// Errors    FailedPrecondition names the node that is something else's, and what to do. Those of
//           the session, with the node's path.
// Threads   Strand-bound: the session's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <string>

namespace arion {

class ZooKeeperSession;

// `root`: "" or a path. `lock_root`: a path. `done` comes once, unless the session is destroyed
// before.
void CheckRoot(ZooKeeperSession& session, const std::string& root, const std::string& lock_root,
               absl::AnyInvocable<void(absl::Status)> done);

}  // namespace arion
