// What verify and repair found, as text or as one line of JSON.
//
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/log/json_line.h"
#include "tools/log/log_places.h"
#include "tools/log/repair.h"
#include "tools/log/verdict.h"

namespace arion::logtool {

std::string VerdictText(const LogPlace& place, const Verdict& verdict);
void PrintVerdictJson(const LogPlace& place, const Verdict& verdict, const Print& print);

// Whether it will be done, or was done.
enum class RepairState { kPlanned, kDone };
std::string RepairText(const LogPlace& place, const RepairPlan& plan, RepairState state);
void PrintRepairJson(const LogPlace& place, const RepairPlan& plan, RepairState state,
                     const Print& print);

}  // namespace arion::logtool
