// StateTree: the meta server's stored state as nodes of ZooKeeper: which key is which node, how all
// of them are read, and which transaction makes a batch of changes.
//
// Shapes    A key (meta/STATE.md 1.1) "/apps/2/0" is the node <root>/apps/2/0, its value the node's
//           data. Nodes that only hold others ("folders": /apps, /apps/ID/duplication, /arion and
//           those right below it that have children) have no data and are no keys. Nothing is read
//           but what is below <root>/apps and <root>/arion.
// Errors    Those of the session, with the node's path.
// Threads   Strand-bound: the session's.
// Promises  state_tree/N1  Reads that are under way at a time are bounded: a session that is used up
//               by them would end, and so would the next leader's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "meta_state/store_change.h"
#include "zookeeper/zookeeper_session.h"

namespace arion {

inline constexpr char kAppsKey[] = "/apps";
inline constexpr char kClusterIdKey[] = "/arion/cluster_id";
inline constexpr char kCommitKey[] = "/arion/commit";
// Of a key and its value, with what stands around them in a transaction.
inline constexpr size_t kStoredBytesMax = ZooKeeperSession::kTransactionBytesMax - (20 << 10);
// Of a transaction of several changes.
inline constexpr size_t kBatchBytesMax = ZooKeeperSession::kTransactionBytesMax / 2;

// All that is stored, as it was read.
struct StoredTree {
  std::map<std::string, std::string> entries;
  // Of keys and folders: those that there are, without <root>.
  std::set<std::string> nodes;
};

// Makes the node and those above it that are missing, persistent and without data.
void MakePath(ZooKeeperSession& session, const std::string& path,
              absl::AnyInvocable<void(absl::Status)> done);

// `root`: "" or a path. After a `Sync`, so that what a former leader stored is seen. `done` comes
// once, unless the session is destroyed before.
void ReadStoredTree(ZooKeeperSession& session, const std::string& root,
                    absl::AnyInvocable<void(absl::StatusOr<StoredTree>)> done);

// The steps of a batch on what `nodes` says is there, folders that are missing included. `nodes`
// becomes what there is afterwards.
std::vector<ZooKeeperStep> StepsOf(const std::string& root, const std::vector<StoreChange>& batch,
                                   std::set<std::string>* nodes);
// What it takes of a transaction.
size_t BytesOf(const ZooKeeperStep& step);
// Moves the first of `steps` to the end of `transaction`: as many as kBatchBytesMax holds, at least
// one.
void FillTransaction(std::vector<ZooKeeperStep>* steps, std::vector<ZooKeeperStep>* transaction);

}  // namespace arion
