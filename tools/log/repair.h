// `arion_log repair`: makes of a damaged private log one that a server opens, by setting aside what
// can't be replayed. Nothing is deleted, nothing overwritten.
//
// Shapes    A plan keeps the longest run of blocks that join, from the log's start; or, where the
//           engine holds everything older, from a later file to its end. Whole files become
//           <file>.removed, the bytes behind the last block of the last kept file <file>.tail
//           (without trailing zeros where Arion wrote the file ahead; names that are taken get a
//           number).
// Errors    FailedPrecondition: it must be done by hand (another replica's log, a symbolic link).
//           InvalidArgument: a shared log.
// Threads   Waits for the disk.
// Promises  A plan was judged by the server's own recovery before it is shown. Its steps, each
//           durable before the next, may end anywhere: what is left is planned anew and ends the
//           same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "env/file_system.h"
#include "tools/log/log_places.h"
#include "tools/log/verdict.h"

namespace arion::logtool {

// What is wrong, what to do, and what a start would find afterwards.
struct RepairPlan {
  // One change of a file.
  struct Step {
    enum class Kind { kRename, kCut } kind;
    std::string path;
    // kRename: the new name. kCut: where the bytes go; empty: they are all zeros.
    std::string to;
    // kCut: the file's size afterwards.
    uint64_t size = 0;
    // kCut: [size, saved_end) is saved.
    uint64_t saved_end = 0;
    // What a reader finds in it: "decrees 20-40", "nothing readable".
    std::string holds;
  };
  Verdict before;
  // Empty: nothing to repair.
  std::vector<Step> steps;
  Verdict after;
};

// Changes nothing.
absl::StatusOr<RepairPlan> PlanRepair(FileSystem& files, const LogPlace& place,
                                      const JudgeOptions& options);
// Makes the changes, in order.
absl::Status CarryOut(FileSystem& files, const RepairPlan& plan);

}  // namespace arion::logtool
