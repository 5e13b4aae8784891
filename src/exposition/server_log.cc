// SPDX-License-Identifier: Apache-2.0
#include "exposition/server_log.h"

#include <gflags/gflags.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "exposition/log_queue.h"
#include "exposition/server_log_file.h"

namespace arion {
namespace {

// The memory that a disk or reader which stalls may cost. Beyond it lines are dropped and counted.
constexpr size_t kLogQueueBytes = 4 << 20;
constexpr int kStandardError = google::NUM_SEVERITIES;  // targets of LogText: a severity's file, or
constexpr int kNowhere = kStandardError + 1;
constexpr int kOpenAnew = kNowhere + 1;  // what is to be done between two lines
constexpr int kRemoveOld = kOpenAnew + 1;
constexpr unsigned kLastWordsSeconds = 3;

// Set once, by StartLog on the main thread.
std::string directory;  // empty: standard error
size_t files_max = 0;   // of each severity
// Of each severity, on the queue's thread only; they live as long as it.
std::array<ServerLogFile*, google::NUM_SEVERITIES> files;
LogQueue* queue = nullptr;  // null before StartLog

// Begins the names of a severity's files.
std::string FileStem(google::LogSeverity severity) {
  return absl::StrCat(gflags::ProgramInvocationShortName(), ".log.",
                      google::GetLogSeverityName(severity), ".");
}

void RemoveOldFiles() {
  namespace fs = std::filesystem;
  for (google::LogSeverity severity = google::GLOG_INFO; severity < google::NUM_SEVERITIES;
       ++severity) {
    const std::string stem = FileStem(severity);
    std::vector<std::string> names;  // the time follows the stem: in order of age
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
      std::string name = entry->path().filename();
      if (name.starts_with(stem)) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    for (size_t i = 0; i + files_max < names.size(); ++i)
      fs::remove(fs::path(directory) / names[i], error);
  }
}

bool WriteToStandardError(std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
    if (put >= 0) {
      text.remove_prefix(static_cast<size_t>(put));
    } else if (errno == EAGAIN) {
      // Whoever shares the descriptor may have made it non-blocking. Only the queue's thread waits
      // here.
      pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;  // nobody reads, or its disk is full
    }
  }
  return true;
}

bool Write(const LogText& line) {
  if (line.target == kStandardError) return WriteToStandardError(line.text);
  if (line.target == kOpenAnew) {
    for (ServerLogFile* file : files) file->OpenAnew();
  } else if (line.target == kRemoveOld) {
    RemoveOldFiles();
  } else {
    return files[static_cast<size_t>(line.target)]->Write(line.time, line.text);
  }
  return true;
}

void SayDropped(int64_t lines) {
  LOG(WARNING) << lines << " lines of the log were dropped: what takes them did not keep up";
}

// After a CHECK failed. The library writes where it stood to standard error, whose reader may
// stall.
void EndSoon() {
  std::signal(SIGALRM, [](int) { std::abort(); });
  alarm(kLastWordsSeconds);
}

// Stands in the place of the library's writer of one severity.
class QueueingLogger : public google::base::Logger {
 public:
  QueueingLogger(google::LogSeverity severity, int target) : severity_(severity), target_(target) {}
  void Write(bool, time_t time, const char* text, size_t size) override {
    if (severity_ == google::GLOG_FATAL) EndSoon();
    if (target_ == kNowhere) return;
    if (size == 0) return Flush();  // the last before the process ends by a CHECK
    queue->Push({target_, time, std::string(text, size)});
  }
  void Flush() override { FlushLog(); }
  google::uint32 LogSize() override { return 0; }

 private:
  const google::LogSeverity severity_;
  const int target_;
};

}  // namespace

void StartLog(const char* program, const ServerConfig& config) {
  directory = config.log_directory;
  files_max = static_cast<size_t>(config.log_files_max);
  SetLogLevel(config.log_level);
  google::InitGoogleLogging(program);
  // Never destroyed: threads may log until the process is gone.
  queue = new LogQueue(kLogQueueBytes, Write, SayDropped);
  for (google::LogSeverity severity = google::GLOG_INFO; severity < google::NUM_SEVERITIES;
       ++severity) {
    if (LogsToFiles())
      files[static_cast<size_t>(severity)] =
          new ServerLogFile(directory, FileStem(severity),
                            absl::StrCat(gflags::ProgramInvocationShortName(), ".",
                                         google::GetLogSeverityName(severity)),
                            int64_t{config.log_file_size_mb} << 20);
    // GLOG_INFO gets the lines of all severities.
    const int target = LogsToFiles()                   ? severity
                       : severity == google::GLOG_INFO ? kStandardError
                                                       : kNowhere;
    google::base::SetLogger(severity, new QueueingLogger(severity, target));
  }
  // Standard error has a CHECK's line beside the files only.
  FLAGS_stderrthreshold = LogsToFiles() ? google::GLOG_FATAL : google::NUM_SEVERITIES;
  // What waits in the queue then is written before the process ends.
  std::atexit(FlushLog);
}

void SetLogLevel(ServerConfig::LogLevel level) {
  FLAGS_minloglevel = level == ServerConfig::LogLevel::kInfo      ? google::GLOG_INFO
                      : level == ServerConfig::LogLevel::kWarning ? google::GLOG_WARNING
                                                                  : google::GLOG_ERROR;
}

bool LogsToFiles() { return !directory.empty(); }

void ReopenLogFiles() {
  if (LogsToFiles()) queue->Push({.target = kOpenAnew, .time = 0, .text = ""});
}

void RemoveOldLogFiles() {
  if (LogsToFiles()) queue->Push({.target = kRemoveOld, .time = 0, .text = ""});
}

void FlushLog() {
  if (queue != nullptr) queue->Flush(absl::Seconds(1));
}

int64_t DroppedLogLines() { return queue == nullptr ? 0 : queue->dropped().value(); }

}  // namespace arion
