// Tables and partitions as they are stored: the JSON of Pegasus (meta/STATE.md 1.2).
//
// Shapes    Each key that 2.5.0 knows is written, in its order, then those of newer versions and
//           ours, then what nobody here knows: 2.5.0 reads an object with a key too many only
//           where it lacks none. A missing key keeps its default when it is read.
// Errors    DataLoss names the store's key and what of its value can't be understood.
// Threads   Pure.
// Promises  stored_json/J1  A member that is not known here is written again as it was read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "messages/configuration.h"

namespace arion {

// `other`, here and below: members that are not known here, as JSON, ready to stand behind others:
// ",\"x\":[1]". Mostly empty.
struct StoredTable {
  AppInfo info;
  std::string other;
};
struct StoredPartition {
  PartitionConfiguration config;
  std::string other;
};

absl::StatusOr<StoredTable> ParseTable(std::string_view key, const std::string& text);
// `host_names`: gains the names that stand beside addresses.
absl::StatusOr<StoredPartition> ParsePartition(std::string_view key, const std::string& text,
                                               std::map<Endpoint, HostPort>* host_names);

std::string TableJson(const AppInfo& info, std::string_view other);
std::string PartitionJson(const PartitionConfiguration& config,
                          const std::map<Endpoint, HostPort>& host_names, std::string_view other);

// The members of a JSON object, which is one, but for those of these names.
std::string OtherMembers(std::string_view object, const std::vector<std::string_view>& known);

}  // namespace arion
