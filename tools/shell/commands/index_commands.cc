// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/commands/index_commands.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/status.h"
#include "messages/index_definition.h"
#include "tools/shell/arguments.h"
#include "tools/shell/commands/record_list_commands.h"
#include "tools/shell/literals.h"

namespace arion::shell {
namespace {

constexpr char kProgress[] = "indexes TABLE shows how far it is";

// What does not parse was written by another version: it is there, and nothing acts on it here.
using Definitions = std::map<std::string, absl::StatusOr<IndexDefinition>>;
Definitions DefinitionsOf(const AppInfo& table) {
  Definitions definitions;
  for (const auto& [key, value] : table.envs) {
    if (const std::optional<std::string_view> name = IndexNameOf(key))
      definitions.emplace(*name, IndexDefinition::Parse(value));
  }
  return definitions;
}

// What it is on, without what is done about it.
std::string SourceOf(IndexDefinition definition) {
  definition.generation = 0;
  definition.is_paused = false;
  return definition.Text();
}

absl::StatusOr<UpdateAppEnvResponse> UpdateIndexes(Session& session,
                                                   const UpdateAppEnvRequest& request) {
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  return Refusal(admin->UpdateEnvironments(request));
}

absl::StatusOr<Outcome> Create(Session& session, const Words& words) {
  if (words.size() < 2) return UsageError("a table, and NAME on DEFINITION");
  ASSIGN_OR_RETURN(const std::vector<IndexWords> asked, ParseIndexWords(words, 1));
  ASSIGN_OR_RETURN(const TableState table, session.cluster().FindTable(words[0]));
  const Definitions existing = DefinitionsOf(table.info);
  UpdateAppEnvRequest request{.app_name = words[0], .op = EnvOperation::kSet};
  request.keys.emplace(), request.values.emplace();
  std::vector<std::string> made, were_there;
  std::set<std::string> names;
  for (const IndexWords& index : asked) {
    if (!IsIndexName(index.name))
      return UsageError(absl::StrCat(Escape(index.name), " is no index's name: 1 to ",
                                     kIndexNameBytesMax, " letters, digits, _ and -"));
    if (!names.insert(index.name).second)
      return UsageError(absl::StrCat("index ", index.name, " comes twice"));
    const absl::StatusOr<IndexDefinition> definition = IndexDefinition::Parse(index.definition);
    if (!definition.ok())
      return UsageError(absl::StrCat("index ", index.name, ": ", definition.status().message()));
    if (const auto found = existing.find(index.name); found != existing.end()) {
      const bool is_same = found->second.ok() && SourceOf(*found->second) == SourceOf(*definition);
      if (!is_same)
        return absl::AlreadyExistsError(absl::StrCat(
            "nothing was done: there is an index ", index.name, " on ",
            found->second.ok() ? SourceOf(*found->second) : "what this version does not know",
            "; drop_index ", Escape(words[0]), " ", index.name, " removes it"));
      were_there.push_back(index.name);
      continue;
    }
    made.push_back(index.name);
    request.keys->push_back(IndexEnvKey(index.name));
    request.values->push_back(definition->Text());
  }
  // All with one request: replicas then build them in one pass over the data.
  if (!made.empty()) RETURN_IF_ERROR(UpdateIndexes(session, request).status());
  Outcome outcome;
  outcome.answer.Add("table", Escape(words[0])).Add("created", made).Add("existed", were_there);
  outcome.answer.Say(made.empty() ? "they are there already; nothing was done"
                                  : absl::StrCat(absl::StrJoin(made, ", "),
                                                 ": the servers build what is missing; indexes ",
                                                 Escape(words[0]), " shows how far they are"));
  return outcome;
}

// TABLE NAME of one that is there.
struct NamedDefinition {
  std::string table;
  std::string name;
  absl::StatusOr<IndexDefinition> definition;
};
absl::StatusOr<NamedDefinition> Look(Session& session, const Words& words) {
  if (words.size() != 2) return UsageError("a table and the name of one of its indexes");
  ASSIGN_OR_RETURN(const TableState table, session.cluster().FindTable(words[0]));
  const Definitions definitions = DefinitionsOf(table.info);
  const auto found = definitions.find(words[1]);
  if (found == definitions.end())
    return absl::NotFoundError(absl::StrCat("table ", Escape(words[0]), " has no index ",
                                            Escape(words[1]), "; indexes lists them"));
  return NamedDefinition{words[0], words[1], found->second};
}

absl::StatusOr<Outcome> Drop(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const NamedDefinition index, Look(session, words));
  RETURN_IF_ERROR(
      UpdateIndexes(session, {.app_name = index.table,
                              .op = EnvOperation::kDelete,
                              .keys = std::vector<std::string>{IndexEnvKey(index.name)}})
          .status());
  Outcome outcome;
  outcome.answer.Add("table", Escape(index.table)).Add("dropped", Escape(index.name)).Say("done");
  return outcome;
}

// Changes one definition. `say`: what it then comes to.
absl::StatusOr<Outcome> Redefine(Session& session, const Words& words, std::string_view say,
                                 void (*change)(IndexDefinition&)) {
  ASSIGN_OR_RETURN(const NamedDefinition index, Look(session, words));
  if (!index.definition.ok())
    return absl::FailedPreconditionError(
        absl::StrCat("index ", index.name, ": ", index.definition.status().message()));
  IndexDefinition changed = *index.definition;
  change(changed);
  if (changed != *index.definition)
    RETURN_IF_ERROR(
        UpdateIndexes(session, {.app_name = index.table,
                                .op = EnvOperation::kSet,
                                .keys = std::vector<std::string>{IndexEnvKey(index.name)},
                                .values = std::vector<std::string>{changed.Text()}})
            .status());
  Outcome outcome;
  outcome.answer.Add("table", Escape(index.table))
      .Add("index", index.name)
      .Add("definition", changed.Text());
  outcome.answer.Say(changed == *index.definition ? "it is so already" : std::string(say));
  return outcome;
}

absl::StatusOr<Outcome> Rebuild(Session& session, const Words& words) {
  // What was built of the last generation answers until this one is built, and goes then.
  return Redefine(session, words,
                  absl::StrCat("it is built anew, and answers meanwhile; ", kProgress),
                  [](IndexDefinition& definition) { ++definition.generation; });
}

absl::StatusOr<Outcome> Pause(Session& session, const Words& words) {
  return Redefine(session, words, "what is missing of it is not built for now",
                  [](IndexDefinition& definition) { definition.is_paused = true; });
}

absl::StatusOr<Outcome> Resume(Session& session, const Words& words) {
  return Redefine(session, words, absl::StrCat("it is built on; ", kProgress),
                  [](IndexDefinition& definition) { definition.is_paused = false; });
}

std::string StateOf(const IndexDefinition& definition, const IndexOverview& overview) {
  if (overview.unaware > 0) return "spreading";
  if (overview.lowest_percent >= 100)
    return overview.renewed == 0 ? "whole" : definition.is_paused ? "whole, paused" : "rebuilding";
  return definition.is_paused ? "paused" : "building";
}

// Until it is built.
constexpr int64_t kNotKnown = -1;
int64_t SecondsLeft(const IndexPace& pace, bool is_unknown) {
  return is_unknown ? kNotKnown : pace.seconds_left().value_or(kNotKnown);
}

absl::StatusOr<Outcome> List(Session& session, const Words& words) {
  if (words.size() > 1) return UsageError("one table at most");
  const std::string name = words.empty() ? session.table_name() : words[0];
  if (name.empty()) return UsageError("which table?");
  ASSIGN_OR_RETURN(const TableState state, session.cluster().FindTable(name));
  // The one that has the name now.
  session.cluster().ForgetOpenTable(name);
  const Definitions definitions = DefinitionsOf(state.info);
  Outcome outcome;
  Answer::List list{"indexes",
                    {"name", "definition", "state", "percent", "mean_percent", "entries",
                     "left_out", "seconds_left"},
                    {}};
  // Of the table: one walk of a replica is for all its indexes.
  std::map<std::string, IndexPace> servers;
  std::vector<std::string> problems;
  for (const auto& [index, definition] : definitions) {
    if (!definition.ok()) {
      list.rows.push_back({Escape(index), Escape(state.info.envs.at(IndexEnvKey(index))),
                           std::string("unreadable"), int64_t{0}, 0.0, int64_t{0}, int64_t{0},
                           kNotKnown});
      continue;
    }
    ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, session.cluster().OpenTable(name));
    const absl::StatusOr<IndexOverview> found = table->DescribeIndex(index);
    // No server has heard of it yet: it was made a moment ago.
    const bool is_new = absl::IsNotFound(found.status());
    const bool is_known = found.ok() || is_new;
    const IndexOverview overview = found.ok() ? *found : IndexOverview{.unaware = 1};
    if (!is_known) problems.push_back(absl::StrCat(index, ": ", found.status().message()));
    list.rows.push_back({index, definition->Text(),
                         is_known ? StateOf(*definition, overview) : std::string("unknown"),
                         int64_t{overview.lowest_percent}, overview.mean_percent, overview.entries,
                         overview.left_out, SecondsLeft(overview.pace, overview.unaware > 0)});
    for (const auto& [server, pace] : overview.servers) {
      IndexPace& all = servers[server];
      all.left_bytes = std::max(all.left_bytes, pace.left_bytes);
      all.bytes_per_second = std::max(all.bytes_per_second, pace.bytes_per_second);
    }
  }
  outcome.answer.Add("table", Escape(name)).AddList(std::move(list));
  if (!servers.empty()) {
    Answer::List building{
        "building", {"server", "left_bytes", "bytes_per_second", "seconds_left"}, {}};
    for (const auto& [server, pace] : servers)
      building.rows.push_back(
          {server, pace.left_bytes, pace.bytes_per_second, SecondsLeft(pace, false)});
    outcome.answer.AddList(std::move(building));
  }
  if (!problems.empty()) {
    outcome.health = Health::kNotDone;
    outcome.part = absl::StrCat("not known of ", absl::StrJoin(problems, "; "));
  }
  return outcome;
}

}  // namespace

