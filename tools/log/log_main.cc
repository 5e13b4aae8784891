// arion_log: looks at logs, says whether they are whole, and sets aside what can't be replayed.
// SPDX-License-Identifier: Apache-2.0
#include <gflags/gflags.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/program_output.h"
#include "base/status.h"
#include "posix/posix_clock.h"
#include "posix/posix_file_system.h"
#include "tools/log/dry_run_files.h"
#include "tools/log/dump.h"
#include "tools/log/log_stat.h"
#include "tools/log/progress.h"
#include "tools/log/repair.h"
#include "tools/log/report.h"
#include "tools/log/server_commands.h"
#include "tools/log/verdict.h"

DEFINE_bool(j, false, "JSON, a line each");
DEFINE_bool(json, false, "the same");
DEFINE_bool(keys, false, "dump: show the keys that updates name");
DEFINE_int64(applied, 0, "verify, repair: the engine holds every decree up to this one");
DEFINE_bool(yes, false, "repair, prepare-rollback: do it");
DEFINE_bool(no_shared_log, false, "prepare-rollback --to=2.3: its files are gone for good");
DEFINE_string(to, "2.4", "prepare-rollback: the older version, 2.3, 2.4 or 2.5");

// Of gflags, though not in its header: how it ends the process when a flag is wrong.
namespace google {
extern void (*gflags_exitfunc)(int);
}

namespace arion::logtool {
namespace {

enum class ExitCode { kOk = 0, kDamaged = 1, kUsage = 2, kUnreadable = 3 };

constexpr char kHelp[] = R"(arion_log looks at mutation logs, private (plog) and shared (slog).

usage: arion_log dump|verify|stat|repair [flags] PATH...
       arion_log who|coverage|upgrade-check|prepare-rollback [flags] DIRECTORY...

  PATH    a log file, a folder of log files, a replica's directory, or a data directory

  dump    every file, mutation and end
  verify  would a server open it? For each log: OK, TORN TAIL (harmless: what a crash leaves, cut at
          the next start), DAMAGED, REFUSED (something lies there that no server touches), UNREADABLE;
          and what is lost of a log that was whole when its server stopped
  stat    totals of each log and each disk: bytes, decrees, blocks, codes
  repair  of a damaged private log: sets aside what can't be replayed, as <file>.removed and
          <file>.tail; deletes nothing. Says what it would do; --yes does it, not while a server
          holds the data directory

All of a server's data at once; name every directory its replicas and its shared log lie below:

  who               which replicas have which decrees in which file of the shared log
  coverage          what each replica's private log lacks and would take from the shared log
  upgrade-check     would our server start on these data, and what would it take over?
  prepare-rollback  after our server was stopped or killed: makes of the data what an older version
                    opens: torn ends cut, spare files removed; with --to=2.3 the shared log's files
                    are renamed .set-aside too and the offsets set to 0: name its folder, too, where
                    slog_dir lies elsewhere. Says what it would do; --yes does it. May be repeated

