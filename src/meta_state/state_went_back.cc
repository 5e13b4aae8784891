// SPDX-License-Identifier: Apache-2.0
#include "meta_state/state_went_back.h"

#include <absl/strings/str_cat.h>

#include <string>
#include <vector>

#include "base/log.h"
#include "base/named_list.h"
#include "meta_state/cluster_warning.h"
#include "meta_state/stale_configuration.h"

namespace arion {
namespace {

constexpr size_t kNamedMax = 5;
constexpr size_t kDoubtsNamedMax = 3;
constexpr char kWayOutOfWaiting[] =
    "; start all servers that hold copies of what waits; where one will not come back: stop this "
    "meta server, move meta.journal out of meta_data_dir, start it, and recover -s SERVER,... (all "
    "replica servers that are left)";

// Older versions report no version, which counts as 0 and shows nothing.
bool KnowsLater(const AppInfo& stored, const ReplicaInfo& report) {
  return report.table_version.value_or(0) > stored.version.value_or(0);
}

// Partitions that are not caught up, with what is waited for.
std::vector<std::string> StillBehind(const ClusterState& state) {
  std::vector<std::string> behind;
  for (const auto& [app_id, table] : state.tables)
    for (const Partition& partition : table.partitions) {
      if (!partition.IsBehind()) continue;
      const StaleJudgement judgement = JudgeStale(state, partition);
      if (judgement.next) continue;  // it is, in a moment
      behind.push_back(absl::StrCat(partition.config.pid.ToString(), ": ", judgement.reason));
    }
  return behind;
}

std::string WhatWasKnown(const ClusterState& state) {
  const WentBack& went_back = state.went_back;
  std::vector<std::string> known;
  if (!went_back.partitions.empty())
    known.push_back(absl::StrCat("larger ballots of ",
                                 NamedList(went_back.partitions, kNamedMax,
                                           [](PartitionId pid) { return pid.ToString(); })));
  if (!went_back.tables.empty())
    known.push_back(absl::StrCat(
        "later descriptions of ", NamedList(went_back.tables, kNamedMax, [&](int32_t app_id) {
          const Table* table = state.FindTable(app_id);
          return table == nullptr ? absl::StrCat("table ", app_id) : table->info.app_name;
        })));
  return absl::StrJoin(known, " and ");
}

}  // namespace

void NoteWentBack(ClusterState& state, const Table& table, Endpoint node, const ReplicaInfo& report,
                  Instant now) {
  const Partition& partition = table.partitions[static_cast<size_t>(report.pid.index)];
  // Ballots and versions only rise, and each is stored before anybody hears of it. So a server that
  // knows a larger one shows that the state is older than it was.
  const bool has_larger_ballot =
      // Beyond that it is no ballot that anybody reached, but a damaged number.
      report.ballot > partition.config.ballot && report.ballot <= kBallotMax;
  const bool knows_later = KnowsLater(table.info, report);
  if (!has_larger_ballot && !knows_later) return;
  WentBack& went_back = state.went_back;
  if (has_larger_ballot) went_back.partitions.insert(report.pid);
  if (knows_later) went_back.tables.insert(report.pid.app_id);
  went_back.last_shown = now;
  if (went_back.servers.insert(node).second)
    LOG(WARNING) << "meta: " << node << " knows more of " << report.pid
                 << " than is stored: an older copy of the state was put back, or it was learned "
                    "back without that server; status says what to do";
}

std::optional<ClusterWarning> StateWentBack(const ClusterState& state) {
  const WentBack& went_back = state.went_back;
  if (went_back.servers.empty()) return std::nullopt;
  // Counted by table, as a person thinks of it.
  std::set<int32_t> tables = went_back.tables;
  for (PartitionId pid : went_back.partitions) tables.insert(pid.app_id);
  ClusterWarning warning{.kind = "state_went_back",
                         .count = static_cast<int64_t>(tables.size()),
                         .what = "meta server"};
  warning.problem = absl::StrCat(
      "began with an older state: servers knew ", WhatWasKnown(state), " than it had stored (",
      NamedList(went_back.servers, kNamedMax, [](Endpoint server) { return server.ToString(); }),
      "), so an older copy of meta_data_dir was put back, or it was learned back without them. "
      "Records are not touched by that; what was changed of tables since that copy is lost "
      "(environments, names, replica counts, what was made or dropped)");
  warning.way =
      "compare ls -a and get_app_envs of each table with what they should be, set again what is "
      "missing, drop what had been dropped; find out who put the copy back, or whether the disk "
      "of meta_data_dir did (this is said for a day)";
  if (const std::vector<std::string> behind = StillBehind(state); !behind.empty()) {
    absl::StrAppend(&warning.problem, "; ", behind.size(),
                    behind.size() == 1 ? " partition waits (" : " partitions wait (",
                    NamedList(behind, kNamedMax, [](const std::string& one) { return one; }), ")");
    warning.way += kWayOutOfWaiting;
  }
  return warning;
}

std::optional<ClusterWarning> StateLearnedBack(const ClusterState& state) {
  const std::vector<std::string>& doubts = state.learned_back.doubts;
  if (doubts.empty()) return std::nullopt;
  return ClusterWarning{
      .kind = "state_learned_back",
      .count = static_cast<int64_t>(doubts.size()),
      .what = "meta server",
      .problem = absl::StrCat(
          "learned its state back from replica servers, and of that is doubtful: ",
          NamedList(doubts, kDoubtsNamedMax, [](const std::string& doubt) { return doubt; })),
      .way =
          "read the whole report in the meta server's log (recovery:), set environments again "
          "where tables had some, drop what had been dropped (this is said for a day)"};
}

void ForgetWhatWentBack(ClusterState& state, Instant now) {
  if (now - state.went_back.last_shown > kOlderShownFor) state.went_back = {};
  if (now - state.learned_back.at > kOlderShownFor) state.learned_back = {};
}

}  // namespace arion
