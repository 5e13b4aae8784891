// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/commands/split_commands.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <absl/time/clock.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status.h"
#include "tools/shell/arguments.h"
#include "tools/shell/commands/record_list_commands.h"
#include "tools/shell/progress.h"
#include "tools/shell/split_room.h"

namespace arion::shell {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(500);
constexpr absl::Duration kMetaPatience = absl::Seconds(60);  // with a meta server that is restarted
// Of the time left.
constexpr int64_t kTimeNotKnown = -1;

// "3", or an error that says what it should be.
absl::StatusOr<int32_t> CountIn(const std::string& text, std::string_view what) {
  int32_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0)
    return UsageError(absl::StrCat(Text(what), text.empty() ? "" : ", not ", Escape(text)));
  return number;
}

// A table, and what stands behind it; as words, or as admin-cli's options.
struct SplitArguments {
  Arguments arguments;
  std::string action;
  std::string table;
  std::string number;
};

// nullopt: it is not being split.
absl::StatusOr<std::optional<QuerySplitResponse>> AskSplit(Session& session,
                                                           const std::string& table) {
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  absl::StatusOr<QuerySplitResponse> answer = Refusal(admin->QuerySplit({table}));
  if (absl::IsFailedPrecondition(answer.status())) return std::nullopt;
  RETURN_IF_ERROR(answer.status());
  return *std::move(answer);
}

int64_t CompletedOf(const QuerySplitResponse& split) {
  return split.new_partition_count / 2 - static_cast<int64_t>(split.status.size());
}

// Until the last child is registered, or Ctrl-C. Whether it came to that.
absl::StatusOr<bool> AwaitSplit(Session& session, const std::string& table, int32_t count) {
  Progress progress(count / 2, "partitions");
  absl::Time heard_at = absl::Now();
  while (!progress.IsDetached()) {
    const auto split = AskSplit(session, table);
    if (!split.ok() && absl::Now() - heard_at > kMetaPatience) return split.status();
    if (split.ok()) heard_at = absl::Now();
    if (split.ok() && !*split) {
      ASSIGN_OR_RETURN(const TableState now, session.cluster().FindTable(table));
      if (now.info.partition_count < count)
        return absl::AbortedError(absl::StrCat("the split of table ", Escape(table),
                                               " was taken back: it has ", now.info.partition_count,
                                               " partitions"));
      return true;
    }
    if (split.ok()) progress.Show(CompletedOf(**split));
    Interrupts::Sleep(kLookEvery);
  }
  return false;
}

Answer::List RoomList(const SplitRoom& room) {
  Answer::List list{"lacking_room", {"server", "disk", "table_mb", "available_mb"}, {}};
  for (const DiskRoom& disk : room.disks)
    if (disk.lacks())
      list.rows.push_back(
          {disk.server.ToString(), Escape(disk.disk), disk.table_mb, disk.available_mb});
  return list;
}

absl::StatusOr<Outcome> StartSplit(Session& session, const SplitArguments& given) {
  ASSIGN_OR_RETURN(const int32_t count,
                   CountIn(given.number, "the table, and its new partition count"));
  ASSIGN_OR_RETURN(const TableState table, session.cluster().FindTable(given.table));
  ASSIGN_OR_RETURN(const SplitRoom room, RoomFor(session.cluster(), table.info));
  const std::string name = Escape(given.table);
  Answer::List lacking = RoomList(room);
  const bool lacks = !lacking.rows.empty();
  Answer answer;
  answer.Add("table", name)
      .Add("partition_count", int64_t{table.info.partition_count})
      .Add("new_partition_count", int64_t{count})
      .Add("no_answer_from", room.silent)
      .AddList(std::move(lacking));
  const bool is_dry_run = given.arguments.Has("--dry-run");
  if (lacks && !is_dry_run) {
    RETURN_IF_ERROR(session.ShowPlan(answer));
    const std::string question =
        "some disks have less room than the table takes there; its files are shared until they "
        "are compacted, and meanwhile up to as much again is needed. Split it?";
    if (!given.arguments.Has("-y") && !session.IsConfirmed(question))
      return absl::AbortedError(
          "nothing was done: some disks have less room than the table takes there, which may be "
          "needed when its files are compacted; -y splits it all the same");
  }
  if (is_dry_run)
    return Outcome{
        .answer = std::move(answer), .health = lacks ? Health::kBad : Health::kGood, .part = {}};
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(const StartSplitResponse started,
                   Refusal(admin->StartSplit({given.table, count})));
  Outcome outcome;
  bool is_done = false;
  if (given.arguments.Has("--wait")) {
    ASSIGN_OR_RETURN(is_done, AwaitSplit(session, given.table, count));
    // Ctrl-C ended the waiting, not the split.
    if (!is_done) outcome.health = Health::kNotDone;
  }
  std::string line = is_done
                         ? absl::StrCat("table ", name, " has ", count, " partitions")
                         : absl::StrCat("table ", name, " is split into ", count,
                                        " partitions; split query ", name, " shows how far it is");
  if (!started.hint_msg.empty()) absl::StrAppend(&line, "\n", Escape(started.hint_msg));
  if (!room.silent.empty())
    outcome.part = absl::StrCat("room was not looked at on ", absl::StrJoin(room.silent, ", "));
  outcome.answer = std::move(answer);
  outcome.answer.Add("hint", Escape(started.hint_msg)).Say(std::move(line));
  return outcome;
}

