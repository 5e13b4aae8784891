// SimEnsemble: the state of a simulated ZooKeeper, outside of all nodes: its tree, its sessions,
// and members that lag.
//
// Shapes    One leader, whose tree is the truth. Each node is connected to a member; it has all
//           that the leader has, unless SetReadLag lets it lag: then it applies each transaction
//           later, but its clients' own at once, and all that there are at a Sync.
//           A session ends when nothing was heard of it for its timeout, at the next tick.
// Errors    As zookeeper_session.h has them.
// Threads   One: the world's. Lifetime: the world, and whoever still runs it, outlive no ensemble.
// Promises  sim_ensemble/E1  Of a session only its latest connection is served: what was asked over
//               an earlier one, and arrives later, is refused.
//           sim_ensemble/E2  A session's nodes go with it, in one transaction, and nothing that it
//               asked is carried out after that.
// Sources   ZooKeeper's programmer's guide, "sessions" and "watches".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/sim_world.h"
#include "sim_zookeeper/node_tree.h"
#include "sim_zookeeper/wire.h"
#include "sim_zookeeper/zookeeper_request.h"

namespace arion::sim {

struct SimZooKeeperOptions {
  // What sessions ask for. They get at least 2 ticks and at most 20.
  absl::Duration session_timeout = absl::Seconds(10);
  // In which the ensemble counts sessions' time.
  absl::Duration tick = absl::Seconds(2);
};

class SimEnsemble {
 public:
  // For checkers: what was carried out, and for whom: 0 is a stranger. The end of a session removes
  // its nodes.
  using OnExecuted = std::function<void(int64_t session, const std::vector<ZooKeeperStep>& steps)>;

  SimEnsemble(SimWorld& world, Wires& wires, SimZooKeeperOptions options);

  // ---- what arrives over a wire ----
  // `session`: 0 for a new one.
  void OnHello(const WirePtr& wire, int64_t session, absl::Duration timeout);
  void OnRequest(const WirePtr& wire, const ZooKeeperRequest& request);
  void OnPing(const WirePtr& wire);
  // It watched these on an earlier connection, and has seen all up to that transaction.
  void OnWatchAgain(const WirePtr& wire, const std::vector<std::string>& paths,
                    int64_t transaction);
  void OnLeave(const WirePtr& wire);

  // ---- faults ----
  void TakeDown();
  void BringUp();
  bool is_down() const { return is_down_; }
  // Zero: no more.
  void SetReadLag(const SimNode& node, absl::Duration lag);
  // The next request of that kind is carried out, and the connection ends instead of its answer.
  void LoseAnswer(const SimNode& node, std::optional<ZooKeeperRequest::Kind> kind);
  void Forbid(const std::string& path, bool is_forbidden);
  // False: there is none of this number.
  bool EndSession(int64_t session);

  // ---- the truth ----
  const NodeTree& tree() const { return tree_; }
  // All steps or none, at once, also while it is down. `owner`: of nodes that are made.
  absl::Status Execute(int64_t session, std::vector<ZooKeeperStep> steps, int64_t owner,
                       NodeTree::Access access);
  std::vector<int64_t> Sessions() const;
  // Null: there is none of this number.
  const SimNode* NodeOf(int64_t session) const;

  OnExecuted on_executed;

 private:
  struct Session {
    const SimNode* node = nullptr;
    absl::Duration timeout;
    // When it ends, if nothing is heard.
    Instant end{0};
    TimerId timer = kNoTimer;
    // Its latest connection.
    WirePtr wire;
    // By the member that serves it.
    std::set<std::string> watches;
  };
  struct Transaction {
    int64_t number = 0;
    std::vector<TreeChange> changes;
  };
  // One that lags.
  struct Member {
    const SimNode* node = nullptr;
    NodeTree tree;
    int64_t applied = 0;
    absl::Duration lag;
    std::deque<Transaction> behind;
  };

  // Whom this wire serves; null: nobody any more, and it ends.
  Session* Serve(const WirePtr& wire);
  void Hear(int64_t id, Session& session);
  void Judge(int64_t id);
  ZooKeeperAnswer CarryOut(int64_t id, Session& session, const ZooKeeperRequest& request);
  ZooKeeperAnswer Read(Session& session, const ZooKeeperRequest& request);
  bool IsLost(const SimNode& node, ZooKeeperRequest::Kind kind);
  Member* MemberOf(const SimNode& node);
  const NodeTree& ViewOf(const SimNode& node);
  int64_t AppliedAt(const SimNode& node);
  // Up to that transaction.
  void CatchUp(uint32_t node, int64_t transaction);
  void TellWatchers(const SimNode* only_of, const std::vector<TreeChange>& changes);

  SimWorld& world_;
  Wires& wires_;
  const SimZooKeeperOptions options_;
  NodeTree tree_;
  int64_t last_transaction_ = 0;
  int64_t next_session_ = 0x100000001;
  std::map<int64_t, Session> sessions_;
  // By node.
  std::map<uint32_t, Member> members_;
  std::map<uint32_t, std::optional<ZooKeeperRequest::Kind>> lost_answers_;
  bool is_down_ = false;
};

}  // namespace arion::sim
