// The cluster's id on disk: made by the meta server beside its state, kept by replica servers
// beside their data, so that a server that is pointed at another cluster's meta servers keeps its
// data to itself.
//
// Shapes    <directory>/.arion-cluster: the id as 8 hexadecimal digits, a blank, the cluster's name
//           when it was written; the CRC-32C of that line in hex, which older versions did not
//           write. <directory> is one of data_dirs, or meta_data_dir.
// Errors    FailedPrecondition: directories of different clusters. DataLoss: a meta server's file
//           can't be understood; a new id would shut its replica servers out. Others: the disk.
// Threads   Waits for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <string>
#include <vector>

namespace arion {

class ClusterIdentity;
class Environment;
class FileSystem;

// Of a replica server: takes the id that the directories hold, if any does. A damaged file is kept
// as .arion-cluster.damaged, and the id is learned from the meta server.
absl::Status TakeClusterId(FileSystem& files, const std::vector<std::string>& directories,
                           ClusterIdentity* cluster);
// Writes the id down, durably.
absl::Status RememberClusterId(FileSystem& files, const std::string& directory,
                               const ClusterIdentity& cluster);
// What a meta server without an id does. One that is told to recover makes none: it learns it from
// the replica servers.
enum class NewCluster { kMake, kLearn };
// Of a meta server: takes the id of its directory, or does what `without_id` says.
absl::Status TakeOrMakeClusterId(Environment& env, const std::string& directory,
                                 NewCluster without_id, ClusterIdentity* cluster);
// Writes the id, in the directories' pools, where there is no file yet. What fails is logged.
void RememberClusterIdLater(Environment& env, const std::vector<std::string>& directories,
                            const ClusterIdentity& cluster);
// Writes it over what is there: of a meta server that learned another id than it had made.
void ReplaceClusterIdLater(Environment& env, const std::string& directory,
                           const ClusterIdentity& cluster);

}  // namespace arion
