// SPDX-License-Identifier: Apache-2.0
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "base/status.h"
#include "tools/load/report/report.h"
#include "tools/load/report/report_text.h"
#include "tools/load/report/shortfalls.h"

namespace arion::load {
namespace {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

void PutText(JsonWriter& out, std::string_view text) {
  out.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void PutKey(JsonWriter& out, std::string_view key) {
  out.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
}

void WriteLatencies(JsonWriter& out, std::string_view key, const LatencyHistogram& latencies) {
  PutKey(out, key);
  out.StartObject();
  PutKey(out, "avg");
  out.Double(latencies.Mean() / 1e3);
  PutKey(out, "min");
  out.Double(static_cast<double>(latencies.min()) / 1e3);
  for (double percentile : kPercentiles) {
    PutKey(out, absl::StrFormat("p%g", percentile));
    out.Double(static_cast<double>(latencies.Percentile(percentile)) / 1e3);
  }
  PutKey(out, "max");
  out.Double(static_cast<double>(latencies.max()) / 1e3);
  out.EndObject();
}

void WriteKind(JsonWriter& out, Kind kind, const KindTally& tally, LoopKind loop) {
  out.StartObject();
  PutKey(out, "operation");
  PutText(out, NameOf(kind));
  PutKey(out, "count");
  out.Uint64(tally.Operations());
  PutKey(out, "succeeded");
  out.Uint64(tally.service.count());
  PutKey(out, "not_found");
  out.Uint64(tally.not_found);
  PutKey(out, "errors");
  out.StartObject();
  for (const auto& [code, count] : tally.errors) {
    PutKey(out, CodeText(code));
    out.Uint64(count);
  }
  out.EndObject();
  WriteLatencies(out, "service_us", tally.service);
  if (loop == LoopKind::kOpen) WriteLatencies(out, "intended_us", tally.intended);
  out.EndObject();
}

void WriteSeries(JsonWriter& out, const PhaseResult& phase) {
  PutKey(out, "series");
  out.StartArray();
  for (const SeriesPoint& point : phase.series) {
    out.StartObject();
    PutKey(out, "seconds");
    out.Double(point.at_seconds);
    PutKey(out, "ops_per_second");
    out.Double(point.operations_a_second);
    PutKey(out, "errors");
    out.Uint64(point.errors);
    for (size_t i = 0; i < kKinds; ++i) {
      if (!point.kinds[i].has_any) continue;
      PutKey(out, NameOf(static_cast<Kind>(i)));
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

void WritePhase(JsonWriter& out, const PhaseResult& phase) {
  out.StartObject();
  PutKey(out, "phase");
  PutText(out, phase.name);
  PutKey(out, "loop");
  PutText(out, phase.loop == LoopKind::kOpen ? "open" : "closed");
  PutKey(out, "seconds");
  out.Double(phase.seconds);
  PutKey(out, "operations");
  out.Uint64(phase.total.Operations());
  PutKey(out, "ops_per_second");
  out.Double(phase.OperationsASecond());
  PutKey(out, "errors");
  out.Uint64(phase.total.Errors());
  PutKey(out, "not_started");
  out.Int64(phase.not_started);
  PutKey(out, "worst_delay_us");
  out.Double(absl::ToDoubleMicroseconds(phase.worst_delay));
  PutKey(out, "last_delay_us");
  out.Double(absl::ToDoubleMicroseconds(phase.last_delay));
  PutKey(out, "kinds");
  out.StartArray();
  for (size_t i = 0; i < kKinds; ++i) {
    if (phase.total.kinds[i].Operations() == 0) continue;
    WriteKind(out, static_cast<Kind>(i), phase.total.kinds[i], phase.loop);
  }
  out.EndArray();
  // The mean of each stage by write, as the servers measured it.
  PutKey(out, "server_stages_us");
  out.StartObject();
  for (const StageSum& sum : phase.server_stages) {
    PutKey(out, sum.stage);
    out.Double(sum.seconds * 1e6 / sum.writes);
  }
  out.EndObject();
  WriteSeries(out, phase);
  out.EndObject();
}

void WriteVerdict(JsonWriter& out, const Ledger::Verdict& verdict, Instant began) {
  PutKey(out, "verify");
  out.StartObject();
  PutKey(out, "reads");
  out.Int64(verdict.reads);
  for (size_t i = 0; i < verdict.violations.size(); ++i) {
    PutKey(out, NameOf(static_cast<Violation::Type>(i)));
    out.Int64(verdict.violations[i]);
  }
  PutKey(out, "unchecked");
  out.Int64(verdict.unchecked);
  PutKey(out, "first");
  out.StartArray();
  for (const Violation& violation : verdict.first) {
    out.StartObject();
    PutKey(out, "type");
    PutText(out, NameOf(violation.type));
    PutKey(out, "key");
    PutText(out, violation.key);
    PutKey(out, "record");
    out.Int64(violation.record);
    PutKey(out, "at_seconds");
    out.Double(absl::ToDoubleSeconds(violation.at - began));
    PutKey(out, "text");
    PutText(out, violation.text);
    out.EndObject();
  }
  out.EndArray();
  out.EndObject();
}

}  // namespace

std::string JsonOf(const Report& report) {
  rapidjson::StringBuffer buffer;
  JsonWriter out(buffer);
  out.StartObject();
  PutKey(out, "ended");
  PutText(out, report.ended);
  PutKey(out, "not_kept");
  out.StartArray();
  for (const std::string& text : ShortfallsOf(report)) PutText(out, text);
  out.EndArray();
  PutKey(out, "configuration");
  out.StartObject();
  for (const auto& [name, value] : report.configuration) {
    PutKey(out, name);
    PutText(out, value);
  }
  out.EndObject();
  PutKey(out, "phases");
  out.StartArray();
  for (const PhaseResult& phase : report.phases) WritePhase(out, phase);
  out.EndArray();
  PutKey(out, "events");
  out.StartArray();
  for (const std::string& event : report.events) PutText(out, event);
  out.EndArray();
  if (report.verdict) WriteVerdict(out, *report.verdict, report.began);
  PutKey(out, "slos");
  out.StartArray();
  for (const SloOutcome& slo : report.slos) {
    out.StartObject();
    PutKey(out, "slo");
    PutText(out, slo.text);
    PutKey(out, "measured");
    PutText(out, slo.measured);
    PutKey(out, "is_kept");
    out.Bool(slo.is_kept);
    out.EndObject();
  }
  out.EndArray();
  out.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace arion::load
