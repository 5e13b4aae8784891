// LogPlace: where a replica's private log lies: beside its data, or with all others in one
// directory (log_placement = home; engine/FORMAT.md 1.4).
//
// Shapes    data  <replica directory>/{plog/,.arion-log}
//           home  <log home>/<name of the replica directory>/{plog/,.arion-log,.arion-data}, and in
//                 the replica directory the file .arion-log-home with that folder's path, which
//                 stays there as long as the replica's log does not lie beside it. .arion-data has
//                 the replica directory's path: of the replicas that bear this name one after the
//                 other, on whichever disk, the folder is that one's.
// Errors    FailedPrecondition: a log lies elsewhere than configured. It is never moved, passed
//           over or begun anew: the message names both places and what to do. Unavailable: the log
//           home lacks a log that was there; not damage, a disk may be missing. DataLoss: it does
//           though the disk is there, or has another directory's: while the replica's own disk was
//           missing, the next one of its name was made on another disk.
// Threads   What takes a FileSystem waits for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <string>

#include "env/clock.h"
#include "env/file_system.h"

namespace arion {

struct LogPlace {
  std::string directory;
  std::string identity_path;
};

// `log_home` empty: beside the data. `replica_directory`: under its final name.
LogPlace LogPlaceOf(const std::string& log_home, const std::string& replica_directory);

// The log of an existing replica lies where the configuration says.
absl::Status CheckLogPlace(FileSystem& files, const std::string& log_home,
                           const std::string& replica_directory);

// Before a new replica's directory gets its name: an empty folder at home, and the file that names
// it in `temporary_directory`, which becomes `replica_directory`. What lies at that place is an
// earlier replica's and is set aside, another directory's as .err. Nothing to do beside the data.
absl::Status PrepareLogPlace(FileSystem& files, const Clock& clock, const std::string& log_home,
                             const std::string& replica_directory,
                             const std::string& temporary_directory);

// After the replica's directory was set aside as `target`: its log at home, too, under that name. A
// folder that is another directory's by now stays.
absl::Status SetLogAside(FileSystem& files, const std::string& log_home,
                         const std::string& replica_directory, const std::string& target);

}  // namespace arion
