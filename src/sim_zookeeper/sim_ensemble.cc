// SPDX-License-Identifier: Apache-2.0
#include "sim_zookeeper/sim_ensemble.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "sim/sim_environment.h"

namespace arion::sim {
namespace {

constexpr int kTimeoutTicksMin = 2;
constexpr int kTimeoutTicksMax = 20;

template <class T>
void Shuffle(std::vector<T>& values, SimRandom& random) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.Below(i)]);
}

std::vector<ZooKeeperStep> StepsOf(const std::vector<TreeChange>& changes) {
  std::vector<ZooKeeperStep> steps;
  for (const TreeChange& change : changes) steps.push_back(change.step);
  return steps;
}

}  // namespace

SimEnsemble::SimEnsemble(SimWorld& world, Wires& wires, SimZooKeeperOptions options)
    : world_(world), wires_(wires), options_(options) {
  CHECK(options_.tick > absl::ZeroDuration());
}

// ---- sessions ----

void SimEnsemble::OnHello(const WirePtr& wire, int64_t session, absl::Duration timeout) {
  // Nobody listens: its machine says so.
  if (is_down_) return wire->Close();
  if (session == 0) {
    session = next_session_++;
    Session& fresh = sessions_[session];
    fresh.node = &wire->node();
    fresh.timeout =
        std::clamp(timeout, kTimeoutTicksMin * options_.tick, kTimeoutTicksMax * options_.tick);
  }
  const auto it = sessions_.find(session);
  if (it == sessions_.end()) {
    wire->ToClient([](WireClient& client) { client.OnExpired(); });
    return;
  }
  if (it->second.wire != nullptr) it->second.wire->Close();
  it->second.wire = wire;
  // They were the connection's; the client tells them again.
  it->second.watches.clear();
  wire->set_session(session);
  Hear(session, it->second);
  wire->ToClient([session, timeout = it->second.timeout](WireClient& client) {
    client.OnWelcome(session, timeout);
  });
}

SimEnsemble::Session* SimEnsemble::Serve(const WirePtr& wire) {
  // sim_ensemble/E1.
  const auto it = sessions_.find(wire->session());
  if (is_down_ || it == sessions_.end() || it->second.wire != wire) {
    wire->Close();
    return nullptr;
  }
  Hear(it->first, it->second);
  return &it->second;
}

void SimEnsemble::Hear(int64_t id, Session& session) {
  // Sessions end in groups, at ticks.
  const int64_t tick = absl::ToInt64Nanoseconds(options_.tick);
  session.end = Instant(((world_.now() + session.timeout).nanos() / tick + 1) * tick);
  if (session.timer != kNoTimer) return;
  session.timer =
      world_.After(session.end - world_.now(), EventKind::kTimer, [this, id] { Judge(id); });
}

void SimEnsemble::Judge(int64_t id) {
  const auto it = sessions_.find(id);
  if (it == sessions_.end()) return;
  Session& session = it->second;
  session.timer = kNoTimer;
  // Whoever comes up gives each of them its whole time again.
  if (is_down_) return;
  if (world_.now() < session.end) {
    session.timer =
        world_.After(session.end - world_.now(), EventKind::kTimer, [this, id] { Judge(id); });
    return;
  }
  EndSession(id);
}

bool SimEnsemble::EndSession(int64_t session) {
  const auto it = sessions_.find(session);
  if (it == sessions_.end()) return false;
  // sim_ensemble/E2.
  Session ended = std::move(it->second);
  sessions_.erase(it);
  world_.Cancel(ended.timer);
  std::vector<ZooKeeperStep> steps;
  for (const auto& [path, node] : tree_.nodes())
    if (node.node.owner == session) steps.push_back({ZooKeeperStep::Kind::kRemove, path, {}});
  if (!steps.empty()) {
    const absl::Status status = Execute(session, std::move(steps), 0, NodeTree::Access::kFree);
    CHECK(status.ok()) << status;
  }
  if (ended.wire != nullptr) ended.wire->Close();
  return true;
}

void SimEnsemble::OnLeave(const WirePtr& wire) {
  if (Serve(wire) != nullptr) EndSession(wire->session());
}

