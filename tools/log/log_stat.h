// `arion_log stat`: what a log holds, in numbers.
//
// Threads   Waits for the disk; holds one block.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "base/mutation.h"
#include "env/file_system.h"
#include "tools/log/json_line.h"
#include "tools/log/log_places.h"
#include "wal/log_survey.h"

namespace arion::logtool {

// The numbers of one log, or of several added up.
struct LogStat {
  // Block sizes by power of two: [i] counts those of [2^i, 2^(i+1)) bytes.
  static constexpr size_t kSizeClasses = 32;

  int64_t logs = 0;
  int64_t files = 0;
  // Of the files.
  uint64_t bytes = 0;
  // Of whole blocks.
  uint64_t content_bytes = 0;
  // Of mutations below the valid start, which nobody needs.
  uint64_t void_bytes = 0;
  // *.tail, *.removed
  uint64_t set_aside_bytes = 0;
  uint64_t spare_bytes = 0;
  // Without the first blocks of files.
  int64_t blocks = 0;
  int64_t mutations = 0;
  int64_t updates = 0;
  std::array<int64_t, kSizeClasses> block_sizes{};
  struct Code {
    int64_t updates = 0;
    uint64_t bytes = 0;
  };
  std::array<Code, kWriteCodeCount> codes{};
  std::map<PartitionId, SurveyedPartition> partitions;
  int64_t damaged_files = 0;

  // Adds another log's numbers.
  void Add(const LogStat& other);
};

// Reads the whole log.
absl::StatusOr<LogStat> StatLog(FileSystem& files, const LogPlace& place);

std::string StatText(const LogStat& stat);
// A line whose first member is "<key>":"<name>".
void PrintStatJson(const std::string& key, const std::string& name, const LogStat& stat,
                   const Print& print);

}  // namespace arion::logtool
