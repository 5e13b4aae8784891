// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/session.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/nearest_name.h"
#include "base/status.h"
#include "messages/table_environments.h"
#include "tools/shell/progress.h"

namespace arion::shell {
namespace {

std::vector<Command> AllCommands() {
  std::vector<Command> all;
  for (auto commands :
       {ClusterCommands, NodeCommands, TableCommands, EnvironmentCommands, PlanCommands,
        RecoveryCommands, RecordCommands, ServerPageCommands, LoadCommands, StatusCommands,
        DrainCommands, ServerCommands, CompactionCommands, SessionCommands}) {
    for (Command& command : commands()) all.push_back(std::move(command));
  }
  return all;
}

// They change nothing: their answers may go to a file, be JSON, be asked for again and again.
bool OnlyShows(std::string_view command) {
  static constexpr std::string_view kShowing[] = {"cluster_info",
                                                  "cluster-info",
                                                  "table-partitions",
                                                  "nodes",
                                                  "ls",
                                                  "list-tables",
                                                  "app",
                                                  "status",
                                                  "jobs",
                                                  "disks",
                                                  "slow",
                                                  "hotkeys",
                                                  "trace",
                                                  "recovery",
                                                  "stuck",
                                                  "get_app_envs",
                                                  "get_replica_count",
                                                  "get_meta_level",
                                                  "count_data",
                                                  "help",
                                                  "server_info",
                                                  "server-info",
                                                  "disk-capacity",
                                                  "disk-replica"};
  return std::find(std::begin(kShowing), std::end(kShowing), command) != std::end(kShowing);
}

// What begins with '-' in its usage.
std::vector<std::string> OptionsOf(const Command& command) {
  std::vector<std::string> options;
  for (const auto word :
       absl::StrSplit(Text(command.usage), absl::ByAnyChar(" []|."), absl::SkipEmpty()))
    if (word[0] == '-') options.emplace_back(word);
  if (OnlyShows(command.name)) options.insert(options.end(), {"-j", "-o", "--watch"});
  return options;
}

// A screen of its own, on which lines that differ from the last time stand out.
std::string Redrawn(const std::string& text, std::vector<std::string>* last) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  std::string screen = "\x1b[H\x1b[2J";
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool is_new = !last->empty() && (i >= last->size() || (*last)[i] != lines[i]);
    absl::StrAppend(&screen, is_new ? "\x1b[7m" : "", lines[i], is_new ? "\x1b[0m" : "",
                    i + 1 < lines.size() ? "\n" : "");
  }
  *last = std::move(lines);
  return screen;
}

bool IsConnectionError(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status);
}

}  // namespace

absl::Status UsageError(std::string_view what) { return absl::InvalidArgumentError(Text(what)); }

Session::Session(Cluster* cluster, OutputForm form, Confirm confirm)
    : cluster_(cluster), form_(form), confirm_(std::move(confirm)), commands_(AllCommands()) {}

ExitCode Session::Run(std::string_view text) {
  absl::StatusOr<std::vector<Words>> commands = SplitCommands(text);
  if (!commands.ok()) return Fail(ExitCode::kUsage, commands.status());
  ExitCode worst = ExitCode::kOk;
  for (const Words& words : *commands) {
    ExitCode code = RunOne(words);
    if (code == ExitCode::kUnhealthy) worst = code;
    if (code != ExitCode::kOk && code != ExitCode::kUnhealthy) return code;
    if (ended_) break;
  }
  return worst;
}

absl::StatusOr<Session::Showing> Session::TakeShowing(Words* words) const {
  Showing showing{.form = form_};
  if (!OnlyShows((*words)[0])) return showing;
  Words kept;
  for (size_t i = 0; i < words->size(); ++i) {
    const std::string& word = (*words)[i];
    if (word == "-j") {
      showing.form = OutputForm::kJson;
    } else if (word == "-o") {
      if (i + 1 == words->size()) return UsageError("-o needs the file to write to");
      showing.file = (*words)[++i];
    } else if (word == "--watch") {
      double seconds = 2;
      if (i + 1 < words->size() && absl::SimpleAtod((*words)[i + 1], &seconds)) ++i;
      if (!(seconds >= 0.1 && seconds <= 3600))
        return UsageError("--watch takes seconds, 0.1 to 3600");
      showing.watch = absl::Seconds(seconds);
    } else {
      kept.push_back(word);
    }
  }
  *words = std::move(kept);
  return showing;
}

