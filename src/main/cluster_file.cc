// SPDX-License-Identifier: Apache-2.0
#include "main/cluster_file.h"

#include <optional>

#include "base/log.h"
#include "base/status.h"

namespace arion {
namespace {

constexpr char kFileName[] = ".arion-cluster";

}  // namespace

absl::Status TakeClusterId(FileSystem& files, const std::vector<std::string>& directories,
                           ClusterIdentity* cluster) {
  for (const std::string& directory : directories) {
    const std::string path = JoinPath(directory, kFileName);
    if (!Exists(files, path)) continue;
    ASSIGN_OR_RETURN(const std::string content, ReadFile(files, path));
    const std::optional<uint32_t> id =
        ParseClusterId(std::string_view(content).substr(0, content.find_first_of(" \n")));
    if (!id)
      return absl::DataLossError(absl::StrCat(
          path, " holds no cluster's id; copy it from another server of this cluster"));
    if (!cluster->Adopt(*id))
      return absl::FailedPreconditionError(
          absl::StrCat(directory, " holds data of cluster ", FormatClusterId(*id),
                       ", another directory those of ", FormatClusterId(cluster->id()),
                       ": remove what does not belong to this server"));
  }
  return absl::OkStatus();
}

absl::Status RememberClusterId(FileSystem& files, const std::string& directory,
                               const ClusterIdentity& cluster) {
  return WriteFileDurably(files, JoinPath(directory, kFileName),
                          absl::StrCat(FormatClusterId(cluster.id()), " ", cluster.name(), "\n"));
}

absl::Status TakeOrMakeClusterId(Environment& env, const std::string& directory,
                                 NewCluster without_id, ClusterIdentity* cluster) {
  RETURN_IF_ERROR(TakeClusterId(env.files(), {directory}, cluster));
  if (cluster->id() != 0 || without_id == NewCluster::kLearn) return absl::OkStatus();
  CHECK(cluster->Adopt(static_cast<uint32_t>(env.random().Below(UINT32_MAX) + 1)));
  return RememberClusterId(env.files(), directory, *cluster);
}

void RememberClusterIdLater(Environment& env, const std::vector<std::string>& directories,
                            const ClusterIdentity& cluster) {
  for (const std::string& directory : directories) {
    env.disk_pool(directory).Submit([&env, directory, &cluster] {
      if (Exists(env.files(), JoinPath(directory, kFileName))) return;
      const absl::Status written = RememberClusterId(env.files(), directory, cluster);
      LOG_IF(WARNING, !written.ok()) << directory << " does not remember that it is of cluster "
                                     << cluster.ToString() << ": " << written;
    });
  }
}

}  // namespace arion
