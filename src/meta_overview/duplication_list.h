// Duplications of tables, for tools. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "messages/duplication_messages.h"
#include "meta_state/cluster_state.h"

namespace arion {

// RPC_CM_QUERY_DUPLICATION.
QueryDuplicationResponse AnswerQueryDuplication(const ClusterState& state, const std::string& name);
// RPC_CM_LIST_DUPLICATION: of all available tables that fit.
ListDuplicationsResponse AnswerListDuplications(const ClusterState& state,
                                                const ListDuplicationsRequest& request);

}  // namespace arion
