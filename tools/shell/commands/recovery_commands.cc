// A meta server's state: written down as long as it is there, and made again.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "base/program_output.h"
#include "base/status.h"
#include "messages/tool_messages.h"
#include "rpc/thrift_codec.h"
#include "tools/pages/server_page.h"
#include "tools/shell/arguments.h"
#include "tools/shell/commands/saved_table_commands.h"
#include "tools/shell/mixed_cluster.h"
#include "tools/shell/remote_server.h"
#include "tools/shell/saved_tables.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

constexpr int kWaitSeconds = 100;

absl::Status AddServers(std::string_view text, std::vector<Endpoint>* servers) {
  for (const auto word :
       absl::StrSplit(Text(text), absl::ByAnyChar(", \t\r\n"), absl::SkipEmpty())) {
    const auto server = Endpoint::Parse(View(word));
    if (!server)
      return UsageError(
          absl::StrCat("'", word, "' is no server; write 10.0.0.1:34801,10.0.0.2:34801"));
    servers->push_back(*server);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Endpoint>> ServersOf(const Arguments& arguments) {
  std::vector<Endpoint> servers;
  RETURN_IF_ERROR(AddServers(arguments.Value("-s"), &servers));
  if (const std::string path = arguments.Value("-f"); !path.empty()) {
    std::ifstream file(path);
    if (!file) return absl::NotFoundError(absl::StrCat("can't read ", path));
    RETURN_IF_ERROR(AddServers(std::string(std::istreambuf_iterator<char>(file), {}), &servers));
  }
  if (servers.empty()) return UsageError("-s or -f names the replica servers to ask");
  return servers;
}

// Before what can't be done twice; what is in the file stays.
absl::Status CheckWritable(const std::string& path) {
  if (std::ofstream(path, std::ios::app)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("can't write ", path, "; nothing was done"));
}

// What each server would tell the meta server; nothing is changed.
absl::StatusOr<Outcome> Preview(Session& session, const std::vector<Endpoint>& servers) {
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  Outcome outcome;
  Answer::List list{"servers", {"address", "replicas", "loading", "unreadable_disks"}, {}};
  std::vector<std::string> silent;
  std::map<int32_t, AppInfo> tables;
  std::set<PartitionId> partitions;
  for (Endpoint server : servers) {
    const auto body = admin->AskServer(server, kRpcQueryReplicaInfo,
                                       EncodeWrapped(QueryReplicaInfoRequest{server}));
    const auto apps =
        admin->AskServer(server, kRpcQueryAppInfo, EncodeWrapped(QueryAppInfoRequest{}));
    const auto replicas = DecodeWrapped<QueryReplicaInfoResponse>(body.value_or(""));
    const auto named = DecodeWrapped<QueryAppInfoResponse>(apps.value_or(""));
    if (!replicas.ok() || !named.ok()) {
      silent.push_back(server.ToString());
      continue;
    }
    int64_t loading = 0;
    for (const ReplicaInfo& replica : replicas->replicas) {
      loading += replica.loading.value_or(false) ? 1 : 0;
      partitions.insert(replica.pid);
    }
    for (const AppInfo& app : named->apps) tables.emplace(app.app_id, app);
    list.rows.push_back({server.ToString(), static_cast<int64_t>(replicas->replicas.size()),
                         loading, replicas->unreadable_disks.value_or(std::vector<std::string>())});
    if (loading > 0 || replicas->unreadable_disks) outcome.health = Health::kBad;
  }
  Answer::List found{"tables", {"id", "name", "partitions", "missing"}, {}};
  for (const auto& [app_id, app] : tables) {
    std::vector<std::string> missing;
    for (int32_t index = 0; index < app.partition_count; ++index)
      if (!partitions.contains({app_id, index})) missing.push_back(std::to_string(index));
    if (!missing.empty()) outcome.health = Health::kBad;
    found.rows.push_back(
        {int64_t{app_id}, Escape(app.app_name), int64_t{app.partition_count}, std::move(missing)});
  }
  if (!silent.empty()) outcome.health = Health::kBad;
  outcome.answer.Add("no_answer_from", std::move(silent))
      .AddList(std::move(list))
      .AddList(std::move(found));
  return outcome;
}

// The older version's meta servers must be gone. Two meta servers that lead at the same time know
// nothing of each other's decisions.
absl::Status CheckSuccession(Session& session, const SavedTables& saved) {
  std::set<Endpoint> all(saved.meta_servers.begin(), saved.meta_servers.end());
  for (const Endpoint server : session.cluster().meta_servers()) {
    all.insert(server);
    const auto settings = SettingsOf(server);
    if (!settings.ok()) continue;
    for (const Setting& setting : *settings)
      if (setting.key == "cluster_name" && !saved.cluster_name.empty() &&
          setting.value != saved.cluster_name)
        return absl::FailedPreconditionError(absl::StrCat(
            "these tables are of cluster \"", saved.cluster_name,
            "\", the meta server's cluster_name is \"", setting.value, "\": nothing was done"));
  }
  std::vector<std::string> older;
  for (const Endpoint server : all)
    if (IsOlder(server, FetchSamples(server).status())) older.push_back(server.ToString());
  if (older.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("an older version's meta server answers at ", absl::StrJoin(older, " "),
                   ": nothing was done. Stop it for good, and say this again to Arion's; it takes "
                   "no list of tables itself, restore_tables goes there"));
}

// What is to be given to the meta server of the file of --tables; nullopt: there is none.
absl::StatusOr<std::optional<SavedTables>> TablesFor(Session& session, const std::string& path) {
  if (path.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(SavedTables saved, ReadSavedTables(path));
  RETURN_IF_ERROR(CheckSuccession(session, saved));
  return saved;
}

absl::StatusOr<Outcome> Recover(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-s", "-f", "-w", "-o", "--tables"},
                                    {"-b", "-l", "-y", "--dry-run"}));
  if (!arguments.words().empty()) return UsageError("options only");
  int seconds = kWaitSeconds;
  if (const std::string wait = arguments.Value("-w");
      !wait.empty() && (!absl::SimpleAtoi(wait, &seconds) || seconds <= 0))
    return UsageError("-w takes seconds");
  ASSIGN_OR_RETURN(std::vector<Endpoint> servers, ServersOf(arguments));
  ASSIGN_OR_RETURN(std::optional<SavedTables> saved,
                   TablesFor(session, arguments.Value("--tables")));
  // All checks come before; what follows changes the meta server's state.
  if (arguments.Has("--dry-run")) return Preview(session, servers);
  const std::string question = absl::StrCat("make the meta server's state again from what ",
                                            servers.size(), " servers hold?");
  if (!arguments.Has("-y") && !session.IsConfirmed(question))
    return absl::AbortedError("nothing was done; -y does not ask");
  const std::string path = arguments.Value("-o");
  if (!path.empty()) RETURN_IF_ERROR(CheckWritable(path));
  StartRecoveryRequest request{.recovery_nodes = std::move(servers),
                               .skip_bad_nodes = arguments.Has("-b"),
                               .skip_lost_partitions = arguments.Has("-l")};
  if (saved) request.known_tables = std::move(saved->tables);
  const auto answer = session.cluster().Recover(request, absl::Seconds(seconds));
  // A replica server that does not answer is not the meta server's silence.
  if (absl::IsUnavailable(answer.status()))
    return absl::FailedPreconditionError(answer.status().message());
  RETURN_IF_ERROR(answer.status());
  Outcome outcome;
  Answer::List doubtful{"doubtful", {"what"}, {}};
  for (const auto line : absl::StrSplit(answer->hint_message, '\n', absl::SkipEmpty()))
    doubtful.rows.push_back({Escape(View(line))});
  if (!doubtful.rows.empty()) outcome.health = Health::kBad;
  outcome.answer.Add("recovered", std::string("yes"));
  if (!path.empty()) {
    if (const absl::Status written = WriteOutputFile(path, answer->hint_message); !written.ok()) {
      outcome.health = Health::kBad;
      outcome.answer.Add("not_written", std::string(written.message()));
    }
  }
  if (saved && saved->function_level == FunctionLevelName(FunctionLevel::kLively))
    outcome.answer.Add("left_to_do",
                       "the former meta server's level was lively: set_meta_level lively once all "
                       "looks right");
  outcome.answer.AddList(std::move(doubtful));
  return outcome;
}

}  // namespace

std::vector<Command> RecoveryCommands() {
  return {
      {"save_tables", "-o FILE",
       "saves what only the meta server knows: environments, which tables were dropped and until "
       "when they can be recalled, ids; for recover --tables",
       Command::Completes::kNothing, SaveTables},
      {"restore_tables", "FILE [-y | --dry-run]",
       "sets the environments that save_tables wrote, and drops again what was dropped; for a "
       "meta server that recovered without --tables",
       Command::Completes::kNothing, RestoreTables},
      {"recover",
       "-s SERVER,... | -f FILE [--tables FILE] [-w SECONDS] [-b] [-l] [-o FILE] [-y | "
       "--dry-run]",
       "rebuilds a meta server's lost state from what replica servers hold; --tables: and from "
       "what save_tables wrote; -b: without servers that don't answer; -l: partitions that nobody "
       "has are made empty; -o: writes what is doubtful to a file",
       Command::Completes::kNothing, Recover}};
}

}  // namespace arion::shell
