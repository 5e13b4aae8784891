// RocksdbLog: RocksDB's own messages, from warnings up, among the server's.
//
// RocksDB speaks at lesser levels in the middle of a write; those lines it drops unformatted.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rocksdb/env.h>

#include <cstdarg>
#include <string>
#include <utility>

namespace arion {

// For DBOptions::info_log. One for each database, which holds it.
class RocksdbLog : public rocksdb::Logger {
 public:
  // `name` leads each line.
  explicit RocksdbLog(std::string name)
      : Logger(rocksdb::InfoLogLevel::WARN_LEVEL), name_(std::move(name)) {}
  using rocksdb::Logger::Logv;
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override;
  void Logv(const char* format, va_list arguments) override;
  // Drops its options, which it would log at each open.
  void LogHeader(const char* format, va_list arguments) override {}

 private:
  const std::string name_;
};

// RocksDB calls all that it may try again later "No space left on device". Where what the system
// said follows that name and is something else, the name is taken out.
std::string WithoutMisname(std::string text);

}  // namespace arion
