// Plans that administrators make for a partition: the judgement over a request. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "meta_judgement/partition_guardian.h"

namespace arion {

struct ProposeBalancerRequest;

// What becomes of a plan.
struct BalanceJudgement {
  ErrorCode error = ErrorCode::kOk;
  // Of a refusal, for the log.
  const char* reason = "";
  // kOk: what is to be done, in this order.
  std::vector<Intent> planned;
};
// kInvalidParameters: the plan is refused whole; nothing of it was kept. The steps after the first
// are judged when they are due, because the ones before change the configuration.
BalanceJudgement JudgeBalanceRequest(const ClusterState& state, const GuardianOptions& options,
                                     const ProposeBalancerRequest& request, Instant now);

}  // namespace arion
