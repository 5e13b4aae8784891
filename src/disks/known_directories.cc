// SPDX-License-Identifier: Apache-2.0
#include "disks/known_directories.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include "base/status.h"
#include "disks/data_directory_claim.h"
#include "disks/garbage_collector.h"
#include "disks/replica_directory.h"

namespace arion {
namespace {

constexpr char kListName[] = ".arion-directories";

// The partition whose directory was set aside under this name.
std::optional<PartitionId> SetAsideReplica(std::string_view name) {
  const std::optional<GarbageName> garbage = ParseGarbageName(name);
  if (!garbage || !garbage->set_aside_us) return std::nullopt;
  // .err or .gar.
  name.remove_suffix(4);
  const auto replica = ParseReplicaDirectoryName(name.substr(0, name.rfind('.')));
  return replica ? std::optional(replica->pid) : std::nullopt;
}

}  // namespace

absl::StatusOr<DirectoryLook> LookAtDirectory(FileSystem& files, const std::string& path) {
  DirectoryLook look{.path = path, .is_blank = true};
  ASSIGN_OR_RETURN(const bool is_there, IsThere(files, path));
  if (!is_there) return look;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(path));
  for (const std::string& name : names) {
    if (const auto live = ParseReplicaDirectoryName(name)) {
      look.replicas.insert(live->pid);
    } else if (const auto set_aside = SetAsideReplica(name)) {
      look.set_aside.insert(*set_aside);
    } else if (name == kListName) {
      ASSIGN_OR_RETURN(const std::string lines, ReadFile(files, JoinPath(path, name)));
      look.known = absl::StrSplit(lines, '\n', absl::SkipEmpty());
    } else if (name != kDataDirectoryOwnerName) {
      // Other names do not make it a directory in use: a fresh file system has lost+found.
      continue;
    }
    look.is_blank = false;
  }
  return look;
}

std::string WhyNotNew(const DirectoryLook& blank, absl::Span<const DirectoryLook> others,
                      const std::string& shared_log) {
  // An empty directory is accepted if every directory in use wrote its list and none names it.
  // Where none wrote one, the server is new, unless an older version's shared log shows otherwise.
  bool all_remember = true, some_remember = false;
  for (const DirectoryLook& other : others) {
    // An empty directory remembers nothing.
    if (other.is_blank) continue;
    if (!other.known) {
      all_remember = false;
      continue;
    }
    some_remember = true;
    if (other.known->contains(blank.path))
      return absl::StrCat("it is empty, but was in use, as ", other.path, " remembers");
  }
  if (!all_remember)
    return "it is empty, and other data directories of this server hold data of a version that "
           "did not write down which there are";
  if (!some_remember && !shared_log.empty())
    return absl::StrCat("it is empty, but there is an older version's shared log in ", shared_log);
  return "";
}

absl::Status RememberDirectories(FileSystem& files, const DirectoryLook& look,
                                 const std::set<std::string>& all) {
  // No write where nothing changed: each start comes here.
  if (look.known == all) return absl::OkStatus();
  return WriteFileDurably(files, JoinPath(look.path, kListName), absl::StrJoin(all, "\n") + "\n");
}

}  // namespace arion
