// LogOpener: how a server comes by its logs, for those who only pass it on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <memory>

#include "env/strand.h"

namespace arion {

class Environment;
struct Mutation;
class PrivateLog;
struct PrivateLogOptions;
struct ReplaySummary;

// PrivateLog::Open, unless a measurement puts another log behind the same facade.
using LogOpener = std::function<absl::StatusOr<std::unique_ptr<PrivateLog>>(
    Environment&, StrandPtr, PrivateLogOptions,
    absl::FunctionRef<absl::Status(std::shared_ptr<const Mutation>)> sink, ReplaySummary*)>;

}  // namespace arion
