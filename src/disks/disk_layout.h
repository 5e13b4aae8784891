// DiskLayout: where the data of one server lie, as its operator configured it. ServerDisks: that layout with
// the watch over its disks; what every part that works on them is given.
//
// Shapes    A data directory is named by its position in the list; behind the last one comes the log
//           home, where there is one. That is also how DiskWatch numbers them.
// Threads   Immutable; `watch` is thread-safe by itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "env/environment.h"

namespace arion {

class DiskWatch;

struct DataDirectory {
  std::string tag;
  std::string path;     // <configured path>/replica/reps
  bool answers = true;  // false: already asked, in vain; not asked again
};

struct DiskLayout {
  std::vector<DataDirectory> data_directories;
  // Tags of those that may be empty although they, or others, were in use (known_directories.h).
  std::vector<std::string> new_data_directories;
  std::string log_home_directory;  // empty: each log beside its data (log_place.h)
  // Where an older version's shared log may lie; all are looked at (legacy/README.md).
  std::vector<std::string> shared_log_directories;
  // Runs, at the start, what a disk that hangs would hold up, and says which of the jobs are done;
  // a late one goes on. Unset: one after the other, however long.
  std::function<std::vector<bool>(std::vector<std::function<void()>>)> ask_disks;
  absl::Duration failed_directory_rest_max = absl::Minutes(5);  // directory_rest.h

  // Where the logs of the replicas in that data directory lie.
  size_t LogDiskOf(size_t data_directory) const {
    return log_home_directory.empty() ? data_directory : data_directories.size();
  }
};

struct ServerDisks {
  Environment& env;
  DiskLayout layout;
  std::shared_ptr<DiskWatch> watch;
};

}  // namespace arion
