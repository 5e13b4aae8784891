// LiveSettings: the settings a server started with, and those that were changed since.
//
// Shapes    Secrets are shown as "(hidden)". A change lives until the process ends; the file says
//           what the next start begins with.
// Errors    Set: NotFound: no such key. FailedPrecondition: it can't be changed in operation.
//           InvalidArgument: what is wrong with the value.
// Threads   Thread-safe, but for OnChange: before the first Set.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "config/server_config.h"

namespace arion {

class LiveSettings {
 public:
  // Of one key; `value` is as somebody wrote it, or the default.
  struct Entry {
    std::string section, key, help, default_value;
    bool is_changeable = false;
    std::string at_start;
    std::string origin;  // of at_start: "file:line", "--key"; empty: the default
    std::string value;   // now
  };

  LiveSettings(ServerKind kind, const ServerConfig& config);

  // Runs on each change, with its lock held: one after the other.
  void OnChange(std::function<void(const ServerConfig&)> changed) { changed_ = std::move(changed); }

  std::vector<Entry> Entries() const;
  std::optional<Entry> Find(std::string_view key) const;
  absl::Status Set(std::string_view key, std::string_view value);
  // As at the start.
  absl::Status Reset(std::string_view key);

 private:
  const ServerKind kind_;
  std::function<void(const ServerConfig&)> changed_;
  mutable Mutex mutex_;
  ServerConfig config_ ABSL_GUARDED_BY(mutex_);
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
