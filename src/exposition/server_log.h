// The log of a server process: lines go through a LogQueue to files or to standard error, so that no
// thread that serves waits for either. Files are bounded in size and in number. A CHECK that fails
// ends the process in seconds, though neither takes its last words.
//
// Threads   StartLog on the main thread, once; the rest on any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config/server_config.h"

namespace arion {

void StartLog(const char* program, const ServerConfig& config);

// What is logged from now on.
void SetLogLevel(ServerConfig::LogLevel level);

bool LogsToFiles();

// Soon, and not before what was logged until now is written.
void ReopenLogFiles();

// Soon: the oldest files beyond log_files_max of each severity are removed.
void RemoveOldLogFiles();

// Waits until what was logged is written, for at most a second.
void FlushLog();

// Lines that whoever takes the log was too slow for, or did not take.
int64_t DroppedLogLines();

}  // namespace arion
