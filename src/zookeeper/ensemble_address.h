// EnsembleAddress: where a ZooKeeper ensemble is, as operators write it for ZooKeeper's clients:
// "zk1:2181,zk2:2181,zk3:2181", perhaps with the node behind it below which all paths lie:
// ".../production".
//
// Errors    InvalidArgument: what is wrong and what to write.
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "env/named_address.h"

namespace arion {

struct EnsembleAddress {
  // At least one.
  std::vector<NamedAddress> servers;
  // What begins each path at the ensemble: empty, or a path.
  std::string root;
  // As it is read.
  std::string ToString() const;
};

// Blanks around a server are taken.
absl::StatusOr<EnsembleAddress> ParseEnsembleAddress(std::string_view text);

}  // namespace arion