void SimEnsemble::OnPing(const WirePtr& wire) {
  const Session* session = Serve(wire);
  if (session == nullptr) return;
  wire->ToClient([transaction = AppliedAt(*session->node)](WireClient& client) {
    client.OnPong(transaction);
  });
}

// ---- requests ----

void SimEnsemble::OnRequest(const WirePtr& wire, const ZooKeeperRequest& request) {
  Session* session = Serve(wire);
  if (session == nullptr) return;
  ZooKeeperAnswer answer = CarryOut(wire->session(), *session, request);
  if (IsLost(wire->node(), request.kind)) return wire->Close();
  wire->ToClient([answer = std::move(answer)](WireClient& client) mutable {
    client.OnAnswer(std::move(answer));
  });
}

bool SimEnsemble::IsLost(const SimNode& node, ZooKeeperRequest::Kind kind) {
  const auto it = lost_answers_.find(node.index());
  if (it != lost_answers_.end() && it->second.value_or(kind) == kind) {
    lost_answers_.erase(it);
    return true;
  }
  const double percent = wires_.weather.lost_answers_percent;
  return percent > 0 && world_.random().Percent(percent);
}

ZooKeeperAnswer SimEnsemble::CarryOut(int64_t id, Session& session,
                                      const ZooKeeperRequest& request) {
  if (!request.Changes()) return Read(session, request);
  ZooKeeperAnswer answer;
  std::vector<ZooKeeperStep> steps = request.steps;
  const bool is_owned = request.mode == ZooKeeperSession::Mode::kEphemeralSequential;
  if (is_owned) steps.front().path = tree_.NextInSequence(steps.front().path);
  if (request.kind == ZooKeeperRequest::Kind::kCreate) answer.path = steps.front().path;
  answer.status = Execute(id, std::move(steps), is_owned ? id : 0, NodeTree::Access::kChecked);
  if (!answer.status.ok()) answer.path.clear();
  // Refused or not, it went the way of all transactions, and its member has applied those before
  // it.
  CatchUp(session.node->index(), last_transaction_);
  answer.transaction = last_transaction_;
  return answer;
}

ZooKeeperAnswer SimEnsemble::Read(Session& session, const ZooKeeperRequest& request) {
  const SimNode& node = *session.node;
  if (request.kind == ZooKeeperRequest::Kind::kSync) CatchUp(node.index(), last_transaction_);
  ZooKeeperAnswer answer;
  answer.transaction = AppliedAt(node);
  if (request.kind == ZooKeeperRequest::Kind::kSync) return answer;
  const TreeNode* found = ViewOf(node).Find(request.path);
  if (found == nullptr) {
    answer.status = absl::NotFoundError(request.path + ": there is no such node");
  } else if (found->is_forbidden) {
    answer.status = absl::PermissionDeniedError(request.path + ": its access list forbids it");
  } else if (request.kind == ZooKeeperRequest::Kind::kList) {
    answer.names = ViewOf(node).Children(request.path);
    // The header promises no order, and ZooKeeper's is a hash's.
    Shuffle(answer.names, world_.random());
  } else {
    answer.node = found->node;
    if (request.watches) session.watches.insert(request.path);
  }
  return answer;
}

void SimEnsemble::OnWatchAgain(const WirePtr& wire, const std::vector<std::string>& paths,
                               int64_t transaction) {
  Session* session = Serve(wire);
  if (session == nullptr) return;
  for (const std::string& path : paths) {
    const TreeNode* found = ViewOf(*session->node).Find(path);
    if (found != nullptr && found->changed <= transaction) {
      session->watches.insert(path);
    } else {
      wire->ToClient([path](WireClient& client) { client.OnChanged(path); });
    }
  }
}