ExitCode Session::RunOne(Words words) {
  auto command = std::find_if(commands_.begin(), commands_.end(),
                              [&](const Command& c) { return c.name == words[0]; });
  if (command == commands_.end()) {
    std::vector<std::string_view> names;
    for (const Command& c : commands_) names.push_back(c.name);
    std::string_view near = NearestName(words[0], names);
    return Fail(
        ExitCode::kUsage,
        UsageError(absl::StrCat(
            "there is no command ", Escape(words[0]), "; ",
            near.empty() ? "help lists them" : absl::StrCat("did you mean ", Text(near), "?"))));
  }
  const absl::StatusOr<Showing> showing = TakeShowing(&words);
  if (!showing.ok()) return Fail(ExitCode::kUsage, showing.status());
  const Words arguments(words.begin() + 1, words.end());
  return showing->watch ? Watch(*command, arguments, *showing)
                        : RunOnce(*command, arguments, *showing);
}

ExitCode Session::RunOnce(const Command& command, const Words& arguments, const Showing& showing) {
  absl::StatusOr<Outcome> outcome = command.run(*this, arguments);
  if (!outcome.ok()) {
    if (absl::IsInvalidArgument(outcome.status())) {
      return Fail(ExitCode::kUsage,
                  Annotate(outcome.status(),
                           absl::StrCat("usage: ", Text(command.name), " ", Text(command.usage))));
    }
    bool no_connection = IsConnectionError(outcome.status()) && !cluster_->Info().ok();
    return Fail(no_connection ? ExitCode::kCannotConnect : ExitCode::kFailed, outcome.status());
  }
  if (absl::Status shown = Show(outcome->answer, showing); !shown.ok())
    return Fail(ExitCode::kFailed, shown);
  return outcome->health == Health::kGood ? ExitCode::kOk : ExitCode::kUnhealthy;
}

absl::Status Session::Show(const Answer& answer, const Showing& showing) {
  const std::string printed = showing.form == OutputForm::kJson ? answer.ToJson() : answer.ToText();
  if (!showing.file.empty()) {
    std::ofstream file(showing.file, std::ios::binary | std::ios::trunc);
    if (!(file << printed).flush())
      return absl::FailedPreconditionError(absl::StrCat("can't write ", showing.file));
    return absl::OkStatus();
  }
  const bool redraws =
      showing.watch && showing.form == OutputForm::kText && isatty(STDOUT_FILENO) != 0;
  const std::string text = redraws ? Redrawn(printed, &watched_lines_) : printed;
  fwrite(text.data(), 1, text.size(), stdout);
  fflush(stdout);
  return absl::OkStatus();
}

// Until Ctrl-C, or a command that fails otherwise than by no answer.
ExitCode Session::Watch(const Command& command, const Words& arguments, const Showing& showing) {
  const Interrupts interrupts;
  watched_lines_.clear();
  ExitCode code = ExitCode::kOk;
  while (!Interrupts::IsInterrupted()) {
    code = RunOnce(command, arguments, showing);
    if (code == ExitCode::kUsage) return code;
    Interrupts::Sleep(*showing.watch);
  }
  return code;
}

ExitCode Session::Fail(ExitCode code, const absl::Status& status) {
  std::string message(status.message());
  if (form_ == OutputForm::kJson) {
    Answer answer;
    answer.Add("error", message).Add("exit_code", static_cast<int64_t>(code));
    std::string printed = answer.ToJson();
    fwrite(printed.data(), 1, printed.size(), stdout);
    fflush(stdout);
  } else {
    fprintf(stderr, "error: %s\n", message.c_str());
  }
  return code;
}

absl::StatusOr<std::shared_ptr<Table>> Session::CurrentTable() {
  if (table_name_.empty())
    return absl::FailedPreconditionError("no table in use; say: use NAME (ls lists them)");
  return cluster_->OpenTable(table_name_);
}

