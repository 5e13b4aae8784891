// ResumeFile: where a copy is, in a file, so that another run goes on there.
//
// Shapes    A text of the shell's words (words.h), one line a thing, "end" last:
//             copy_data 1
//             source TABLE ID META_SERVER,...
//             target TABLE ID META_SERVER,...
//             options TEXT
//             counts COPIED SKIPPED NOT_COPIED BYTES
//             partition INDEX COUNT begin | done | after RAW_KEY
// Errors    FailedPrecondition: it is of another copy, no such file, damaged, or can't be written:
//           with its name, and what to do. What can't be used is left as it is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/shell/copy/copy_position.h"

namespace arion::shell {

// One table of one cluster.
struct CopySide {
  std::string table;
  int64_t table_id = 0;
  std::vector<std::string> meta_servers;
  bool operator==(const CopySide&) const = default;
};

// What became of records. Of those up to the positions only, in a file.
struct CopyCounts {
  int64_t copied = 0;
  // Expired by now, there already (-n), or their values do not pass.
  int64_t skipped = 0;
  // -n can't copy those with an empty hash key.
  int64_t not_copied = 0;
  // Keys and values of those that were copied.
  int64_t bytes = 0;

  int64_t all() const { return copied + skipped + not_copied; }
  CopyCounts& operator+=(const CopyCounts& more);
  bool operator==(const CopyCounts&) const = default;
};

struct CopyState {
  CopySide source, target;
  // What decides which records are copied, and how; "all" where nothing does.
  std::string options;
  CopyCounts counts;
  std::vector<CopyPosition> positions;
  bool operator==(const CopyState&) const = default;

  std::string ToText() const;
  // FailedPrecondition: which line is no such line.
  static absl::StatusOr<CopyState> Parse(std::string_view text);
  // Whether `stored` is of the same copy: tables, their ids, a common meta server, options. OK, or
  // what differs.
  absl::Status CheckSameCopy(const CopyState& stored) const;
};

// The file at `path`. Written by WriteResumeFile, whole or not at all.
//
// nullopt: there is none.
absl::StatusOr<std::optional<CopyState>> ReadResumeFile(const std::string& path);
// Beside it, synced, and put in its place.
absl::Status WriteResumeFile(const std::string& path, const CopyState& state);

}  // namespace arion::shell
