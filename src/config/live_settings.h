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

// One for a server program, owned by its ServerPages; remote commands and pages change it.
class LiveSettings {
 public:
  // One key; `value` is as somebody wrote it, or the default.
  struct Entry {
    std::string section, key, help, default_value;
    bool is_changeable = false;
    std::string at_start;
    // Of at_start: "file:line", "--key"; empty: the default.
    std::string origin;
    // As it is now.
    std::string value;
  };

  LiveSettings(ServerKind kind, const ServerConfig& config);

  // `changed` gets the whole configuration after each change, with a lock held: one call after the
  // other. It must not call this.
  void OnChange(std::function<void(const ServerConfig&)> changed) { changed_ = std::move(changed); }

  // All keys of this kind of server.
  std::vector<Entry> Entries() const;
  // nullopt: there is no such key.
  std::optional<Entry> Find(std::string_view key) const;
  // Checks the value, alone and together with the others, then makes the change.
  absl::Status Set(std::string_view key, std::string_view value);
  // Sets the value of the start.
  absl::Status Reset(std::string_view key);

 private:
  const ServerKind kind_;
  std::function<void(const ServerConfig&)> changed_;
  mutable Mutex mutex_;
  ServerConfig config_ ABSL_GUARDED_BY(mutex_);
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
