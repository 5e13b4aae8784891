// Report: all that a run of the tool has to say at its end, and its forms for programs and browsers
// (for people: report_text.h).
//
// Shapes    JSON: latencies in microseconds, one object. HTML: one file, uPlot within it: it needs
//           no network.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/load/report/slo.h"
#include "tools/load/run/phase.h"
#include "tools/load/workload/ledger.h"

namespace arion::load {

// Everything that the forms below say.
struct Report {
  std::vector<std::pair<std::string, std::string>> configuration;
  std::vector<PhaseResult> phases;
  std::optional<Ledger::Verdict> verdict;
  // The moment that violations' times count from.
  Instant began;
  std::vector<SloOutcome> slos;
  // Of --chaos: "12s began: COMMAND".
  std::vector<std::string> events;
  // Of its commands, those that never ran.
  size_t chaos_left = 0;
  // "done", or what cut it short.
  std::string ended;
};

// Percentiles that every form shows.
inline constexpr double kPercentiles[] = {50, 90, 95, 99, 99.9, 99.99};

// One object, for programs.
std::string JsonOf(const Report& report);
// One file, for browsers.
std::string HtmlOf(const Report& report);

}  // namespace arion::load