absl::Status SimEnsemble::Execute(int64_t session, std::vector<ZooKeeperStep> steps, int64_t owner,
                                  NodeTree::Access access) {
  std::vector<TreeChange> changes;
  for (ZooKeeperStep& step : steps) changes.push_back({std::move(step), owner});
  RETURN_IF_ERROR(tree_.Apply(changes, last_transaction_ + 1, access));
  ++last_transaction_;
  world_.FoldIntoTrace(static_cast<uint64_t>(last_transaction_ ^ session));
  TellWatchers(nullptr, changes);
  for (auto& [node, member] : members_) {
    member.behind.push_back({last_transaction_, changes});
    if (member.lag == absl::InfiniteDuration()) continue;
    world_.After(
        member.lag, EventKind::kMessage,
        [this, node = node, transaction = last_transaction_] { CatchUp(node, transaction); });
  }
  if (on_executed) on_executed(session, StepsOf(changes));
  return absl::OkStatus();
}

// `only_of` null: of all whose members do not lag.
void SimEnsemble::TellWatchers(const SimNode* only_of, const std::vector<TreeChange>& changes) {
  for (auto& [id, session] : sessions_) {
    if (only_of == nullptr ? MemberOf(*session.node) != nullptr : session.node != only_of) continue;
    for (const TreeChange& change : changes) {
      const bool is_change = change.step.kind == ZooKeeperStep::Kind::kSet ||
                             change.step.kind == ZooKeeperStep::Kind::kRemove;
      if (!is_change || session.watches.erase(change.step.path) == 0) continue;
      session.wire->ToClient(
          [path = change.step.path](WireClient& client) { client.OnChanged(path); });
    }
  }
}

// ---- members that lag ----

SimEnsemble::Member* SimEnsemble::MemberOf(const SimNode& node) {
  const auto it = members_.find(node.index());
  return it == members_.end() ? nullptr : &it->second;
}

const NodeTree& SimEnsemble::ViewOf(const SimNode& node) {
  const Member* member = MemberOf(node);
  return member == nullptr ? tree_ : member->tree;
}

int64_t SimEnsemble::AppliedAt(const SimNode& node) {
  const Member* member = MemberOf(node);
  return member == nullptr ? last_transaction_ : member->applied;
}

void SimEnsemble::CatchUp(uint32_t node, int64_t transaction) {
  const auto it = members_.find(node);
  if (it == members_.end()) return;
  Member& member = it->second;
  while (!member.behind.empty() && member.behind.front().number <= transaction) {
    const Transaction next = std::move(member.behind.front());
    member.behind.pop_front();
    const absl::Status status =
        member.tree.Apply(next.changes, next.number, NodeTree::Access::kFree);
    CHECK(status.ok()) << status;
    member.applied = next.number;
    TellWatchers(member.node, next.changes);
  }
}

void SimEnsemble::SetReadLag(const SimNode& node, absl::Duration lag) {
  if (lag == absl::ZeroDuration()) {
    CatchUp(node.index(), last_transaction_);
    members_.erase(node.index());
    return;
  }
  const auto [it, is_new] = members_.try_emplace(node.index());
  it->second.lag = lag;
  if (!is_new) return;
  it->second.node = &node;
  it->second.tree = tree_;
  it->second.applied = last_transaction_;
}

// ---- faults ----

void SimEnsemble::TakeDown() {
  if (std::exchange(is_down_, true)) return;
  for (auto& [id, session] : sessions_)
    if (session.wire != nullptr) session.wire->Close();
}

void SimEnsemble::BringUp() {
  if (!std::exchange(is_down_, false)) return;
  for (auto& [id, session] : sessions_) Hear(id, session);
}

void SimEnsemble::LoseAnswer(const SimNode& node, std::optional<ZooKeeperRequest::Kind> kind) {
  lost_answers_[node.index()] = kind;
}

void SimEnsemble::Forbid(const std::string& path, bool is_forbidden) {
  tree_.Forbid(path, is_forbidden);
  for (auto& [node, member] : members_) {
    CatchUp(node, last_transaction_);
    member.tree.Forbid(path, is_forbidden);
  }
}

std::vector<int64_t> SimEnsemble::Sessions() const {
  std::vector<int64_t> sessions;
  for (const auto& [id, session] : sessions_) sessions.push_back(id);
  return sessions;
}

const SimNode* SimEnsemble::NodeOf(int64_t session) const {
  const auto it = sessions_.find(session);
  return it == sessions_.end() ? nullptr : it->second.node;
}

}  // namespace arion::sim
