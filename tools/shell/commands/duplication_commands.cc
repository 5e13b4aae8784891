// Duplications of a table to other clusters.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>
#include <absl/time/clock.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status.h"
#include "client/admin_client.h"
#include "messages/duplication_messages.h"
#include "tools/shell/arguments.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

// Of what no server has said yet.
constexpr int64_t kNotKnown = -1;

std::string StatusText(int32_t status) {
  return std::string(DuplicationStatusName(static_cast<DuplicationStatus>(status)));
}
std::string FailModeText(int32_t mode) {
  return std::string(DuplicationFailModeName(static_cast<DuplicationFailMode>(mode)));
}

std::string TimeText(int64_t unix_ms) {
  return absl::FormatTime("%Y-%m-%d_%H:%M:%S", absl::FromUnixMillis(unix_ms),
                          absl::LocalTimeZone());
}

// How far partitions are, all together or one.
struct Lag {
  // Mutations that are committed here and not known to be there; kNotKnown: some primary has not
  // said.
  int64_t mutations = 0;
  int64_t bytes = 0;
  // The age of the oldest write that is not known to be there.
  int64_t seconds = 0;
};

template <class Value>
std::optional<Value> Of(const std::optional<std::map<int32_t, Value>>& values, int32_t index) {
  if (!values) return std::nullopt;
  const auto found = values->find(index);
  return found == values->end() ? std::nullopt : std::optional(found->second);
}

Lag LagOf(const DuplicationEntry& entry, int32_t index, const DuplicationPartitionState& state) {
  Lag lag;
  lag.mutations = state.last_committed_decree < 0
                      ? kNotKnown
                      : std::max<int64_t>(0, state.last_committed_decree -
                                                 std::max<int64_t>(0, state.confirmed_decree));
  lag.bytes = Of(entry.unconfirmed_bytes, index).value_or(0);
  if (const auto oldest = Of(entry.oldest_unconfirmed_us, index))
    lag.seconds =
        std::max<int64_t>(0, absl::ToInt64Seconds(absl::Now() - absl::FromUnixMicros(*oldest)));
  return lag;
}

// What is wrong with it, the duplication's own first, then a partition's.
std::string TroubleOf(const DuplicationEntry& entry) {
  std::string trouble = entry.trouble.value_or("");
  const size_t count = entry.troubles ? entry.troubles->size() : 0;
  if (trouble.empty() && count > 0) {
    const auto& [index, text] = *entry.troubles->begin();
    trouble = absl::StrCat("partition ", index, ": ", text,
                           count > 1 ? absl::StrCat(" (and ", count - 1, " more)") : "");
  }
  return Escape(trouble);
}

std::vector<Cell> RowOf(const DuplicationEntry& entry, const std::string& table) {
  Lag all;
  if (entry.partition_states) {
    for (const auto& [index, state] : *entry.partition_states) {
      const Lag one = LagOf(entry, index, state);
      const bool is_known = all.mutations != kNotKnown && one.mutations != kNotKnown;
      all.mutations = is_known ? all.mutations + one.mutations : kNotKnown;
      all.bytes += one.bytes;
      all.seconds = std::max(all.seconds, one.seconds);
    }
  }
  return {int64_t{entry.dupid},
          StatusText(entry.status),
          Escape(entry.remote),
          Escape(entry.remote_app_name.value_or(table)),
          FailModeText(entry.fail_mode.value_or(0)),
          TimeText(entry.create_ts),
          all.mutations,
          all.bytes,
          all.seconds,
          TroubleOf(entry)};
}

absl::StatusOr<Outcome> QueryDup(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {}, {"-d", "--detail"}));
  if (arguments.words().size() != 1) return UsageError("a table");
  const std::string& table = arguments.words()[0];
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(const QueryDuplicationResponse answer, admin->QueryDuplication({table}));
  Answer::List list{"duplications",
                    {"dup_id", "status", "remote_cluster", "remote_table", "fail_mode",
                     "create_time", "lag_mutations", "lag_bytes", "lag_seconds", "trouble"},
                    {}};
  Answer::List partitions{"partitions",
                          {"dup_id", "partition", "confirmed_decree", "committed_decree",
                           "lag_mutations", "lag_bytes", "lag_seconds", "trouble"},
                          {}};
  for (const DuplicationEntry& entry : answer.entry_list) {
    list.rows.push_back(RowOf(entry, table));
    if (!entry.partition_states) continue;
    for (const auto& [index, state] : *entry.partition_states) {
      const Lag lag = LagOf(entry, index, state);
      partitions.rows.push_back({int64_t{entry.dupid}, int64_t{index}, state.confirmed_decree,
                                 state.last_committed_decree, lag.mutations, lag.bytes, lag.seconds,
                                 Escape(Of(entry.troubles, index).value_or(""))});
    }
  }
  Outcome outcome;
  outcome.answer.Add("table", Escape(table)).Add("app_id", int64_t{answer.appid});
  outcome.answer.AddList(std::move(list));
  if (arguments.Has("-d") || arguments.Has("--detail"))
    outcome.answer.AddList(std::move(partitions));
  return outcome;
}

