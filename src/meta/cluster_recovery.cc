// SPDX-License-Identifier: Apache-2.0
#include "meta/cluster_recovery.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <set>

#include "base/status.h"
#include "meta_state/held_replica.h"

namespace arion {
namespace {

// Servers first (who did not tell all), then tables, then what was known of tables, then replicas;
// each step needs the ones before. A refusal does not end it: the report is to name everything that
// is wrong in one go.
class ClusterRecovery {
 public:
  ClusterRecovery(const std::vector<HeldByServer>& held, const RecoveryOptions& options)
      : held_(held), options_(options) {}

  RecoveredCluster Run() {
    for (const HeldByServer& server : held_) LookAtServer(server);
    for (const HeldByServer& server : held_)
      for (const AppInfo& table : server.tables) LookAtTable(server.node, table);
    // After the servers' tables: it is compared with what was merged of them.
    if (options_.known) LookAtKnown(*options_.known);
    // Partitions of tables that are not certain would only lengthen the report.
    if (result_.error != ErrorCode::kOk) return Refused();
    for (const HeldByServer& server : held_)
      for (const ReplicaInfo& replica : server.replicas) LookAtReplica(server.node, replica);
    std::vector<std::string> without_environments;
    for (auto& [app_id, table] : result_.tables) {
      Name(table);
      if (table.info.envs.empty() && !IsKnown(app_id))
        without_environments.push_back(table.info.app_name);
      for (int32_t i = 0; i < table.info.partition_count; ++i)
        table.partitions.emplace_back().config = Configure(table.info, i);
    }
    if (!without_environments.empty())
      Doubt(
          absl::StrCat("environments are not on replica servers' disks; set them again where "
                       "these tables had some: ",
                       absl::StrJoin(without_environments, " ")));
    return result_.error == ErrorCode::kOk ? std::move(result_) : Refused();
  }

 private:
  RecoveredCluster Refused() {
    result_.tables.clear();
    return std::move(result_);
  }
  void Doubt(std::string line) { result_.report.push_back(std::move(line)); }
  void Refuse(ErrorCode error, std::string line) {
    // The first error is the answer's; the report has them all.
    if (result_.error == ErrorCode::kOk) result_.error = error;
    Doubt(std::move(line));
  }
  void RefuseUnlessSkipped(RecoveryOptions::Incomplete what, ErrorCode error, std::string line) {
    what == RecoveryOptions::Incomplete::kSkip ? Doubt(std::move(line))
                                               : Refuse(error, std::move(line));
  }

  void LookAtServer(const HeldByServer& server) {
    const std::string name = server.node.ToString();
    auto lacks = [&](std::string what) {
      RefuseUnlessSkipped(options_.servers, ErrorCode::kTryAgain,
                          absl::StrCat(name, " ", std::move(what)));
    };
    if (!server.failure.empty()) lacks(absl::StrCat("does not answer: ", server.failure));
    // A replica that is not open yet does not know its ballot.
    const auto loading =
        std::count_if(server.replicas.begin(), server.replicas.end(),
                      [](const ReplicaInfo& r) { return r.loading.value_or(false); });
    if (loading > 0) lacks(absl::StrCat("still loads ", loading, " replicas"));
    if (!server.unreadable_disks.empty())
      lacks(absl::StrCat("can't read disks ", absl::StrJoin(server.unreadable_disks, " ")));
  }

  void LookAtTable(Endpoint node, const AppInfo& app) {
    // What a disk says may be damaged; a count bounds what is made below.
    if (app.app_id < 1 || app.partition_count < 1 || app.partition_count > kPartitionCountMax ||
        app.max_replica_count < 1)
      return Refuse(ErrorCode::kInconsistentState,
                    absl::StrCat(node.ToString(), " describes a table ", app.app_id, " with ",
                                 app.partition_count, " partitions x ", app.max_replica_count));
    const auto [it, is_first] = result_.tables.emplace(app.app_id, Table{.info = app});
    AppInfo& known = it->second.info;
    if (is_first) {
      told_by_[app.app_id] = node;
      return;
    }
    const int64_t version = app.version.value_or(0), known_version = known.version.value_or(0);
    // Name and replica count change with the version: they must agree only under the same one.
    const bool agrees =
        app.app_type == known.app_type && app.partition_count == known.partition_count &&
        app.is_stateful == known.is_stateful &&
        (version != known_version ||
         (app.app_name == known.app_name && app.max_replica_count == known.max_replica_count));
    if (app.app_type == known.app_type &&
        (app.partition_count == int64_t{2} * known.partition_count ||
         known.partition_count == int64_t{2} * app.partition_count))
      return Refuse(
          ErrorCode::kInconsistentState,
          absl::StrCat("table ", app.app_id, " '", app.app_name, "' has ", known.partition_count,
                       " partitions for ", told_by_[app.app_id].ToString(), " and ",
                       app.partition_count, " for ", node.ToString(),
                       ": it was being split, and which of them were split off is known "
                       "to the meta server alone; put a copy of meta_data_dir back that "
                       "was saved since the split began"));
    if (!agrees)
      return Refuse(ErrorCode::kInconsistentState,
                    absl::StrCat("table ", app.app_id, " is ", Describe(known), " for ",
                                 told_by_[app.app_id].ToString(), " and ", Describe(app), " for ",
                                 node.ToString(), "; leave out the server that is wrong"));
    // An older description knows no environments, and perhaps a former name.
    if (version > known_version || (version == known_version && known.envs.empty())) {
      known = app;
      told_by_[app.app_id] = node;
    }
  }
  static std::string Describe(const AppInfo& app) {
    return absl::StrCat("'", app.app_name, "' of type ", app.app_type, ", ", app.partition_count,
                        " partitions x ", app.max_replica_count);
  }

