// SPDX-License-Identifier: Apache-2.0
#include "tools/load/report/slo.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>

#include "base/status.h"
#include "tools/load/report/report_text.h"

namespace arion::load {
namespace {

std::optional<Kind> KindNamed(absl::string_view name) {
  for (size_t i = 0; i < kKinds; ++i) {
    if (View(name) == NameOf(static_cast<Kind>(i))) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

bool ReadLatency(absl::string_view text, double* nanos) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) || duration <= absl::ZeroDuration()) return false;
  *nanos = absl::ToDoubleNanoseconds(duration);
  return true;
}

std::optional<Slo> ParseOne(absl::string_view text) {
  Slo slo{.text = std::string(text)};
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (words.empty() || words.size() > 2) return std::nullopt;
  if (words.size() == 2) {
    slo.kind = KindNamed(absl::AsciiStrToUpper(words[0]));
    if (!slo.kind) return std::nullopt;
  }
  const std::string& rule = words.back();
  const size_t sign = rule.find_first_of("<>");
  if (sign == std::string::npos) return std::nullopt;
  const std::string what = rule.substr(0, sign);
  absl::string_view limit = absl::string_view(rule).substr(sign + 1);
  if (what == "ops") {
    slo.of = Slo::Of::kOperations;
    if (slo.kind || rule[sign] != '>' || !absl::SimpleAtod(limit, &slo.limit)) return std::nullopt;
    return slo;
  }
  if (rule[sign] != '<') return std::nullopt;
  if (what == "errors") {
    slo.of = Slo::Of::kErrors;
    if (slo.kind || !absl::ConsumeSuffix(&limit, "%") || !absl::SimpleAtod(limit, &slo.limit)) {
      return std::nullopt;
    }
    return slo;
  }
  if (!ReadLatency(limit, &slo.limit)) return std::nullopt;
  if (what == "avg" || what == "max") {
    slo.of = what == "avg" ? Slo::Of::kAverage : Slo::Of::kMax;
    return slo;
  }
  if (what.empty() || what[0] != 'p' || !absl::SimpleAtod(what.substr(1), &slo.percentile) ||
      !(slo.percentile > 0 && slo.percentile <= 100)) {
    return std::nullopt;
  }
  return slo;
}

double Latency(const Slo& slo, const LatencyHistogram& latencies) {
  switch (slo.of) {
    case Slo::Of::kAverage:
      return latencies.Mean();
    case Slo::Of::kMax:
      return static_cast<double>(latencies.max());
    default:
      return static_cast<double>(latencies.Percentile(slo.percentile));
  }
}

SloOutcome JudgeLatency(const Slo& slo, const PhaseResult& run) {
  SloOutcome outcome{.text = slo.text};
  double worst = 0;
  bool has_any = false;
  for (size_t i = 0; i < kKinds; ++i) {
    if (slo.kind && *slo.kind != static_cast<Kind>(i)) continue;
    const LatencyHistogram& latencies = Telling(run.total.kinds[i], run.loop);
    if (latencies.count() == 0) continue;
    has_any = true;
    worst = std::max(worst, Latency(slo, latencies));
  }
  outcome.measured = has_any ? LatencyText(static_cast<int64_t>(worst)) : "nothing measured";
  // Nothing measured is not kept: an objective over no operations would always pass.
  outcome.is_kept = has_any && worst < slo.limit;
  return outcome;
}

}  // namespace

absl::StatusOr<std::vector<Slo>> Slo::Parse(std::string_view texts) {
  std::vector<Slo> slos;
  for (absl::string_view text : absl::StrSplit(Text(texts), ',', absl::SkipWhitespace())) {
    std::optional<Slo> slo = ParseOne(absl::StripAsciiWhitespace(text));
    if (!slo) {
      return absl::InvalidArgumentError(
          absl::StrCat("--slo: \"", text,
                       "\": write \"READ p99<5ms\", \"max<1s\", \"errors<0.1%\" or \"ops>10000\""));
    }
    slos.push_back(*std::move(slo));
  }
  return slos;
}

SloOutcome Judge(const Slo& slo, const PhaseResult& run) {
  if (slo.of == Slo::Of::kOperations) {
    // Only what succeeded counts: refusals are quick.
    const double succeeded =
        run.seconds > 0 ? static_cast<double>(run.total.Succeeded()) / run.seconds : 0;
    return {slo.text, absl::StrFormat("%.0f", succeeded), succeeded > slo.limit};
  }
  if (slo.of == Slo::Of::kErrors) {
    const double operations = static_cast<double>(run.total.Operations());
    // Without operations all has failed: nothing shows that the objective was kept.
    const double share =
        operations > 0 ? 100 * static_cast<double>(run.total.Errors()) / operations : 100;
    return {slo.text, absl::StrFormat("%.3f%%", share), share < slo.limit};
  }
  return JudgeLatency(slo, run);
}

}  // namespace arion::load
