// LogLines: what a server says in its log meanwhile. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/log.h"

namespace arion {

// What is logged while it lives and says `what`.
class LogLines : public google::LogSink {
 public:
  explicit LogLines(std::string what) : what_(std::move(what)) {
    FLAGS_minloglevel = google::GLOG_INFO;
    google::AddLogSink(this);
  }
  ~LogLines() override {
    google::RemoveLogSink(this);
    FLAGS_minloglevel = level_before_;
  }
  void send(google::LogSeverity, const char*, const char*, int, const google::LogMessageTime&,
            const char* message, size_t size) override {
    if (std::string line(message, size); line.find(what_) != std::string::npos)
      lines_.push_back(std::move(line));
  }
  std::vector<std::string> Take() { return std::exchange(lines_, {}); }

 private:
  const int level_before_ = FLAGS_minloglevel;
  const std::string what_;
  std::vector<std::string> lines_;
};

}  // namespace arion
