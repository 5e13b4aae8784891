// The commands of arion_log that look at all of a server's data at once: who, coverage,
// upgrade-check, prepare-rollback.
//
// Threads   Waits for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <string>
#include <vector>

#include "env/file_system.h"
#include "tools/log/dump.h"
#include "tools/log/json_line.h"
#include "tools/log/prepare_rollback.h"

namespace arion::logtool {

// One command with its arguments.
struct ServerCommand {
  enum class Kind { kWho, kCoverage, kUpgradeCheck, kPrepareRollback } kind = Kind::kWho;
  std::vector<std::string> directories;
  OutputForm form = OutputForm::kText;
  RollbackOrder rollback;
  // Of prepare-rollback: whether the data are changed.
  enum class Doing { kSaysOnly, kDoes } doing = Doing::kSaysOnly;
  // Called before data that a running server changes are looked at again (kUpgradeCheck); may be
  // empty.
  std::function<void()> pause;
};

// Runs it and prints. An error is what keeps the data from being opened, or prepared.
absl::Status RunServerCommand(FileSystem& files, const ServerCommand& command, const Print& print);

}  // namespace arion::logtool
