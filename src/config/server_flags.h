// The command line of our servers: --config FILE, and for each key of ours --<key>.
//
// Threads   Define, then Parse once, in main before any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>

namespace arion {

// What the command line says.
struct ServerCommandLine {
  std::string config_path;
  // Key -> value of the flags given.
  std::map<std::string, std::string> settings;
};

// --help and --version end the process. InvalidArgument: a word that is no flag, or no --config.
absl::StatusOr<ServerCommandLine> ParseServerCommandLine(int* argc, char*** argv);

}  // namespace arion
