// Chaos: commands that are run at given times of the run phase, while the load goes on.
//
// Shapes    "10s:tools/onebox kill replica2": a time since the phase's start, and what /bin/sh is
//           to run. RunDue is asked once a second, so that is how exact the times are.
// Errors    InvalidArgument: no such time, or no command. A command that fails is an event, no
//           error.
// Threads   One thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace arion::load {

// One command.
struct ChaosCommand {
  // Since the start of the run phase.
  absl::Duration at;
  std::string command;

  static absl::StatusOr<ChaosCommand> Parse(std::string_view text);
};

// The commands of one run.
class Chaos {
 public:
  explicit Chaos(std::vector<ChaosCommand> commands) : waiting_(std::move(commands)) {}
  // Waits for what still runs.
  ~Chaos();
  Chaos(const Chaos&) = delete;
  Chaos& operator=(const Chaos&) = delete;

  // Begins what is due. Returns a text for each command that began or ended since the last time.
  std::vector<std::string> RunDue(absl::Duration now);
  // Waits for what still runs, which must end by itself. A text for each.
  std::vector<std::string> Finish();
  // A text for each command that was never due.
  std::vector<std::string> NeverRan() const;

 private:
  struct Running {
    pid_t pid = 0;
    std::string command;
  };
  std::vector<ChaosCommand> waiting_;
  std::vector<Running> running_;
};

}  // namespace arion::load