  -j, --json    a line of JSON each
  --keys        dump: the keys that updates name, escaped
  --applied=N   verify, repair: the engine holds every decree up to N: files with only older ones need
                not be whole
  --yes         repair, prepare-rollback: do it
  --to=VERSION  prepare-rollback: 2.3 (and older), 2.4 (the default) or 2.5
  --no_shared_log
                prepare-rollback --to=2.3: no shared log was found as its files are gone

exit codes: 0 fine (a torn tail is), 1 something is damaged, lost or refused, 2 usage,
            3 something can't be read, is held by a server, or standard output took not all
)";

// What standard output does not take is said at the end.
void Out(std::string_view text) { fwrite(text.data(), 1, text.size(), stdout); }
void PrintError(std::string_view text) {
  fprintf(stderr, "arion_log: %.*s\n", static_cast<int>(text.size()), text.data());
}
bool IsJson() { return FLAGS_j || FLAGS_json; }

// The directories above a log say whose it is, and how it was written. A symbolic link at the end
// stays one: it is refused.
std::string AbsolutePath(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path absolute = fs::absolute(path, error);
  if (path.empty() || error) return path;
  if (std::find(absolute.begin(), absolute.end(), "..") == absolute.end()) {
    absolute = absolute.lexically_normal();
    if (!absolute.has_filename()) absolute = absolute.parent_path();
    return absolute.string();
  }
  // What lies above a link's target is no matter of names.
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  const fs::path name = absolute.filename();
  const bool is_directory = name == "." || name == "..";
  const fs::path real = fs::canonical(is_directory ? absolute : absolute.parent_path(), error);
  if (error) return path;
  return (is_directory ? real : real / name).string();
}

class Program {
 public:
  explicit Program(std::string command)
      : command_(std::move(command)),
        progress_(clock_, command_, isatty(STDERR_FILENO) != 0 ? ShowProgress : nullptr),
        watched_(files_, {.on_read = [this](uint64_t bytes) { progress_.Add(bytes); }}) {}

  ExitCode Run(const std::vector<std::string>& paths) {
    std::vector<std::pair<std::string, FoundPlaces>> all;
    for (const std::string& path : paths) {
      auto found = FindLogs(watched_, path);
      if (found.ok())
        all.emplace_back(path, *std::move(found));
      else
        Failed(found.status());
    }
    for (const auto& [path, found] : all)
      for (const LogPlace& place : found.places) Expect(place);
    for (const auto& [path, found] : all) {
      for (const auto& trouble : found.troubles) Failed(trouble.status);
      for (const LogPlace& place : found.places)
        RunOn(place, found.places.size() > 1 ? path : place.directory);
    }
    if (command_ == "stat") PrintDisks();
    progress_.Clear();
    return is_damaged_      ? ExitCode::kDamaged
           : is_usage_      ? ExitCode::kUsage
           : is_unreadable_ ? ExitCode::kUnreadable
                            : ExitCode::kOk;
  }

 private:
  static void ShowProgress(std::string_view line) {
    fwrite(line.data(), 1, line.size(), stderr);
    fflush(stderr);
  }

  void Expect(const LogPlace& place) {
    const auto names = ListLogFolder(watched_, place.directory);
    if (!names.ok()) return;
    const uint64_t passes = command_ == "dump" && !IsJson() ? 2 : 1;
    for (const auto& log : names->logs)
      if (place.only_file.empty() || log.file_name == place.only_file)
        progress_.Expect(log.size * passes);
  }

  void RunOn(const LogPlace& place, const std::string& above) {
    if (command_ == "dump") return DumpPlace(place, above);
    if (command_ == "verify") return VerifyPlace(place);
    if (command_ == "stat") return StatPlace(place);
    RepairPlace(place);
  }

  void Failed(const absl::Status& status) {
    progress_.Clear();
    PrintError(View(status.message()));
    if (absl::IsInvalidArgument(status))
      is_usage_ = true;
    else if (absl::IsDataLoss(status) || absl::IsFailedPrecondition(status) ||
             absl::IsOutOfRange(status))
      is_damaged_ = true;
    else
      is_unreadable_ = true;
  }

  void Count(const Verdict& verdict) {
    is_damaged_ = is_damaged_ || verdict.judgement == Judgement::kDamaged ||
                  verdict.judgement == Judgement::kRefused;
    is_unreadable_ = is_unreadable_ || verdict.judgement == Judgement::kUnreadable;
  }

  void Say(std::string_view text) {
    progress_.Clear();
    Out(text);
  }

  void DumpPlace(const LogPlace& place, const std::string& above) {
    DumpOptions options;
    options.form = IsJson() ? OutputForm::kJson : OutputForm::kText;
    options.keys = FLAGS_keys ? KeyForm::kShown : KeyForm::kHidden;
    if (place.directory != above)
      options.file_prefix = place.directory.substr(above.size() + 1) + "/";
    const auto damaged = Dump(watched_, place, options, say_);
    if (!damaged.ok()) return Failed(damaged.status());
    is_damaged_ = is_damaged_ || (*damaged && !IsSound(place));
  }

