// What both server programs do around their server: logging, the banner, signals, exit codes.
//
// Exit codes  0 stopped as asked · 1 could not start, or the stop failed or took too long · 2 the
//             configuration or command line is wrong · 143 a second SIGTERM (or SIGINT) ended a
//             stop that was under way.
// Signals     SIGTERM, SIGINT: a clean stop. SIGHUP, SIGUSR1: log files are opened anew; neither
//             ends a server. SIGPIPE, SIGUSR2 and SIGXFSZ are ignored.
// Threads     On the main thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "config/server_config.h"

namespace arion {

// As above.
constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitStoppedAtOnce = 143;

// Command line and file to options; logging as configured. What is wrong is reported on standard
// error and ends the process with kExitUsage. A directory that is missing or refused may still
// come, with its disk or by a chown: then it is kExitFailed, and the service manager tries again.
ServerConfig ConfigureServerOrExit(ServerKind kind, int* argc, char*** argv);

// To be called before any other thread is made and any file is opened. Later a thread that the
// system refuses at the start ends the process with kExitFailed, limit and remedy named. Signals
// wait for RunUntilStopped. Standard streams that are closed lead to /dev/null from now on: a file
// of data that got such a number would get the lines of the log.
void PrepareProcess();

// The number of event loops: as configured, or one a core and at most 8.
int EventLoopThreads(const ServerConfig& config);

using BannerLines = std::vector<std::pair<std::string, std::string>>;
// The first lines of the log: program, build, settings, and `lines`.
void LogBanner(std::string_view program, const ServerConfig& config, const BannerLines& lines);

// Puts the line of the configuration that names the directory in front of a failed start's message.
absl::Status WithOrigin(const absl::Status& status, const ServerConfig& config);

// Says why on standard error and in the log; returns the exit code.
int FailedToStart(const absl::Status& status);

// Called once when the stop has ended, with its result.
using StopDone = std::function<void(absl::Status)>;
// Waits for the first signal to stop. Meanwhile it opens log files anew for each SIGHUP or SIGUSR1,
// and runs `on_minute` at once and then once a minute. Then it calls `stop` and waits until that is
// done, but not longer than `limit`: then the process ends at once, as if it were killed. Returns
// the exit code.
int RunUntilStopped(std::string_view program, absl::Duration limit,
                    const std::function<void()>& on_minute,
                    const std::function<void(StopDone)>& stop);

}  // namespace arion
