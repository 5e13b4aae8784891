// NodeTree: the nodes of a simulated ensemble, as one of its members has them.
//
// Shapes    There is always "/". A node's children are made under it only while it is there, and
//           it goes only without children. Transactions are numbered from 1.
// Errors    As zookeeper_session.h has them; each names the path.
// Threads   One: the world's. A value: a copy is another member's.
// Promises  zookeeper_session/Z3: of a transaction's changes all are made, or none is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zookeeper/zookeeper_session.h"

namespace arion::sim {

struct TreeNode {
  ZooKeeperNode node;
  // The transaction that made it, or set it last.
  int64_t changed = 0;
  // How many children were made in it: the next number of a sequence.
  int32_t children_made = 0;
  // No session may touch it, or what is directly in it.
  bool is_forbidden = false;
};

// A step, and whose ephemeral node it makes; 0: nobody's.
struct TreeChange {
  ZooKeeperStep step;
  int64_t owner = 0;
};

class NodeTree {
 public:
  // kFree: a stranger's, or again what was judged before.
  enum class Access : uint8_t { kChecked, kFree };

  NodeTree() { nodes_["/"]; }

  const std::map<std::string, TreeNode>& nodes() const { return nodes_; }
  // Null where it is not.
  const TreeNode* Find(const std::string& path) const;
  // The names of those directly in it.
  std::vector<std::string> Children(const std::string& path) const;
  // `path` with ten digits behind it, which its directory has not given before.
  std::string NextInSequence(const std::string& path) const;
  absl::Status Apply(const std::vector<TreeChange>& changes, int64_t transaction, Access access);
  // Whether sessions are kept away from it. It is there.
  void Forbid(const std::string& path, bool is_forbidden);

 private:
  // What was there before: enough to undo a part of a transaction.
  using Former = std::vector<std::pair<std::string, std::optional<TreeNode>>>;
  absl::Status ApplyOne(const TreeChange& change, int64_t transaction, Access access,
                        Former& former);
  void Remember(const std::string& path, Former& former) const;
  bool HasChildren(const std::string& path) const;

  std::map<std::string, TreeNode> nodes_;
};

// The directory of what is not "/".
std::string ParentOf(const std::string& path);

}  // namespace arion::sim
