// SPDX-License-Identifier: Apache-2.0
#include "tools/load/settings.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>

#include "base/status.h"
#include "tools/load/workload/value_codec.h"

namespace arion::load {
namespace {

constexpr int64_t kThreadsMax = 1'000'000;
constexpr int64_t kOpenLoopThreads = 1000;
constexpr std::string_view kUsualRecords = "100000";
constexpr absl::Duration kUsualTime = absl::Seconds(30);

absl::StatusOr<int64_t> ReadPositive(std::optional<int64_t> flag, const Properties& properties,
                                     std::string_view key, int64_t otherwise,
                                     std::string_view flag_name) {
  int64_t number = otherwise;
  if (flag) {
    number = *flag;
  } else {
    ASSIGN_OR_RETURN(number, properties.Number(key, otherwise));
  }
  if (number < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(Text(flag ? flag_name : key), "=", number, ": 1 or more"));
  }
  return number;
}

absl::Status ReadPhases(const Flags& flags, Settings& settings) {
  if (flags.commands.size() > 1 ||
      (flags.commands.size() == 1 && flags.commands[0] != "load" && flags.commands[0] != "run")) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", absl::StrJoin(flags.commands, " "),
                     "\": the command is load, run, or none for both"));
  }
  settings.loads = flags.commands.empty() || flags.commands[0] == "load";
  settings.runs = flags.commands.empty() || flags.commands[0] == "run";
  return absl::OkStatus();
}

// What would do nothing: a load ends with its records.
absl::Status CheckSpeaksOfAPhase(const Flags& flags, const Settings& settings) {
  if (settings.runs) return absl::OkStatus();
  std::vector<std::string> given;
  if (flags.seconds) given.push_back("--seconds");
  if (flags.operations) given.push_back("--operations");
  if (flags.warm_up) given.push_back("--warmup");
  if (flags.slo) given.push_back("--slo");
  if (!flags.chaos.empty()) given.push_back("--chaos");
  if (given.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(absl::StrJoin(given, ", "), ": of the run phase, and \"load\" has none"));
}

absl::Status ReadPacing(const Flags& flags, const Properties& properties, Settings& settings) {
  ASSIGN_OR_RETURN(int64_t target, properties.Number("target", 0));
  settings.rate_text = flags.rate.value_or(target > 0 ? absl::StrCat(target) : "");
  if (!settings.rate_text.empty() || flags.rate) {
    ASSIGN_OR_RETURN(settings.pacing, Pacing::Parse(settings.rate_text));
  }
  ASSIGN_OR_RETURN(settings.threads,
                   ReadPositive(flags.threads, properties, "threadcount",
                                settings.pacing ? kOpenLoopThreads : 50, "--threads"));
  ASSIGN_OR_RETURN(settings.clients, ReadPositive(flags.clients, {}, "", 1, "--clients"));
  if (settings.threads > kThreadsMax || settings.clients > settings.threads) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads=", settings.threads, " --clients=", settings.clients,
                     ": a thread a client at least, ", kThreadsMax, " threads at most"));
  }
  return absl::OkStatus();
}

absl::Status ReadLengths(const Flags& flags, const Properties& properties, Settings& settings) {
  ASSIGN_OR_RETURN(int64_t operations, properties.Number("operationcount", 0));
  ASSIGN_OR_RETURN(int64_t seconds, properties.Number("maxexecutiontime", 0));
  ASSIGN_OR_RETURN(int64_t warm_up, properties.Number("warmuptime", 0));
  settings.warm_up = flags.warm_up.value_or(absl::Seconds(warm_up));
  if (flags.operations && *flags.operations < 1) {
    return absl::InvalidArgumentError("--operations is 1 or more");
  }
  // --seconds alone overrides a file's operationcount: who says how long means it.
  if (flags.operations) operations = *flags.operations;
  if (flags.seconds && !flags.operations) operations = 0;
  if (operations > 0) settings.operations = operations;
  absl::Duration length = flags.seconds.value_or(absl::Seconds(seconds));
  if (length < absl::ZeroDuration() || (flags.seconds && length == absl::ZeroDuration()) ||
      settings.warm_up < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("--seconds is above 0, --warmup 0 or more");
  }
  if (operations == 0 && length == absl::ZeroDuration()) length = kUsualTime;
  if (length > absl::ZeroDuration()) settings.run_time = length + settings.warm_up;
  return absl::OkStatus();
}

