// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_log.h"

#include <cstdio>
#include <string_view>

#include "base/log.h"

namespace arion {

void RocksdbLog::Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) {
  if (level < GetInfoLogLevel()) return;
  // Every checkpoint disables them twice and enables them twice, and is warned of both.
  if (std::string_view(format).find("File Deletions") != std::string_view::npos) return;
  char line[1024];
  std::vsnprintf(line, sizeof(line), format, arguments);
  if (level >= rocksdb::InfoLogLevel::ERROR_LEVEL)
    LOG(ERROR) << "RocksDB " << name_ << ": " << line;
  else
    LOG(WARNING) << "RocksDB " << name_ << ": " << line;
}

void RocksdbLog::Logv(const char* format, va_list arguments) {
  Logv(rocksdb::InfoLogLevel::WARN_LEVEL, format, arguments);
}

}  // namespace arion
