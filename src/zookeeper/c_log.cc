// SPDX-License-Identifier: Apache-2.0
#include "zookeeper/c_log.h"

#include <absl/strings/ascii.h>
#include <zookeeper/zookeeper.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/mutex.h"
#include "base/status.h"

namespace arion {
namespace {

// How often each place said something, by "function@line". The client's callback has no argument
// that could lead to an object: one for the process.
struct Places {
  Mutex mutex;
  std::map<std::string, int64_t, std::less<>> times ABSL_GUARDED_BY(mutex);
};

// Never destroyed: threads of the client may say something to the last moment.
Places& AllPlaces() {
  static Places* const places = new Places;
  return *places;
}

int64_t CountOne(std::string_view place) {
  Places& all = AllPlaces();
  const MutexLock lock(all.mutex);
  const auto found = all.times.find(place);
  return found != all.times.end() ? ++found->second
                                  : ++all.times.emplace(std::string(place), 0).first->second;
}

}  // namespace

void LimitZooKeeperLog() { zoo_set_debug_level(ZOO_LOG_LEVEL_WARN); }

void LogForZooKeeper(const char* message) {
  // 2026-11-28 19:12:43,123:4711(0x7f..):ZOO_WARN@function@line: text
  const std::string_view line = message;
  const size_t level = line.find(":ZOO_");
  const size_t at = level == std::string_view::npos ? level : line.find('@', level);
  const size_t text = at == std::string_view::npos ? at : line.find(": ", at);
  if (text == std::string_view::npos) {  // of another version
    LOG(WARNING) << "ZooKeeper's client: " << line;
    return;
  }
  const int64_t times = CountOne(line.substr(at + 1, text - at - 1));
  if ((times & (times - 1)) != 0) return;
  const bool is_warning =
      line.substr(level).starts_with(":ZOO_ERROR") || line.substr(level).starts_with(":ZOO_WARN");
  const absl::string_view said = absl::StripAsciiWhitespace(Text(line.substr(text + 2)));
  const std::string again = times > 1 ? absl::StrCat(" (", times, " times)") : "";
  if (is_warning)
    LOG(WARNING) << "ZooKeeper's client: " << said << again;
  else
    LOG(INFO) << "ZooKeeper's client: " << said << again;
}

void ZooKeeperTroubleIsOver() {
  Places& all = AllPlaces();
  const MutexLock lock(all.mutex);
  all.times.clear();
}

}  // namespace arion
