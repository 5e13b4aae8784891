// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>

#include <absl/strings/str_split.h>
#include <absl/time/time.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/nearest_name.h"
#include "base/status.h"
#include "rpc/thrift_codec.h"
#include "tools/shell/arguments.h"
#include "tools/shell/mixed_cluster.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

constexpr int kPartitionsByDefault = 8;
constexpr int kReplicasByDefault = 3;

std::vector<std::string> Names(const std::vector<Endpoint>& nodes) {
  std::vector<std::string> names;
  for (Endpoint node : nodes) names.push_back(node.ToString());
  return names;
}

absl::StatusOr<TableState> FindTable(Session& session, const std::string& name) {
  absl::StatusOr<TableState> table = session.cluster().FindTable(name);
  if (!absl::IsNotFound(table.status())) return table;
  ASSIGN_OR_RETURN(std::vector<TableState> tables, session.cluster().Tables());
  std::vector<std::string_view> names;
  for (const TableState& other : tables) names.push_back(other.info.app_name);
  std::string_view near = NearestName(name, names);
  return absl::NotFoundError(absl::StrCat(
      "there is no table ", Escape(name), "; ",
      near.empty() ? "ls lists them" : absl::StrCat("did you mean ", Text(near), "?")));
}

std::string DropTimeText(int64_t unix_seconds) {
  if (unix_seconds <= 0) return "-";
  return absl::FormatTime("%Y-%m-%d_%H:%M:%S", absl::FromUnixSeconds(unix_seconds),
                          absl::LocalTimeZone());
}

// Which tables ls is about: -s STATUS, -p PATTERN -m MATCH.
absl::StatusOr<ListAppsRequest> FilterOf(const Arguments& arguments) {
  static constexpr std::pair<std::string_view, AppStatus> kStatuses[] = {
      {"", AppStatus::kInvalid},
      {"all", AppStatus::kInvalid},
      {"available", AppStatus::kAvailable},
      {"creating", AppStatus::kCreating},
      {"dropping", AppStatus::kDropping},
      {"dropped", AppStatus::kDropped},
      {"recalling", AppStatus::kRecalling}};
  // As numbers: 1 is all.
  static constexpr std::string_view kMatches[] = {"all", "exact", "anywhere", "prefix", "postfix"};
  const std::string wanted = arguments.Value("-s"), pattern = arguments.Value("-p");
  const std::string match = arguments.Value("-m").empty() ? "anywhere" : arguments.Value("-m");
  const auto* const status = std::find_if(std::begin(kStatuses), std::end(kStatuses),
                                          [&](const auto& known) { return known.first == wanted; });
  const auto* const kind = std::find(std::begin(kMatches), std::end(kMatches), match);
  if (status == std::end(kStatuses))
    return UsageError("-s is all, available, creating, dropping, dropped or recalling");
  if (kind == std::end(kMatches))
    return UsageError("-m is all, exact, anywhere, prefix or postfix");
  ListAppsRequest request{.status = status->second};
  if (!pattern.empty()) {
    request.app_name_pattern = pattern;
    request.match_type = static_cast<int32_t>(kind - std::begin(kMatches)) + 1;
  }
  return request;
}

// Under the columns that scripts of older versions read.
Answer::List HealthList(const std::vector<TableState>& tables) {
  Answer::List list{"general_info",
                    {"app_id", "app_name", "partition_count", "replica_count", "fully_healthy",
                     "unhealthy", "write_unhealthy", "read_unhealthy"},
                    {}};
  for (const TableState& table : tables) {
    int64_t healthy = 0, write_unhealthy = 0, read_unhealthy = 0;
    // As the older shell counts: two members, or the only one.
    const size_t enough = std::min(2, table.info.max_replica_count);
    for (const PartitionConfiguration& partition : table.partitions) {
      healthy += table.IsHealthy(partition) ? 1 : 0;
      if (TableState::IsAwaited(partition)) continue;
      read_unhealthy += partition.primary.IsValid() ? 0 : 1;
      write_unhealthy += partition.primary.IsValid() && partition.MemberCount() >= enough ? 0 : 1;
    }
    list.rows.push_back({int64_t{table.info.app_id}, Escape(table.info.app_name),
                         int64_t{table.info.partition_count}, int64_t{table.info.max_replica_count},
                         healthy, table.info.partition_count - healthy, write_unhealthy,
                         read_unhealthy});
  }
  return list;
}

