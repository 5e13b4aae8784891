// arion_log: looks at logs, says whether they are whole, and sets aside what can't be replayed.
// SPDX-License-Identifier: Apache-2.0
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "env/posix_file_system.h"
#include "tools/log/dump.h"
#include "tools/log/json_line.h"
#include "tools/log/update_text.h"
#include "tools/log/verdict.h"

DEFINE_bool(j, false, "JSON, a line each");
DEFINE_bool(json, false, "the same");
DEFINE_bool(keys, false, "dump: show the keys that updates name");
DEFINE_int64(applied, 0, "verify, repair: the engine holds every decree up to this one");

// Of gflags, not in its header: how it ends the process when a flag is unknown.
namespace google {
extern void (*gflags_exitfunc)(int);
}

namespace arion::logtool {
namespace {

enum class ExitCode { kOk = 0, kDamaged = 1, kUsage = 2, kUnreadable = 3 };

constexpr char kHelp[] = R"(arion_log looks at logs, private (plog) and shared (slog).

usage: arion_log dump|verify [flags] PATH...

  PATH     a log file, a folder of log files, a replica's directory, or a data directory
  dump     every file, mutation and end
  verify   would a server open it? Changes nothing

  -j, --json     JSON, a line each
  --keys         dump: the keys that updates name, escaped
  --applied N    verify: the engine holds decrees up to N, files with older ones need not be whole

exit codes: 0 fine, 1 something is damaged, 2 usage, 3 something can't be read
)";

void PrintOut(std::string_view text) { fwrite(text.data(), 1, text.size(), stdout); }
void PrintError(std::string_view text) {
  fprintf(stderr, "arion_log: %.*s\n", static_cast<int>(text.size()), text.data());
}

class Program {
 public:
  int Run(const std::string& command, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) RunOn(command, path);
    fflush(stdout);
    return static_cast<int>(is_damaged_      ? ExitCode::kDamaged
                            : is_usage_      ? ExitCode::kUsage
                            : is_unreadable_ ? ExitCode::kUnreadable
                                             : ExitCode::kOk);
  }

 private:
  void RunOn(const std::string& command, std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const auto found = FindLogs(files_, path);
    if (!found.ok()) return Failed(found.status());
    for (const auto& trouble : found->troubles) Failed(Annotate(trouble.status, trouble.path));
    for (const LogPlace& place : found->places) {
      if (command == "dump")
        DumpPlace(place, found->places.size() > 1 ? path : place.directory);
      else
        VerifyPlace(place);
    }
  }

  void Failed(const absl::Status& status) {
    PrintError(View(status.message()));
    if (absl::IsInvalidArgument(status))
      is_usage_ = true;
    else if (absl::IsDataLoss(status) || absl::IsFailedPrecondition(status))
      is_damaged_ = true;
    else
      is_unreadable_ = true;
  }

  static bool IsJson() { return FLAGS_j || FLAGS_json; }

  void DumpPlace(const LogPlace& place, const std::string& above) {
    DumpOptions options;
    options.form = IsJson() ? OutputForm::kJson : OutputForm::kText;
    options.keys = FLAGS_keys ? KeyForm::kShown : KeyForm::kHidden;
    if (place.directory != above)
      options.file_prefix = place.directory.substr(above.size() + 1) + "/";
    const auto damaged = Dump(files_, place, options, PrintOut);
    if (!damaged.ok()) return Failed(damaged.status());
    is_damaged_ = is_damaged_ || *damaged;
  }

  void VerifyPlace(const LogPlace& place) {
    const Verdict verdict = Judge(files_, place, {.applied = Decree(FLAGS_applied)});
    is_damaged_ = is_damaged_ || verdict.judgement == Judgement::kDamaged ||
                  verdict.judgement == Judgement::kRefused;
    is_unreadable_ = is_unreadable_ || verdict.judgement == Judgement::kUnreadable;
    std::string line = absl::StrCat(place.Label(), ": ", Text(JudgementName(verdict.judgement)));
    if (!verdict.reason.empty()) absl::StrAppend(&line, "  ", verdict.reason);
    PrintOut(line + "\n");
  }

  PosixFileSystem files_;
  bool is_damaged_ = false;
  bool is_usage_ = false;
  bool is_unreadable_ = false;
};

int Main(int argc, char** argv) {
  FLAGS_minloglevel = google::GLOG_FATAL;  // what recovery warns of is in the verdict
  FLAGS_logtostderr = true;
  gflags::SetUsageMessage(kHelp);
  google::gflags_exitfunc = [](int) { exit(static_cast<int>(ExitCode::kUsage)); };
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word != "--help" && word != "-help" && word != "-h") continue;
    PrintOut(kHelp);
    return 0;
  }
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::vector<std::string> commands = {"dump", "verify"};
  if (words.size() < 2 || std::find(commands.begin(), commands.end(), words[0]) == commands.end()) {
    PrintError(words.empty()       ? "say what to do; arion_log --help"
               : words.size() == 1 ? "name a log file or a directory; arion_log --help"
                                   : "no such command; arion_log --help");
    return static_cast<int>(ExitCode::kUsage);
  }
  return Program().Run(words[0], {words.begin() + 1, words.end()});
}

}  // namespace
}  // namespace arion::logtool

int main(int argc, char** argv) { return arion::logtool::Main(argc, argv); }
