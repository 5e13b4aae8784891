// What ZooKeeper's C client has to say, as lines of our log. Its errors are warnings here: what
// they mean for this server is the session's to say.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace arion {

// Has the client say warnings and errors only. Of the whole process.
void LimitZooKeeperLog();
// The client's log callback. While servers are away it says the same some times a second: of each
// place in it the lines 1, 2, 4, 8 and so on are logged.
void LogForZooKeeper(const char* message);
// A new trouble is logged from its first line on.
void ZooKeeperTroubleIsOver();

}  // namespace arion
