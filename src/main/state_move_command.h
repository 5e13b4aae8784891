// arion_meta move-state --to zookeeper|journal --config FILE: the meta server's state goes from its
// journal to ZooKeeper, or back, while all meta servers are stopped (meta_ensemble/state_move.h).
//
// Exit codes  0 it is there, what was moved is printed · 1 it is not, and why; given again it goes
//             on · 2 the configuration or command line is wrong.
// Signals     SIGTERM and SIGINT end it where it is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace arion {

// Whether the command line is of this command.
bool IsStateMove(int argc, char** argv);
// Before any thread and any file. Returns the exit code.
int RunStateMove(int argc, char** argv);

}  // namespace arion