  // What a killed server leaves behind the content of its own files (zeros, an older log's blocks)
  // is damage to the old versions' rule only.
  bool IsSound(const LogPlace& place) {
    if (place.kind != LogKind::kPrivate) return false;
    const Judgement judgement = Judge(watched_, place, {}).judgement;
    return judgement == Judgement::kOk || judgement == Judgement::kTornTail;
  }

  void VerifyPlace(const LogPlace& place) {
    const Verdict verdict = Judge(watched_, place, {.applied = Decree(FLAGS_applied)});
    Count(verdict);
    is_damaged_ = is_damaged_ || !verdict.lost.empty();
    if (IsJson())
      PrintVerdictJson(place, verdict, say_);
    else
      Say(VerdictText(place, verdict));
  }

  void StatPlace(const LogPlace& place) {
    auto stat = StatLog(watched_, place);
    if (!stat.ok()) return Failed(stat.status());
    if (stat->damaged_files > 0 && IsSound(place)) stat->damaged_files = 0;
    is_damaged_ = is_damaged_ || stat->damaged_files > 0;
    if (IsJson())
      PrintStatJson("log", place.Label(), *stat, say_);
    else
      Say(absl::StrCat(place.Label(), "\n", StatText(*stat)));
    const auto device = watched_.DeviceOf(place.directory);
    if (!device.ok()) return Failed(device.status());
    disks_[*device].Add(*stat);
  }

  void PrintDisks() {
    for (const auto& [device, stat] : disks_) {
      const std::string name = absl::StrCat(major(device), ":", minor(device));
      if (IsJson())
        PrintStatJson("disk", name, stat, say_);
      else if (stat.logs > 1)
        Say(absl::StrCat("disk ", name, ", ", stat.logs, " logs\n", StatText(stat)));
    }
  }

  void RepairPlace(const LogPlace& place) {
    std::unique_ptr<WritableFile> lock;
    if (FLAGS_yes) {
      auto locked = LockDataDirectory(place);
      if (!locked.ok()) {
        PrintError(View(locked.status().message()));
        is_unreadable_ = true;
        return;
      }
      lock = *std::move(locked);
    }
    const auto plan = PlanRepair(watched_, place, {.applied = Decree(FLAGS_applied)});
    if (!plan.ok()) return Failed(plan.status());
    if (FLAGS_yes)
      if (absl::Status done = CarryOut(files_, *plan); !done.ok()) return Failed(done);
    Count(FLAGS_yes ? plan->after : plan->before);
    const RepairState state = FLAGS_yes ? RepairState::kDone : RepairState::kPlanned;
    if (IsJson())
      PrintRepairJson(place, *plan, state, say_);
    else
      Say(RepairText(place, *plan, state));
  }

  // The lock of the replica server whose data this is. Null: the log lies in no data directory.
  absl::StatusOr<std::unique_ptr<WritableFile>> LockDataDirectory(const LogPlace& place) {
    std::error_code error;
    const auto folder = std::filesystem::canonical(place.directory, error);
    if (error) return absl::InternalError(absl::StrCat(place.directory, ": ", error.message()));
    std::string data = ParseReplicaName(folder.parent_path().filename().string())
                           ? folder.parent_path().parent_path().string()
                           : "";
    for (auto above = folder; data.empty() && above.has_relative_path();
         above = above.parent_path())
      if (Exists(files_, (above / kLockName).string())) data = above.string();
    if (data.empty()) return nullptr;
    auto lock = files_.Lock(JoinPath(data, kLockName));
    if (!lock.ok()) return Annotate(lock.status(), "a server holds the data directory");
    return lock;
  }

  static constexpr char kLockName[] = ".arion-lock";  // data_directory_claim.h