absl::StatusOr<Outcome> ListDropped(Session& session, const ListAppsRequest& which) {
  ASSIGN_OR_RETURN(std::vector<AppInfo> dropped, session.cluster().DroppedTables(which));
  Answer::List list{
      "tables", {"id", "name", "status", "partitions", "replicas", "drop_time", "expires"}, {}};
  for (const AppInfo& info : dropped)
    list.rows.push_back({int64_t{info.app_id}, Escape(info.app_name),
                         std::string(AppStatusName(info.status)), int64_t{info.partition_count},
                         int64_t{info.max_replica_count}, DropTimeText(info.drop_second),
                         DropTimeText(info.expire_second)});
  Outcome outcome;
  outcome.answer.AddList(std::move(list));
  return outcome;
}

absl::StatusOr<Outcome> List(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(Arguments arguments,
                   Arguments::Parse(words, {"-s", "-p", "-m"}, {"-a", "-d", "--drop"}));
  if (!arguments.words().empty()) return UsageError("options only");
  ASSIGN_OR_RETURN(const ListAppsRequest which, FilterOf(arguments));
  if (arguments.Has("--drop")) return ListDropped(session, which);
  const bool all = arguments.Has("-a") || arguments.Value("-s") == "all";
  std::vector<TableState> tables;
  if (which.status != AppStatus::kDropped) {
    ASSIGN_OR_RETURN(tables, session.cluster().Tables(which));
  }
  if (all || which.status == AppStatus::kDropped) {
    ASSIGN_OR_RETURN(std::vector<AppInfo> dropped, session.cluster().DroppedTables(which));
    for (AppInfo& info : dropped) tables.push_back({std::move(info), {}});
    std::sort(tables.begin(), tables.end(), [](const TableState& a, const TableState& b) {
      return a.info.app_id < b.info.app_id;
    });
  }
  Outcome outcome;
  Answer::List list{"tables", {"id", "name", "status", "partitions", "replicas", "healthy"}, {}};
  for (const TableState& table : tables) {
    list.rows.push_back({int64_t{table.info.app_id}, Escape(table.info.app_name),
                         std::string(AppStatusName(table.info.status)),
                         int64_t{table.info.partition_count}, int64_t{table.info.max_replica_count},
                         int64_t{table.HealthyPartitions()}});
    if (table.info.status != AppStatus::kDropped && !table.IsHealthy())
      outcome.health = Health::kBad;
  }
  outcome.answer.AddList(std::move(list));
  // Those that were dropped have no members that could be asked.
  std::erase_if(tables, [](const TableState& table) { return table.partitions.empty(); });
  AddWeakTables(session, tables, &outcome.answer);
  if (arguments.Has("-d")) outcome.answer.AddList(HealthList(tables));
  return outcome;
}

absl::StatusOr<Outcome> App(Session& session, const Words& arguments) {
  std::string name = session.table_name();
  bool detailed = false;
  for (const std::string& word : arguments) {
    if (word == "-d") {
      detailed = true;
    } else if (word[0] == '-') {
      return UsageError(absl::StrCat("there is no option ", Escape(word)));
    } else {
      name = word;
    }
  }
  if (name.empty()) return UsageError("which table?");
  ASSIGN_OR_RETURN(TableState table, FindTable(session, name));
  Outcome outcome;
  outcome.answer.Add("name", Escape(table.info.app_name))
      .Add("id", int64_t{table.info.app_id})
      .Add("status", std::string(AppStatusName(table.info.status)))
      .Add("partition_count", int64_t{table.info.partition_count})
      .Add("replicas", int64_t{table.info.max_replica_count})
      .Add("healthy", int64_t{table.HealthyPartitions()});
  if (detailed) {
    Answer::List list{"partitions", {"index", "ballot", "members", "primary", "secondaries"}, {}};
    for (const PartitionConfiguration& partition : table.partitions) {
      list.rows.push_back(
          {int64_t{partition.pid.index}, partition.ballot.value(),
           static_cast<int64_t>(partition.MemberCount()),
           partition.primary.IsValid() ? partition.primary.ToString() : std::string(),
           Names(partition.secondaries)});
    }
    outcome.answer.AddList(std::move(list));
  }
  AddWeakTables(session, {table}, &outcome.answer);
  if (!table.IsHealthy()) outcome.health = Health::kBad;
  return outcome;
}

