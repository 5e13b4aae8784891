// `arion_log dump`: every file, mutation and end of a log, for people or as JSON lines.
//
// Shapes    JSON: the lines and keys that a test program on the old version's own reader prints: a
//           line per file, per mutation and per end, and one for the whole folder ("dir_replay":
//           what opening and replaying it by the old rule gives).
// Errors    A status: reading failed; damage is not an error but in what is printed.
// Threads   Waits for the disk; holds one block.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "env/file_system.h"
#include "tools/log/json_line.h"
#include "tools/log/log_places.h"

namespace arion::logtool {

// How commands of arion_log print.
enum class OutputForm { kText, kJson };
enum class KeyForm { kHidden, kShown };

// What to print.
struct DumpOptions {
  OutputForm form = OutputForm::kText;
  // In texts: whether the keys that each update names are printed, escaped.
  KeyForm keys = KeyForm::kHidden;
  // In front of each file's name.
  std::string file_prefix;
};

// Prints the log. True: something in it is damaged, torn tails not counted.
absl::StatusOr<bool> Dump(FileSystem& files, const LogPlace& place, const DumpOptions& options,
                          const Print& print);

}  // namespace arion::logtool
