// IniFile: a configuration file as sections of keys, each with the line it stands on.
//
// Shapes    "[section]", "key = value", whole lines that begin with ';' or '#'; a ';' or '#' after
//           white space ends a value. White space around names and values is cut. A line without
//           '=' is a key without a value.
// Errors    InvalidArgument, led by "file:line: ", for a line that can't be read.
// Threads   Immutable after construction.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

namespace arion {

// One key.
struct IniEntry {
  std::string section;
  std::string key;
  std::string value;
  // From 1.
  int line = 0;
};

// All entries of one file, as they stand there: a key may be there twice.
class IniFile {
 public:
  // `name` is what messages call the file.
  static absl::StatusOr<IniFile> Parse(std::string_view content, std::string_view name);
  // Reads and parses `path`. NotFound, PermissionDenied: with the path and what to do.
  static absl::StatusOr<IniFile> Load(const std::string& path);

  const std::string& name() const { return name_; }
  // In the order of the file.
  const std::vector<IniEntry>& entries() const { return entries_; }

 private:
  std::string name_;
  std::vector<IniEntry> entries_;
};

}  // namespace arion