// "default_ttl=100,business.info=ours"
absl::StatusOr<std::map<std::string, std::string>> EnvironmentsOf(const std::string& text) {
  std::map<std::string, std::string> environments;
  for (const auto part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (pair.first.empty() || pair.second.empty())
      return UsageError("-e takes KEY=VALUE,KEY=VALUE");
    environments.insert(pair);
  }
  return environments;
}

absl::StatusOr<int32_t> CountOf(const Arguments& arguments, const std::string& option,
                                int32_t by_default) {
  int32_t count = by_default;
  if (const std::string text = arguments.Value(option);
      !text.empty() && (!absl::SimpleAtoi(text, &count) || count < 1))
    return UsageError(absl::StrCat(option, " needs a number, 1 or more"));
  return count;
}

absl::StatusOr<Outcome> Create(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {"-p", "-r", "-e"}, {}));
  if (arguments.words().size() != 1) return UsageError("what shall it be called? one name");
  const std::string& name = arguments.words()[0];
  if (name.empty() ||
      name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:") !=
          std::string::npos)
    return UsageError("a name has letters, digits and _ . : only");
  CreateAppRequest request{.app_name = name};
  request.options = {.app_type = "pegasus", .is_stateful = true};
  ASSIGN_OR_RETURN(request.options.partition_count, CountOf(arguments, "-p", kPartitionsByDefault));
  ASSIGN_OR_RETURN(request.options.replica_count, CountOf(arguments, "-r", kReplicasByDefault));
  ASSIGN_OR_RETURN(request.options.envs, EnvironmentsOf(arguments.Value("-e")));
  const absl::StatusOr<int> id = session.cluster().CreateTable(request);
  // The meta server's refusal is not wrong usage: it would print the usage line.
  if (absl::IsInvalidArgument(id.status()))
    return absl::FailedPreconditionError(id.status().message());
  RETURN_IF_ERROR(id.status());
  Outcome outcome;
  const auto partitions = int64_t{request.options.partition_count};
  const auto replicas = int64_t{request.options.replica_count};
  outcome.answer.Add("name", name)
      .Add("id", int64_t{*id})
      .Add("partitions", partitions)
      .Add("replicas", replicas);
  outcome.answer.Say(absl::StrCat("table ", name, " created: id ", *id, ", ", partitions,
                                  " partitions x ", replicas, " replicas"));
  return outcome;
}

absl::StatusOr<Outcome> Drop(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(Arguments arguments, Arguments::Parse(words, {"-r"}, {"-y", "--dry-run"}));
  if (arguments.words().size() != 1) return UsageError("which table?");
  const std::string name = arguments.words()[0];
  int64_t reserve_seconds = 0;
  const std::string reserve = arguments.Value("-r");
  if (!reserve.empty() && (!absl::SimpleAtoi(reserve, &reserve_seconds) || reserve_seconds < 1))
    return UsageError("-r needs the seconds for which it can be recalled");
  ASSIGN_OR_RETURN(TableState table, FindTable(session, name));
  if (arguments.Has("--dry-run")) {
    Outcome outcome;
    outcome.answer.Add("name", name)
        .Add("id", int64_t{table.info.app_id})
        .Add("partitions", int64_t{table.info.partition_count})
        .Say(absl::StrCat("would drop table ", name, ": id ", table.info.app_id, ", ",
                          table.info.partition_count, " partitions; recall ", table.info.app_id,
                          " brings it back until it expires"));
    return outcome;
  }
  if (!arguments.Has("-y") &&
      !session.IsConfirmed(absl::StrCat("drop table ", name, " (id ", table.info.app_id, ", ",
                                        table.info.partition_count, " partitions)?"))) {
    return absl::AbortedError("not dropped; drop NAME -y does not ask");
  }
  RETURN_IF_ERROR(session.cluster().DropTable(name, reserve_seconds));
  // Another table may get the name.
  if (session.table_name() == name) session.set_table_name("");
  Outcome outcome;
  outcome.answer.Add("name", name)
      .Add("id", int64_t{table.info.app_id})
      .Say(absl::StrCat("table ", name, " dropped"));
  return outcome;
}

