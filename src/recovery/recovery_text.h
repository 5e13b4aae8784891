// What a RecoveryReport says to people and programs. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "recovery/recovery_progress.h"

namespace arion {

std::string_view RecoveryPhaseName(RecoveryReport::Phase phase);
std::string_view RecoveryStepName(RecoveryStep step);

// One line: how far it is. The same in the log, as the page's first line and in the shell.
std::string RecoveryLine(const RecoveryReport& report);
// The page: that line, the disks, what is under way, once done the summary; and the same as JSON.
std::string RecoveryText(const RecoveryReport& report);
std::string RecoveryJson(const RecoveryReport& report);
// Once it is done: the time of each step, what ended last and why, what would have made it faster.
std::string RecoverySummary(const RecoveryReport& report);

}  // namespace arion