  bool IsKnown(int32_t app_id) const { return options_.known && options_.known->contains(app_id); }
  static bool IsDropped(const AppInfo& info) {
    return info.status == AppStatus::kDropped || info.status == AppStatus::kDropping;
  }

  void LookAtKnown(const std::map<int32_t, AppInfo>& known) {
    for (const auto& [app_id, table] : result_.tables)
      if (!known.contains(app_id))
        Doubt(absl::StrCat("table ", app_id, " '", table.info.app_name, "', which ",
                           told_by_[app_id].ToString(),
                           " has, is not in the list of tables: made after that was saved, or "
                           "dropped long before; it is there now"));
    for (const auto& [app_id, info] : known) {
      if (info.app_id != app_id || app_id < 1 || info.partition_count < 1 ||
          info.partition_count > kPartitionCountMax || info.max_replica_count < 1) {
        Refuse(ErrorCode::kInconsistentState,
               absl::StrCat("the list of tables describes a table ", app_id, ", ", Describe(info)));
        continue;
      }
      const auto held = result_.tables.find(app_id);
      // What servers hold and the list names, else what the list names alone.
      if (held != result_.tables.end())
        TakeKnown(info, &held->second.info);
      else if (!IsDropped(info) || info.expire_second > options_.unix_seconds ||
               app_id == known.rbegin()->first)  // its id is not given again
        AddKnown(info);
    }
  }
  void TakeKnown(const AppInfo& known, AppInfo* held) {
    const std::string name = absl::StrCat("table ", known.app_id, " '", known.app_name, "'");
    const std::string teller = told_by_[known.app_id].ToString();
    if (known.partition_count != held->partition_count || known.app_type != held->app_type)
      return Refuse(
          ErrorCode::kInconsistentState,
          absl::StrCat(name, " is ", Describe(*held), " for ", teller, " and ", Describe(known),
                       " in the list of tables: it is another cluster's, or older than "
                       "a split; save it anew, or leave it out"));
    // A version rises with each change: the list was saved before that one.
    if (held->version.value_or(0) > known.version.value_or(0)) {
      Doubt(absl::StrCat(name, ": ", teller, " knows a later description, ", Describe(*held),
                         ", than the list of tables: that was taken",
                         held->envs.empty() ? ", but for the environments, which it has not" : ""));
      if (held->envs.empty()) held->envs = known.envs;
      return;
    }
    if (known.app_name != held->app_name || known.max_replica_count != held->max_replica_count)
      Doubt(absl::StrCat(name, " is ", Describe(*held), " for ", teller, " and ", Describe(known),
                         " in the list of tables: that was taken"));
    if (!held->envs.empty() && held->envs != known.envs)
      Doubt(absl::StrCat(name, ": ", teller,
                         " acts on other environments than those in the list "
                         "of tables, which were taken; look at get_app_envs"));
    // What servers do now counts for these: the list may be of a time before.
    AppInfo next = known;
    next.duplicating = held->duplicating;
    next.is_bulk_loading = held->is_bulk_loading;
    next.version = held->version;
    if (IsDropped(next)) next.status = AppStatus::kDropped;
    *held = std::move(next);
  }
  void AddKnown(const AppInfo& known) {
    Table& table = result_.tables[known.app_id];
    table.info = known;
    if (!IsDropped(known)) return;  // of each partition it is said that nobody has it
    table.info.status = AppStatus::kDropped;
    if (known.expire_second > options_.unix_seconds)
      Doubt(absl::StrCat("table ", known.app_id, " '", known.app_name,
                         "' was dropped and could be recalled, but nobody has anything of it"));
  }

