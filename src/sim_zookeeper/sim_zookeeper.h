// SimZooKeeper: a ZooKeeper ensemble in a simulated world. Servers have sessions with it as with a
// real one; tests cut it off, take it down, let it lose answers and lag, and change its tree as
// strangers would.
//
//   SimWorld world(seed);
//   SimZooKeeper zookeeper(world);
//   auto session = zookeeper.ClientOf(node).Connect(strand, on_state);   // on the strand
//   zookeeper.Cut(node);
//   world.RunFor(absl::Seconds(30));                                     // its session has expired
//   zookeeper.Restore(node);                                             // and it hears of that
//
// Shapes    Its state is outside of all nodes' lives. A session belongs to the life in which it was
//           begun: when that ends, nothing is heard of it, and its nodes go when its time is over.
//           Changes of strangers happen at once, also while it is down or a node is cut off.
// Threads   One: the world's.
// Lifetime  Declared after the world, before servers, whose sessions it outlives. The world runs no
//           more once it is gone.
// Promises  As zookeeper_session.h and sim_ensemble.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim_zookeeper/sim_ensemble.h"
#include "sim_zookeeper/wire.h"
#include "sim_zookeeper/zookeeper_request.h"
#include "zookeeper/zookeeper_session.h"

namespace arion::sim {

class SimZooKeeper {
 public:
  explicit SimZooKeeper(SimWorld& world, SimZooKeeperOptions options = {});
  ~SimZooKeeper();
  SimZooKeeper(const SimZooKeeper&) = delete;
  SimZooKeeper& operator=(const SimZooKeeper&) = delete;

  // The ensemble as servers on this node see it, in all its lives.
  ZooKeeper& ClientOf(SimNode& node);

  // ---- faults ----
  ZooKeeperWeather& weather() { return wires_.weather; }
  // Both ways, until Restore; nobody is told. What was sent arrives late, where the connection is
  // still wanted by then.
  void Cut(const SimNode& node) { wires_.Cut(node); }
  void Restore(const SimNode& node) { wires_.Restore(node); }
  bool IsCut(const SimNode& node) const { return wires_.IsCut(node); }
  // Its connection ends in its middle: of what was asked some may still be carried out. False: it
  // has none.
  bool BreakConnection(const SimNode& node) { return wires_.Break(node) > 0; }
  // All members: connections end, the tree stays. Once up, each session has its whole time again.
  void TakeDown() { ensemble_.TakeDown(); }
  void BringUp() { ensemble_.BringUp(); }
  bool is_down() const { return ensemble_.is_down(); }
  // The node's next request, or next of that kind, is carried out, and its connection ends instead
  // of the answer.
  void LoseAnswer(const SimNode& node, std::optional<ZooKeeperRequest::Kind> kind = {}) {
    ensemble_.LoseAnswer(node, kind);
  }
  // The member that the node is connected to applies what others do so much later
  // (InfiniteDuration: never), except before a Sync. Zero: no more.
  void SetReadLag(const SimNode& node, absl::Duration lag) { ensemble_.SetReadLag(node, lag); }
  // An access list that no session satisfies, or no more. The node is there.
  void Forbid(const std::string& path) { ensemble_.Forbid(path, true); }
  void Allow(const std::string& path) { ensemble_.Forbid(path, false); }

  // ---- sessions ----
  // Those that the ensemble has not ended.
  std::vector<int64_t> Sessions() const { return ensemble_.Sessions(); }
  // Null: it has ended.
  const SimNode* NodeOf(int64_t session) const { return ensemble_.NodeOf(session); }
  // As if its time were over. False: there is none of this number.
  bool EndSession(int64_t session) { return ensemble_.EndSession(session); }

  // ---- strangers ----
  absl::Status Create(const std::string& path, const std::string& data);
  // An ephemeral node in a sequence, of somebody else's session: it stays until it is removed.
  // Tells its path.
  absl::StatusOr<std::string> CreateOwned(const std::string& path, const std::string& data,
                                          int64_t owner);
  absl::Status Set(const std::string& path, const std::string& data);
  absl::Status Remove(const std::string& path);
  absl::StatusOr<ZooKeeperNode> Read(const std::string& path) const;

  // ---- for checkers ----
  std::vector<std::string> Paths() const;
  // All data, by their paths.
  std::map<std::string, std::string> Content() const;
  void OnExecuted(SimEnsemble::OnExecuted on_executed);

 private:
  class Client;

  const SimZooKeeperOptions options_;
  Wires wires_;
  SimEnsemble ensemble_;
  // By node.
  std::map<uint32_t, std::unique_ptr<Client>> clients_;
};

}  // namespace arion::sim
