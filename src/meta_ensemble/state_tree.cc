// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/state_tree.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "base/log.h"

namespace arion {
namespace {

constexpr size_t kReadsMax = 256;  // state_tree/N1
constexpr size_t kStepBytes = 64;  // of its frame

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// How many names the path of a key has: "/apps/2/0" has three.
size_t Depth(std::string_view key) {
  return static_cast<size_t>(std::count(key.begin(), key.end(), '/'));
}

// /apps/ID/INDEX, of which there may be a hundred thousand: it has no children.
bool IsPartition(std::string_view key) {
  return key.starts_with("/apps/") && Depth(key) == 3 && IsNumber(key.substr(key.rfind('/') + 1));
}

// Whether the node is no key although it may have no children now.
bool IsFolder(std::string_view key) {
  return key == "/apps" || key == "/arion" ||
         (key.starts_with("/apps/") && Depth(key) == 3 &&
          !IsNumber(key.substr(key.rfind('/') + 1)));
}

// Reads a tree, many nodes at a time.
class TreeReader : public std::enable_shared_from_this<TreeReader> {
 public:
  TreeReader(ZooKeeperSession& session, std::string root,
             absl::AnyInvocable<void(absl::StatusOr<StoredTree>)> done)
      : session_(session), root_(std::move(root)), done_(std::move(done)) {}

  void Start() {
    session_.Sync(root_.empty() ? "/" : root_,
                  [self = shared_from_this()](const absl::Status& synced) {
                    // Not even the root is there: so is nothing.
                    if (!synced.ok() && !absl::IsNotFound(synced)) return self->Fail("", synced);
                    self->waiting_ = {"/apps", "/arion"};
                    self->Continue();
                  });
  }

 private:
  void Continue() {
    while (done_ && under_way_ < kReadsMax && !waiting_.empty()) {
      std::string key = std::move(waiting_.front());
      waiting_.pop_front();
      ++under_way_;
      Read(std::move(key));
    }
    if (!done_ || under_way_ > 0) return;
    for (const std::string& folder : folders_) tree_.entries.erase(folder);
    std::exchange(done_, nullptr)(std::move(tree_));
  }

  void Read(std::string key) {
    session_.Get(root_ + key,
                 [self = shared_from_this(), key](const absl::StatusOr<ZooKeeperNode>& node) {
                   const bool is_top = key == "/apps" || key == "/arion";
                   if (is_top && absl::IsNotFound(node.status())) return self->End();
                   if (!node.ok()) return self->Fail(key, node.status());
                   self->tree_.nodes.insert(key);
                   // "/apps" may say that it is being written anew.
                   if (!IsFolder(key) || !node->data.empty()) self->tree_.entries[key] = node->data;
                   if (IsPartition(key)) return self->End();
                   self->List(key);
                 });
  }

  void List(const std::string& key) {
    session_.List(root_ + key, [self = shared_from_this(),
                                key](const absl::StatusOr<std::vector<std::string>>& names) {
      if (!names.ok()) return self->Fail(key, names.status());
      const bool is_folder = !names->empty() && self->tree_.entries[key].empty();
      if (is_folder) self->folders_.push_back(key);
      for (const std::string& name : *names) self->waiting_.push_back(absl::StrCat(key, "/", name));
      self->End();
    });
  }

  void End() {
    --under_way_;
    Continue();
  }

  void Fail(const std::string& key, const absl::Status& why) {
    if (!done_) return;
    std::exchange(done_, nullptr)(
        absl::Status(why.code(), absl::StrCat("reading ", root_, key, ": ", why.message())));
  }

  ZooKeeperSession& session_;
  const std::string root_;
  absl::AnyInvocable<void(absl::StatusOr<StoredTree>)> done_;
  std::deque<std::string> waiting_;
  size_t under_way_ = 0;
  StoredTree tree_;
  std::vector<std::string> folders_;
};

// `end`: of the part that is to be made now.
void MakePartOf(ZooKeeperSession& session, const std::string& path, size_t end,
                absl::AnyInvocable<void(absl::Status)> done) {
  const std::string part = path.substr(0, end);
  session.Create(
      part, "", ZooKeeperSession::Mode::kPersistent,
      [&session, path, end, part,
       done = std::move(done)](const absl::StatusOr<std::string>& made) mutable {
        if (!made.ok() && !absl::IsAlreadyExists(made.status()))
          return done(
              absl::Status(made.status().code(),
                           absl::StrCat("can't make node ", part, ": ", made.status().message())));
        if (end == path.size()) return done(absl::OkStatus());
        MakePartOf(session, path, std::min(path.find('/', end + 1), path.size()), std::move(done));
      });
}

}  // namespace

void MakePath(ZooKeeperSession& session, const std::string& path,
              absl::AnyInvocable<void(absl::Status)> done) {
  CHECK(path.starts_with('/') && path.size() > 1 && !path.ends_with('/')) << path;
  MakePartOf(session, path, std::min(path.find('/', 1), path.size()), std::move(done));
}

void ReadStoredTree(ZooKeeperSession& session, const std::string& root,
                    absl::AnyInvocable<void(absl::StatusOr<StoredTree>)> done) {
  std::make_shared<TreeReader>(session, root, std::move(done))->Start();
}

std::vector<ZooKeeperStep> StepsOf(const std::string& root, const std::vector<StoreChange>& batch,
                                   std::set<std::string>* nodes) {
  using Kind = ZooKeeperStep::Kind;
  // Of several changes of a key the last one holds; parents come before their children.
  std::map<std::string, const StoreChange*> last;
  for (const StoreChange& change : batch) last[change.key] = &change;
  std::vector<ZooKeeperStep> steps;
  for (const auto& [key, change] : last) {
    if (!change->value) continue;
    for (size_t at = key.find('/', 1); at != std::string::npos; at = key.find('/', at + 1)) {
      const std::string parent = key.substr(0, at);
      if (nodes->insert(parent).second) steps.push_back({Kind::kCreate, root + parent, ""});
    }
    const bool is_new = nodes->insert(key).second;
    steps.push_back({is_new ? Kind::kCreate : Kind::kSet, root + key, *change->value});
  }
  // Children before their parents.
  for (auto it = last.rbegin(); it != last.rend(); ++it)
    if (!it->second->value && nodes->erase(it->first) > 0)
      steps.push_back({Kind::kRemove, root + it->first, ""});
  return steps;
}

size_t BytesOf(const ZooKeeperStep& step) {
  return kStepBytes + step.path.size() + step.data.size();
}

void FillTransaction(std::vector<ZooKeeperStep>* steps, std::vector<ZooKeeperStep>* transaction) {
  size_t bytes = 0;
  auto end = steps->begin();
  for (; end != steps->end(); ++end) {
    bytes += BytesOf(*end);
    if (end != steps->begin() && bytes > kBatchBytesMax) break;
  }
  transaction->insert(transaction->end(), std::make_move_iterator(steps->begin()),
                      std::make_move_iterator(end));
  steps->erase(steps->begin(), end);
}

}  // namespace arion