absl::StatusOr<Outcome> Recall(Session& session, const Words& arguments) {
  RecallAppRequest request;
  if (arguments.empty() || arguments.size() > 2 ||
      !absl::SimpleAtoi(arguments[0], &request.app_id)) {
    return UsageError("the id of a dropped table (ls --drop), and a new name if it needs one");
  }
  if (arguments.size() == 2) request.new_app_name = arguments[1];
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  absl::StatusOr<RecallAppResponse> answer = admin->RecallTable(request);
  if (absl::IsInvalidArgument(answer.status()))
    return absl::FailedPreconditionError("its name is taken, or none: say recall ID NEW_NAME");
  RETURN_IF_ERROR(answer.status());
  const std::string name = Escape(answer->info.app_name);
  Outcome outcome;
  outcome.answer.Add("name", name)
      .Add("id", int64_t{request.app_id})
      .Say(absl::StrCat("table ", name, " recalled; ls shows when it is healthy"));
  return outcome;
}

absl::StatusOr<Outcome> Rename(Session& session, const Words& arguments) {
  if (arguments.size() != 2) return UsageError("the name it has and the new one");
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  const absl::Status renamed = admin->RenameTable({arguments[0], arguments[1]}).status();
  // A refusal of the meta server is not wrong usage.
  if (absl::IsInvalidArgument(renamed)) return absl::FailedPreconditionError(renamed.message());
  RETURN_IF_ERROR(renamed);
  // The name may soon be another table's.
  session.cluster().ForgetOpenTable(arguments[0]);
  if (session.table_name() == arguments[0]) session.set_table_name(arguments[1]);
  Outcome outcome;
  outcome.answer.Add("name", arguments[1])
      .Say(absl::StrCat("table ", arguments[0], " is now ", arguments[1]));
  return outcome;
}

absl::StatusOr<Outcome> GetReplicaCount(Session& session, const Words& arguments) {
  if (arguments.size() != 1) return UsageError("which table?");
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(MaxReplicaCountResponse answer, admin->GetReplicaCount({arguments[0]}));
  Outcome outcome;
  outcome.answer.Add("name", Escape(arguments[0]))
      .Add("max_replica_count", int64_t{answer.max_replica_count});
  return outcome;
}

absl::StatusOr<Outcome> SetReplicaCount(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(Arguments arguments, Arguments::Parse(words, {}, {"-y", "--dry-run"}));
  int32_t count = 0;
  if (arguments.words().size() != 2 || !absl::SimpleAtoi(arguments.words()[1], &count))
    return UsageError("a table and a number");
  const std::string& name = arguments.words()[0];
  ASSIGN_OR_RETURN(TableState table, FindTable(session, name));
  const std::string change =
      absl::StrCat("table ", name, ": ", table.info.max_replica_count, " replicas become ", count,
                   ", in ", table.info.partition_count, " partitions");
  Outcome outcome;
  outcome.answer.Add("name", Escape(name))
      .Add("old_max_replica_count", int64_t{table.info.max_replica_count})
      .Add("max_replica_count", int64_t{count})
      .Say(change);
  if (arguments.Has("--dry-run")) return outcome;
  if (!arguments.Has("-y") && !session.IsConfirmed(absl::StrCat(change, "?")))
    return absl::AbortedError("nothing was changed; -y does not ask");
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  const absl::Status set = admin->SetReplicaCount({name, count}).status();
  if (absl::IsInvalidArgument(set)) return absl::FailedPreconditionError(set.message());
  RETURN_IF_ERROR(set);
  return outcome;
}

