// Session: one user's conversation with a cluster: the table in use, how answers are printed, the
// commands there are.
//
// Exit codes 0 ok · 1 a command failed, or was ended before it was done · 2 usage · 3 cannot
//           connect · 4 what was shown is not healthy.
// Threads   One thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/shell/answer.h"
#include "tools/shell/cluster.h"
#include "tools/shell/words.h"

namespace arion::shell {

// What the process returns; the banner says what each means.
enum class ExitCode : int { kOk = 0, kFailed = 1, kUsage = 2, kCannotConnect = 3, kUnhealthy = 4 };
enum class OutputForm { kText, kJson };
// kBad: what the answer shows is not healthy. kNotDone: besides, not all was done that was asked
// for, which is a failure.
enum class Health { kGood, kBad, kNotDone };

// What a command came to. A command that failed returns a status instead.
struct Outcome {
  Answer answer;
  Health health = Health::kGood;
  // Where the answer is only a part: which one, and how to get the rest. Printed on standard error.
  std::string part;
};

class Session;

// A command: its name and a function of the words after it.
struct Command {
  std::string_view name;
  // What follows the name.
  std::string_view usage;
  std::string_view help;
  // What its next word may be, for completion.
  enum class Completes {
    kNothing,
    kTables,
    kNodes,
    kPartitions,
    kEnvironments,
    kLevels,
    kSettings,
    kRemoteCommands,
    // A table, and behind it an index of that table.
    kIndexes,
    // What a split is asked for, a table, a number.
    kSplit,
    // The same of duplications.
    kDuplication
  } completes;
  // InvalidArgument: wrong usage.
  std::function<absl::StatusOr<Outcome>(Session& session, const Words& arguments)> run;
};

// Made once for a process; it keeps the table in use, and how answers are shown, from one line to
// the next.
//
//   Session session(&cluster, OutputForm::kText, confirm);
//   return static_cast<int>(session.Run("use temp; ls"));
class Session {
 public:
  // Asks a person a yes-no question; where nobody can be asked it answers no.
  using Confirm = std::function<bool(const std::string& question)>;

  // `cluster` outlives it.
  Session(Cluster* cluster, OutputForm form, Confirm confirm);

  // Runs what `text` says until a command fails, or standard output takes no more. Commands are
  // separated by ";" or line ends. An unhealthy answer does not end it, but is what it returns.
  // Prints answers to standard output, errors to standard error (JSON: both to standard output).
  ExitCode Run(std::string_view text);
  // One line about the cluster, for the beginning. Asks the meta server, and sets what Prompt
  // shows.
  std::string HealthLine();
  // "cluster/table> ", with "!" before the ">" where HealthLine found something amiss.
  std::string Prompt() const;
  // What the last word of `line` may become, sorted. It may ask the cluster.
  std::vector<std::string> Complete(const std::string& line);

  bool ended() const { return ended_; }
  // No command after this one is run.
  void End() { ended_ = true; }
  Cluster& cluster() { return *cluster_; }
  const std::vector<Command>& commands() const { return commands_; }
  // Asks the person, as `confirm` of the constructor.
  bool IsConfirmed(const std::string& question) { return confirm_(question); }
  // Shows what would be done, before it is asked for. FailedPrecondition: nobody can see it.
  absl::Status ShowPlan(const Answer& plan) const;
  const std::string& table_name() const { return table_name_; }
  void set_table_name(std::string name) { table_name_ = std::move(name); }
  // Keys and values as they are shown; with escapes_all() every byte of them as \xHH.
  std::string Shown(std::string_view bytes) const;
  bool escapes_all() const { return escapes_all_; }
  void set_escapes_all(bool all) { escapes_all_ = all; }
  // The table in use; FailedPrecondition without one.
  absl::StatusOr<std::shared_ptr<Table>> CurrentTable();
  // The table that has the name now: it may be another one than was opened.
  absl::StatusOr<std::shared_ptr<Table>> ReopenTable();

 private:
  // How an answer is shown: options behind a command that only shows something.
  struct Showing {
    OutputForm form;
    // -o; empty: standard output.
    std::string file;
    // -r: servers by their hosts' names.
    bool resolves = false;
    // --watch
    std::optional<absl::Duration> watch;
  };
  absl::StatusOr<Showing> TakeShowing(Words* words) const;
  ExitCode RunOne(Words words);
  ExitCode RunOnce(const Command& command, const Words& arguments, const Showing& showing);
  ExitCode Watch(const Command& command, const Words& arguments, const Showing& showing);
  absl::Status Show(const Answer& answer, const Showing& showing);
  std::vector<std::string> CompletionsOf(Command::Completes completes, const Words& before);
  ExitCode Fail(ExitCode code, const absl::Status& status);

  Cluster* const cluster_;
  const OutputForm form_;
  const Confirm confirm_;
  const std::vector<Command> commands_;
  std::string table_name_;
  std::string cluster_name_ = "arion";
  bool healthy_ = true;
  // As they were shown last.
  std::vector<std::string> watched_lines_;
  bool ended_ = false;
  bool escapes_all_ = false;
};

// All commands, each in the file of its noun.
std::vector<Command> ClusterCommands();
std::vector<Command> MetaCommands();
std::vector<Command> NodeCommands();
std::vector<Command> JoinCommands();
std::vector<Command> TableCommands();
std::vector<Command> EnvironmentCommands();
std::vector<Command> IndexCommands();
std::vector<Command> PlanCommands();
std::vector<Command> RecoveryCommands();
std::vector<Command> RecordCommands();
std::vector<Command> ServerPageCommands();
std::vector<Command> LoadCommands();
std::vector<Command> StatusCommands();
std::vector<Command> DrainCommands();
std::vector<Command> RestartCommands();
std::vector<Command> ServerCommands();
std::vector<Command> CompactionCommands();
std::vector<Command> SplitCommands();
std::vector<Command> DuplicationCommands();
std::vector<Command> DuplicateCommands();
std::vector<Command> VerificationCommands();
std::vector<Command> StatisticsCommands();
std::vector<Command> TableCopyCommands();
std::vector<Command> StoredBytesCommands();
std::vector<Command> SessionCommands();

// What a command's `run` returns for wrong usage.
absl::Status UsageError(std::string_view what);

}  // namespace arion::shell
