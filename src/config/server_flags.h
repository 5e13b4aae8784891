// The command line of our servers: --config FILE, and for each key of ours --<key>.
//
// Threads   Define, then Parse once, in main before any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>

namespace arion {

struct ServerCommandLine {
  std::string config_path;
  std::map<std::string, std::string> settings;  // key -> value of the flags given
};

// --help and --version end the process. InvalidArgument: a word that is no flag, or no --config.
absl::StatusOr<ServerCommandLine> ParseServerCommandLine(int* argc, char*** argv);

}  // namespace arion