  void LookAtReplica(Endpoint node, const ReplicaInfo& replica) {
    if (replica.loading.value_or(false)) return;
    const auto table = result_.tables.find(replica.pid.app_id);
    if (table == result_.tables.end() || replica.pid.index < 0 ||
        replica.pid.index >= table->second.info.partition_count)
      return Doubt(absl::StrCat(node.ToString(), " has ", replica.pid.ToString(),
                                ", which belongs to no table"));
    // Pointers into what was given, which outlives this.
    candidates_[replica.pid].push_back({node, &replica});
  }

  // Of two tables with one name the later one is the one in use.
  void Name(Table& table) {
    AppInfo& info = table.info;
    if (info.status != AppStatus::kDropped) info.status = AppStatus::kAvailable;
    if (info.status == AppStatus::kDropped) return;
    // A table that was dropped and made again under its name: servers may still hold the old one.
    for (auto& [other_id, other] : result_.tables) {
      if (other_id <= info.app_id || other.info.status == AppStatus::kDropped ||
          other.info.app_name != info.app_name)
        continue;
      info.app_name = absl::StrCat(info.app_name, "__", info.app_id);
      return Doubt(absl::StrCat("tables ", info.app_id, " and ", other_id, " are both named ",
                                other.info.app_name, "; the first is ", info.app_name, " now"));
    }
  }

  // Of a partition that nobody has. One that is made anew takes its keys from where they are.
  static std::string WhereItsKeysMayBe(const AppInfo& info, int32_t index) {
    const int32_t half = info.partition_count / 2;
    const bool was_split =
        info.init_partition_count > 0 && info.init_partition_count < info.partition_count;
    if (!was_split || index < half) return "";
    return absl::StrCat(" (if it was not split off yet, ", info.app_id, ".", index - half,
                        " holds its keys, and loses them where it is made anew)");
  }

  PartitionConfiguration Configure(const AppInfo& info, int32_t index) {
    const PartitionId pid{info.app_id, index};
    PartitionConfiguration config{.pid = pid, .max_replica_count = info.max_replica_count};
    config.ballot = Ballot(0);
    config.last_committed_decree = Decree(0);
    if (info.status == AppStatus::kDropped) config.partition_flags = kPartitionDropped;
    std::vector<HeldReplica>& found = candidates_[pid];
    if (found.empty()) {
      if (info.status != AppStatus::kDropped)
        RefuseUnlessSkipped(options_.partitions, ErrorCode::kIncompleteData,
                            absl::StrCat("nobody has ", pid.ToString(), " of ", info.app_name,
                                         WhereItsKeysMayBe(info, index)));
      return config;
    }
    LeaveTo(found, &config);
    LookAtPartition(config, found);
    return config;
  }

  void LookAtPartition(const PartitionConfiguration& config,
                       const std::vector<HeldReplica>& found) {
    const HeldReplica& best = found.back();
    auto doubt = [&](std::string what) {
      Doubt(absl::StrCat(config.pid.ToString(), ": ", std::move(what)));
    };
    const auto whole =
        std::count_if(found.begin(), found.end(), [](const HeldReplica& c) { return c.IsWhole(); });
    if (whole < config.max_replica_count)
      doubt(absl::StrCat(whole, " of ", config.max_replica_count,
                         " replicas found; a member that is missing may have had more"));
    if (!best.IsWhole())
      doubt(
          absl::StrCat("only replicas that were being copied, the best on ", best.node.ToString()));
    if (best.report->last_prepared_decree < config.last_committed_decree)
      doubt(absl::StrCat(best.node.ToString(), " has the largest ballot, but decrees only to ",
                         best.report->last_prepared_decree.value(), " of ",
                         config.last_committed_decree.value(),
                         " that another one has committed: not revived by itself, ddd_diagnose "
                         "shows it"));
    // Not refused: a learner's ballot shows that a later configuration was, not that this copy
    // lacks anything.
    if (best.report->ballot < config.ballot)
      doubt(absl::StrCat("a replica that was being copied has ballot ", config.ballot.value(),
                         ", the best whole one, on ", best.node.ToString(), ", only ",
                         best.report->ballot.value()));
  }

  const std::vector<HeldByServer>& held_;
  const RecoveryOptions& options_;
  RecoveredCluster result_;
  std::map<int32_t, Endpoint> told_by_;
  std::map<PartitionId, std::vector<HeldReplica>> candidates_;
};

}  // namespace

RecoveredCluster RecoverCluster(const std::vector<HeldByServer>& held,
                                const RecoveryOptions& options) {
  return ClusterRecovery(held, options).Run();
}

}  // namespace arion
