// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/root_check.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "meta_ensemble/leader_lock.h"
#include "zookeeper/zookeeper_session.h"

namespace arion {
namespace {

constexpr char kApps[] = "/apps";

absl::Status Foreign(const std::string& root, const std::string& node, std::string_view why,
                     std::string_view else_what) {
  return absl::FailedPreconditionError(absl::StrCat(
      "node ", node, " in ZooKeeper ", std::string(why), ", so ", root.empty() ? "/" : root,
      " is not a cluster's: set zookeeper_root (of Pegasus: cluster_root) to the node that has the "
      "cluster's apps, or to one of its own; or, if this is the right one, ",
      std::string(else_what)));
}

absl::Status NotListed(const std::string& node, const absl::Status& why) {
  return absl::Status(why.code(), absl::StrCat("can't read ", node, ": ", why.message()));
}

bool IsTableId(const std::string& name) {
  int32_t id = 0;
  return absl::SimpleAtoi(name, &id) && id > 0 && absl::StrCat(id) == name;
}

// What there is beside a state before its first table.
absl::Status JudgeNames(const std::string& root, const std::string& lock_root,
                        const std::vector<std::string>& names) {
  if (std::ranges::find(names, "arion") != names.end()) return absl::OkStatus();
  std::vector<std::string> known = {"backup", "bulk_load"};
  // Every ensemble has it.
  if (root.empty()) known.emplace_back("zookeeper");
  const std::string lock = LockDirectoryOf(lock_root);
  if (lock.starts_with(root + "/"))
    known.push_back(
        lock.substr(root.size() + 1, lock.find('/', root.size() + 1) - root.size() - 1));
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end())
      return Foreign(root, absl::StrCat(root, "/", name), "is no meta server's",
                     absl::StrCat("make an empty node ", root, kApps));
  return absl::OkStatus();
}

absl::Status JudgeTables(const std::string& root, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (!IsTableId(name))
      return Foreign(root, absl::StrCat(root, kApps, "/", name), "is not named as a table's id",
                     "remove that node: meta servers of Pegasus end by it, too");
  return absl::OkStatus();
}

void CheckTables(ZooKeeperSession& session, const std::string& root,
                 absl::AnyInvocable<void(absl::Status)> done) {
  session.List(root + kApps, [root, done = std::move(done)](
                                 const absl::StatusOr<std::vector<std::string>>& names) mutable {
    done(names.ok() ? JudgeTables(root, *names) : NotListed(root + kApps, names.status()));
  });
}

}  // namespace

void CheckRoot(ZooKeeperSession& session, const std::string& root, const std::string& lock_root,
               absl::AnyInvocable<void(absl::Status)> done) {
  const std::string path = root.empty() ? "/" : root;
  session.List(path, [&session, root, lock_root, path, done = std::move(done)](
                         const absl::StatusOr<std::vector<std::string>>& names) mutable {
    if (absl::IsNotFound(names.status())) return done(absl::OkStatus());
    if (!names.ok()) return done(NotListed(path, names.status()));
    if (std::ranges::find(*names, "apps") == names->end())
      return done(JudgeNames(root, lock_root, *names));
    CheckTables(session, root, std::move(done));
  });
}

}  // namespace arion
