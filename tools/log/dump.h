// `arion_log dump`: every file, mutation and end of a log, for people or as JSON lines.
//
// Shapes    JSON: the lines and keys that a test program on the old version's own reader prints: a
//           line per file, per mutation and per end, and one for the whole folder
//           ("dir_replay": what opening and replaying it by the old rule gives).
// Errors    A status: reading failed; damage is not an error but in what is printed.
// Threads   Waits for the disk; holds one block. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "env/file_system.h"
#include "tools/log/json_line.h"
#include "tools/log/log_places.h"

namespace arion::logtool {

enum class OutputForm { kText, kJson };
enum class KeyForm { kHidden, kShown };

struct DumpOptions {
  OutputForm form = OutputForm::kText;
  KeyForm keys = KeyForm::kHidden;  // text: the keys that each update names, escaped
  std::string file_prefix;          // in front of each file's name
};

// Whether anything in it is damaged, torn tails not counted.
absl::StatusOr<bool> Dump(FileSystem& files, const LogPlace& place, const DumpOptions& options,
                          const Print& print);

}  // namespace arion::logtool
