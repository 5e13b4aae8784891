// The directories of replicas: how they are called, which are loaded, where a new one goes, how one
// is set aside (engine/FORMAT.md 1).
//
// Shapes    <data directory>/<app id>.<index>.<app type>/
//               {.app-info,.init-info,.arion-log,plog/,data/,learn/}
//           .arion-replaces is in a directory that was made while another one of the same partition
//           could not be read, or could not be set aside because its disk fails or is missing. It
//           has such directories' paths, a line each.
//           Names ending in .err .gar .tmp .ori .bak are never loaded. A directory that was set
//           aside is called <name>.<µs since 1970>.<suffix>.
// Errors    AlreadyExists: a partition lies in two directories; both are named.
// Threads   What takes a FileSystem waits for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "messages/configuration.h"

namespace arion {

class Clock;
class FileSystem;

// The parts of a replica's directory name.
struct ReplicaDirectoryName {
  PartitionId pid;
  std::string app_type;
  bool operator==(const ReplicaDirectoryName&) const = default;
};
// nullopt: not a replica's directory, or one that was set aside.
std::optional<ReplicaDirectoryName> ParseReplicaDirectoryName(std::string_view name);
std::string FormatReplicaDirectoryName(PartitionId pid, std::string_view app_type);

// Behind a replica's directory name: where what it is to begin with is copied to. Never loaded.
inline constexpr char kScratchSuffix[] = ".first.tmp";

// A replica that can be loaded.
struct FoundReplica {
  PartitionId pid;
  std::string path;
  // Its position in the configured list.
  size_t data_directory = 0;
  AppInfo app;
  // The content of .arion-replaces.
  std::vector<std::string> replaces;
};
// A directory that was left in place, and why.
struct IgnoredDirectory {
  std::string path;
  std::string why;
};
// The replicas to load in one data directory, ordered by name. A directory that can't be read is
// left in place; it is listed in *ignored only.
//
// ResourceExhausted, PermissionDenied: it can't be told what is there, for want of descriptors or
// memory, or because files are another user's.
absl::StatusOr<std::vector<FoundReplica>> ScanDataDirectory(FileSystem& files,
                                                            const std::string& path,
                                                            size_t data_directory,
                                                            std::vector<IgnoredDirectory>* ignored);
// Where a partition lies in several directories and one of them says that it replaces the others,
// all but one leave *found and are returned, to be set aside. The replacement stays, with one
// exception: where it is a learner's, or has the smaller ballot, it never became a member, and
// stays only if no other can be read.
absl::StatusOr<std::vector<FoundReplica>> TakeReplaced(FileSystem& files,
                                                       std::vector<FoundReplica>* found);
// `replaced` is gone, so the replica in `path` need not name it any more. Durable when it returns
// OK.
absl::Status ForgetReplaced(FileSystem& files, const std::string& path,
                            const std::string& replaced);
// Writes .arion-replaces into `temporary`, a replica's directory that is being made. Nothing is
// written for an empty list.
absl::Status NoteReplaced(FileSystem& files, const std::string& temporary,
                          absl::Span<const std::string> replaced);

// AlreadyExists where a partition lies twice. The message says of each directory what its
// .init-info says, so that a person sees which one is older.
absl::Status CheckNoDuplicates(FileSystem& files, absl::Span<const FoundReplica> found);

// One data directory as the placement of a new replica sees it.
struct DirectoryLoad {
  bool usable = true;
  // All that lie there.
  int64_t replicas = 0;
  // Those of the new replica's table.
  int64_t replicas_of_table = 0;
  // The disk failed before: it is chosen only if there is no other.
  bool is_suspicious = false;
};
// The position of the directory for a new replica. Preferred, in this order: not suspicious, fewest
// replicas of the table, fewest replicas, configuration order. nullopt: no directory is usable.
std::optional<size_t> ChooseDataDirectory(absl::Span<const DirectoryLoad> loads);

// Whether a directory itself is to blame for a replica that could not be opened; anything else may
// pass, and it is tried again.
bool IsDamage(const absl::Status& status);

// Why a directory is set aside: kFailed ends in ".err", kGarbage in ".gar", kDiscarded in
// ".discarded" (the data of a learner, within its directory). kUnborn, a child that never served:
// ".gar" of long ago.
enum class SetAside { kFailed, kGarbage, kDiscarded, kUnborn };
// Renames durably; returns the new path. Its age is told by the time that the cluster agrees on.
absl::StatusOr<std::string> SetDirectoryAside(FileSystem& files, const Clock& clock,
                                              const std::string& path, SetAside why);

}  // namespace arion
