// SPDX-License-Identifier: Apache-2.0
#include "tools/load/chaos.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "base/status.h"

namespace arion::load {
namespace {

// Its standard output is our standard error: standard output may be a report.
absl::StatusOr<pid_t> Spawn(const std::string& command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  std::string shell = "/bin/sh";
  std::string option = "-c";
  std::string text = command;
  char* words[] = {shell.data(), option.data(), text.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, shell.c_str(), &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::UnavailableError(strerror(error));
  return pid;
}

std::string EndOf(const std::string& command, int status) {
  if (WIFSIGNALED(status)) return absl::StrCat("signal ", WTERMSIG(status), " ended: ", command);
  return absl::StrCat("exit ", WEXITSTATUS(status), ": ", command);
}

}  // namespace

absl::StatusOr<ChaosCommand> ChaosCommand::Parse(std::string_view text) {
  const size_t colon = text.find(':');
  ChaosCommand command;
  if (colon == std::string_view::npos || colon + 1 == text.size() ||
      !absl::ParseDuration(Text(text.substr(0, colon)), &command.at) ||
      command.at < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("--chaos=", Text(text), ": write 10s:COMMAND"));
  }
  command.command = text.substr(colon + 1);
  return command;
}

Chaos::~Chaos() { Finish(); }

std::vector<std::string> Chaos::RunDue(absl::Duration now) {
  std::vector<std::string> events;
  std::erase_if(running_, [&](const Running& running) {
    int status = 0;
    // Without waiting: the load goes on while a command runs.
    if (waitpid(running.pid, &status, WNOHANG) != running.pid) return false;
    events.push_back(EndOf(running.command, status));
    return true;
  });
  // After those that ended, so that one that follows another is told in the right order.
  std::erase_if(waiting_, [&](const ChaosCommand& command) {
    if (command.at > now) return false;
    absl::StatusOr<pid_t> pid = Spawn(command.command);
    if (pid.ok()) {
      running_.push_back({*pid, command.command});
      events.push_back("began: " + command.command);
    } else {
      events.push_back(absl::StrCat("can't run ", command.command, ": ", pid.status().message()));
    }
    return true;
  });
  return events;
}

std::vector<std::string> Chaos::Finish() {
  std::vector<std::string> events;
  for (const Running& running : running_) {
    int status = 0;
    // A command that is under way is waited for, so that its end is told.
    if (waitpid(running.pid, &status, 0) == running.pid) {
      events.push_back(EndOf(running.command, status));
    }
  }
  running_.clear();
  return events;
}

std::vector<std::string> Chaos::NeverRan() const {
  std::vector<std::string> texts;
  for (const ChaosCommand& command : waiting_) {
    texts.push_back(absl::StrCat("never ran, the run was over before ",
                                 absl::FormatDuration(command.at), ": ", command.command));
  }
  return texts;
}

}  // namespace arion::load