std::string Session::HealthLine() {
  healthy_ = false;
  auto info = cluster_->Info();
  if (!info.ok()) {
    std::string metas;
    for (Endpoint meta : cluster_->meta_servers())
      absl::StrAppend(&metas, metas.empty() ? "" : ", ", meta.ToString());
    return absl::StrCat("cannot connect to ", metas, ": ", info.status().message());
  }
  for (const auto& [key, value] : *info) {
    if (key == "cluster_name" && !value.empty()) cluster_name_ = value;
  }
  auto tables = cluster_->Tables();
  if (!tables.ok()) return std::string(tables.status().message());
  auto nodes = cluster_->Nodes(*tables);
  if (!nodes.ok()) return std::string(nodes.status().message());
  auto alive =
      std::count_if(nodes->begin(), nodes->end(), [](const NodeState& node) { return node.alive; });
  int partitions = 0;
  int healthy = 0;
  for (const TableState& table : *tables) {
    partitions += table.info.partition_count;
    healthy += table.HealthyPartitions();
  }
  healthy_ = healthy == partitions && alive == static_cast<int64_t>(nodes->size());
  return absl::StrCat("connected: ", cluster_name_, ", ", cluster_->meta_servers().size(),
                      " meta, ", alive, "/", nodes->size(), " replicas alive, ", healthy, "/",
                      partitions, " partitions healthy");
}

std::string Session::Prompt() const {
  return absl::StrCat(cluster_name_, table_name_.empty() ? "" : "/", table_name_,
                      healthy_ ? "> " : " !> ");
}

std::vector<std::string> Session::CompletionsOf(Command::Completes completes, const Words& before) {
  std::vector<std::string> found;
  switch (completes) {
    case Command::Completes::kTables:
      if (auto tables = cluster_->Tables(); tables.ok())
        for (const TableState& table : *tables) found.push_back(table.info.app_name);
      break;
    case Command::Completes::kNodes:
      if (auto nodes = cluster_->Nodes({}); nodes.ok())
        for (const NodeState& node : *nodes) found.push_back(node.address.ToString());
      break;
    case Command::Completes::kPartitions:
      if (auto tables = cluster_->Tables(); tables.ok())
        for (const TableState& table : *tables)
          for (const PartitionConfiguration& partition : table.partitions)
            found.push_back(partition.pid.ToString());
      break;
    case Command::Completes::kLevels:
      found = {"stopped", "blind", "freezed", "steady", "lively"};
      break;
    case Command::Completes::kEnvironments:
      // After a key stands its value, of which one is shown.
      if (std::string_view example = ExampleOf(before.back()); !example.empty())
        found.emplace_back(example);
      else
        for (std::string_view key : ActingTableEnvironments()) found.emplace_back(key);
      break;
    case Command::Completes::kNothing:
      break;
  }
  return found;
}

std::vector<std::string> Session::Complete(const std::string& line) {
  size_t command_start = line.find_last_of(';') + 1;
  command_start = std::min(line.find_first_not_of(' ', command_start), line.size());
  size_t word_start = std::max(line.find_last_of(" ;") + 1, command_start);
  std::string word = line.substr(word_start);
  std::vector<std::string> candidates;
  if (word_start == command_start) {
    for (const Command& command : commands_) candidates.emplace_back(command.name);
  } else {
    auto words = SplitCommands(line.substr(command_start, word_start - command_start));
    for (const Command& command : commands_) {
      if (!words.ok() || words->empty() || command.name != (*words)[0][0]) continue;
      if (word.starts_with("-"))
        candidates = OptionsOf(command);
      else if ((*words)[0].back() == "-g")
        candidates = CompletionsOf(Command::Completes::kPartitions, (*words)[0]);
      else
        candidates = CompletionsOf(command.completes, (*words)[0]);
    }
  }
  std::vector<std::string> matches;
  for (const std::string& candidate : candidates) {
    if (candidate.compare(0, word.size(), word) == 0) matches.push_back(candidate);
  }
  std::sort(matches.begin(), matches.end());
  return matches;
}

}  // namespace arion::shell
