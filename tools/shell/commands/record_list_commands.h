// Commands on several records: multi_..., scans, counts, conditional writes. RecordCommands() has
// them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <vector>

#include "tools/shell/session.h"

namespace arion::shell {

std::vector<Command> RecordListCommands();

// InvalidArgument is for wrong words. What the cluster refuses becomes FailedPrecondition.
inline absl::Status Refusal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? absl::FailedPreconditionError(status.message()) : status;
}
template <class T>
absl::StatusOr<T> Refusal(absl::StatusOr<T> answer) {
  if (absl::IsInvalidArgument(answer.status())) return Refusal(answer.status());
  return answer;
}

}  // namespace arion::shell
