// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/candidate_list.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "meta_ensemble/leader_lock.h"
#include "zookeeper/zookeeper_session.h"

namespace arion {
namespace {

// All nodes are asked for at once; each answer comes once.
struct Reading {
  absl::AnyInvocable<void(absl::StatusOr<std::vector<Candidate>>)> done;
  // In their order; nullopt: gone meanwhile.
  std::vector<std::optional<Candidate>> found;
  size_t left = 0;
  absl::Status status;

  void End() {
    if (!status.ok()) return done(status);
    std::vector<Candidate> candidates;
    for (std::optional<Candidate>& one : found)
      if (one) candidates.push_back(*std::move(one));
    done(std::move(candidates));
  }
};

// Those that are candidates', by their numbers.
std::vector<std::string> InOrder(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) { return !LockNumberOf(name); });
  std::ranges::sort(names, {}, [](const std::string& name) { return *LockNumberOf(name); });
  if (names.size() > kCandidatesMax) names.resize(kCandidatesMax);
  return names;
}

void ReadEach(ZooKeeperSession& session, const std::string& directory,
              const std::vector<std::string>& names, std::shared_ptr<Reading> reading) {
  reading->left = names.size();
  reading->found.resize(names.size());
  if (names.empty()) return reading->End();
  for (size_t i = 0; i < names.size(); ++i)
    session.Get(absl::StrCat(directory, "/", names[i]),
                [reading, i, name = names[i]](const absl::StatusOr<ZooKeeperNode>& node) {
                  if (node.ok())
                    reading->found[i] = Candidate{.node = name,
                                                  .address = node->data,
                                                  .since_unix_ms = node->created_unix_ms,
                                                  .session = node->owner};
                  else if (!absl::IsNotFound(node.status()))
                    reading->status.Update(node.status());
                  if (--reading->left == 0) reading->End();
                });
}

}  // namespace

void ReadCandidates(ZooKeeperSession& session, const std::string& directory,
                    absl::AnyInvocable<void(absl::StatusOr<std::vector<Candidate>>)> done) {
  auto reading = std::make_shared<Reading>();
  reading->done = std::move(done);
  session.List(directory, [&session, directory,
                           reading](const absl::StatusOr<std::vector<std::string>>& names) {
    if (!names.ok()) return reading->done(names.status());
    ReadEach(session, directory, InOrder(*names), reading);
  });
}

}  // namespace arion