// Whether INCR and CHECK_AND_... are logged as what became of them: here they always are.
absl::StatusOr<Outcome> AtomicIdempotent(Session& session, const Words& arguments,
                                         std::optional<bool> wanted) {
  if (arguments.size() != 1) return UsageError("which table?");
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(
      const std::string body,
      admin->AskServer(session.cluster().meta_servers().front(),
                       wanted ? kRpcSetAtomicIdempotent : kRpcGetAtomicIdempotent,
                       wanted ? EncodeWrapped(SetAtomicIdempotentRequest{
                                    .app_name = arguments[0], .atomic_idempotent = *wanted})
                              : EncodeWrapped(TableNameRequest{arguments[0]})));
  ASSIGN_OR_RETURN(const auto answer, DecodeWrapped<AtomicIdempotentResponse>(body));
  if (answer.err == ErrorCode::kAppNotExist) {
    RETURN_IF_ERROR(FindTable(session, arguments[0]).status());
    return absl::UnavailableError("the table was made a moment ago; ask again");
  }
  if (answer.err != ErrorCode::kOk)
    return absl::FailedPreconditionError(
        absl::StrCat(Text(ErrorCodeName(answer.err)), ": ", answer.hint_message));
  const std::string now = answer.atomic_idempotent ? "true" : "false";
  Outcome outcome;
  outcome.answer.Add("name", Escape(arguments[0]))
      .Add("atomic_idempotent", now)
      .Say(absl::StrCat("atomic_idempotent of ", Escape(arguments[0]), ": ", now));
  return outcome;
}

absl::StatusOr<Outcome> Use(Session& session, const Words& arguments) {
  if (arguments.size() != 1) return UsageError("which table?");
  ASSIGN_OR_RETURN(TableState table, FindTable(session, arguments[0]));
  session.cluster().ForgetOpenTable(arguments[0]);
  session.set_table_name(arguments[0]);
  Outcome outcome;
  outcome.answer.Add("table", Escape(arguments[0]))
      .Say(absl::StrCat("using ", Escape(arguments[0])));
  return outcome;
}

// admin-cli's way to say app -d of the table in use.
absl::StatusOr<Outcome> TablePartitions(Session& session, const Words& arguments) {
  if (!arguments.empty()) return UsageError("it takes nothing; use TABLE chooses the table");
  return App(session, {"-d"});
}

}  // namespace

std::vector<Command> TableCommands() {
  using Completes = Command::Completes;
  return {
      {"ls", "[-d] [-a] [-s STATUS] [-p PATTERN [-m exact|anywhere|prefix|postfix]] [--drop]",
       "tables and how many of their partitions are healthy; -a: dropped ones too; -s: those that "
       "are available, dropped, ...; --drop: those that can be recalled, and until when",
       Completes::kNothing, List},
      {"list-tables", "[-d] [-a] [-s STATUS] [-p PATTERN [-m MATCH]] [--drop]",
       "the same, as admin-cli says it", Completes::kNothing, List},
      {"app", "NAME [-d]", "one table; -d: each partition", Completes::kTables, App},
      {"table-partitions", "", "each partition of the table in use, as admin-cli says it",
       Completes::kNothing, TablePartitions},
      {"create", "NAME [-p PARTITIONS] [-r REPLICAS] [-e KEY=VALUE,...]",
       "makes a table (8 partitions, 3 replicas), -e: with these environments", Completes::kNothing,
       Create},
      {"drop", "NAME [-r SECONDS] [-y] [--dry-run]",
       "drops a table, which can be recalled for SECONDS; -y: does not ask", Completes::kTables,
       Drop},
      {"recall", "ID [NEW_NAME]", "brings a dropped table back", Completes::kNothing, Recall},
      {"rename", "NAME NEW_NAME", "gives a table another name", Completes::kTables, Rename},
      {"get_replica_count", "NAME", "how many replicas each partition shall have",
       Completes::kTables, GetReplicaCount},
      {"set_replica_count", "NAME COUNT [-y] [--dry-run]",
       "sets how many replicas each partition shall have", Completes::kTables, SetReplicaCount},
      {"get_atomic_idempotent", "NAME", "whether atomic writes are logged as their outcomes",
       Completes::kTables,
       [](Session& session, const Words& words) {
         return AtomicIdempotent(session, words, std::nullopt);
       }},
      {"enable_atomic_idempotent", "NAME", "no effect: they always are", Completes::kTables,
       [](Session& session, const Words& words) { return AtomicIdempotent(session, words, true); }},
      {"disable_atomic_idempotent", "NAME",
       "not supported: atomic writes are always logged as their outcomes", Completes::kTables,
       [](Session& session, const Words& words) {
         return AtomicIdempotent(session, words, false);
       }},
      {"use", "NAME", "chooses the table for commands on records", Completes::kTables, Use}};
}

}  // namespace arion::shell
