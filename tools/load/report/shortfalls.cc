// SPDX-License-Identifier: Apache-2.0
#include "tools/load/report/shortfalls.h"

#include "base/status.h"
#include "tools/load/report/report_text.h"

namespace arion::load {
namespace {

void AddOfPhase(std::vector<std::string>& all, const PhaseResult& phase) {
  if (phase.loop == LoopKind::kOpen && phase.RateOutcome() == PhaseResult::Rate::kMissed)
    all.push_back(absl::StrCat(phase.name, ": the rate was not reached"));
  // A run over records that are not there measures something else.
  if (phase.name == "load" && phase.total.Errors() > 0) {
    all.push_back(absl::StrCat("the load is incomplete: ", CountText(phase.total.Errors()), " of ",
                               CountText(phase.total.Operations()),
                               " records were not acknowledged"));
  }
  if (phase.name == "run" && phase.HasEndedFailing()) {
    all.push_back(absl::StrCat("the run ended failing: ", CountText(phase.ending.errors),
                               " errors among its last ", CountText(phase.ending.operations),
                               " operations"));
  }
}

void AddOfVerdict(std::vector<std::string>& all, const Ledger::Verdict& verdict) {
  const auto add = [&all](int64_t count, std::string_view what) {
    if (count == 0) return;
    all.push_back(absl::StrCat("verify: ", CountText(static_cast<uint64_t>(count)), Text(what)));
  };
  add(verdict.Total(), " reads were not as acknowledged");
  add(verdict.unchecked, " records were not read back after the run");
}

}  // namespace

std::vector<std::string> ShortfallsOf(const Report& report) {
  std::vector<std::string> all;
  if (report.ended != "done") all.push_back("ended early: " + report.ended);
  for (const PhaseResult& phase : report.phases) AddOfPhase(all, phase);
  if (report.verdict) AddOfVerdict(all, *report.verdict);
  if (report.chaos_left > 0)
    all.push_back(absl::StrCat("--chaos commands that never ran: ", report.chaos_left));
  for (const SloOutcome& slo : report.slos)
    if (!slo.is_kept) all.push_back("slo: " + slo.text);
  return all;
}

}  // namespace arion::load