  const std::string command_;
  PosixFileSystem files_;
  PosixClock clock_;
  Progress progress_;
  DryRunFiles watched_;  // all reading goes through it: nothing but CarryOut can change a file
  const Print say_ = [this](std::string_view text) { Say(text); };
  std::map<uint64_t, LogStat> disks_;
  bool is_damaged_ = false;
  bool is_usage_ = false;
  bool is_unreadable_ = false;
};

std::optional<ServerCommand::Kind> ServerCommandOf(const std::string& word) {
  if (word == "who") return ServerCommand::Kind::kWho;
  if (word == "coverage") return ServerCommand::Kind::kCoverage;
  if (word == "upgrade-check") return ServerCommand::Kind::kUpgradeCheck;
  if (word == "prepare-rollback") return ServerCommand::Kind::kPrepareRollback;
  return std::nullopt;
}

ExitCode RunOnServer(ServerCommand::Kind kind, const std::vector<std::string>& directories) {
  if (FLAGS_to != "2.3" && FLAGS_to != "2.4" && FLAGS_to != "2.5") {
    PrintError("--to: write 2.3, 2.4 or 2.5");
    return ExitCode::kUsage;
  }
  PosixFileSystem files;
  const absl::Status done = RunServerCommand(
      files,
      {.kind = kind,
       .directories = directories,
       .form = IsJson() ? OutputForm::kJson : OutputForm::kText,
       .rollback = {.target = FLAGS_to == "2.3" ? RollbackTarget::k23 : RollbackTarget::k24,
                    .shared_log = FLAGS_no_shared_log ? RollbackOrder::SharedLog::kIsGone
                                                      : RollbackOrder::SharedLog::kMustBeFound},
       .doing = FLAGS_yes ? ServerCommand::Doing::kDoes : ServerCommand::Doing::kSaysOnly,
       .pause = [] { absl::SleepFor(absl::Milliseconds(100)); }},
      Out);
  if (done.ok()) return ExitCode::kOk;
  PrintError(View(done.message()));
  return absl::IsDataLoss(done) || absl::IsFailedPrecondition(done) ? ExitCode::kDamaged
                                                                    : ExitCode::kUnreadable;
}

ExitCode Main(int argc, char** argv) {
  CheckStandardOutputAtExit(static_cast<int>(ExitCode::kUnreadable));
  FLAGS_minloglevel = google::GLOG_FATAL;  // what recovery warns of is in the verdict
  FLAGS_logtostderr = true;
  google::gflags_exitfunc = [](int) { exit(static_cast<int>(ExitCode::kUsage)); };
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word != "--help" && word != "-help" && word != "-h") continue;
    Out(kHelp);
    return ExitCode::kOk;
  }
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string command = words.empty() ? "" : words[0];
  const auto server_command = ServerCommandOf(command);
  const bool is_known = server_command || command == "dump" || command == "verify" ||
                        command == "stat" || command == "repair";
  if (!is_known || words.size() < 2) {
    PrintError(words.empty() ? "say what to do; arion_log --help"
               : !is_known   ? absl::StrCat("\"", command, "\" is no command; arion_log --help")
                             : std::string("name a log file or a directory; arion_log --help"));
    return ExitCode::kUsage;
  }
  if (FLAGS_yes && command != "repair" && command != "prepare-rollback") {
    PrintError("--yes is for repair and prepare-rollback");
    return ExitCode::kUsage;
  }
  if (FLAGS_no_shared_log && command != "prepare-rollback") {
    PrintError("--no_shared_log is for prepare-rollback");
    return ExitCode::kUsage;
  }
  std::vector<std::string> paths;
  for (size_t i = 1; i < words.size(); ++i) paths.push_back(AbsolutePath(words[i]));
  return server_command ? RunOnServer(*server_command, paths) : Program(command).Run(paths);
}

}  // namespace
}  // namespace arion::logtool

int main(int argc, char** argv) { return static_cast<int>(arion::logtool::Main(argc, argv)); }
