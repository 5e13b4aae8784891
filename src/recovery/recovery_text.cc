// SPDX-License-Identifier: Apache-2.0
#include "recovery/recovery_text.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "base/status.h"

namespace arion {
namespace {

using Phase = RecoveryReport::Phase;
using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

// Figures are for people: two digits are enough.
std::string Seconds(absl::Duration time) {
  return absl::StrFormat("%.2f s", absl::ToDoubleSeconds(time));
}
std::string Megabytes(double bytes) { return absl::StrFormat("%.1f MB", bytes / 1e6); }

std::string Where(const RecoveryReport::Replica& replica) {
  return absl::StrCat(replica.pid.ToString(), " on ", replica.disk);
}

// What it is at, for how long, and how much of it is done.
std::string Why(const RecoveryReport::Replica& replica) {
  if (replica.step == RecoveryStep::kServing || replica.step == RecoveryStep::kFailed)
    return absl::StrCat(
        Text(RecoveryStepName(replica.step)), " after ", Seconds(replica.ended_after), ": engine ",
        Seconds(replica.in_engine), ", replay ", Seconds(replica.in_replay), ", checkpoint ",
        Seconds(replica.in_checkpoint), ", log ", Megabytes(static_cast<double>(replica.bytes)));
  std::string why =
      absl::StrCat(Text(RecoveryStepName(replica.step)), " for ", Seconds(replica.step_for));
  // Only a replay knows how much there is to do.
  if (replica.step == RecoveryStep::kReplay)
    absl::StrAppend(&why, ", ", Megabytes(static_cast<double>(replica.bytes_done)), " of ",
                    Megabytes(static_cast<double>(replica.bytes)));
  return why;
}

std::string Counts(const RecoveryReport::Totals& totals) {
  std::string text = absl::StrCat(totals.done, "/", totals.replicas, " replicas");
  if (totals.failed > 0) absl::StrAppend(&text, " (", totals.failed, " failed)");
  absl::StrAppend(&text, ", ", Megabytes(static_cast<double>(totals.bytes_done)), " of ",
                  Megabytes(static_cast<double>(totals.bytes)));
  return text;
}

void WriteText(JsonWriter& json, std::string_view text) {
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}
void WriteSeconds(JsonWriter& json, const char* name, absl::Duration time) {
  json.Key(name);
  json.Double(absl::ToDoubleSeconds(time));
}
void WriteTotals(JsonWriter& json, const RecoveryReport::Totals& totals) {
  json.Key("replicas_total");
  json.Uint64(totals.replicas);
  json.Key("replicas_done");
  json.Uint64(totals.done);
  json.Key("replicas_failed");
  json.Uint64(totals.failed);
  json.Key("replicas_under_way");
  json.Uint64(totals.under_way);
  json.Key("bytes_total");
  json.Uint64(totals.bytes);
  json.Key("bytes_done");
  json.Uint64(totals.bytes_done);
}
void WriteReplica(JsonWriter& json, const RecoveryReport::Replica& replica) {
  json.StartObject();
  json.Key("partition");
  WriteText(json, replica.pid.ToString());
  json.Key("disk");
  WriteText(json, replica.disk);
  json.Key("step");
  WriteText(json, RecoveryStepName(replica.step));
  WriteSeconds(json, "step_seconds", replica.step_for);
  json.Key("bytes_total");
  json.Uint64(replica.bytes);
  json.Key("bytes_done");
  json.Uint64(replica.bytes_done);
  WriteSeconds(json, "engine_seconds", replica.in_engine);
  WriteSeconds(json, "replay_seconds", replica.in_replay);
  WriteSeconds(json, "checkpoint_seconds", replica.in_checkpoint);
  WriteSeconds(json, "ended_after_seconds", replica.ended_after);
  json.Key("why");
  WriteText(json, Why(replica));
  json.EndObject();
}

}  // namespace

std::string_view RecoveryPhaseName(Phase phase) {
  switch (phase) {
    case Phase::kNotStarted:
      return "not_started";
    case Phase::kListing:
      return "listing";
    case Phase::kRecovering:
      return "recovering";
    case Phase::kDone:
      return "done";
  }
  return "unknown";
}

std::string_view RecoveryStepName(RecoveryStep step) {
  switch (step) {
    case RecoveryStep::kWaiting:
      return "waiting";
    case RecoveryStep::kEngine:
      return "opening_engine";
    case RecoveryStep::kReplay:
      return "replaying";
    case RecoveryStep::kCheckpoint:
      return "writing_checkpoint";
    case RecoveryStep::kServing:
      return "serving";
    case RecoveryStep::kFailed:
      return "failed";
  }
  return "unknown";
}

std::string RecoveryLine(const RecoveryReport& report) {
  std::string line = absl::StrCat("recovery: ", Text(RecoveryPhaseName(report.phase)));
  // Its numbers mean nothing yet.
  if (report.phase == Phase::kNotStarted) return line;
  absl::StrAppend(&line, ", ", Counts(report.all), ", ", Seconds(report.elapsed), ", ",
                  Megabytes(report.bytes_per_second), "/s");
  if (report.phase == Phase::kDone) return line;
  absl::StrAppend(&line, ", remaining ",
                  report.remaining ? Seconds(*report.remaining) : std::string("unknown"));
  if (report.slowest)
    absl::StrAppend(&line, ", slowest ", Where(*report.slowest), ": ", Why(*report.slowest));
  return line;
}

std::string RecoverySummary(const RecoveryReport& report) {
  // Only a finished start has a summary.
  if (report.phase != Phase::kDone || report.all.replicas == 0) return "";
  std::string text =
      absl::StrCat("recovery took ", Seconds(report.elapsed), ", first replica served after ",
                   Seconds(report.first_served_after), "; time of all replicas: engines ",
                   Seconds(report.in_engine), ", replay ", Seconds(report.in_replay),
                   ", checkpoints ", Seconds(report.in_checkpoint));
  if (!report.slowest) return text;
  const RecoveryReport::Replica& last = *report.slowest;
  absl::StrAppend(&text, "; the last was ", Where(last), ", ", Why(last));
  // Time of all replicas together. It exceeds the elapsed time where several were opened at once.
  const absl::Duration busy = report.in_engine + report.in_replay + report.in_checkpoint;
  // Advice only where one setting would have helped: one long log, or too few lanes.
  if (last.took() * 2 > report.elapsed)
    absl::StrAppend(&text,
                    "; that one replica took most of it: a smaller replay_seconds_max"
                    " keeps logs shorter");
  else if (busy > report.elapsed)
    absl::StrAppend(&text, absl::StrFormat("; %.1f replicas at a time: more"
                                           " recovery_threads_per_disk, if CPU and disk have room,"
                                           " or a smaller replay_seconds_max",
                                           absl::FDivDuration(busy, report.elapsed)));
  return text;
}

std::string RecoveryText(const RecoveryReport& report) {
  std::string text = RecoveryLine(report) + "\n";
  for (const RecoveryReport::Disk& disk : report.disks) {
    absl::StrAppend(&text, "disk ", disk.tag, ": ",
                    disk.is_listed ? Counts(disk) : std::string("being listed"), ", ",
                    disk.under_way, " under way");
    if (disk.ended_after > absl::ZeroDuration())
      absl::StrAppend(&text, ", done after ", Seconds(disk.ended_after));
    text += "\n";
  }
  for (const RecoveryReport::Replica& replica : report.under_way)
    absl::StrAppend(&text, "under way: ", Where(replica), ": ", Why(replica), "\n");
  const std::string summary = RecoverySummary(report);
  if (!summary.empty()) absl::StrAppend(&text, summary, "\n");
  return text;
}

std::string RecoveryJson(const RecoveryReport& report) {
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  json.StartObject();
  json.Key("phase");
  WriteText(json, RecoveryPhaseName(report.phase));
  WriteTotals(json, report.all);
  WriteSeconds(json, "elapsed_seconds", report.elapsed);
  json.Key("bytes_per_second");
  json.Double(report.bytes_per_second);
  json.Key("remaining_seconds");
  // null: not known.
  if (report.remaining)
    json.Double(absl::ToDoubleSeconds(*report.remaining));
  else
    json.Null();
  WriteSeconds(json, "first_served_after_seconds", report.first_served_after);
  WriteSeconds(json, "engine_seconds", report.in_engine);
  WriteSeconds(json, "replay_seconds", report.in_replay);
  WriteSeconds(json, "checkpoint_seconds", report.in_checkpoint);
  json.Key("disks");
  json.StartArray();
  for (const RecoveryReport::Disk& disk : report.disks) {
    json.StartObject();
    json.Key("tag");
    WriteText(json, disk.tag);
    json.Key("listed");
    json.Bool(disk.is_listed);
    WriteTotals(json, disk);
    WriteSeconds(json, "ended_after_seconds", disk.ended_after);
    json.EndObject();
  }
  json.EndArray();
  json.Key("under_way");
  json.StartArray();
  for (const RecoveryReport::Replica& replica : report.under_way) WriteReplica(json, replica);
  json.EndArray();
  json.Key("slowest");
  if (report.slowest)
    WriteReplica(json, *report.slowest);
  else
    json.Null();
  json.Key("summary");
  WriteText(json, RecoverySummary(report));
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace arion
