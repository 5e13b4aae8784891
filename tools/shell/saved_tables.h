// SavedTables: what a meta server knows of its tables that replica servers' disks do not tell
// (environments, what was dropped and until when, ids), as a JSON file that a person can read; for
// a meta server that takes its place.
//
// Shapes    {"saved_tables":1,"saved_second":…,"cluster_name":…,"meta_servers":[…],
//           "function_level":…,"tables":[…]}; a table's members are app_info's, by the names of
//           meta/STATE.md 1.2.
// Errors    InvalidArgument: it is no such file, with what is wrong and where. FailedPrecondition:
//           JSON can't hold it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "messages/configuration.h"

namespace arion::shell {

// The file's content.
struct SavedTables {
  int64_t saved_second = 0;
  std::string cluster_name;
  std::vector<Endpoint> meta_servers;
  // "steady"
  std::string function_level;
  // All, dropped ones too.
  std::vector<AppInfo> tables;

  absl::StatusOr<std::string> ToJson() const;
};
absl::StatusOr<SavedTables> ParseSavedTables(std::string_view json);
// NotFound: it can't be read. FailedPrecondition: it is no such file.
absl::StatusOr<SavedTables> ReadSavedTables(const std::string& path);

}  // namespace arion::shell
