// arion_load: YCSB's workloads, and more, on a cluster: load, measure, verify.
// SPDX-License-Identifier: Apache-2.0
#include <absl/time/time.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/program_output.h"
#include "base/status.h"
#include "tools/load/report/report.h"
#include "tools/load/report/report_text.h"
#include "tools/load/report/shortfalls.h"
#include "tools/load/session.h"
#include "tools/load/settings.h"

DEFINE_string(meta, "127.0.0.1:34601", "meta servers, commas between");
DEFINE_string(table, "temp", "the table; it must be there");
DEFINE_string(workload, "",
              "a to f: YCSB's core workloads, with 100000 records unless -p says else");
DEFINE_string(P, "", "a property file of YCSB; may be given several times");
DEFINE_string(p, "", "key=value, over what files say; may be given several times");
DEFINE_int64(threads, 50, "operations under way (open loop: at most; 1000)");
DEFINE_int64(clients, 1, "clients, each with a thread and connections of its own");
DEFINE_string(
    rate, "",
    "open loop: operations/s, or stages as 1000-20000/30s,20000; of the run, or a load alone");
DEFINE_string(seconds, "", "length of the run phase beside the warm-up: 30 (or 2m)");
DEFINE_int64(operations, 0, "operations of the run phase");
DEFINE_string(warmup, "", "seconds before anything counts");
DEFINE_int64(seed, 1, "the same seed gives the same operations");
DEFINE_string(timeout, "", "seconds an operation may take: 5");
DEFINE_string(give_up, "", "seconds without any success after which a phase ends: 30");
DEFINE_bool(verify, false, "judge every read by what was acknowledged, read all back at the end");
DEFINE_string(history, "",
              "file for every operation, for a checker of linearizability; means --verify");
DEFINE_string(chaos, "", "10s:COMMAND, run at that time of the run; may be given several times");
DEFINE_string(slo, "",
              "objectives of the run, as \"READ p99<5ms,errors<0.1%,ops>10000\"; exit code 1 if "
              "one is missed");
DEFINE_bool(j, false, "the report as JSON on standard output, all else on standard error");
DEFINE_string(json, "", "file for the report as JSON");
DEFINE_string(hdr, "", "file for the latencies as HdrHistogram's log");
DEFINE_string(html, "", "file for the report with plots");

namespace google {
// Of gflags, in none of its headers.
extern void (*gflags_exitfunc)(int);
}  // namespace google