std::vector<std::string> IndexNames(Cluster& cluster, const std::string& table) {
  std::vector<std::string> names;
  if (const auto found = cluster.FindTable(table); found.ok())
    for (const auto& [name, definition] : DefinitionsOf(found->info)) names.push_back(name);
  return names;
}

std::vector<Command> IndexCommands() {
  using Completes = Command::Completes;
  return {
      {"create_index", "TABLE NAME on DEFINITION[, NAME on DEFINITION]...",
       "makes indexes on $.a.b (a field of JSON values), bytes(OFFSET,LENGTH) or value; those "
       "that are made together are built in one pass",
       Completes::kTables, Create},
      {"drop_index", "TABLE NAME", "removes an index; the records stay", Completes::kIndexes, Drop},
      {"rebuild_index", "TABLE NAME", "builds an index anew", Completes::kIndexes, Rebuild},
      {"pause_index", "TABLE NAME",
       "lets nothing be built of an index until resume_index; writes go on maintaining it",
       Completes::kIndexes, Pause},
      {"resume_index", "TABLE NAME", "lets an index be built on", Completes::kIndexes, Resume},
      {"indexes", "[TABLE]", "a table's indexes, and how far they are built", Completes::kTables,
       List},
      FindCommand()};
}

}  // namespace arion::shell
