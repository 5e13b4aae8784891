// What a replica server would find when it opens a log, learned by letting its own recovery run
// without changing anything (dry_run_files.h); shared logs by the old versions' rule.
//
// Threads   Waits for the disk.
// SPDX-License-Identifier: Apache-2.0
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

// Worst last.
enum class Judgement {
  kOk,
  // What a crash leaves: it is cut at the next start, and nothing durable is in it.
  kTornTail,
  // Durable bytes are damaged or missing.
  kDamaged,
  // Something lies there that no server touches: it has to be moved by hand.
  kRefused,
  // The files could not be read.
  kUnreadable,
};
// "OK", "TORN TAIL", "DAMAGED", ...
std::string_view JudgementName(Judgement judgement);

// The judgement of one log, with what it is based on.
struct Verdict {
  Judgement judgement = Judgement::kOk;
  // Of all but kOk: file, position, what is wrong.
  std::string reason;
  // Of a private log.
  PartitionId pid;
  int64_t files = 0;
  uint64_t bytes = 0;
  // What can be replayed from the start, of all partitions.
  SurveyedPartition readable;
  // Where that ends.
  int64_t end_offset = 0;
  // "after 2 comes 6": decrees are missing between; empty: none are.
  std::string hole;
  // What a clean stop left and is not here: a start takes the log as it is, and says so. Empty:
  // nothing, or the log's other files were not looked at.
  std::string lost;
  // What the next start would do to the files, in order.
  std::vector<DryRunFiles::Change> at_start;
  // Names in the folder that are not read, each with what it is.
  std::vector<std::string> ignored;
};

// What is known besides the log.
struct JudgeOptions {
  // Decrees up to here are in the engine: files that hold nothing newer need not be whole.
  Decree applied;
  std::function<void(uint64_t bytes)> on_read;
};

// Reads the whole log.
Verdict Judge(FileSystem& files, const LogPlace& place, const JudgeOptions& options);

}  // namespace arion::logtool
