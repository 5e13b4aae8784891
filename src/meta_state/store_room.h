// StoreRoom: how much room there is where the meta server's state is stored, and what an
// administrator has to know of it. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>

namespace arion {

struct ClusterWarning;

// As the last Look saw it.
struct StoreRoom {
  std::string path;
  uint64_t available_bytes = 0;
  // Given up for what is kToServe.
  uint64_t reserve_bytes = 0;
  uint64_t reserve_bytes_wanted = 0;
  // The disk is full, or nearly. Over when there is room and the reserve is whole again.
  bool is_short = false;
};

// `failure`: why the last change that is kToServe was not stored; OK: it was. nullopt: there is
// nothing to say.
std::optional<ClusterWarning> StoreWarning(const StoreRoom& room, const absl::Status& failure);

}  // namespace arion
