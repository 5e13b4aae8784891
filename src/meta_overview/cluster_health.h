// How well a cluster is, in two sentences. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "meta_overview/cluster_overview.h"

namespace arion {

struct ClusterHealth {
  enum class Grade {
    kHealthy,
    kReduced,  // everything is served, but something is missing
    kFailing,  // some requests are refused
  } grade = Grade::kHealthy;
  std::string wrong;  // a sentence: what is wrong, or that nothing is
  std::string doing;  // a sentence: what is being done about it, or why nothing is; may be empty
};

std::string_view ClusterHealthName(ClusterHealth::Grade grade);  // "reduced"
ClusterHealth HealthOf(const ClusterOverview& overview);

}  // namespace arion
