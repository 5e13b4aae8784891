// SPDX-License-Identifier: Apache-2.0
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "base/status.h"
#include "tools/load/report/report.h"
#include "tools/load/report/report_text.h"
#include "tools/load/report/shortfalls.h"

namespace arion::load {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void Text(Writer& out, std::string_view text) {
  out.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void Key(Writer& out, std::string_view key) {
  out.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
}

void WriteLatencies(Writer& out, std::string_view key, const LatencyHistogram& latencies) {
  Key(out, key);
  out.StartObject();
  Key(out, "avg");
  out.Double(latencies.Mean() / 1e3);
  Key(out, "min");
  out.Double(static_cast<double>(latencies.min()) / 1e3);
  for (double percentile : kPercentiles) {
    Key(out, absl::StrFormat("p%g", percentile));
    out.Double(static_cast<double>(latencies.Percentile(percentile)) / 1e3);
  }
  Key(out, "max");
  out.Double(static_cast<double>(latencies.max()) / 1e3);
  out.EndObject();
}

void WriteKind(Writer& out, Kind kind, const KindTally& tally, LoopKind loop) {
  out.StartObject();
  Key(out, "operation");
  Text(out, NameOf(kind));
  Key(out, "count");
  out.Uint64(tally.Operations());
  Key(out, "succeeded");
  out.Uint64(tally.service.count());
  Key(out, "not_found");
  out.Uint64(tally.not_found);
  Key(out, "errors");
  out.StartObject();
  for (const auto& [code, count] : tally.errors) {
    Key(out, CodeText(code));
    out.Uint64(count);
  }
  out.EndObject();
  WriteLatencies(out, "service_us", tally.service);
  if (loop == LoopKind::kOpen) WriteLatencies(out, "intended_us", tally.intended);
  out.EndObject();
}

void WriteSeries(Writer& out, const PhaseResult& phase) {
  Key(out, "series");
  out.StartArray();
  for (const SeriesPoint& point : phase.series) {
    out.StartObject();
    Key(out, "seconds");
    out.Double(point.at_seconds);
    Key(out, "ops_per_second");
    out.Double(point.operations_a_second);
    Key(out, "errors");
    out.Uint64(point.errors);
    for (size_t i = 0; i < kKinds; ++i) {
      if (!point.kinds[i].has_any) continue;
      Key(out, NameOf(static_cast<Kind>(i)));
      out.StartArray();
      for (int64_t nanos :
           {point.kinds[i].p50, point.kinds[i].p99, point.kinds[i].p999, point.kinds[i].max}) {
        out.Double(static_cast<double>(nanos) / 1e3);
      }
      out.EndArray();
    }
    out.EndObject();
  }
  out.EndArray();
}

void WritePhase(Writer& out, const PhaseResult& phase) {
  out.StartObject();
  Key(out, "phase");
  Text(out, phase.name);
  Key(out, "loop");
  Text(out, phase.loop == LoopKind::kOpen ? "open" : "closed");
  Key(out, "seconds");
  out.Double(phase.seconds);
  Key(out, "operations");
  out.Uint64(phase.total.Operations());
  Key(out, "ops_per_second");
  out.Double(phase.OperationsASecond());
  Key(out, "errors");
  out.Uint64(phase.total.Errors());
  Key(out, "not_started");
  out.Int64(phase.not_started);
  Key(out, "worst_delay_us");
  out.Double(absl::ToDoubleMicroseconds(phase.worst_delay));
  Key(out, "last_delay_us");
  out.Double(absl::ToDoubleMicroseconds(phase.last_delay));
  Key(out, "kinds");
  out.StartArray();
  for (size_t i = 0; i < kKinds; ++i) {
    if (phase.total.kinds[i].Operations() == 0) continue;
    WriteKind(out, static_cast<Kind>(i), phase.total.kinds[i], phase.loop);
  }
  out.EndArray();
  Key(out, "server_stages_us");
  out.StartObject();
  for (const StageSum& sum : phase.server_stages) {
    Key(out, sum.stage);
    out.Double(sum.seconds * 1e6 / sum.writes);
  }
  out.EndObject();
  WriteSeries(out, phase);
  out.EndObject();
}

void WriteVerdict(Writer& out, const Ledger::Verdict& verdict, Instant began) {
  Key(out, "verify");
  out.StartObject();
  Key(out, "reads");
  out.Int64(verdict.reads);
  for (size_t i = 0; i < verdict.violations.size(); ++i) {
    Key(out, NameOf(static_cast<Violation::Type>(i)));
    out.Int64(verdict.violations[i]);
  }
  Key(out, "unchecked");
  out.Int64(verdict.unchecked);
  Key(out, "first");
  out.StartArray();
  for (const Violation& violation : verdict.first) {
    out.StartObject();
    Key(out, "type");
    Text(out, NameOf(violation.type));
    Key(out, "key");
    Text(out, violation.key);
    Key(out, "record");
    out.Int64(violation.record);
    Key(out, "at_seconds");
    out.Double(absl::ToDoubleSeconds(violation.at - began));
    Key(out, "text");
    Text(out, violation.text);
    out.EndObject();
  }
  out.EndArray();
  out.EndObject();
}

}  // namespace

std::string JsonOf(const Report& report) {
  rapidjson::StringBuffer buffer;
  Writer out(buffer);
  out.StartObject();
  Key(out, "ended");
  Text(out, report.ended);
  Key(out, "not_kept");
  out.StartArray();
  for (const std::string& text : ShortfallsOf(report)) Text(out, text);
  out.EndArray();
  Key(out, "configuration");
  out.StartObject();
  for (const auto& [name, value] : report.configuration) {
    Key(out, name);
    Text(out, value);
  }
  out.EndObject();
  Key(out, "phases");
  out.StartArray();
  for (const PhaseResult& phase : report.phases) WritePhase(out, phase);
  out.EndArray();
  Key(out, "events");
  out.StartArray();
  for (const std::string& event : report.events) Text(out, event);
  out.EndArray();
  if (report.verdict) WriteVerdict(out, *report.verdict, report.began);
  Key(out, "slos");
  out.StartArray();
  for (const SloOutcome& slo : report.slos) {
    out.StartObject();
    Key(out, "slo");
    Text(out, slo.text);
    Key(out, "measured");
    Text(out, slo.measured);
    Key(out, "is_kept");
    out.Bool(slo.is_kept);
    out.EndObject();
  }
  out.EndArray();
  out.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace arion::load