absl::Status CheckVerifiable(const Settings& settings) {
  if (!settings.verifies) return absl::OkStatus();
  const Workload& workload = settings.workload;
  const LengthShape& field = workload.field_length;
  int64_t least = field.form == LengthShape::Form::kConstant ? field.max : field.min;
  for (const auto& [length, weight] : field.histogram) least = std::min(least, length);
  if (workload.field_count * least < static_cast<int64_t>(kStampBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--verify needs values of ", kStampBytes, " bytes or more, for their stamp: ",
                     workload.field_count, " fields of ", least, " bytes are too short"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Settings> Settings::From(const Flags& flags, const Properties& given) {
  Properties properties;
  if (flags.workload) {
    // First, so that a file or -p may say another number.
    properties.Set("recordcount", kUsualRecords, "--workload");
    ASSIGN_OR_RETURN(std::string_view core, CoreWorkload(*flags.workload));
    RETURN_IF_ERROR(properties.Parse(core, "--workload"));
  }
  // After --workload's: what is given by hand goes over it.
  for (const auto& [key, entry] : given.entries()) properties.Set(key, entry.value, entry.origin);
  if (properties.entries().empty()) {
    return absl::InvalidArgumentError("no workload: give --workload a (to f), or -P FILE");
  }
  Settings settings;
  RETURN_IF_ERROR(ReadPhases(flags, settings));
  RETURN_IF_ERROR(CheckSpeaksOfAPhase(flags, settings));
  RETURN_IF_ERROR(ReadLengths(flags, properties, settings));
  // The workload needs it: it makes room for as many inserts (ScrambledZipfian).
  if (settings.operations != INT64_MAX) {
    properties.Set("operationcount", absl::StrCat(settings.operations), "--operations");
  }
  ASSIGN_OR_RETURN(settings.workload, Workload::From(properties));
  RETURN_IF_ERROR(ReadPacing(flags, properties, settings));
  settings.meta_servers =
      absl::StrSplit(flags.meta.value_or(properties.Text("meta_servers", "127.0.0.1:34601")), ',');
  settings.table = flags.table.value_or(properties.Text("table", "temp"));
  settings.seed = static_cast<uint64_t>(flags.seed.value_or(1));
  settings.timeout = flags.timeout.value_or(settings.timeout);
  settings.give_up = flags.give_up.value_or(settings.give_up);
  if (settings.timeout <= absl::ZeroDuration() || settings.give_up <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("--timeout and --give_up are above 0");
  }
  settings.verifies =
      flags.verify == Flags::Verify::kYes || properties.Text("dataintegrity", "") == "true";
  settings.history_file = flags.history_file.value_or("");
  if (!settings.history_file.empty()) settings.verifies = true;  // for writes that happen once
  RETURN_IF_ERROR(CheckVerifiable(settings));
  for (const std::string& text : flags.chaos) {
    ASSIGN_OR_RETURN(ChaosCommand command, ChaosCommand::Parse(text));
    settings.chaos.push_back(std::move(command));
  }
  ASSIGN_OR_RETURN(settings.slos, Slo::Parse(flags.slo.value_or("")));
  settings.json_file = flags.json_file.value_or("");
  settings.hdr_file = flags.hdr_file.value_or("");
  settings.html_file = flags.html_file.value_or("");
  return settings;
}

std::vector<std::pair<std::string, std::string>> Settings::Describe() const {
  const std::string closed = absl::StrCat("closed, ", threads, " threads");
  std::string loop = closed;
  if (pacing) {
    loop = absl::StrCat("open, ", rate_text, " operations/s, at most ", threads, " under way");
    if (!IsPaced(Phase::kLoad) && loads) absl::StrAppend(&loop, "; of the load: ", closed);
  }
  std::vector<std::string> phases;
  if (loads) phases.push_back("load");
  if (runs) phases.push_back("run");
  if (verifies) phases.push_back("check");
  std::string length;
  if (operations != INT64_MAX) length = absl::StrCat(operations, " operations ");
  if (run_time != absl::InfiniteDuration())
    absl::StrAppend(&length, "within ", absl::FormatDuration(run_time), " ");
  if (warm_up > absl::ZeroDuration())
    absl::StrAppend(&length, "(warm-up ", absl::FormatDuration(warm_up), ")");
  std::vector<std::pair<std::string, std::string>> lines = {
      {"meta servers", absl::StrJoin(meta_servers, ",")},
      {"table", table},
      {"phases", absl::StrJoin(phases, ", ")},
      {"loop", loop},
      {"clients", absl::StrCat(clients)},
      {"run", runs ? length : "none"},
      {"seed", absl::StrCat(seed)},
      {"timeout", absl::FormatDuration(timeout)},
      {"verify", verifies ? "every read, and all records once more at the end; a write without an "
                            "answer is not sent again"
                          : "no"}};
  for (const ChaosCommand& command : chaos) {
    lines.emplace_back(absl::StrCat("after ", absl::FormatDuration(command.at)), command.command);
  }
  const auto of_workload = workload.Describe();
  lines.insert(lines.end(), of_workload.begin(), of_workload.end());
  return lines;
}

}  // namespace arion::load
