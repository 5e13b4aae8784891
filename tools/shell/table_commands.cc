// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>

#include "base/nearest_name.h"
#include "base/status.h"
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

absl::StatusOr<Outcome> List(Session& session, const Words& arguments) {
  if (!arguments.empty()) return UsageError("it takes nothing");
  ASSIGN_OR_RETURN(std::vector<TableState> tables, session.cluster().Tables());
  Outcome outcome;
  Answer::List list{"tables", {"id", "name", "status", "partitions", "replicas", "healthy"}, {}};
  for (const TableState& table : tables) {
    list.rows.push_back({int64_t{table.info.app_id}, Escape(table.info.app_name),
                         std::string(AppStatusName(table.info.status)),
                         int64_t{table.info.partition_count}, int64_t{table.info.max_replica_count},
                         int64_t{table.HealthyPartitions()}});
    if (!table.IsHealthy()) outcome.health = Health::kBad;
  }
  outcome.answer.AddList(std::move(list));
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
  if (!table.IsHealthy()) outcome.health = Health::kBad;
  return outcome;
}

absl::StatusOr<Outcome> Create(Session& session, const Words& arguments) {
  std::string name;
  int partitions = kPartitionsByDefault;
  int replicas = kReplicasByDefault;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "-p" || arguments[i] == "-r") {
      int* value = arguments[i] == "-p" ? &partitions : &replicas;
      if (i + 1 == arguments.size() || !absl::SimpleAtoi(arguments[i + 1], value) || *value < 1) {
        return UsageError(absl::StrCat(arguments[i], " needs a number"));
      }
      ++i;
    } else if (arguments[i].empty() || arguments[i][0] == '-' || !name.empty()) {
      return UsageError(absl::StrCat("what is ", Escape(arguments[i]), "?"));
    } else {
      name = arguments[i];
    }
  }
  if (name.empty()) return UsageError("what shall it be called?");
  if (name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:") !=
      std::string::npos) {
    return UsageError("a name has letters, digits and _ . : only");
  }
  if (partitions < 2 || (partitions & (partitions - 1)) != 0) {
    return UsageError("clients need a power of two partitions, at least 2");
  }
  absl::StatusOr<int> id = session.cluster().CreateTable(name, partitions, replicas);
  if (absl::IsInvalidArgument(id.status()))
    return absl::FailedPreconditionError(id.status().message());
  RETURN_IF_ERROR(id.status());
  Outcome outcome;
  outcome.answer.Add("name", name)
      .Add("id", int64_t{*id})
      .Add("partitions", int64_t{partitions})
      .Add("replicas", int64_t{replicas});
  outcome.answer.Say(absl::StrCat("table ", name, " created: id ", *id, ", ", partitions,
                                  " partitions x ", replicas, " replicas"));
  return outcome;
}

absl::StatusOr<Outcome> Drop(Session& session, const Words& arguments) {
  std::string name;
  bool sure = false;
  for (const std::string& word : arguments) {
    if (word == "-y") {
      sure = true;
    } else if (name.empty()) {
      name = word;
    } else {
      return UsageError(absl::StrCat("what is ", Escape(word), "?"));
    }
  }
  if (name.empty()) return UsageError("which table?");
  ASSIGN_OR_RETURN(TableState table, FindTable(session, name));
  if (!sure &&
      !session.IsConfirmed(absl::StrCat("drop table ", name, " (id ", table.info.app_id, ", ",
                                        table.info.partition_count, " partitions)?"))) {
    return absl::AbortedError("not dropped; drop NAME -y does not ask");
  }
  RETURN_IF_ERROR(session.cluster().DropTable(name));
  if (session.table_name() == name) session.set_table_name("");
  Outcome outcome;
  outcome.answer.Add("name", name)
      .Add("id", int64_t{table.info.app_id})
      .Say(absl::StrCat("table ", name, " dropped"));
  return outcome;
}

absl::StatusOr<Outcome> Use(Session& session, const Words& arguments) {
  if (arguments.size() != 1) return UsageError("which table?");
  ASSIGN_OR_RETURN(TableState table, FindTable(session, arguments[0]));
  session.set_table_name(arguments[0]);
  Outcome outcome;
  outcome.answer.Add("table", Escape(arguments[0]))
      .Say(absl::StrCat("using ", Escape(arguments[0])));
  return outcome;
}

}  // namespace

std::vector<Command> TableCommands() {
  using Completes = Command::Completes;
  return {
      {"ls", "", "tables and how many of their partitions are healthy", Completes::kNothing, List},
      {"app", "NAME [-d]", "one table; -d: each partition", Completes::kTables, App},
      {"create", "NAME [-p PARTITIONS] [-r REPLICAS]", "makes a table (8 partitions, 3 replicas)",
       Completes::kNothing, Create},
      {"drop", "NAME [-y]", "drops a table; -y: does not ask", Completes::kTables, Drop},
      {"use", "NAME", "the table that set, get, del, ttl mean", Completes::kTables, Use}};
}

}  // namespace arion::shell
