// LogPlace: where a replica's private log lies: beside its data, or with all others in one
// directory (log_placement = home; engine/FORMAT.md 1.4).
//
// Shapes    data  <replica directory>/{plog/,.arion-log}
//           home  <log home>/<name of the replica directory>/{plog/,.arion-log,.arion-data}
//           At home, the replica directory has a file .arion-log-home with that folder's path. It
//           stays there as long as the replica's log does not lie beside it. The folder's
//           .arion-data has the replica directory's path: several replicas may bear one name, one
//           after the other or on different disks, and the folder belongs to the one that
//           .arion-data names.
// Errors    FailedPrecondition: a log lies elsewhere than configured. It is never moved, passed
//           over or begun anew: the message names both places and what to do. Unavailable: the log
//           home lacks a log that was there; that is no damage, a disk may be missing. DataLoss:
//           the log is missing although the disk is there, or the folder is another directory's:
//           while the replica's own disk was missing, the next replica of its name was made on
//           another disk.
// Threads   What takes a FileSystem waits for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <string>

namespace arion {

class Clock;
class FileSystem;

// The log's directory, and the path of the file with its identity (wal/log_identity.h).
struct LogPlace {
  std::string directory;
  std::string identity_path;
};

// Where the log of a replica lies. `log_home` empty: beside the data. `replica_directory`: its
// final name. Looks at no disk.
LogPlace LogPlaceOf(const std::string& log_home, const std::string& replica_directory);

// OK: the log of an existing replica lies where the configuration says.
absl::Status CheckLogPlace(FileSystem& files, const std::string& log_home,
                           const std::string& replica_directory);

// Prepares the log's place at home for a new replica; to be called before its directory gets its
// name. Makes an empty folder at home, and in `temporary_directory` (which becomes
// `replica_directory`) the file that names it. An earlier replica's folder at that place is set
// aside, another directory's as .err. Does nothing where logs lie beside the data.
absl::Status PrepareLogPlace(FileSystem& files, const Clock& clock, const std::string& log_home,
                             const std::string& replica_directory,
                             const std::string& temporary_directory);

// To be called after the replica's directory was set aside as `target`: gives its log at home that
// name too. A folder that is another directory's by now stays.
absl::Status SetLogAside(FileSystem& files, const std::string& log_home,
                         const std::string& replica_directory, const std::string& target);

}  // namespace arion
