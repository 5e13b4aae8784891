// The cluster's id on disk: made by the meta server beside its state, kept by replica servers beside
// their data, so that a server that is pointed at another cluster's keeps its data to itself.
//
// Shapes    <directory>/.arion-cluster: the id as 8 hexadecimal digits, a blank, the cluster's name when
//           it was written; the CRC-32C of that line in hex, which older versions did not write.
//           <directory> is one of data_dirs, or meta_data_dir.
// Errors    FailedPrecondition: directories of different clusters. DataLoss: a meta server's file can't
//           be understood; a new id would shut its replica servers out. Others: the disk.
// Threads   Waits for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <string>
#include <vector>

#include "base/cluster_identity.h"
#include "env/environment.h"

namespace arion {

// Of a replica server: takes the id that the directories hold, if any does. A damaged file is kept
// as .arion-cluster.damaged, and the id learned from the meta server.
absl::Status TakeClusterId(FileSystem& files, const std::vector<std::string>& directories,
                           ClusterIdentity* cluster);
// Durable.
absl::Status RememberClusterId(FileSystem& files, const std::string& directory,
                               const ClusterIdentity& cluster);
// Of a meta server: takes the id, or makes one. One that is told to recover makes none: it learns it
// from the replica servers.
enum class NewCluster { kMake, kLearn };
absl::Status TakeOrMakeClusterId(Environment& env, const std::string& directory,
                                 NewCluster without_id, ClusterIdentity* cluster);
// In the directories' pools; what fails is logged. The first where there is no file yet; the second
// of a meta server that learned another id than it had made.
void RememberClusterIdLater(Environment& env, const std::vector<std::string>& directories,
                            const ClusterIdentity& cluster);
void ReplaceClusterIdLater(Environment& env, const std::string& directory,
                           const ClusterIdentity& cluster);

}  // namespace arion
