// MasterTable: the table of another cluster that a table follows, as its environments say: what the
// source of a duplication writes into them when it makes the table.
//
// Errors    InvalidArgument: the environments can't be understood; for a person.
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "env/named_address.h"
#include "messages/configuration.h"

namespace arion {

// Whose data each partition of the follower begins with.
struct MasterTable {
  // For people.
  std::string cluster;
  std::string table;
  // At least one.
  std::vector<NamedAddress> meta_servers;
  bool operator==(const MasterTable&) const = default;
};

// Whether the table was made to follow another one.
bool FollowsMaster(const AppInfo& app);
// Of a table that does.
absl::StatusOr<MasterTable> MasterOf(const AppInfo& app);

}  // namespace arion
