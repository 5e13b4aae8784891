// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/commands/saved_table_commands.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <absl/time/clock.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/program_output.h"
#include "base/status.h"
#include "tools/shell/arguments.h"
#include "tools/shell/saved_tables.h"

namespace arion::shell {
namespace {

std::string ValueOf(const ClusterInfoResponse& info, std::string_view key) {
  for (size_t i = 0; i < std::min(info.keys.size(), info.values.size()); ++i)
    if (info.keys[i] == key) return info.values[i];
  return "";
}

absl::StatusOr<SavedTables> TablesNow(Session& session) {
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(const ClusterInfoResponse info, admin->ClusterInfo());
  ASSIGN_OR_RETURN(ListAppsResponse tables, admin->ListTables());
  SavedTables saved{.saved_second = absl::ToUnixSeconds(absl::Now()),
                    .cluster_name = ValueOf(info, "cluster_name"),
                    .function_level = ValueOf(info, "meta_function_level"),
                    .tables = std::move(tables.infos)};
  for (const auto server :
       absl::StrSplit(ValueOf(info, "meta_servers"), ',', absl::SkipWhitespace()))
    if (const auto address = Endpoint::Parse(View(server)); address)
      saved.meta_servers.push_back(*address);
  // By id, so that two files can be compared line by line.
  std::sort(saved.tables.begin(), saved.tables.end(),
            [](const AppInfo& a, const AppInfo& b) { return a.app_id < b.app_id; });
  return saved;
}

// What changes while it is written down.
std::string Unsettled(const AppInfo& table) {
  if (table.status != AppStatus::kAvailable && table.status != AppStatus::kDropped)
    return std::string(AppStatusName(table.status));
  if (table.duplicating) return "is duplicated";
  return table.is_bulk_loading ? "is bulk loaded" : "";
}

// ---- given back ----

struct Step {
  int32_t app_id = 0;
  std::string name;  // as it is called now
  std::string what;  // for a person
  std::function<absl::Status(AdminClient&)> carry_out;
};
struct Restoring {
  std::vector<Step> steps;
  std::vector<std::string> differs;  // what no step mends
};

// What is not as it was saved; what is not in the file stays.
void PlanEnvironments(const AppInfo& saved, const AppInfo& now, Restoring* plan) {
  UpdateAppEnvRequest set{.app_name = now.app_name, .op = EnvOperation::kSet};
  set.keys.emplace(), set.values.emplace();
  for (const auto& [key, value] : saved.envs) {
    const auto found = now.envs.find(key);
    if (found != now.envs.end() && found->second == value) continue;
    set.keys->push_back(key);
    set.values->push_back(value);
  }
  if (set.keys->empty()) return;
  plan->steps.push_back({now.app_id, now.app_name, "set " + absl::StrJoin(*set.keys, " "),
                         [set](AdminClient& admin) -> absl::Status {
                           ASSIGN_OR_RETURN(const UpdateAppEnvResponse answer,
                                            admin.UpdateEnvironments(set));
                           return absl::OkStatus();
                         }});
}

void PlanTable(const AppInfo& saved, const AppInfo* now, int64_t unix_seconds, Restoring* plan) {
  const std::string name = absl::StrCat("table ", saved.app_id, " '", saved.app_name, "'");
  const bool was_dropped =
      saved.status == AppStatus::kDropped || saved.status == AppStatus::kDropping;
  if (now == nullptr || now->status == AppStatus::kDropped) {
    if (!was_dropped)
      plan->differs.push_back(now == nullptr ? name + " is not there"
                                             : name + " is dropped; recall brings it back");
    return;
  }
  // A recovery gives the earlier of two tables with one name its id as suffix.
  const bool is_it = now->partition_count == saved.partition_count &&
                     (now->app_name == saved.app_name ||
                      now->app_name == absl::StrCat(saved.app_name, "__", saved.app_id));
  if (!is_it)
    return plan->differs.push_back(absl::StrCat(name, " is '", now->app_name, "', ",
                                                now->partition_count, " partitions: left alone"));
  if (was_dropped) {
    // What is left of the time that it had; at least a second, because 0 would mean the meta
    // server's default.
    const int64_t reserve = std::max<int64_t>(1, saved.expire_second - unix_seconds);
    plan->steps.push_back({now->app_id, now->app_name,
                           absl::StrCat("drop, recallable for ", reserve, " s"),
                           [name = now->app_name, reserve](AdminClient& admin) {
                             DropAppRequest drop{.app_name = name};
                             drop.options.reserve_seconds = reserve;
                             return admin.DropTable(drop).status();
                           }});
    return;
  }
  PlanEnvironments(saved, *now, plan);
  if (now->max_replica_count != saved.max_replica_count)
    plan->differs.push_back(absl::StrCat(name, " has ", now->max_replica_count, " replicas, not ",
                                         saved.max_replica_count, "; set_replica_count"));
}

}  // namespace

absl::StatusOr<Outcome> SaveTables(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {"-o"}, {}));
  const std::string path = arguments.Value("-o");
  if (!arguments.words().empty() || path.empty()) return UsageError("-o names the file to write");
  ASSIGN_OR_RETURN(const SavedTables saved, TablesNow(session));
  ASSIGN_OR_RETURN(const std::string json, saved.ToJson());
  RETURN_IF_ERROR(WriteOutputFile(path, json));
  Outcome outcome;
  Answer::List list{"tables", {"id", "name", "status", "environments", "problem"}, {}};
  for (const AppInfo& table : saved.tables) {
    const std::string unsettled = Unsettled(table);
    if (!unsettled.empty()) outcome.health = Health::kBad;
    list.rows.push_back({int64_t{table.app_id}, Escape(table.app_name),
                         std::string(AppStatusName(table.status)),
                         static_cast<int64_t>(table.envs.size()),
                         unsettled.empty() ? "" : unsettled + ": save again when that has ended"});
  }
  outcome.answer.Add("written", path)
      .Add("cluster", saved.cluster_name)
      .Add("function_level", saved.function_level)
      .AddList(std::move(list));
  return outcome;
}

