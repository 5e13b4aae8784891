// arion_shell: talks to a cluster, with a person or with a script.
// SPDX-License-Identifier: Apache-2.0
#include <gflags/gflags.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "base/log.h"
#include "base/program_output.h"
#include "base/status.h"
#include "env/secret_file.h"
#include "tools/shell/line_reader.h"
#include "tools/shell/progress.h"
#include "tools/shell/session.h"

DEFINE_string(meta, "127.0.0.1:34601", "meta servers, commas between");
DEFINE_string(e, "",
              "commands to run, ';' between; without it a person or a script on standard input");
DEFINE_string(token_file, "",
              "file with the token that changes need, where servers have an admin_token_file");
DEFINE_bool(j, false, "answers as JSON, one line each");

namespace arion::shell {
namespace {

constexpr char kHelp[] =
    R"(arion_shell [--meta=HOST:PORT,...] [--token_file=FILE] [-j] [-e "command; command"]

  --meta=HOST:PORT,...   meta servers (127.0.0.1:34601)
  --token_file=FILE      with the token that changes need where servers ask for one
  -e "command; ..."      runs these commands and ends at the first that fails
  -j                     answers as JSON, one line each

Without -e it reads commands from the terminal, or a script from standard input. "help" lists
them. Exit codes: 0 done, 1 failed, or ended by Ctrl-C before it was done, 2 usage, 3 no answer,
4 done, but something is not well.
)";

bool Ask(const std::string& question) {
  // Without a terminal nobody can agree, so the answer is no.
  if (isatty(STDIN_FILENO) == 0 || !PrintOut(absl::StrCat(question, " [y/N] ")).ok()) return false;
  std::string line;
  std::getline(std::cin, line);
  return line == "y" || line == "yes";
}

ExitCode Interact(Session& session) {
  const Interrupts interrupts;  // Ctrl-C gives up a line, or what is waited for, but not the shell
  printf("%s\nhelp lists the commands\n", session.HealthLine().c_str());
  const char* home = getenv("HOME");
  LineReader reader(home == nullptr ? "" : std::string(home) + "/.arion_history",
                    [&](const std::string& line) { return session.Complete(line); });
  while (!session.ended()) {
    std::optional<std::string> line = reader.Read(session.Prompt());
    if (!line) break;
    session.Run(*line);
    if (ferror(stdout) != 0) return ExitCode::kFailed;
  }
  return ExitCode::kOk;
}

ExitCode RunScript(Session& session) {
  std::string line;
  ExitCode worst = ExitCode::kOk;
  while (!session.ended() && std::getline(std::cin, line)) {
    ExitCode code = session.Run(line);
    if (code == ExitCode::kUnhealthy) worst = code;
    if (code != ExitCode::kOk && code != ExitCode::kUnhealthy) return code;
  }
  return worst;
}

int Main(int argc, char** argv) {
  CheckStandardOutputAtExit(static_cast<int>(ExitCode::kFailed));
  FLAGS_minloglevel = google::GLOG_ERROR;  // what went wrong is said by the command that failed
  FLAGS_logtostderr = true;
  gflags::ParseCommandLineNonHelpFlags(&argc, &argv, true);
  if (gflags::GetCommandLineFlagInfoOrDie("help").current_value == "true") {
    printf("%s", kHelp);
    return static_cast<int>(ExitCode::kOk);
  }
  gflags::HandleCommandLineHelpFlags();
  google::InitGoogleLogging(argv[0]);
  absl::StatusOr<std::vector<Endpoint>> servers = ParseServers(FLAGS_meta);
  if (argc > 1 || !servers.ok()) {
    fprintf(stderr, "error: %s\n",
            argc > 1
                ? "commands follow -e"
                : absl::StrCat("--meta=", FLAGS_meta, ": ", servers.status().message()).c_str());
    return static_cast<int>(ExitCode::kUsage);
  }
  std::string token;
  if (!FLAGS_token_file.empty()) {
    const absl::StatusOr<std::string> secret = ReadSecretFile(FLAGS_token_file);
    if (!secret.ok()) {
      fprintf(stderr, "error: --token_file: %s\n", std::string(secret.status().message()).c_str());
      return static_cast<int>(ExitCode::kUsage);
    }
    token = *secret;
  }
  Cluster cluster(*servers, token);
  Session session(&cluster, FLAGS_j ? OutputForm::kJson : OutputForm::kText, Ask);
  if (!gflags::GetCommandLineFlagInfoOrDie("e").is_default)
    return static_cast<int>(session.Run(FLAGS_e));
  // With -j every line is an answer: there is no greeting and no prompt, at a terminal either.
  if (isatty(STDIN_FILENO) != 0 && !FLAGS_j) return static_cast<int>(Interact(session));
  return static_cast<int>(RunScript(session));
}

}  // namespace
}  // namespace arion::shell

int main(int argc, char** argv) { return arion::shell::Main(argc, argv); }
