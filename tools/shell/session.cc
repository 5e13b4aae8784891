// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/session.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/nearest_name.h"
#include "base/program_output.h"
#include "base/status.h"
#include "messages/table_environments.h"
#include "tools/shell/commands/index_commands.h"
#include "tools/shell/commands/split_commands.h"
#include "tools/shell/older_names.h"
#include "tools/shell/progress.h"
#include "tools/shell/remote_server.h"

namespace arion::shell {
namespace {

std::vector<Command> AllCommands() {
  std::vector<Command> all;
  for (auto commands :
       {ClusterCommands,    MetaCommands,        NodeCommands,         JoinCommands,
        TableCommands,      EnvironmentCommands, IndexCommands,        PlanCommands,
        RecoveryCommands,   RecordCommands,      ServerPageCommands,   LoadCommands,
        StatusCommands,     DrainCommands,       RestartCommands,      ServerCommands,
        CompactionCommands, SplitCommands,       VerificationCommands, StatisticsCommands,
        TableCopyCommands,  StoredBytesCommands, DuplicationCommands,  DuplicateCommands,
        SessionCommands}) {
    for (Command& command : commands()) all.push_back(std::move(command));
  }
  return all;
}

// They change nothing: their answers may go to a file, be JSON, be asked for again and again.
struct ShowingCommand {
  std::string_view name;
  size_t keys = 0;  // the first words, which are taken as they are, whatever they begin with
  enum class Names { kNo, kYes } names = Names::kNo;  // -r: servers' names in place of addresses
  std::string_view unless = {};  // with this word behind it, it changes something
};
const ShowingCommand* FindShowing(std::string_view command) {
  constexpr auto kNames = ShowingCommand::Names::kYes;
  static constexpr ShowingCommand kShowing[] = {{"cluster_info", 0, kNames},
                                                {"cluster-info", 0, kNames},
                                                {"meta_leader", 0, kNames, "hand-over"},
                                                {"table-partitions", 0, kNames},
                                                {"nodes", 0, kNames},
                                                {"node-stat", 0, kNames},
                                                {"ls"},
                                                {"list-tables"},
                                                {"app", 0, kNames},
                                                {"app_stat"},
                                                {"app_disk", 0, kNames},
                                                {"table-stat"},
                                                {"partition-stat"},
                                                {"status"},
                                                {"jobs"},
                                                {"disks", 0, kNames},
                                                {"slow"},
                                                {"hotkeys"},
                                                {"trace", 2},
                                                {"recovery"},
                                                {"stuck"},
                                                {"pools"},
                                                {"shared_log"},
                                                {"data-version"},
                                                {"rdb_key_str2hex", 2},
                                                {"rdb_key_hex2str"},
                                                {"rdb_value_hex2str"},
                                                {"get_app_envs"},
                                                {"indexes"},
                                                {"split query"},
                                                {"partition-split query"},
                                                {"query_dup"},
                                                {"duplication verify"},
                                                {"find"},
                                                {"get_replica_count"},
                                                {"get_meta_level"},
                                                {"count_data"},
                                                {"full_scan"},
                                                {"hash_scan", 3},
                                                {"multi_get_range", 3},
                                                {"multi_get_sortkeys", 1},
                                                {"help"},
                                                {"version"},
                                                {"server_info", 0, kNames},
                                                {"server-info", 0, kNames},
                                                {"server_stat", 0, kNames},
                                                {"disk-capacity", 0, kNames},
                                                {"disk-replica", 0, kNames}};
  const auto* const found =
      std::find_if(std::begin(kShowing), std::end(kShowing),
                   [&](const ShowingCommand& showing) { return showing.name == command; });
  return found == std::end(kShowing) ? nullptr : found;
}

// A server's host by its name, where it has one.
std::string NamedServer(const std::string& text) {
  const std::optional<Endpoint> server = Endpoint::Parse(text);
  if (!server || !server->IsValid()) return text;
  sockaddr_in address{.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(server->ip);
  char name[NI_MAXHOST];
  if (getnameinfo(reinterpret_cast<sockaddr*>(&address), sizeof(address), name, sizeof(name),
                  nullptr, 0, NI_NAMEREQD) != 0)
    return text;
  return absl::StrCat(name, ":", server->port);
}

// What begins with '-' in its usage.
std::vector<std::string> OptionsOf(const Command& command) {
  std::vector<std::string> options;
  for (const auto word :
       absl::StrSplit(Text(command.usage), absl::ByAnyChar(" []|."), absl::SkipEmpty()))
    if (word[0] == '-') options.emplace_back(word);
  if (const ShowingCommand* showing = FindShowing(command.name)) {
    options.insert(options.end(), {"-j", "-o", "--watch"});
    if (showing->names == ShowingCommand::Names::kYes) options.emplace_back("-r");
  }
  return options;
}

// What stands behind `last`: an option's value, by what the usage calls it, or the command's own.
Command::Completes CompletesNext(const Command& command, const std::string& last) {
  using Completes = Command::Completes;
  static constexpr std::pair<std::string_view, Completes> kValues[] = {
      {"PARTITION", Completes::kPartitions},
      {"SERVER", Completes::kNodes},
      {"NODE", Completes::kNodes},
      {"FROM", Completes::kNodes},
      {"TO", Completes::kNodes},
      {"TARGET", Completes::kNodes},
      {"TABLE", Completes::kTables}};
  const std::vector<std::string> usage =
      absl::StrSplit(Text(command.usage), absl::ByAnyChar(" []|,."), absl::SkipEmpty());
  for (size_t i = 0; last.starts_with("-") && i + 1 < usage.size(); ++i)
    for (const auto& [value, completes] : kValues)
      if (usage[i] == last && usage[i + 1] == value) return completes;
  return command.completes;
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
    // That something is not well is an answer: what follows is still run.
    if (code == ExitCode::kUnhealthy) worst = code;
    if (code != ExitCode::kOk && code != ExitCode::kUnhealthy) return code;
    if (ended_) break;
  }
  return worst;
}

absl::StatusOr<Session::Showing> Session::TakeShowing(Words* words) const {
  Showing showing{.form = form_};
  const ShowingCommand* command = FindShowing((*words)[0]);
  // One of those that a command's first word tells apart.
  if (command == nullptr && words->size() > 1)
    command = FindShowing(absl::StrCat((*words)[0], " ", (*words)[1]));
  if (command == nullptr) return showing;
  if (words->size() > 1 && (*words)[1] == command->unless) return showing;
  Words kept;
  for (size_t i = 0; i < words->size(); ++i) {
    // The command's own name stands at 0, and is taken as it is too.
    const bool is_key = i <= command->keys;
    const std::string_view word = is_key ? (*words)[i] : ShortOption((*words)[i]);
    if (is_key) {
      kept.push_back((*words)[i]);
    } else if (word == "-j") {
      showing.form = OutputForm::kJson;
    } else if (word == "-o") {
      if (i + 1 == words->size() || (*words)[i + 1].empty())
        return UsageError("-o needs the file to write to");
      showing.file = (*words)[++i];
    } else if (word == "--watch") {
      double seconds;
      if (i + 1 < words->size() && absl::SimpleAtod((*words)[i + 1], &seconds))
        ++i;
      else
        seconds = 2;  // SimpleAtod has written to it
      if (!(seconds >= 0.1 && seconds <= 3600))
        return UsageError("--watch takes seconds, 0.1 to 3600");
      showing.watch = absl::Seconds(seconds);
    } else if (word == "-r" && command->names == ShowingCommand::Names::kYes) {
      showing.resolves = true;
    } else {
      kept.push_back((*words)[i]);
    }
  }
  *words = std::move(kept);
  return showing;
}

ExitCode Session::RunOne(Words words) {
  auto command = std::find_if(commands_.begin(), commands_.end(),
                              [&](const Command& c) { return c.name == words[0]; });
  if (command == commands_.end()) {
    // A name of the older tools deserves the reason, not a guess at a misspelling.
    if (const std::string_view why = WhyAbsent(words[0]); !why.empty())
      return Fail(ExitCode::kFailed, absl::UnimplementedError(absl::StrCat(
                                         "there is no command ", words[0], ": ", Text(why))));
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
    // A server that does not answer is a failure; only a meta server that does not is no
    // connection. So it is asked.
    bool no_connection = IsConnectionError(outcome.status()) && !cluster_->Info().ok();
    return Fail(no_connection ? ExitCode::kCannotConnect : ExitCode::kFailed, outcome.status());
  }
  if (showing.resolves) outcome->answer.Change(NamedServer);
  if (absl::Status shown = Show(outcome->answer, showing); !shown.ok())
    return Fail(ExitCode::kFailed, shown);
  if (!outcome->part.empty()) fprintf(stderr, "note: %s\n", outcome->part.c_str());
  if (outcome->health == Health::kNotDone) return ExitCode::kFailed;
  return outcome->health == Health::kGood ? ExitCode::kOk : ExitCode::kUnhealthy;
}

absl::Status Session::Show(const Answer& answer, const Showing& showing) {
  const std::string printed = showing.form == OutputForm::kJson ? answer.ToJson() : answer.ToText();
  if (!showing.file.empty()) return WriteOutputFile(showing.file, printed);
  const bool redraws =
      showing.watch && showing.form == OutputForm::kText && isatty(STDOUT_FILENO) != 0;
  return PrintOut(redraws ? Redrawn(printed, &watched_lines_) : printed);
}

// Until Ctrl-C, a command whose words are wrong, or standard output takes no more.
ExitCode Session::Watch(const Command& command, const Words& arguments, const Showing& showing) {
  const Interrupts interrupts;
  watched_lines_.clear();
  ExitCode code = ExitCode::kOk;
  while (!Interrupts::IsInterrupted()) {
    code = RunOnce(command, arguments, showing);
    // A failure may pass, as that of a server; wrong words do not.
    if (code == ExitCode::kUsage || ferror(stdout) != 0) return code;
    Interrupts::Sleep(*showing.watch);
  }
  return code;
}

ExitCode Session::Fail(ExitCode code, const absl::Status& status) {
  std::string message(status.message());
  if (form_ == OutputForm::kJson) {
    Answer answer;
    answer.Add("error", message).Add("exit_code", static_cast<int64_t>(code));
    // Where standard output takes no more, the error still goes to standard error.
    if (PrintOut(answer.ToJson()).ok()) return code;
  }
  fprintf(stderr, "error: %s\n", message.c_str());
  return code;
}

absl::Status Session::ShowPlan(const Answer& plan) const {
  return PrintOut(form_ == OutputForm::kJson ? plan.ToJson() : plan.ToText());
}

std::string Session::Shown(std::string_view bytes) const {
  return escapes_all_ ? EscapeAll(bytes) : Escape(bytes);
}

absl::StatusOr<std::shared_ptr<Table>> Session::CurrentTable() {
  if (table_name_.empty())
    return absl::FailedPreconditionError("no table in use; say: use NAME (ls lists them)");
  return cluster_->OpenTable(table_name_);
}

absl::StatusOr<std::shared_ptr<Table>> Session::ReopenTable() {
  cluster_->ForgetOpenTable(table_name_);
  return CurrentTable();
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
    case Command::Completes::kSettings:
      found = SettingNames(*cluster_, before.back() == "set" ? Which::kChangeable : Which::kAll);
      if (before.size() == 1) found.insert(found.end(), {"set", "meta", "replica"});
      break;
    case Command::Completes::kRemoteCommands:
      found = RemoteCommandNames(*cluster_);
      break;
    case Command::Completes::kIndexes:
      if (before.size() == 1) return CompletionsOf(Command::Completes::kTables, before);
      if (before.size() == 2) found = IndexNames(*cluster_, before.back());
      break;
    case Command::Completes::kSplit:
      if (before.size() == 2) return CompletionsOf(Command::Completes::kTables, before);
      found = SplitWords(*cluster_, before);
      break;
    case Command::Completes::kDuplication:
      if (before.size() == 2) return CompletionsOf(Command::Completes::kTables, before);
      if (before.size() == 1) found = {"verify"};
      break;
    case Command::Completes::kNothing:
      break;
  }
  return found;
}

std::vector<std::string> Session::Complete(const std::string& line) {
  // The last command of the line; without a ';' npos + 1 is 0.
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
      candidates = word.starts_with("-")
                       ? OptionsOf(command)
                       : CompletionsOf(CompletesNext(command, (*words)[0].back()), (*words)[0]);
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
