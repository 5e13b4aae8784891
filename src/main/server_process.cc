// SPDX-License-Identifier: Apache-2.0
#include "main/server_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <future>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "base/version.h"
#include "config/directory_check.h"
#include "config/ini_file.h"
#include "config/server_flags.h"
#include "disks/disk_layout.h"
#include "exposition/server_log.h"
#include "posix/posix_patience.h"
#include "posix/thread_limit.h"

namespace arion {
namespace {

constexpr unsigned kLoopsAtMost = 8;

[[noreturn]] void Exit(const absl::Status& status, int code) {
  fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  exit(code);
}

sigset_t SetOf(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

// A blocked signal is delivered to sigwait even where nohup had it ignored; SIGHUP does no harm.
sigset_t StopSignals() { return SetOf({SIGTERM, SIGINT}); }
sigset_t AwaitedSignals() { return SetOf({SIGTERM, SIGINT, SIGHUP, SIGUSR1}); }

// Looks after the log files meanwhile. The signal.
// One loop for signals and for the log files' upkeep: a signal ends the pause of a minute early.
int AwaitStopSignal(const std::function<void()>& on_minute) {
  const sigset_t awaited = AwaitedSignals();
  bool is_minute = true;
  for (;;) {
    RemoveOldLogFiles();
    if (is_minute) on_minute();
    const timespec a_minute{60, 0};
    const int signal = sigtimedwait(&awaited, nullptr, &a_minute);
    // A signal is no minute.
    is_minute = signal < 0;
    if (signal == SIGHUP || signal == SIGUSR1) {
      ReopenLogFiles();
      LOG(INFO) << (signal == SIGHUP ? "SIGHUP" : "SIGUSR1") << ": log files are opened anew";
    } else if (signal > 0) {
      return signal;
    }
  }
}

// What fails or does not answer is left out: the other disks' replicas can be served.
absl::Status CheckDisks(ServerConfig* config) {
  // Shared with jobs that may outlast this function, on a disk that hangs.
  const auto checks = std::make_shared<std::vector<absl::Status>>(config->disks.size());
  std::vector<std::function<void()>> jobs;
  for (size_t i = 0; i < config->disks.size(); ++i)
    jobs.emplace_back([checks, i, disk = config->disks[i]] {
      (*checks)[i] = CheckDirectory(disk.origin, absl::StrCat("data_dirs: ", disk.tag), disk.path);
      AwaitDisk(disk.path);
    });
  const std::vector<bool> answered = RunWithPatience(std::move(jobs), config->disk_answer_max);
  std::vector<ConfiguredDisk> answering;
  std::string why;
  for (size_t i = 0; i < answered.size(); ++i) {
    const ConfiguredDisk& disk = config->disks[i];
    const bool fails = answered[i] && absl::IsUnavailable((*checks)[i]);
    if (answered[i] && !fails) {
      // Answered, but refused: a mistake of the operator, which is not passed over.
      RETURN_IF_ERROR((*checks)[i]);
      answering.push_back(disk);
      continue;
    }
    why = fails ? std::string((*checks)[i].message())
                : absl::StrCat(disk.origin, ": the disk of ", disk.tag, ":", disk.path,
                               " does not answer");
    config->warnings.push_back(why);
    // The directory stays in the layout, so that positions do not shift; it is only not asked
    // again.
    for (DataDirectory& directory : config->replica.layout.data_directories)
      if (directory.tag == disk.tag) directory.answers = false;
  }
  if (answering.empty()) return absl::UnavailableError(absl::StrCat("no disk can be used; ", why));
  config->disks = std::move(answering);
  return absl::OkStatus();
}

// All logs are there: without its disk nothing can be served.
absl::Status CheckLogHome(const ServerConfig& config) {
  const std::string& home = config.replica.layout.log_home_directory;
  if (home.empty()) return absl::OkStatus();
  const auto check = std::make_shared<absl::Status>();
  const std::vector<bool> answered =
      RunWithPatience({[check, origin = config.log_home_directory_origin, home] {
                        *check = CheckDirectory(origin, "log_home_directory", home);
                        AwaitDisk(home);
                      }},
                      config.disk_answer_max);
  if (answered[0]) return *check;
  return absl::UnavailableError(
      absl::StrCat(config.log_home_directory_origin, ": log_home_directory: the disk of ", home,
                   " does not answer, and every replica's log is there: start again once it does"));
}

// Whoever can serve serves, though its log can't be kept.
absl::Status CheckLogDirectory(ServerConfig* config) {
  if (config->log_directory.empty()) return absl::OkStatus();
  const absl::Status status =
      CheckDirectory("configuration", "text_log_directory", config->log_directory);
  if (!absl::IsUnavailable(status)) return status;
  config->warnings.push_back(
      absl::StrCat(status.message(), "; the log goes to standard error until the next start"));
  config->log_directory.clear();
  return absl::OkStatus();
}

absl::Status CheckDirectories(ServerKind kind, ServerConfig* completed) {
  ServerConfig& config = *completed;
  if (kind == ServerKind::kMeta) {
    RETURN_IF_ERROR(CheckDirectory(config.meta_data_directory_origin, "meta_data_dir",
                                   config.meta_data_directory));
  } else {
    RETURN_IF_ERROR(CheckDisks(&config));
    RETURN_IF_ERROR(CheckLogHome(config));
  }
  return CheckLogDirectory(&config);
}

// Waits for a resolver that is not up yet, as after a power cut; a signal to stop ends the wait.
absl::StatusOr<ServerConfig> MakeServerConfigOnceNamesAreFound(
    ServerKind kind, const IniFile& file, const std::map<std::string, std::string>& flags) {
  const sigset_t signals = StopSignals();
  std::string said;
  for (;;) {
    absl::StatusOr<ServerConfig> config = MakeServerConfig(kind, file, flags);
    if (!absl::IsUnavailable(config.status())) return config;
    const std::string why(config.status().message());
    // Said once: the loop tries for as long as it takes.
    if (std::exchange(said, why) != why) fprintf(stderr, "%s: tried until it can\n", why.c_str());
    const timespec a_second{1, 0};
    // Signals are blocked since PrepareProcess, so that they arrive here.
    if (sigtimedwait(&signals, nullptr, &a_second) > 0) exit(kExitOk);
  }
}

absl::StatusOr<ServerConfig> Configure(ServerKind kind, int* argc, char*** argv) {
  ASSIGN_OR_RETURN(ServerCommandLine command_line, ParseServerCommandLine(argc, argv));
  ASSIGN_OR_RETURN(IniFile file, IniFile::Load(command_line.config_path));
  return MakeServerConfigOnceNamesAreFound(kind, file, command_line.settings);
}

constexpr rlim_t kFileBytesMin = rlim_t{4} << 30;  // a log's file has half of it at most

// Raises the limit of a file's size as far as it goes. Who meets it is ended by a signal, or has a
// disk that seems to fail.
absl::Status RaiseFileSizeLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return absl::OkStatus();
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &limit);
  if (limit.rlim_max >= kFileBytesMin) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "not started: a file may have ", limit.rlim_max, " bytes, at least ", kFileBytesMin,
      " are needed; raise it: LimitFSIZE=infinity in the unit of the service, or ulimit -f"));
}