namespace arion::load {
namespace {

enum class ExitCode { kOk = 0, kNotKept = 1, kUsage = 2, kCannotConnect = 3 };

std::atomic<bool> stop = false;
std::atomic<int> stops = 0;

// The first ends the load or the run, the second the check behind it, the third the program.
void StopOnSignal(int signal) {
  stop = true;
  if (++stops == 2) std::signal(signal, SIG_DFL);
}

// What may come several times, which gflags does not know.
struct Repeated {
  Properties properties;           // -P FILE, -p key=value, in their order
  std::vector<std::string> chaos;  // --chaos
};

// Takes these out of the command line.
absl::StatusOr<Repeated> TakeRepeated(int* argc, char** argv) {
  Repeated repeated;
  // gflags keeps only the last of a flag that is given twice. So these are taken out before it
  // looks.
  int kept = 1;
  for (int i = 1; i < *argc; ++i) {
    const std::string_view word = argv[i];
    const size_t begin = std::min(word.find_first_not_of('-'), word.size());
    const size_t end = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(begin, end - begin);
    if (begin == 0 || (name != "P" && name != "p" && name != "chaos")) {
      argv[kept++] = argv[i];
      continue;
    }
    if (end == word.size() && i + 1 == *argc) {
      return absl::InvalidArgumentError(absl::StrCat(Text(word), " needs a value"));
    }
    const std::string value(end == word.size() ? std::string_view(argv[++i])
                                               : word.substr(end + 1));
    if (name == "chaos") {
      repeated.chaos.push_back(value);
    } else {
      RETURN_IF_ERROR(name == "P" ? repeated.properties.ReadFile(value)
                                  : repeated.properties.Parse(value, "-p"));
    }
  }
  *argc = kept;
  return repeated;
}

bool IsGiven(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

// "30" is seconds, "2m" what it says.
absl::StatusOr<std::optional<absl::Duration>> DurationOf(const char* name,
                                                         const std::string& text) {
  if (text.empty()) return std::optional<absl::Duration>();
  absl::Duration duration;
  const bool is_number = text.find_first_not_of("0123456789.") == std::string::npos;
  if (!absl::ParseDuration(is_number ? text + "s" : text, &duration) ||
      duration == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, "=", text, ": write 30, 500ms or 2m"));
  }
  return std::optional<absl::Duration>(duration);
}

absl::StatusOr<Flags> FlagsGiven(int argc, char** argv) {
  Flags flags;
  flags.commands.assign(argv + 1, argv + argc);
  if (IsGiven("meta")) flags.meta = FLAGS_meta;
  if (IsGiven("table")) flags.table = FLAGS_table;
  if (IsGiven("workload")) flags.workload = FLAGS_workload;
  if (IsGiven("rate")) flags.rate = FLAGS_rate;
  if (IsGiven("slo")) flags.slo = FLAGS_slo;
  if (IsGiven("threads")) flags.threads = FLAGS_threads;
  if (IsGiven("clients")) flags.clients = FLAGS_clients;
  if (IsGiven("operations")) flags.operations = FLAGS_operations;
  flags.seed = FLAGS_seed;
  ASSIGN_OR_RETURN(flags.seconds, DurationOf("seconds", FLAGS_seconds));
  ASSIGN_OR_RETURN(flags.warm_up, DurationOf("warmup", FLAGS_warmup));
  ASSIGN_OR_RETURN(flags.timeout, DurationOf("timeout", FLAGS_timeout));
  ASSIGN_OR_RETURN(flags.give_up, DurationOf("give_up", FLAGS_give_up));
  if (FLAGS_verify) flags.verify = Flags::Verify::kYes;
  flags.json_file = FLAGS_json;
  flags.hdr_file = FLAGS_hdr;
  flags.html_file = FLAGS_html;
  flags.history_file = FLAGS_history;
  return flags;
}

ExitCode Fail(const absl::Status& status, ExitCode code) {
  fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return code;
}

// After the summary, so that no full disk can take that away.
ExitCode WriteReports(const Report& report, const Settings& settings) {
  ExitCode code = ExitCode::kOk;
  if (!settings.json_file.empty()) {
    absl::Status status = WriteOutputFile(settings.json_file, JsonOf(report));
    if (!status.ok()) code = Fail(status, ExitCode::kNotKept);
  }
  if (!settings.html_file.empty()) {
    absl::Status status = WriteOutputFile(settings.html_file, HtmlOf(report));
    if (!status.ok()) code = Fail(status, ExitCode::kNotKept);
  }
  return code;
}

// Standard output that took not all, also of what was printed before, is an error.
ExitCode PrintReport(const Report& report) {
  const std::string summary = SummaryText(report);
  if (FLAGS_j) fputs(summary.c_str(), stderr);
  const absl::Status printed = PrintOut(FLAGS_j ? JsonOf(report) : summary);
  return printed.ok() ? ExitCode::kOk : Fail(printed, ExitCode::kNotKept);
}

ExitCode RunWith(const Settings& settings) {
  FILE* const people = FLAGS_j ? stderr : stdout;
  Session session(
      settings,
      [people](std::string_view text) {
        fwrite(text.data(), 1, text.size(), people);
        fflush(people);
      },
      stop);
  absl::Status opened = session.Open();
  if (absl::IsNotFound(opened)) {
    return Fail(absl::NotFoundError(absl::StrCat(opened.message(), "; arion_shell -e \"create ",
                                                 settings.table, "\" makes one")),
                ExitCode::kCannotConnect);
  }
  if (!opened.ok()) {
    return Fail(opened,
                absl::IsInvalidArgument(opened) ? ExitCode::kUsage : ExitCode::kCannotConnect);
  }
  std::signal(SIGINT, StopOnSignal);
  std::signal(SIGTERM, StopOnSignal);
  const Report report = session.Run();
  const ExitCode printed = PrintReport(report);
  const ExitCode written = WriteReports(report, settings);
  if (printed != ExitCode::kOk || written != ExitCode::kOk || !session.file_status().ok())
    return ExitCode::kNotKept;
  return ShortfallsOf(report).empty() ? ExitCode::kOk : ExitCode::kNotKept;
}

constexpr char kUsage[] =
    "[load|run] --workload a | -P FILE [-p key=value]... [flags]\n"
    "without a command: load, then run. Exit codes: 0 ok, 1 not all was kept (slo, verify, rate, "
    "an incomplete load, a run that ended failing, chaos that never ran, a report), 2 usage, 3 "
    "cannot connect";

// The flags of this program; those of libraries are left to --helpfull.
void PrintHelp() {
  printf("arion_load: %s\n\n", kUsage);
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (!flag.filename.ends_with("load_main.cc")) continue;
    const std::string dashed = (flag.name.size() == 1 ? "-" : "--") + flag.name;
    const bool has_default = !flag.default_value.empty() && flag.type != "bool";
    printf("  %-13s %s%s\n", dashed.c_str(), flag.description.c_str(),
           has_default ? ("; default " + flag.default_value).c_str() : "");
  }
}

int Main(int argc, char** argv) {
  CheckStandardOutputAtExit(static_cast<int>(ExitCode::kNotKept));
  gflags::SetUsageMessage(kUsage);
  FLAGS_minloglevel = google::GLOG_ERROR;  // what went wrong is counted and said in the summary
  FLAGS_logtostderr = true;
  absl::StatusOr<Repeated> repeated = TakeRepeated(&argc, argv);
  if (!repeated.ok()) return static_cast<int>(Fail(repeated.status(), ExitCode::kUsage));
  // A flag that is wrong ends the program within gflags.
  google::gflags_exitfunc = [](int) { exit(static_cast<int>(ExitCode::kUsage)); };
  gflags::ParseCommandLineNonHelpFlags(&argc, &argv, true);
  if (gflags::GetCommandLineFlagInfoOrDie("help").current_value == "true") {
    PrintHelp();
    return static_cast<int>(ExitCode::kOk);
  }
  // So do the other questions for help, which are no failure.
  google::gflags_exitfunc = [](int) { exit(static_cast<int>(ExitCode::kOk)); };
  gflags::HandleCommandLineHelpFlags();
  google::InitGoogleLogging(argv[0]);
  absl::StatusOr<Flags> flags = FlagsGiven(argc, argv);
  if (!flags.ok()) return static_cast<int>(Fail(flags.status(), ExitCode::kUsage));
  flags->chaos = repeated->chaos;
  absl::StatusOr<Settings> settings = Settings::From(*flags, repeated->properties);
  if (!settings.ok()) return static_cast<int>(Fail(settings.status(), ExitCode::kUsage));
  return static_cast<int>(RunWith(*settings));
}

}  // namespace
}  // namespace arion::load

int main(int argc, char** argv) { return arion::load::Main(argc, argv); }