absl::StatusOr<Outcome> QuerySplit(Session& session, const SplitArguments& given) {
  if (!given.number.empty()) return UsageError("a table only");
  ASSIGN_OR_RETURN(const std::optional<QuerySplitResponse> split, AskSplit(session, given.table));
  Outcome outcome;
  Answer::List list{"partitions", {"partition", "child", "state", "progress"}, {}};
  if (!split) {
    ASSIGN_OR_RETURN(const TableState table, session.cluster().FindTable(given.table));
    outcome.answer.Add("table", Escape(given.table))
        .Add("state", std::string("not being split"))
        .Add("partition_count", int64_t{table.info.partition_count})
        .Add("completed", int64_t{0})
        .Add("splitting", int64_t{0})
        .Add("paused", int64_t{0})
        .Add("seconds_left", int64_t{0})
        .AddList(std::move(list));
    return outcome;
  }
  const auto paused =
      std::count_if(split->status.begin(), split->status.end(), [](const auto& parent) {
        return parent.second == static_cast<int32_t>(SplitStatus::kPaused);
      });
  const auto unfinished = static_cast<int64_t>(split->status.size());
  const int32_t parents = split->new_partition_count / 2;
  for (int32_t parent = 0; parent < parents; ++parent) {
    const auto status = split->status.find(parent);
    std::string progress;
    if (split->progress)
      if (const auto found = split->progress->find(parent); found != split->progress->end())
        progress = Escape(found->second);
    list.rows.push_back(
        {int64_t{parent}, int64_t{parent} + parents,
         std::string(status == split->status.end()
                         ? "completed"
                         : SplitStatusName(static_cast<SplitStatus>(status->second))),
         std::move(progress)});
  }
  outcome.answer.Add("table", Escape(given.table))
      .Add("state", std::string(unfinished > 0 && paused == unfinished ? "paused" : "splitting"))
      .Add("partition_count", int64_t{split->new_partition_count})
      .Add("completed", CompletedOf(*split))
      .Add("splitting", unfinished - paused)
      .Add("paused", int64_t{paused})
      .Add("seconds_left", split->seconds_left.value_or(kTimeNotKnown))
      .AddList(std::move(list));
  return outcome;
}

absl::StatusOr<Outcome> ControlSplit(Session& session, const ControlSplitRequest& request,
                                     std::string line) {
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(const ControlSplitResponse answer, Refusal(admin->ControlSplit(request)));
  const std::string hint = Escape(answer.hint_msg.value_or(""));
  if (!hint.empty()) absl::StrAppend(&line, "\n", hint);
  Outcome outcome;
  outcome.answer.Add("table", Escape(request.app_name))
      .Add("result", std::string("done"))
      .Add("hint", hint)
      .Say(std::move(line));
  return outcome;
}

// One parent, or all.
absl::StatusOr<Outcome> PauseOrRestart(Session& session, const SplitArguments& given,
                                       SplitControl control) {
  ControlSplitRequest request{.app_name = given.table,
                              .control_type = static_cast<int32_t>(control)};
  if (!given.number.empty()) {
    ASSIGN_OR_RETURN(request.parent_pidx,
                     CountIn(given.number, "a partition's index, below the former count"));
  }
  const std::string name = Escape(given.table);
  const std::string which = given.number.empty()
                                ? absl::StrCat("what is not split yet of table ", name)
                                : absl::StrCat("partition ", given.number, " of table ", name);
  return ControlSplit(
      session, request,
      control == SplitControl::kPause
          ? absl::StrCat(which, " stays as it is until split restart ", name,
                         given.number.empty() ? "" : " ", given.number)
          : absl::StrCat(which, " is split on; split query ", name, " shows how far it is"));
}

