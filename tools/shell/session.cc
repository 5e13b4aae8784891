// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/session.h"

#include <algorithm>
#include <cstdio>

#include "base/nearest_name.h"
#include "base/status.h"
#include "messages/table_environments.h"

namespace arion::shell {
namespace {

std::vector<Command> AllCommands() {
  std::vector<Command> all;
  for (auto commands :
       {ClusterCommands, NodeCommands, TableCommands, EnvironmentCommands, PlanCommands,
        RecoveryCommands, RecordCommands, ServerPageCommands, SessionCommands}) {
    for (Command& command : commands()) all.push_back(std::move(command));
  }
  return all;
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

ExitCode Session::RunOne(const Words& words) {
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
  absl::StatusOr<Outcome> outcome = command->run(*this, Words(words.begin() + 1, words.end()));
  if (!outcome.ok()) {
    if (absl::IsInvalidArgument(outcome.status())) {
      return Fail(ExitCode::kUsage,
                  Annotate(outcome.status(), absl::StrCat("usage: ", Text(command->name), " ",
                                                          Text(command->usage))));
    }
    bool no_connection = IsConnectionError(outcome.status()) && !cluster_->Info().ok();
    return Fail(no_connection ? ExitCode::kCannotConnect : ExitCode::kFailed, outcome.status());
  }
  std::string printed =
      form_ == OutputForm::kJson ? outcome->answer.ToJson() : outcome->answer.ToText();
  fwrite(printed.data(), 1, printed.size(), stdout);
  fflush(stdout);
  return outcome->health == Health::kGood ? ExitCode::kOk : ExitCode::kUnhealthy;
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
