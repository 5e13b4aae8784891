// How well a cluster is, in two sentences. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "meta_overview/cluster_overview.h"

namespace arion {

// The first lines of `status`, of a page and of the dashboard. Made from one overview, and as old
// as that:
//
//   const ClusterHealth health = HealthOf(OverviewOf(state, level, write_members_min));
//   Print(ClusterHealthName(health.grade), health.wrong, health.doing);
struct ClusterHealth {
  enum class Grade {
    kHealthy,
    // Everything is served, but something is missing.
    kReduced,
    // Some requests are refused.
    kFailing,
  } grade = Grade::kHealthy;
  // A sentence: what is wrong, or that nothing is.
  std::string wrong;
  // A sentence: what is being done about it, or why nothing is. May be empty.
  std::string doing;
};

// "reduced"
std::string_view ClusterHealthName(ClusterHealth::Grade grade);
// By the worst that the overview shows.
ClusterHealth HealthOf(const ClusterOverview& overview);

}  // namespace arion
