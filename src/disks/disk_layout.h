// DiskLayout: where the data of one server lie, as its operator configured it. ServerDisks: that
// layout with the watch over its disks; given to every part that works on them.
//
// Shapes    A data directory is named by its position in the list. The log home, where there is
//           one, comes behind the last of them. DiskWatch numbers disks in the same way.
// Threads   Immutable; `watch` is thread-safe by itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace arion {

class DiskWatch;
class Environment;

// One configured data directory.
struct DataDirectory {
  // The operator's name for it, unique on the server.
  std::string tag;
  // <configured path>/replica/reps.
  std::string path;
  // False: the disk was asked before and did not answer. It is not asked again at this start.
  bool answers = true;
};

// The configuration of a server's disks.
struct DiskLayout {
  std::vector<DataDirectory> data_directories;
  // Tags of directories that may be empty although they, or others, were in use
  // (known_directories.h).
  std::vector<std::string> new_data_directories;
  // One directory for the logs of all replicas. Empty: each log lies beside its data (log_place.h).
  std::string log_home_directory;
  // Where an older version's shared log may lie. All of them are looked at (legacy/README.md).
  std::vector<std::string> shared_log_directories;
  // Used at the start: runs the jobs at once, one a disk, and says of each whether it ended in
  // time. A job that is late goes on, so it must own what it uses. Unset: jobs run one after the
  // other, however long that takes.
  std::function<std::vector<bool>(std::vector<std::function<void()>>)> ask_disks;
  // The longest rest of a directory whose replicas fail (directory_rest.h).
  absl::Duration failed_directory_rest_max = absl::Minutes(5);

  // The number of the disk with the logs of the replicas in that data directory.
  size_t LogDiskOf(size_t data_directory) const {
    return log_home_directory.empty() ? data_directory : data_directories.size();
  }
};

// What parts that work on disks are given. Shared and immutable; `env` outlives it.
struct ServerDisks {
  Environment& env;
  DiskLayout layout;
  std::shared_ptr<DiskWatch> watch;
};

}  // namespace arion
