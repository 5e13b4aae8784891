// The directories of replicas: how they are called, which are loaded, where a new one goes, how
// one is set aside (engine/FORMAT.md 1).
//
// Shapes    <data directory>/<app id>.<index>.<app type>/
//               {.app-info,.init-info,.arion-log,plog/,data/,learn/}
//           .arion-replaces  in one that was made while a directory of the same partition could not
//               be read, or not be set aside since its disk fails or is missing: such directories'
//               paths, a line each.
//           Names ending in .err .gar .tmp .ori .bak are never loaded; a set-aside directory is
//           called <name>.<µs since 1970>.<suffix>.
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
#include "env/clock.h"
#include "env/file_system.h"
#include "messages/configuration.h"

namespace arion {

struct ReplicaDirectoryName {
  PartitionId pid;
  std::string app_type;
  bool operator==(const ReplicaDirectoryName&) const = default;
};
// nullopt: not a replica's directory, or one that is set aside.
std::optional<ReplicaDirectoryName> ParseReplicaDirectoryName(std::string_view name);
std::string FormatReplicaDirectoryName(PartitionId pid, std::string_view app_type);

struct FoundReplica {
  PartitionId pid;
  std::string path;
  size_t data_directory = 0;  // position in the configured list
  AppInfo app;
  std::vector<std::string> replaces;  // .arion-replaces
};
struct IgnoredDirectory {
  std::string path;
  std::string why;
};
// The replicas to load in one data directory, ordered by name. What can't be read is left in place
// and not listed, but in *ignored. ResourceExhausted, PermissionDenied: for want of descriptors or
// memory, or since files are another user's, it can't be told what is there.
absl::StatusOr<std::vector<FoundReplica>> ScanDataDirectory(FileSystem& files,
                                                            const std::string& path,
                                                            size_t data_directory,
                                                            std::vector<IgnoredDirectory>* ignored);
// Where a partition lies in several directories and one says that it replaces the others, all but one
// leave *found and are returned, to be set aside. The one that stays is that one; but where it is a
// learner's, or has the smaller ballot, it never became a member and stays only if no other can be
// read.
absl::StatusOr<std::vector<FoundReplica>> TakeReplaced(FileSystem& files,
                                                       std::vector<FoundReplica>* found);
// `replaced` is gone: the replica in `path` need not say so any more. Durable, or an error.
absl::Status ForgetReplaced(FileSystem& files, const std::string& path,
                            const std::string& replaced);
// `temporary`: a replica's directory that is being made.
absl::Status NoteReplaced(FileSystem& files, const std::string& temporary,
                          absl::Span<const std::string> replaced);

// Says of each one that lies twice what its .init-info says: by that a person sees which is older.
absl::Status CheckNoDuplicates(FileSystem& files, absl::Span<const FoundReplica> found);

// How many replicas lie where; the input of placement.
struct DirectoryLoad {
  bool usable = true;
  int64_t replicas = 0;
  int64_t replicas_of_table = 0;
  bool is_suspicious = false;  // it failed before: taken when there is no other
};
// Not suspicious, then fewest replicas of the table, then fewest in all, then configuration order.
// nullopt: no directory is usable.
std::optional<size_t> ChooseDataDirectory(absl::Span<const DirectoryLoad> loads);

enum class SetAside { kFailed, kGarbage };  // ".err", ".gar"
// Renames durably; returns the new path.
absl::StatusOr<std::string> SetDirectoryAside(FileSystem& files, const Clock& clock,
                                              const std::string& path, SetAside why);

}  // namespace arion
