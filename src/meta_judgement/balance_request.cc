// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/balance_request.h"

#include <utility>

#include "messages/admin_messages.h"

namespace arion {
namespace {

// Plans are kept in memory for each partition: a request must not fill it.
constexpr size_t kActionsMax = 16;

// An upgrade to secondary is no step of a plan: the primary asks for it when its learner has
// everything.
bool IsPlannable(ConfigType type) {
  switch (type) {
    case ConfigType::kAssignPrimary:
    case ConfigType::kUpgradeToPrimary:
    case ConfigType::kAddSecondary:
    case ConfigType::kAddSecondaryForLoadBalance:
    case ConfigType::kDowngradeToSecondary:
    case ConfigType::kDowngradeToInactive:
    case ConfigType::kRemove:
      return true;
    default:
      return false;
  }
}

}  // namespace

BalanceJudgement JudgeBalanceRequest(const ClusterState& state, const GuardianOptions& options,
                                     const ProposeBalancerRequest& request, Instant now) {
  auto refuse = [](const char* reason) {
    return BalanceJudgement{ErrorCode::kInvalidParameters, reason};
  };
  const Table* table = state.FindTable(request.pid.app_id);
  if (table == nullptr) return {ErrorCode::kAppNotExist, "there is no such table"};
  const Partition* partition = state.FindPartition(request.pid);
  if (partition == nullptr || partition->IsUnregistered())
    return refuse("there is no such partition");
  if (table->info.status != AppStatus::kAvailable) return refuse("the table is not available");
  if (request.actions.empty() || request.actions.size() > kActionsMax) {
    return refuse("it has no steps, or too many");
  }
  if (!partition->planned.empty() && !request.force.value_or(false)) {
    return refuse("an earlier plan is still being carried out");
  }
  BalanceJudgement judgement;
  // All steps are checked before one is kept: half a plan could leave a partition worse than it
  // was.
  for (const ProposedAction& action : request.actions) {
    if (!IsPlannable(action.type)) return refuse("a step's type is not one of a plan");
    if (!action.node.IsValid()) return refuse("a step names no server");
    // A step without a target is for whoever is primary then.
    if (!action.target.IsValid() && !partition->config.primary.IsValid()) {
      return refuse("a step is for the primary, and there is none");
    }
    judgement.planned.push_back(
        {.type = action.type, .target = action.target, .node = action.node});
  }
  // While a change is stored nobody knows yet what applies: the guardian judges it afterwards.
  if (!partition->pending && !MayBePlanned(state, options, *partition, judgement.planned, now)) {
    return refuse("its first step does not apply to the partition as it is");
  }
  return judgement;
}

}  // namespace arion
