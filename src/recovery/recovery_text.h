// What a RecoveryReport says to people and programs. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "recovery/recovery_progress.h"

namespace arion {

// Names as the page and the JSON have them.
std::string_view RecoveryPhaseName(RecoveryReport::Phase phase);
std::string_view RecoveryStepName(RecoveryStep step);

// One line: how far it is. The same in the log, as the page's first line and in the shell.
std::string RecoveryLine(const RecoveryReport& report);
// The page: that line, the disks, what is under way, and once it is done the summary.
std::string RecoveryText(const RecoveryReport& report);
// The same as JSON.
std::string RecoveryJson(const RecoveryReport& report);
// Once it is done: the time of each step, which replica ended last and why, and what would have
// made it faster. Empty where there is nothing to say.
std::string RecoverySummary(const RecoveryReport& report);

}  // namespace arion
