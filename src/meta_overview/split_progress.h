// How far splits of tables are, for tools and pages. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/instant.h"
#include "messages/split_messages.h"
#include "meta_state/cluster_state.h"

namespace arion {

struct ClusterOverview;

// By index of each parent whose child is not registered: what is being done for it, or waited for.
std::map<int32_t, std::string> SplitProgressOf(const ClusterState& state, const Table& table);
// RPC_CM_QUERY_PARTITION_SPLIT.
QuerySplitResponse AnswerQuerySplit(const ClusterState& state, const std::string& name,
                                    Instant now);
// To tables that are being split: how long the rest takes.
void AddSplitTimes(const ClusterState& state, Instant now, ClusterOverview* overview);

}  // namespace arion