// For what nobody catches: no code of ours throws, std::thread does where the system makes none.
[[noreturn]] void EndByException() {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      // A thread that the system refuses is a limit to raise, not an error of the program.
      const absl::Status refused = ThreadRefused(error);
      LOG(ERROR) << "ends: " << refused.message();
      if (LogsToFiles()) fprintf(stderr, "ends: %s\n", std::string(refused.message()).c_str());
      FlushLog();
      _exit(kExitFailed);
    }
    LOG(ERROR) << "ends by an exception: " << error.what();
  } catch (const std::exception& error) {
    LOG(ERROR) << "ends by an exception: " << error.what();
  } catch (...) {
    LOG(ERROR) << "ends";
  }
  FlushLog();
  std::abort();
}

}  // namespace

ServerConfig ConfigureServerOrExit(ServerKind kind, int* argc, char*** argv) {
  const char* program = (*argv)[0];
  absl::StatusOr<ServerConfig> config = Configure(kind, argc, argv);
  if (!config.ok()) Exit(config.status(), kExitUsage);
  // Before the log: it has a file, too.
  if (absl::Status status = RaiseFileSizeLimit(); !status.ok()) Exit(status, kExitFailed);
  // A directory may come, with its disk, or be given to the service.
  if (absl::Status status = CheckDirectories(kind, &*config); !status.ok())
    Exit(status, absl::IsInvalidArgument(status) ? kExitUsage : kExitFailed);
  // From here on messages go to the log; before, to standard error.
  StartLog(program, *config);
  for (const std::string& warning : config->warnings) LOG(WARNING) << warning;
  return *std::move(config);
}