absl::StatusOr<Outcome> RestoreTables(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {}, {"-y", "--dry-run"}));
  if (arguments.words().size() != 1) return UsageError("which file? save_tables writes it");
  ASSIGN_OR_RETURN(const SavedTables saved, ReadSavedTables(arguments.words()[0]));
  ASSIGN_OR_RETURN(const SavedTables now, TablesNow(session));
  // Table ids repeat from cluster to cluster: environments would be set on other tables.
  if (now.cluster_name != saved.cluster_name)
    return absl::FailedPreconditionError(absl::StrCat("these tables are of cluster \"",
                                                      saved.cluster_name, "\", this is \"",
                                                      now.cluster_name, "\": nothing was done"));
  Restoring plan;
  for (const AppInfo& table : saved.tables) {
    const auto found =
        std::find_if(now.tables.begin(), now.tables.end(),
                     [&](const AppInfo& other) { return other.app_id == table.app_id; });
    PlanTable(table, found == now.tables.end() ? nullptr : &*found, now.saved_second, &plan);
  }
  Outcome outcome;
  Answer::List steps{"steps", {"id", "name", "step"}, {}}, differs{"differs", {"what"}, {}};
  for (const Step& step : plan.steps)
    steps.rows.push_back({int64_t{step.app_id}, Escape(step.name), Escape(step.what)});
  for (const std::string& what : plan.differs) differs.rows.push_back({Escape(what)});
  if (!plan.differs.empty()) outcome.health = Health::kBad;
  outcome.answer.AddList(std::move(steps)).AddList(std::move(differs));
  if (arguments.Has("--dry-run") || plan.steps.empty()) return outcome;
  if (!arguments.Has("-y")) {
    RETURN_IF_ERROR(session.ShowPlan(outcome.answer));
    if (!session.IsConfirmed("do these steps?"))
      return absl::AbortedError("nothing was done; -y does not ask, --dry-run only shows");
  }
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  for (const Step& step : plan.steps)
    if (const absl::Status done = step.carry_out(*admin); !done.ok())
      return Annotate(
          done, absl::StrCat("table ", step.app_id, ", ", step.what, " (said again it goes on)"));
  outcome.answer.Add("result", std::string("done"));
  return outcome;
}

}  // namespace arion::shell
