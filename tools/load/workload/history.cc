// SPDX-License-Identifier: Apache-2.0
#include "tools/load/workload/history.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cerrno>
#include <cstring>

#include "base/status.h"
#include "tools/load/workload/value_codec.h"

namespace arion::load {

History::History(const std::string& path) : path_(path) {
  errno = 0;
  file_.open(path, std::ios::trunc);
  if (!file_)
    status_ = absl::UnavailableError(absl::StrCat("can't write ", path_, ": ", strerror(errno)));
}

void History::Add(const Entry& entry) {
  const std::string key = entry.key.sort_key.empty()
                              ? entry.key.hash_key
                              : absl::StrCat(entry.key.hash_key, "/", entry.key.sort_key);
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
  const auto text = [&](std::string_view word) {
    out.String(word.data(), static_cast<rapidjson::SizeType>(word.size()));
  };
  out.StartObject();
  out.Key("key");
  text(key);
  out.Key("op");
  text(entry.operation);
  out.Key("value");
  if (entry.value) {
    text(*entry.value);
  } else {
    out.Null();
  }
  out.Key("call");
  out.Int64(entry.call.nanos());
  // null: the outcome is not known, so that it may take effect at any later time.
  out.Key("return");
  if (entry.end) {
    out.Int64(entry.end->nanos());
  } else {
    out.Null();
  }
  out.EndObject();
  const MutexLock lock(mutex_);
  if (!status_.ok()) return;
  errno = 0;
  file_.write(buffer.GetString(), static_cast<std::streamsize>(buffer.GetSize()));
  if (!file_.put('\n')) {
    status_ = absl::UnavailableError(absl::StrCat("can't write ", path_, ": ", strerror(errno)));
  }
}

absl::Status History::Close() {
  const MutexLock lock(mutex_);
  errno = 0;
  if (status_.ok() && !file_.flush()) {
    status_ = absl::UnavailableError(absl::StrCat("can't write ", path_, ": ", strerror(errno)));
  }
  return status_;
}

std::string History::ValueText(std::string_view value) {
  absl::StatusOr<Stamp> stamp = DecodeValue(value);
  return stamp.ok() ? ValueText(stamp->run, stamp->sequence) : "damaged";
}

std::string History::ValueText(uint64_t run, int64_t sequence) {
  return absl::StrCat(run, "-", sequence);
}

}  // namespace arion::load