void PrepareProcess() {
  std::set_terminate(EndByException);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR);  // gets the lowest number: this one
  for (const int ignored : {SIGPIPE, SIGUSR2, SIGXFSZ}) signal(ignored, SIG_IGN);
  sigset_t signals = AwaitedSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int EventLoopThreads(const ServerConfig& config) {
  if (config.threads > 0) return config.threads;
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, kLoopsAtMost));
}

std::string ListenText(const ServerConfig& config) {
  const std::string where = config.listen.IsValid()
                                ? config.listen.ToString()
                                : absl::StrCat("every address, port ", config.listen.port);
  if (config.listen == config.advertised) return where;
  return absl::StrCat(where, ", reached at ", config.advertised.ToString());
}

void LogBanner(std::string_view program, const ServerConfig& config, const BannerLines& lines) {
  LOG(INFO) << program << " " << kVersion << " (" << kCommit << ") pid " << getpid()
            << ", listening on " << ListenText(config) << ", cluster " << config.cluster_name;
  for (const auto& [name, text] : lines) LOG(INFO) << "  " << name << ": " << text;
}

absl::Status WithOrigin(const absl::Status& status, const ServerConfig& config) {
  for (const ConfiguredDisk& disk : config.disks) {
    // By the path in the message: the errors of claims name it.
    if (status.message().find(disk.path) != absl::string_view::npos) {
      return Annotate(
          status, absl::StrCat(disk.origin, ": data_dirs: ", disk.tag, " = \"", disk.path, "\""));
    }
  }
  return status;
}

int FailedToStart(const absl::Status& status) {
  LOG(ERROR) << "not started: " << status.message();
  if (LogsToFiles()) fprintf(stderr, "not started: %s\n", std::string(status.message()).c_str());
  return kExitFailed;
}

int RunUntilStopped(std::string_view program, absl::Duration limit,
                    const std::function<void()>& on_minute,
                    const std::function<void(StopDone)>& stop) {
  const sigset_t signals = StopSignals();
  const int signal = AwaitStopSignal(on_minute);
  LOG(INFO) << program << " stops (signal " << signal << "); a second signal stops it at once";
  auto result = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> stopped = result->get_future();
  stop([result](absl::Status status) { result->set_value(std::move(status)); });
  // The steady clock: a stop must not last longer because the wall clock is set.
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit);
  while (stopped.wait_for(std::chrono::milliseconds(0)) != std::future_status::ready) {
    if (std::chrono::steady_clock::now() > end) {
      LOG(ERROR) << program << " did not stop within stop_time_max = " << limit
                 << " and ends: what was not closed is replayed at the next start";
      FlushLog();
      // _exit: destructors would wait for what hangs.
      _exit(kExitFailed);
    }
    timespec tick{0, 20'000'000};
    if (sigtimedwait(&signals, nullptr, &tick) > 0) {
      LOG(WARNING) << program << " was told to stop at once";
      FlushLog();
      _exit(kExitStoppedAtOnce);
    }
  }
  absl::Status status = stopped.get();
  if (!status.ok()) {
    LOG(ERROR) << program << " stopped, not cleanly: " << status.message();
    return kExitFailed;
  }
  LOG(INFO) << program << " stopped";
  return kExitOk;
}

}  // namespace arion
