// The log of a server process: lines go through a LogQueue to files or to standard error, so that
// no thread that serves waits for either. Files are bounded in size and in number. A CHECK that
// fails ends the process in seconds, even if neither takes its last words.
//
// Threads   StartLog on the main thread, once; the rest on any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config/server_config.h"

namespace arion {

// Takes over glog's output. `program` begins the names of files.
void StartLog(const char* program, const ServerConfig& config);

// The lowest severity that is logged from now on.
void SetLogLevel(ServerConfig::LogLevel level);

// Whether lines go to files. False: to standard error.
bool LogsToFiles();

// Begins new files soon, but not before what was logged until now is written.
void ReopenLogFiles();

// Removes soon the oldest files beyond log_files_max of each severity.
void RemoveOldLogFiles();

// Waits until what was logged is written, for at most a second.
void FlushLog();

// Lines that were lost because the file or the reader was too slow, or did not take them.
int64_t DroppedLogLines();

}  // namespace arion
