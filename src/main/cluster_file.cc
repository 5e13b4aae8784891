// SPDX-License-Identifier: Apache-2.0
#include "main/cluster_file.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <optional>
#include <string>
#include <vector>

#include "base/cluster_identity.h"
#include "base/crc.h"
#include "base/log.h"
#include "base/status.h"
#include "env/environment.h"
#include "env/file_system.h"

namespace arion {
namespace {

constexpr char kFileName[] = ".arion-cluster";

std::string Lines(const std::string& first) {
  return absl::StrCat(first, "\n", absl::Hex(Crc32c(first), absl::kZeroPad8), "\n");
}

// nullopt: damaged. A file with the first line only is as good as one with both.
std::optional<uint32_t> ParseId(const std::string& content) {
  const std::vector<std::string> lines = absl::StrSplit(content, '\n', absl::SkipEmpty());
  if (lines.empty() || (lines.size() > 1 && content != Lines(lines[0]))) return std::nullopt;
  // What follows the id is the name at that time, for people.
  return ParseClusterId(lines[0].substr(0, lines[0].find(' ')));
}

// 0: the directory holds none. DataLoss: what it holds is damaged or can't be read.
absl::StatusOr<uint32_t> ReadClusterId(FileSystem& files, const std::string& directory) {
  const std::string path = JoinPath(directory, kFileName);
  ASSIGN_OR_RETURN(const bool is_there, IsThere(files, path));
  if (!is_there) return 0;
  ASSIGN_OR_RETURN(const std::string content, ReadFile(files, path));
  const std::optional<uint32_t> id = ParseId(content);
  if (!id) return absl::DataLossError(absl::StrCat(path, " holds no cluster's id"));
  return *id;
}

absl::Status Adopt(uint32_t id, const std::string& directory, ClusterIdentity* cluster) {
  // A second directory must hold the same id as the first.
  if (id == 0 || cluster->Adopt(id)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      directory, " holds data of cluster ", FormatClusterId(id), ", another directory those of ",
      FormatClusterId(cluster->id()), ": remove what does not belong to this server"));
}

}  // namespace

absl::Status TakeClusterId(FileSystem& files, const std::vector<std::string>& directories,
                           ClusterIdentity* cluster) {
  for (const std::string& directory : directories) {
    const absl::StatusOr<uint32_t> id = ReadClusterId(files, directory);
    if (absl::IsDataLoss(id.status())) {
      // Not a reason to stay away: it guards against a mistake in the configuration, not the data.
      const std::string path = JoinPath(directory, kFileName);
      LOG(WARNING) << id.status() << ": kept as " << path << ".damaged; the meta server tells it";
      RETURN_IF_ERROR(files.Rename(path, path + ".damaged"));
      continue;
    }
    // Of a disk that fails its claim says more; the others are served.
    LOG_IF(WARNING, !id.ok()) << id.status();
    if (id.ok()) RETURN_IF_ERROR(Adopt(*id, directory, cluster));
  }
  return absl::OkStatus();
}

absl::Status RememberClusterId(FileSystem& files, const std::string& directory,
                               const ClusterIdentity& cluster) {
  // The file says for people which cluster it was.
  return WriteFileDurably(files, JoinPath(directory, kFileName),
                          Lines(absl::StrCat(FormatClusterId(cluster.id()), " ", cluster.name())));
}

absl::Status TakeOrMakeClusterId(Environment& env, const std::string& directory,
                                 NewCluster without_id, ClusterIdentity* cluster) {
  const absl::StatusOr<uint32_t> id = ReadClusterId(env.files(), directory);
  // To make a new id would shut out every replica server that knows the former one.
  if (absl::IsDataLoss(id.status()))
    return Annotate(id.status(), "copy it from another server of this cluster");
  RETURN_IF_ERROR(id.status());
  RETURN_IF_ERROR(Adopt(*id, directory, cluster));
  // Told to recover: the replica servers know the id, so none is made.
  if (cluster->id() != 0 || without_id == NewCluster::kLearn) return absl::OkStatus();
  // 1 to 2^32 - 1: 0 means that there is none.
  CHECK(cluster->Adopt(static_cast<uint32_t>(env.random().Below(UINT32_MAX) + 1)));
  return RememberClusterId(env.files(), directory, *cluster);
}

namespace {

void LogFailure(const absl::Status& written, const std::string& directory,
                const ClusterIdentity& cluster) {
  LOG_IF(WARNING, !written.ok()) << directory << " does not remember that it is of cluster "
                                 << cluster.ToString() << ": " << written;
}

}  // namespace

void ReplaceClusterIdLater(Environment& env, const std::string& directory,
                           const ClusterIdentity& cluster) {
  // Later, in the pool: this runs on a loop's thread, which must not wait for a disk.
  env.disk_pool(directory).Submit([&env, directory, &cluster] {
    LogFailure(RememberClusterId(env.files(), directory, cluster), directory, cluster);
  });
}

void RememberClusterIdLater(Environment& env, const std::vector<std::string>& directories,
                            const ClusterIdentity& cluster) {
  for (const std::string& directory : directories) {
    env.disk_pool(directory).Submit([&env, directory, &cluster] {
      // A file that is there was compared at the start.
      if (Exists(env.files(), JoinPath(directory, kFileName))) return;
      LogFailure(RememberClusterId(env.files(), directory, cluster), directory, cluster);
    });
  }
}

}  // namespace arion
