// SPDX-License-Identifier: Apache-2.0
#include "sim_zookeeper/node_tree.h"

#include <algorithm>

#include "base/log.h"
#include "base/status.h"

namespace arion::sim {
namespace {

using StepKind = ZooKeeperStep::Kind;

// What all paths below it begin with.
std::string Below(const std::string& path) { return path == "/" ? path : path + "/"; }

absl::Status NoNode(const std::string& path) {
  return absl::NotFoundError(path + ": there is no such node");
}

absl::Status Forbidden(const std::string& path) {
  return absl::PermissionDeniedError(path + ": its access list forbids it");
}

}  // namespace

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

const TreeNode* NodeTree::Find(const std::string& path) const {
  const auto it = nodes_.find(path);
  return it == nodes_.end() ? nullptr : &it->second;
}

std::vector<std::string> NodeTree::Children(const std::string& path) const {
  const std::string below = Below(path);
  std::vector<std::string> names;
  // The root's own path begins with itself.
  for (auto it = nodes_.upper_bound(below); it != nodes_.end() && it->first.starts_with(below);) {
    const size_t end = std::min(it->first.find('/', below.size()), it->first.size());
    if (end == it->first.size()) {
      names.push_back(it->first.substr(below.size()));
      ++it;
    } else {
      // Over all that is below that child: '0' comes after '/'.
      it = nodes_.lower_bound(it->first.substr(0, end) + '0');
    }
  }
  return names;
}

bool NodeTree::HasChildren(const std::string& path) const {
  const std::string below = Below(path);
  const auto it = nodes_.upper_bound(below);
  return it != nodes_.end() && it->first.starts_with(below);
}

std::string NodeTree::NextInSequence(const std::string& path) const {
  const TreeNode* parent = Find(ParentOf(path));
  return absl::StrFormat("%s%010d", path, parent == nullptr ? 0 : parent->children_made);
}

absl::Status NodeTree::Apply(const std::vector<TreeChange>& changes, int64_t transaction,
                             Access access) {
  Former former;
  for (const TreeChange& change : changes) {
    const absl::Status status = ApplyOne(change, transaction, access, former);
    if (status.ok()) continue;
    for (auto it = former.rbegin(); it != former.rend(); ++it) {
      if (it->second) {
        nodes_[it->first] = std::move(*it->second);
      } else {
        nodes_.erase(it->first);
      }
    }
    return status;
  }
  return absl::OkStatus();
}

void NodeTree::Remember(const std::string& path, Former& former) const {
  const auto it = nodes_.find(path);
  former.emplace_back(path,
                      it == nodes_.end() ? std::nullopt : std::optional<TreeNode>(it->second));
}

absl::Status NodeTree::ApplyOne(const TreeChange& change, int64_t transaction, Access access,
                                Former& former) {
  const std::string& path = change.step.path;
  const StepKind kind = change.step.kind;
  const bool is_checked = access == Access::kChecked;
  const auto found = nodes_.find(path);
  if (path == "/" && kind == StepKind::kRemove)
    return absl::InvalidArgumentError("/: it can't be removed");
  if (kind == StepKind::kCreate && path != "/") {
    const auto parent = nodes_.find(ParentOf(path));
    if (parent == nodes_.end())
      return absl::NotFoundError(path + ": there is no node that it could be made in");
    if (is_checked && parent->second.is_forbidden) return Forbidden(path);
    if (found != nodes_.end()) return absl::AlreadyExistsError(path + ": it is there already");
    if (parent->second.node.owner != 0)
      return absl::InternalError(path + ": ZNOCHILDRENFOREPHEMERALS");
    Remember(parent->first, former);
    Remember(path, former);
    ++parent->second.children_made;
    nodes_[path] = {{change.step.data, 0, change.owner}, transaction, 0, false};
    return absl::OkStatus();
  }
  if (kind == StepKind::kCreate) return absl::AlreadyExistsError("/: it is there already");
  if (found == nodes_.end()) return NoNode(path);
  TreeNode& node = found->second;
  if (kind == StepKind::kRemove) {
    const TreeNode* parent = Find(ParentOf(path));
    CHECK(parent != nullptr) << path;
    // What is done to a directory's list is the directory's to forbid.
    if (is_checked && parent->is_forbidden) return Forbidden(path);
    if (HasChildren(path)) return absl::FailedPreconditionError(path + ": it has children");
    Remember(path, former);
    nodes_.erase(found);
    return absl::OkStatus();
  }
  if (is_checked && node.is_forbidden) return Forbidden(path);
  if (kind == StepKind::kCheck) {
    if (node.node.version == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": it has version ", node.node.version, ", not 0"));
  }
  Remember(path, former);
  node.node.data = change.step.data;
  ++node.node.version;
  node.changed = transaction;
  return absl::OkStatus();
}

void NodeTree::Forbid(const std::string& path, bool is_forbidden) {
  const auto it = nodes_.find(path);
  CHECK(it != nodes_.end()) << path;
  it->second.is_forbidden = is_forbidden;
}

}  // namespace arion::sim
