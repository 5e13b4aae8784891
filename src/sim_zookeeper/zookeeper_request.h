// ZooKeeperRequest and ZooKeeperAnswer: what a simulated session asks its ensemble, and hears.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <vector>

#include "zookeeper/zookeeper_session.h"

namespace arion::sim {

struct ZooKeeperRequest {
  enum class Kind : uint8_t { kCreate, kRemove, kCommit, kGet, kList, kSync };
  Kind kind = Kind::kGet;
  // Of those that change nothing.
  std::string path;
  // Of those that do: one step, or a transaction's.
  std::vector<ZooKeeperStep> steps;
  // Of kCreate.
  ZooKeeperSession::Mode mode = ZooKeeperSession::Mode::kPersistent;
  // Of kGet: the node is watched from then on, if it is there.
  bool watches = false;

  bool Changes() const { return kind <= Kind::kCommit; }
};

struct ZooKeeperAnswer {
  absl::Status status;
  // Of kCreate: the whole path.
  std::string path;
  ZooKeeperNode node;
  std::vector<std::string> names;
  // The last transaction that the member had applied.
  int64_t transaction = 0;
};

// InvalidArgument: a path or a size that no server would take.
absl::Status CheckRequest(const ZooKeeperRequest& request);

}  // namespace arion::sim