absl::StatusOr<Outcome> CancelSplit(Session& session, const SplitArguments& given) {
  ControlSplitRequest request{.app_name = given.table,
                              .control_type = static_cast<int32_t>(SplitControl::kCancel)};
  ASSIGN_OR_RETURN(request.old_partition_count,
                   CountIn(given.number, "the table, and its partition count before the split"));
  return ControlSplit(session, request,
                      absl::StrCat("table ", Escape(given.table), " has ",
                                   *request.old_partition_count, " partitions as before"));
}

absl::StatusOr<Outcome> Split(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-a", "-p", "-i"}, {"-y", "--dry-run", "--wait"}));
  const Words& rest = arguments.words();
  if (rest.empty()) return UsageError("start, query, pause, restart or cancel");
  SplitArguments given{.arguments = arguments, .action = rest[0], .table = {}, .number = {}};
  Words values(rest.begin() + 1, rest.end());
  if (arguments.Has("-a")) values.insert(values.begin(), arguments.Value("-a"));
  const bool takes_index = given.action == "pause" || given.action == "restart";
  if (arguments.Has(takes_index ? "-p" : "-i"))
    return UsageError(takes_index ? "-i names the partition" : "-p names the count");
  for (const char* option : {"-p", "-i"})
    if (arguments.Has(option)) values.push_back(arguments.Value(option));
  given.table = values.empty() ? session.table_name() : values[0];
  if (given.table.empty()) return UsageError("which table?");
  if (values.size() > 2) return UsageError("a table, and one number");
  if (values.size() == 2) given.number = values[1];
  const bool is_start = given.action == "start";
  for (const char* option : {"-y", "--dry-run", "--wait"})
    if (arguments.Has(option) && !is_start)
      return UsageError(absl::StrCat(option, " is for split start"));
  if (is_start) return StartSplit(session, given);
  if (given.action == "query") return QuerySplit(session, given);
  if (given.action == "pause") return PauseOrRestart(session, given, SplitControl::kPause);
  if (given.action == "restart") return PauseOrRestart(session, given, SplitControl::kRestart);
  if (given.action == "cancel") return CancelSplit(session, given);
  return UsageError("start, query, pause, restart or cancel");
}

}  // namespace

std::vector<std::string> SplitWords(Cluster& cluster, const Words& before) {
  if (before.size() == 1) return {"start", "query", "pause", "restart", "cancel"};
  if (before.size() != 3) return {};
  const std::string& action = before[1];
  if (action == "pause" || action == "restart") {
    const auto admin = cluster.Admin();
    if (!admin.ok()) return {};
    const auto split = (*admin)->QuerySplit({before[2]});
    if (!split.ok()) return {};
    const auto wanted =
        static_cast<int32_t>(action == "pause" ? SplitStatus::kSplitting : SplitStatus::kPaused);
    std::vector<std::string> found;
    for (const auto& [parent, status] : split->status)
      if (status == wanted) found.push_back(std::to_string(parent));
    return found;
  }
  if (action != "start" && action != "cancel") return {};
  const auto table = cluster.FindTable(before[2]);
  if (!table.ok()) return {};
  const int32_t count = table->info.partition_count;
  return {std::to_string(action == "start" ? 2 * count : count / 2)};
}

std::vector<Command> SplitCommands() {
  using Completes = Command::Completes;
  static constexpr char kUsage[] =
      "start TABLE COUNT [-y] [--dry-run] [--wait] | query TABLE | pause TABLE [PARTITION_INDEX] | "
      "restart TABLE [PARTITION_INDEX] | cancel TABLE COUNT_BEFORE";
  return {{"split", kUsage,
           "doubles a table's partition count while it serves; start says first which disks lack "
           "room for the compactions that follow, and --wait waits for the end; query shows how "
           "far each partition is; cancel takes it back as long as no partition is split",
           Completes::kSplit, Split},
          {"partition-split",
           "start -a TABLE -p COUNT | query -a TABLE | pause -a TABLE [-i INDEX] | "
           "restart -a TABLE [-i INDEX] | cancel -a TABLE -p COUNT_BEFORE",
           "split, as admin-cli says it", Completes::kSplit, Split}};
}

}  // namespace arion::shell
