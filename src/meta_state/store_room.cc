// SPDX-License-Identifier: Apache-2.0
#include "meta_state/store_room.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include "meta_state/cluster_warning.h"

namespace arion {
namespace {

std::string MiB(uint64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string WhatGoesOn(const StoreRoom& room, const absl::Status& failure) {
  // Failovers are stored until the reserve is used up, too; from then on service itself is at
  // stake.
  if (absl::IsResourceExhausted(failure))
    return "; its reserve is used up, and no failover can be stored: where a primary dies, nobody "
           "takes its place";
  const std::string by = room.reserve_bytes > 0
                             ? absl::StrCat("with a reserve of ", MiB(room.reserve_bytes))
                             : "while a little room is left";
  return absl::StrCat("; changes of tables are refused, failovers go on ", by);
}

}  // namespace

std::optional<ClusterWarning> StoreWarning(const StoreRoom& room, const absl::Status& failure) {
  ClusterWarning warning{.kind = "meta_disk_full", .count = 1, .what = "meta server"};
  if (room.is_short && (failure.ok() || absl::IsResourceExhausted(failure))) {
    warning.problem =
        absl::StrCat("can't store everything: its disk is full (", room.path, ", ",
                     MiB(room.available_bytes), " available)", WhatGoesOn(room, failure));
    warning.way = "make room on that disk of the meta server; it heals by itself then";
    return warning;
  }
  if (failure.ok()) return std::nullopt;
  // Something other than a full disk.
  warning.kind = "state_not_stored";
  const bool may_pass = absl::IsResourceExhausted(failure) || absl::IsUnavailable(failure);
  warning.problem = absl::StrCat(
      "can't store its state", may_pass ? " now" : " any more", ": ", failure.message(),
      "; nothing changes, and where a primary dies, nobody takes its place");
  warning.way = may_pass ? "look at that disk of the meta server; it tries again by itself"
                         : "look at that disk of the meta server, then start it anew";
  return warning;
}

}  // namespace arion