absl::StatusOr<Outcome> AddDup(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-a", "-r"}, {"-s", "--sst"}));
  if (arguments.words().size() != 2) return UsageError("a table, and another cluster's name");
  AddDuplicationRequest request{
      .app_name = arguments.words()[0],
      .remote_cluster_name = arguments.words()[1],
      .is_duplicating_checkpoint = arguments.Has("-s") || arguments.Has("--sst")};
  if (arguments.Has("-a")) request.remote_app_name = arguments.Value("-a");
  if (arguments.Has("-r")) {
    int32_t count = 0;
    if (!absl::SimpleAtoi(arguments.Value("-r"), &count) || count < 1)
      return UsageError("-r: how many replicas the table has there");
    request.remote_replica_count = count;
  }
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(const AddDuplicationResponse added, admin->AddDuplication(request));
  const std::string table = Escape(request.app_name), remote = Escape(request.remote_cluster_name);
  // Only one that was there already has a hint.
  const std::string hint = Escape(added.hint.value_or(""));
  std::string line =
      absl::StrCat("table ", table, " is duplicated to cluster ", remote, ", duplication ",
                   added.dupid, "; query_dup ", table, " shows how far it is");
  if (!hint.empty()) absl::StrAppend(&line, "\n", hint);
  Outcome outcome;
  outcome.answer.Add("table", table)
      .Add("remote_cluster", remote)
      .Add("app_id", int64_t{added.appid})
      .Add("dup_id", int64_t{added.dupid})
      .Add("hint", hint)
      .Say(std::move(line));
  return outcome;
}

// A table and a duplication of it, and what is changed.
absl::StatusOr<Outcome> ModifyDup(Session& session, const Words& words,
                                  std::optional<DuplicationStatus> status,
                                  std::optional<DuplicationFailMode> mode,
                                  std::string_view what_it_is) {
  ModifyDuplicationRequest request{.app_name = words.empty() ? "" : words[0]};
  if (words.size() != 2 || !absl::SimpleAtoi(words[1], &request.dupid))
    return UsageError("a table, and the id of one of its duplications (query_dup shows them)");
  if (status) request.status = static_cast<int32_t>(*status);
  if (mode) request.fail_mode = static_cast<int32_t>(*mode);
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  RETURN_IF_ERROR(admin->ModifyDuplication(request).status());
  const std::string table = Escape(request.app_name);
  Outcome outcome;
  outcome.answer.Add("table", table)
      .Add("dup_id", int64_t{request.dupid})
      .Add("result", std::string(what_it_is))
      .Say(absl::StrCat("duplication ", request.dupid, " of table ", table, " is ",
                        Text(what_it_is)));
  return outcome;
}

template <DuplicationStatus kStatus>
absl::StatusOr<Outcome> SetStatus(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {}, {}));
  constexpr std::string_view kBecomes = kStatus == DuplicationStatus::kLog     ? "started"
                                        : kStatus == DuplicationStatus::kPause ? "paused"
                                                                               : "removed";
  return ModifyDup(session, arguments.words(), kStatus, std::nullopt, kBecomes);
}

absl::StatusOr<Outcome> SetFailMode(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {}, {}));
  Words rest = arguments.words();
  const std::string mode = rest.empty() ? "" : rest.back();
  if (mode != "slow" && mode != "skip")
    return UsageError("a table, the id of one of its duplications, and slow or skip");
  rest.pop_back();
  return ModifyDup(
      session, rest, std::nullopt,
      mode == "slow" ? DuplicationFailMode::kSlow : DuplicationFailMode::kSkip,
      mode == "slow" ? "tried again where it can't send" : "skipping what it can't send");
}

}  // namespace

std::vector<Command> DuplicationCommands() {
  using Completes = Command::Completes;
  using S = DuplicationStatus;
  return {
      {"add_dup", "TABLE CLUSTER [-s] [-a REMOTE_TABLE] [-r REMOTE_REPLICAS]",
       "sends a table's writes on to another cluster; with -s that cluster first makes the table, "
       "with all that is in it, without -s it has the table already",
       Completes::kTables, AddDup},
      {"query_dup", "TABLE [-d]",
       "a table's duplications, how far they lag and what stops them; -d: each partition",
       Completes::kTables, QueryDup},
      {"start_dup", "TABLE DUP_ID", "a duplication that was paused goes on", Completes::kTables,
       SetStatus<S::kLog>},
      {"pause_dup", "TABLE DUP_ID",
       "a duplication sends nothing until start_dup; meanwhile logs are kept for it",
       Completes::kTables, SetStatus<S::kPause>},
      {"remove_dup", "TABLE DUP_ID",
       "ends a duplication; what was not sent yet is not sent any more", Completes::kTables,
       SetStatus<S::kRemoved>},
      {"set_dup_fail_mode", "TABLE DUP_ID slow|skip",
       "what a duplication does with what it can't send: tries for ever, or leaves it out",
       Completes::kTables, SetFailMode}};
}

}  // namespace arion::shell
