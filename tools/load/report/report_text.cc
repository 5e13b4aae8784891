// SPDX-License-Identifier: Apache-2.0
#include "tools/load/report/report_text.h"

#include <algorithm>

#include "base/status.h"
#include "tools/load/report/report.h"
#include "tools/load/report/shortfalls.h"

namespace arion::load {
namespace {

std::string Percentage(double percentile) { return absl::StrFormat("p%g", percentile); }

std::string EtaOf(const Interval& interval, int64_t operations_max, absl::Duration seconds_max) {
  const absl::Duration at = interval.start + interval.length;
  // Whichever bound comes first: the time, or the operations at the pace so far.
  absl::Duration left = seconds_max - at;
  if (operations_max != INT64_MAX && interval.started > 0) {
    const double share = static_cast<double>(operations_max - interval.started) /
                         static_cast<double>(interval.started);
    left = std::min(left, at * std::max(0.0, share));
  }
  if (left == absl::InfiniteDuration() || left <= absl::ZeroDuration()) return "";
  return absl::StrFormat("  ETA %.0fs", absl::ToDoubleSeconds(left));
}

void AppendLatencies(std::string& out, std::string_view name, const LatencyHistogram& latencies) {
  absl::StrAppendFormat(&out, "    %-9s avg %s  min %s", name,
                        LatencyText(static_cast<int64_t>(latencies.Mean())),
                        LatencyText(latencies.min()));
  for (double percentile : kPercentiles) {
    absl::StrAppendFormat(&out, "  %s %s", Percentage(percentile),
                          LatencyText(latencies.Percentile(percentile)));
  }
  absl::StrAppendFormat(&out, "  max %s\n", LatencyText(latencies.max()));
}

void AppendKind(std::string& out, Kind kind, const KindTally& tally, const PhaseResult& phase) {
  absl::StrAppendFormat(&out, "  %-16s %s operations  %s ops/s  %s errors", NameOf(kind),
                        CountText(tally.Operations()),
                        CountText(static_cast<uint64_t>(static_cast<double>(tally.Operations()) /
                                                        std::max(phase.seconds, 1e-9))),
                        CountText(tally.Errors()));
  if (tally.not_found > 0) absl::StrAppend(&out, "  ", CountText(tally.not_found), " not found");
  out += "\n";
  if (tally.service.count() > 0) {
    AppendLatencies(out, "service", tally.service);
    if (phase.loop == LoopKind::kOpen) AppendLatencies(out, "intended", tally.intended);
  }
  for (const auto& [code, count] : tally.errors) {
    absl::StrAppend(&out, "    ", CountText(count), " ", CodeText(code),
                    ", the first: ", tally.first_error.at(code), "\n");
  }
}

void AppendStages(std::string& out, const StageSums& stages) {
  if (stages.empty()) return;
  out += "  a write's mean time in the servers: ";
  for (const StageSum& sum : stages)
    absl::StrAppend(&out, &sum == &stages.front() ? "" : ", ", sum.stage, " ",
                    LatencyText(static_cast<int64_t>(sum.seconds * 1e9 / sum.writes)));
  out += "\n";
}

std::string DelayText(absl::Duration delay) { return LatencyText(absl::ToInt64Nanoseconds(delay)); }

void AppendRate(std::string& out, const PhaseResult& phase) {
  const bool is_missed = phase.RateOutcome() == PhaseResult::Rate::kMissed;
  if (is_missed && phase.not_started > 0) {
    absl::StrAppend(&out,
                    "  RATE NOT REACHED: ", CountText(static_cast<uint64_t>(phase.not_started)),
                    " operations that were meant to start never did; at the worst it was ",
                    DelayText(phase.worst_delay), " late.");
  } else if (is_missed) {
    absl::StrAppend(&out, "  RATE NOT REACHED: the last operation was meant to start after ",
                    DelayText(phase.last_meant), ", and did ", DelayText(phase.last_delay),
                    " later.");
  } else if (phase.RateOutcome() == PhaseResult::Rate::kUntold) {
    absl::StrAppend(&out, "  too short to tell whether the rate was reached: the last operation, ",
                    "meant to start after ", DelayText(phase.last_meant), ", did ",
                    DelayText(phase.last_delay), " later\n");
  } else if (phase.worst_delay > absl::Seconds(1)) {
    absl::StrAppend(&out, "  the rate was reached, but at the worst ", DelayText(phase.worst_delay),
                    " late\n");
  }
  if (is_missed) out += " The cluster, or --threads, carries no more.\n";
}

void AppendPhase(std::string& out, const PhaseResult& phase) {
  absl::StrAppendFormat(&out, "\n%s: %.1f s measured, %s operations, %s ops/s, %s errors\n",
                        phase.name, phase.seconds, CountText(phase.total.Operations()),
                        CountText(static_cast<uint64_t>(phase.OperationsASecond())),
                        CountText(phase.total.Errors()));
  for (size_t i = 0; i < kKinds; ++i) {
    const KindTally& tally = phase.total.kinds[i];
    if (tally.Operations() > 0) AppendKind(out, static_cast<Kind>(i), tally, phase);
  }
  AppendStages(out, phase.server_stages);
  if (phase.loop == LoopKind::kOpen) AppendRate(out, phase);
  if (phase.end == PhaseResult::End::kStopped) out += "  cut short: it was told to stop\n";
  if (phase.end == PhaseResult::End::kGivenUp) {
    out += "  CUT SHORT: nothing succeeded any more (--give_up)\n";
  }
}

void AppendVerdict(std::string& out, const Ledger::Verdict& verdict, Instant began) {
  absl::StrAppend(&out, "\nverify: ", CountText(static_cast<uint64_t>(verdict.reads)),
                  " reads judged, ");
  if (verdict.unchecked > 0) {
    absl::StrAppend(&out, verdict.unchecked, " RECORDS NOT CHECKED: not read back after the run, ");
  }
  if (verdict.Total() == 0) {
    out += verdict.unchecked > 0 ? "none was wrong\n" : "each as it was acknowledged\n";
    return;
  }
  absl::StrAppend(&out, verdict.violations[0], " LOST, ", verdict.violations[1], " STALE, ",
                  verdict.violations[2], " MIXED; the first:\n");
  for (const Violation& violation : verdict.first) {
    absl::StrAppendFormat(&out, "  %s key %s (record %d) at %.6fs: %s\n", NameOf(violation.type),
                          violation.key, violation.record,
                          absl::ToDoubleSeconds(violation.at - began), violation.text);
  }
}

}  // namespace

std::string LatencyText(int64_t nanos) {
  const double value = static_cast<double>(nanos);
  const auto with_digits = [](double number, const char* unit) {
    const int decimals = number < 10 ? 2 : number < 100 ? 1 : 0;
    return absl::StrFormat("%.*f%s", decimals, number, unit);
  };
  // What would be rounded to 1000 of a unit is 1 of the next.
  if (nanos < 999'500) return with_digits(value / 1e3, "us");
  if (nanos < 999'500'000) return with_digits(value / 1e6, "ms");
  return with_digits(value / 1e9, "s");
}

std::string CountText(uint64_t count) {
  std::string digits = absl::StrCat(count);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string CodeText(absl::StatusCode code) { return absl::StatusCodeToString(code); }

std::string ConfigurationText(const std::vector<std::pair<std::string, std::string>>& lines) {
  std::string out;
  for (const auto& [name, value] : lines) absl::StrAppendFormat(&out, "%-26s %s\n", name, value);
  return out;
}

std::string IntervalLines::Head() const {
  std::string out = absl::StrFormat("%6s %10s %6s", options_.phase, "ops/s", "err");
  for (Kind kind : options_.kinds) {
    absl::StrAppendFormat(&out, " | %s", NameOf(kind));
    const size_t width = NameOf(kind).size();
    absl::StrAppendFormat(&out, "%*s %7s %7s %7s", width < 8 ? static_cast<int>(15 - width) : 7,
                          "p50", "p99", "p999", "max");
  }
  absl::StrAppend(&out, options_.loop == LoopKind::kOpen ? "  (intended)" : "", "\n");
  return out;
}

std::string IntervalLines::LineOf(const Interval& interval) const {
  const double seconds = absl::ToDoubleSeconds(interval.length);
  const double at = absl::ToDoubleSeconds(interval.start + interval.length);
  std::string out = absl::StrFormat(
      "%5.0fs %10s %6s", at,
      CountText(static_cast<uint64_t>(static_cast<double>(interval.tally.Operations()) / seconds)),
      CountText(interval.tally.Errors()));
  for (Kind kind : options_.kinds) {
    const LatencyHistogram& latencies =
        Telling(interval.tally.kinds[static_cast<size_t>(kind)], options_.loop);
    const auto column = [&](int64_t nanos) {
      return latencies.count() == 0 ? std::string("-") : LatencyText(nanos);
    };
    const int name_width = static_cast<int>(std::max<size_t>(NameOf(kind).size(), 8));
    absl::StrAppendFormat(&out, " | %*s %7s %7s %7s", name_width + 7,
                          column(latencies.Percentile(50)), column(latencies.Percentile(99)),
                          column(latencies.Percentile(99.9)), column(latencies.max()));
  }
  if (interval.use == Interval::Use::kWarmUp) out += "  warm-up";
  if (interval.delay > absl::Milliseconds(100)) {
    absl::StrAppend(&out, "  LATE ", LatencyText(absl::ToInt64Nanoseconds(interval.delay)));
  }
  return out + EtaOf(interval, options_.operations_max, options_.seconds_max) + "\n";
}

std::string SummaryText(const Report& report) {
  std::string out;
  for (const PhaseResult& phase : report.phases) AppendPhase(out, phase);
  for (const std::string& event : report.events) absl::StrAppend(&out, "\nchaos: ", event);
  if (!report.events.empty()) out += "\n";
  if (report.verdict) AppendVerdict(out, *report.verdict, report.began);
  for (const SloOutcome& slo : report.slos) {
    absl::StrAppend(&out, "\nslo: ", slo.text, ": ", slo.is_kept ? "kept" : "MISSED", ", measured ",
                    slo.measured);
  }
  if (!report.slos.empty()) out += "\n";
  const std::vector<std::string> shortfalls = ShortfallsOf(report);
  for (const std::string& text : shortfalls)
    absl::StrAppend(&out, &text == &shortfalls.front() ? "\n" : "", "NOT KEPT: ", text, "\n");
  return out;
}

}  // namespace arion::load
