// Compactions on request.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>

#include "base/status.h"
#include "tools/shell/arguments.h"
#include "tools/shell/progress.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

absl::StatusOr<int> ProgressOf(Session& session, const std::string& table) {
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(const QueryManualCompactResponse answer, admin->QueryCompaction({table}));
  return answer.progress.value_or(0);
}

// Until all members said that they are done, or Ctrl-C.
absl::StatusOr<int> AwaitEnd(Session& session, const std::string& table) {
  Progress progress(100, "percent");
  int done = 0;
  while (done < 100 && !progress.IsDetached()) {
    ASSIGN_OR_RETURN(done, ProgressOf(session, table));
    progress.Show(done);
    if (done < 100) Interrupts::Sleep(absl::Milliseconds(500));
  }
  return done;
}

absl::StatusOr<Outcome> Start(Session& session, const std::string& table,
                              const Arguments& arguments) {
  StartManualCompactRequest request{.app_name = table, .bottommost = arguments.Has("-b")};
  int32_t number = 0;
  if (const std::string level = arguments.Value("-l"); !level.empty()) {
    if (!absl::SimpleAtoi(level, &number)) return UsageError("-l takes a level, or -1");
    request.target_level = number;
  }
  if (const std::string count = arguments.Value("-c"); !count.empty()) {
    if (!absl::SimpleAtoi(count, &number)) return UsageError("-c takes a number of replicas");
    request.max_running_count = number;
  }
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  const absl::Status started = admin->StartCompaction(request).status();
  if (absl::IsInvalidArgument(started)) return absl::FailedPreconditionError(started.message());
  RETURN_IF_ERROR(started);
  Outcome outcome;
  outcome.answer.Add("table", Escape(table));
  int done = 0;
  if (arguments.Has("--wait")) {
    ASSIGN_OR_RETURN(done, AwaitEnd(session, table));
    // Ctrl-C ended the waiting, not the compaction.
    if (done < 100) outcome.health = Health::kNotDone;
  }
  outcome.answer.Add("progress", int64_t{done})
      .Say(absl::StrCat("table ", Escape(table), " is compacted: ", done,
                        done < 100 ? " %; manual-compaction query shows how far it is" : " %"));
  return outcome;
}

absl::StatusOr<Outcome> ManualCompaction(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-a", "-l", "-c"}, {"-b", "--wait"}));
  const Words& rest = arguments.words();
  const std::string table =
      arguments.Value("-a").empty() ? session.table_name() : arguments.Value("-a");
  if (rest.size() != 1 || (rest[0] != "start" && rest[0] != "query"))
    return UsageError("start or query");
  if (table.empty()) return UsageError("which table? -a names it");
  if (rest[0] == "start") return Start(session, table, arguments);
  ASSIGN_OR_RETURN(const int done, ProgressOf(session, table));
  Outcome outcome;
  outcome.answer.Add("table", Escape(table))
      .Add("progress", int64_t{done})
      .Say(absl::StrCat(done, " % of table ", Escape(table), " is compacted"));
  return outcome;
}

}  // namespace

std::vector<Command> CompactionCommands() {
  return {{"manual-compaction", "start|query [-a TABLE] [-l LEVEL] [-c AT_ONCE] [-b] [--wait]",
           "merges a table's files now: -b the last level too, -c replicas of a server at a time, "
           "--wait until it is done",
           Command::Completes::kTables, ManualCompaction}};
}

}  // namespace arion::shell
