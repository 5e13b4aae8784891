// What a replica server would find when it opens a log, learned by letting its own recovery run
// without changing anything (dry_run_files.h); shared logs by the old versions' rule.
//
// Threads   Waits for the disk. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <vector>

#include "env/file_system.h"
#include "tools/log/dry_run_files.h"
#include "tools/log/log_places.h"
#include "wal/log_survey.h"

namespace arion::logtool {

enum class Judgement {
  kOk,
  kTornTail,    // what a crash leaves: cut at the next start, nothing durable is in it
  kDamaged,     // durable bytes are damaged or missing
  kRefused,     // something lies there that no server touches: it has to be moved by hand
  kUnreadable,  // the files could not be read
};
std::string_view JudgementName(Judgement judgement);  // "OK", "TORN TAIL", "DAMAGED", ...

struct Verdict {
  Judgement judgement = Judgement::kOk;
  std::string reason;  // of all but kOk: file, position, what is wrong
  PartitionId pid;     // of a private log
  int64_t files = 0;
  uint64_t bytes = 0;
  SurveyedPartition readable;  // what can be replayed from the start, of all partitions
  int64_t end_offset = 0;      // where that ends
  std::string hole;            // "after 2 comes 6": decrees are missing between; empty: none
  // What a clean stop left and is not here: a start takes the log as it is, and says so. Empty:
  // nothing, or the log's other files were not looked at.
  std::string lost;
  // What the next start would do to the files, in order.
  std::vector<DryRunFiles::Change> at_start;
  // Names in the folder that are not read, each with what it is.
  std::vector<std::string> ignored;
};

struct JudgeOptions {
  Decree
      applied;  // decrees up to here are in the engine: files that hold nothing newer need not be
                // whole
  std::function<void(uint64_t bytes)> on_read;
};

Verdict Judge(FileSystem& files, const LogPlace& place, const JudgeOptions& options);

}  // namespace arion::logtool
