// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_log.h"

#include <cstdio>
#include <string_view>

#include "base/log.h"
#include "env/file_system.h"

namespace arion {

void RocksdbLog::Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) {
  if (level < GetInfoLogLevel()) return;
  // Every checkpoint disables them twice and enables them twice, and is warned of both.
  if (std::string_view(format).find("File Deletions") != std::string_view::npos) return;
  // Longer lines are cut: they are for people.
  char line[1024];
  std::vsnprintf(line, sizeof(line), format, arguments);
  if (level >= rocksdb::InfoLogLevel::ERROR_LEVEL)
    LOG(ERROR) << "RocksDB " << name_ << ": " << WithoutMisname(line);
  else
    LOG(WARNING) << "RocksDB " << name_ << ": " << WithoutMisname(line);
}

void RocksdbLog::Logv(const char* format, va_list arguments) {
  Logv(rocksdb::InfoLogLevel::WARN_LEVEL, format, arguments);
}

std::string WithoutMisname(std::string text) {
  static constexpr std::string_view kMisname = "No space left on device: ";
  const size_t at = text.find(kMisname);
  if (at != std::string::npos && WantIn(text) != Want::kSpace) text.erase(at, kMisname.size());
  return text;
}

}  // namespace arion
