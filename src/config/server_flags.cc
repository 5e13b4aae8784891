// SPDX-License-Identifier: Apache-2.0
#include "config/server_flags.h"

#include <gflags/gflags.h>

#include <cstdio>
#include <cstdlib>
#include <deque>

#include "base/program_output.h"
#include "base/status.h"
#include "base/version.h"
#include "config/config_rules.h"
#include "config/server_config.h"

DEFINE_string(config, "", "configuration file (INI); required");

namespace arion {
namespace {

// gflags keeps pointers into this for the rest of the process's life. It lies in a deque, which
// does not move its elements.
struct FlagStorage {
  std::string key, help, current, initial;
};

// One flag a key, from the table of keys, so that neither can be forgotten.
void DefineSettingFlags() {
  static auto* storage = new std::deque<FlagStorage>;
  for (const Setting& setting : Settings()) {
    std::string help = absl::StrCat("[", Text(setting.section), "] ", Text(setting.help));
    if (!setting.default_text.empty())
      absl::StrAppend(&help, "; default ", Text(setting.default_text));
    FlagStorage& flag = storage->emplace_back(FlagStorage{std::string(setting.key), help, "", ""});
    gflags::FlagRegisterer(flag.key.c_str(), flag.help.c_str(), "src/config/server_config.cc",
                           &flag.current, &flag.initial);
  }
  for (const std::string_view former : FormerNames()) {
    FlagStorage& flag = storage->emplace_back(FlagStorage{
        std::string(former), absl::StrCat("former name of --", Text(CurrentName(former))), "", ""});
    gflags::FlagRegisterer(flag.key.c_str(), flag.help.c_str(), "src/config/server_config.cc",
                           &flag.current, &flag.initial);
  }
}

// By section; the log library's flags are left to --helpfull.
void PrintHelp(const std::string& program) {
  constexpr int kHelpColumn = 44;
  std::printf(
      "%s --config FILE [--<key>=<value> ...]\n\nEach key of the configuration file's [arion.*] "
      "sections is also a flag, which overrides it. Keys marked\n(changeable) can be changed while "
      "the server runs: arion_shell, config set. Keys marked (advanced) have a\ndefault that suits "
      "nearly everybody. --helpfull lists the text log's flags too, --version prints the build.\n",
      program.c_str());
  if (program == "arion_meta")
    std::printf(
        "\narion_meta move-state --to zookeeper|journal --config FILE moves the state of a meta "
        "server that is stopped\nfrom its journal to ZooKeeper, or back.\n");
  std::string_view section;
  for (const Setting& setting : Settings()) {
    if (setting.section != section) {
      section = setting.section;
      std::printf("\n[%s]\n", std::string(section).c_str());
    }
    const std::string flag = absl::StrCat(
        "  --", Text(setting.key), "=",
        setting.default_text.empty() ? absl::string_view("...") : Text(setting.default_text));
    if (flag.size() > kHelpColumn) {
      std::printf("%s\n%*s", flag.c_str(), kHelpColumn + 1, "");
    } else {
      std::printf("%-*s ", kHelpColumn, flag.c_str());
    }
    std::printf("%s%s%s\n", std::string(setting.help).c_str(),
                setting.is_changeable() ? " (changeable)" : "",
                setting.is_advanced() ? " (advanced)" : "");
  }
  std::printf(
      "\nSignals: SIGTERM or SIGINT stops the server cleanly, a second one at once (exit code "
      "143). "
      "SIGHUP or SIGUSR1\nopens the log files anew, for logrotate; neither ever ends the server. "
      "SIGPIPE, SIGUSR2 and\nSIGXFSZ are ignored. SIGQUIT and SIGABRT end it at once, with a core "
      "dump if "
      "the system keeps those.\n");
}

}  // namespace

absl::StatusOr<ServerCommandLine> ParseServerCommandLine(int* argc, char*** argv) {
  CheckStandardOutputAtExit(EXIT_FAILURE);
  DefineSettingFlags();
  gflags::SetVersionString(std::string(kVersion) + " (" + std::string(kCommit) + ")");
  gflags::SetUsageMessage(
      "--config FILE [--<key>=<value> ...]\n\nEvery key of the configuration file's [arion.*] "
      "sections is also a flag, which overrides it.");
  // Parsed without help, so that --help prints our own.
  gflags::ParseCommandLineNonHelpFlags(argc, argv, /*remove_flags=*/true);
  if (gflags::GetCommandLineFlagInfoOrDie("help").current_value == "true") {
    PrintHelp(gflags::ProgramInvocationShortName());
    std::exit(0);
  }
  gflags::HandleCommandLineHelpFlags();
  if (*argc > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", (*argv)[1], "\" is not a flag; write --config FILE and --<key>=<value>"));
  }
  if (FLAGS_config.empty())
    return absl::InvalidArgumentError("no configuration; write --config FILE");
  ServerCommandLine command_line;
  // Former names too: a service file with an old flag must still start the server.
  command_line.config_path = FLAGS_config;
  std::vector<std::string_view> names = FormerNames();
  for (const Setting& setting : Settings()) names.push_back(setting.key);
  for (const std::string_view name : names) {
    gflags::CommandLineFlagInfo info =
        gflags::GetCommandLineFlagInfoOrDie(std::string(name).c_str());
    // Only flags that were given: the others would override the file with nothing.
    if (!info.is_default) command_line.settings[std::string(name)] = info.current_value;
  }
  return command_line;
}

}  // namespace arion
