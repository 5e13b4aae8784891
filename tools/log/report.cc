// SPDX-License-Identifier: Apache-2.0
#include "tools/log/report.h"

#include "base/status.h"
#include "tools/log/progress.h"

namespace arion::logtool {
namespace {

using Change = DryRunFiles::Change;
using Step = RepairPlan::Step;

std::string RangeText(const SurveyedPartition& readable) {
  if (readable.mutations == 0) return "no mutation";
  return absl::StrCat("decrees ", readable.min_decree.value(), "-", readable.max_decree.value());
}

std::string ChangeText(const Change& change) {
  const std::string name = BaseName(change.path);
  switch (change.kind) {
    case Change::Kind::kWrite:
      return absl::StrCat("writes ", name, ", ", change.size, " bytes");
    case Change::Kind::kTruncate:
      return absl::StrCat("cuts ", name, " from ", change.size_before, " to ", change.size,
                          " bytes");
    case Change::Kind::kRename:
      return absl::StrCat("renames ", name, " to ", BaseName(change.to));
    case Change::Kind::kRemove:
      return absl::StrCat("removes ", name);
  }
  return "";
}

std::string StepText(const Step& step) {
  const std::string name = BaseName(step.path);
  if (step.kind == Step::Kind::kRename)
    return absl::StrCat("rename ", name, " to ", BaseName(step.to), "  (", step.holds, ")");
  if (step.to.empty())
    return absl::StrCat("cut ", name, " to ", step.size, " bytes; behind them are only zeros");
  return absl::StrCat("copy ", step.saved_end - step.size, " bytes of ", name, " to ",
                      BaseName(step.to), ", then cut ", name, " to ", step.size, " bytes  (",
                      step.holds, ")");
}

void AddVerdict(const LogPlace& place, const Verdict& verdict, JsonLine* line) {
  line->Add("log", place.Label())
      .Add("kind", place.kind == LogKind::kPrivate ? "private" : "shared");
  if (place.kind == LogKind::kPrivate) line->Add("gpid", verdict.pid.ToString());
  line->Add("verdict", JudgementName(verdict.judgement))
      .Add("reason", verdict.reason)
      .Add("files", verdict.files)
      .Add("bytes", verdict.bytes)
      .Add("mutations", verdict.readable.mutations)
      .Add("min_decree", verdict.readable.min_decree.value())
      .Add("max_decree", verdict.readable.max_decree.value())
      .Add("max_last_committed", verdict.readable.max_last_committed.value())
      .Add("max_ballot", verdict.readable.max_ballot.value())
      .Add("end_offset", verdict.end_offset)
      .Add("hole", verdict.hole)
      .Add("lost", verdict.lost);
}

}  // namespace

std::string VerdictText(const LogPlace& place, const Verdict& verdict) {
  std::string text = absl::StrCat(place.Label(), ": ", Text(JudgementName(verdict.judgement)), "  ",
                                  verdict.files, verdict.files == 1 ? " file, " : " files, ",
                                  BytesText(static_cast<double>(verdict.bytes)), ", ");
  const bool is_whole =
      verdict.judgement == Judgement::kOk || verdict.judgement == Judgement::kTornTail;
  absl::StrAppend(&text, is_whole ? "" : "readable from the start: ", RangeText(verdict.readable),
                  "\n");
  if (!verdict.reason.empty()) absl::StrAppend(&text, "  ", verdict.reason, "\n");
  if (!verdict.hole.empty())
    absl::StrAppend(&text, "  a hole: ", verdict.hole, ", the replica can only learn anew\n");
  if (!verdict.lost.empty())
    absl::StrAppend(&text, "  lost: ", verdict.lost,
                    "; a start goes on without it and reports the replica so\n");
  if (verdict.judgement == Judgement::kTornTail)
    for (const Change& change : verdict.at_start)
      absl::StrAppend(&text, "  the next start ", ChangeText(change), "\n");
  for (const std::string& name : verdict.ignored)
    absl::StrAppend(&text, "  not read: ", name, "\n");
  return text;
}

void PrintVerdictJson(const LogPlace& place, const Verdict& verdict, const Print& print) {
  JsonLine line(print);
  AddVerdict(place, verdict, &line);
  line.BeginList("at_start");
  for (const Change& change : verdict.at_start)
    line.BeginItem().Add("change", ChangeText(change)).EndItem();
  line.EndList().BeginList("not_read");
  for (const std::string& name : verdict.ignored) line.BeginItem().Add("name", name).EndItem();
  line.EndList();
  line.Finish();
}

std::string RepairText(const LogPlace& place, const RepairPlan& plan, RepairState state) {
  if (plan.steps.empty())
    return absl::StrCat(place.Label(), ": ", Text(JudgementName(plan.before.judgement)),
                        "  nothing to repair, a start takes it as it is\n");
  std::string text = VerdictText(place, plan.before);
  absl::StrAppend(&text, state == RepairState::kDone ? "  done:\n" : "  would do, with --yes:\n");
  for (const Step& step : plan.steps) absl::StrAppend(&text, "    ", StepText(step), "\n");
  absl::StrAppend(&text, "  the log then holds ", RangeText(plan.after.readable),
                  " and is opened. What was set aside is lost to this replica: if other members "
                  "hold it, do not repair, let the replica be learned anew.\n");
  return text;
}

void PrintRepairJson(const LogPlace& place, const RepairPlan& plan, RepairState state,
                     const Print& print) {
  JsonLine line(print);
  AddVerdict(place, plan.before, &line);
  line.Add("state", plan.steps.empty()            ? "nothing to do"
                    : state == RepairState::kDone ? "done"
                                                  : "planned")
      .BeginList("steps");
  for (const Step& step : plan.steps) {
    line.BeginItem()
        .Add("step", step.kind == Step::Kind::kRename ? "rename" : "cut")
        .Add("file", step.path)
        .Add("to", step.to);
    if (step.kind == Step::Kind::kCut)
      line.Add("size", step.size).Add("saved_bytes", step.saved_end - step.size);
    line.Add("holds", step.holds).EndItem();
  }
  line.EndList()
      .Add("verdict_after", JudgementName(plan.after.judgement))
      .Add("min_decree_after", plan.after.readable.min_decree.value())
      .Add("max_decree_after", plan.after.readable.max_decree.value());
  line.Finish();
}

}  // namespace arion::logtool
