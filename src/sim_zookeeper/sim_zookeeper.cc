// SPDX-License-Identifier: Apache-2.0
#include "sim_zookeeper/sim_zookeeper.h"

#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "sim/sim_environment.h"
#include "sim_zookeeper/sim_session_client.h"

namespace arion::sim {
namespace {

using RequestKind = ZooKeeperRequest::Kind;
using StepKind = ZooKeeperStep::Kind;

class SimSession : public ZooKeeperSession {
 public:
  explicit SimSession(std::shared_ptr<SimSessionClient> client) : client_(std::move(client)) {
    client_->Begin();
  }
  ~SimSession() override { client_->Leave(); }

  int64_t id() const override { return client_->id(); }
  absl::Duration timeout() const override { return client_->timeout(); }

  void Create(const std::string& path, const std::string& data, Mode mode,
              absl::AnyInvocable<void(absl::StatusOr<std::string>)> done) override {
    Ask({.kind = RequestKind::kCreate, .steps = {{StepKind::kCreate, path, data}}, .mode = mode},
        {}, [done = std::move(done)](ZooKeeperAnswer answer) mutable {
          if (answer.status.ok()) return done(std::move(answer.path));
          done(std::move(answer.status));
        });
  }
  void Get(const std::string& path,
           absl::AnyInvocable<void(absl::StatusOr<ZooKeeperNode>)> done) override {
    Ask({.kind = RequestKind::kGet, .path = path}, {}, Node(std::move(done)));
  }
  void GetAndWatch(const std::string& path, absl::AnyInvocable<void()> changed,
                   absl::AnyInvocable<void(absl::StatusOr<ZooKeeperNode>)> done) override {
    Ask({.kind = RequestKind::kGet, .path = path, .watches = true}, std::move(changed),
        Node(std::move(done)));
  }
  void List(const std::string& path,
            absl::AnyInvocable<void(absl::StatusOr<std::vector<std::string>>)> done) override {
    Ask({.kind = RequestKind::kList, .path = path}, {},
        [done = std::move(done)](ZooKeeperAnswer answer) mutable {
          if (answer.status.ok()) return done(std::move(answer.names));
          done(std::move(answer.status));
        });
  }
  void Remove(const std::string& path, absl::AnyInvocable<void(absl::Status)> done) override {
    Ask({.kind = RequestKind::kRemove, .steps = {{StepKind::kRemove, path, {}}}}, {},
        Outcome(std::move(done)));
  }
  void Commit(const std::vector<ZooKeeperStep>& steps,
              absl::AnyInvocable<void(absl::Status)> done) override {
    Ask({.kind = RequestKind::kCommit, .steps = steps}, {}, Outcome(std::move(done)));
  }
  void Sync(const std::string& path, absl::AnyInvocable<void(absl::Status)> done) override {
    Ask({.kind = RequestKind::kSync, .path = path}, {}, Outcome(std::move(done)));
  }

 private:
  void Ask(ZooKeeperRequest request, absl::AnyInvocable<void()> changed,
           SimSessionClient::Done done) {
    CHECK_ON_STRAND(client_->strand());
    client_->Ask(std::move(request), std::move(changed), std::move(done));
  }
  static SimSessionClient::Done Node(absl::AnyInvocable<void(absl::StatusOr<ZooKeeperNode>)> done) {
    return [done = std::move(done)](ZooKeeperAnswer answer) mutable {
      if (answer.status.ok()) return done(std::move(answer.node));
      done(std::move(answer.status));
    };
  }
  static SimSessionClient::Done Outcome(absl::AnyInvocable<void(absl::Status)> done) {
    return [done = std::move(done)](ZooKeeperAnswer answer) mutable {
      done(std::move(answer.status));
    };
  }

  const std::shared_ptr<SimSessionClient> client_;
};

}  // namespace

class SimZooKeeper::Client : public ZooKeeper {
 public:
  Client(SimZooKeeper& zookeeper, SimNode& node) : zookeeper_(zookeeper), node_(node) {}

  std::unique_ptr<ZooKeeperSession> Connect(
      StrandPtr strand, std::function<void(ZooKeeperSession::State)> on_state) override {
    return std::make_unique<SimSession>(std::make_shared<SimSessionClient>(
        zookeeper_.ensemble_, zookeeper_.wires_, node_, std::move(strand), std::move(on_state),
        zookeeper_.options_.session_timeout));
  }

 private:
  SimZooKeeper& zookeeper_;
  SimNode& node_;
};

SimZooKeeper::SimZooKeeper(SimWorld& world, SimZooKeeperOptions options)
    : options_(options), wires_(world), ensemble_(world, wires_, options) {}

SimZooKeeper::~SimZooKeeper() = default;

ZooKeeper& SimZooKeeper::ClientOf(SimNode& node) {
  std::unique_ptr<Client>& client = clients_[node.index()];
  if (client == nullptr) client = std::make_unique<Client>(*this, node);
  return *client;
}

absl::Status SimZooKeeper::Create(const std::string& path, const std::string& data) {
  const ZooKeeperRequest request{.kind = RequestKind::kCreate,
                                 .steps = {{StepKind::kCreate, path, data}}};
  RETURN_IF_ERROR(CheckRequest(request));
  return ensemble_.Execute(0, request.steps, 0, NodeTree::Access::kFree);
}

absl::StatusOr<std::string> SimZooKeeper::CreateOwned(const std::string& path,
                                                      const std::string& data, int64_t owner) {
  ZooKeeperRequest request{.kind = RequestKind::kCreate,
                           .steps = {{StepKind::kCreate, path, data}}};
  RETURN_IF_ERROR(CheckRequest(request));
  std::string whole = ensemble_.tree().NextInSequence(path);
  request.steps.front().path = whole;
  RETURN_IF_ERROR(ensemble_.Execute(0, request.steps, owner, NodeTree::Access::kFree));
  return whole;
}

absl::Status SimZooKeeper::Set(const std::string& path, const std::string& data) {
  return ensemble_.Execute(0, {{StepKind::kSet, path, data}}, 0, NodeTree::Access::kFree);
}

absl::Status SimZooKeeper::Remove(const std::string& path) {
  return ensemble_.Execute(0, {{StepKind::kRemove, path, {}}}, 0, NodeTree::Access::kFree);
}

absl::StatusOr<ZooKeeperNode> SimZooKeeper::Read(const std::string& path) const {
  const TreeNode* found = ensemble_.tree().Find(path);
  if (found == nullptr) return absl::NotFoundError(path + ": there is no such node");
  return found->node;
}

std::vector<std::string> SimZooKeeper::Paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, node] : ensemble_.tree().nodes()) paths.push_back(path);
  return paths;
}

std::map<std::string, std::string> SimZooKeeper::Content() const {
  std::map<std::string, std::string> content;
  for (const auto& [path, node] : ensemble_.tree().nodes()) content[path] = node.node.data;
  return content;
}

void SimZooKeeper::OnExecuted(SimEnsemble::OnExecuted on_executed) {
  ensemble_.on_executed = std::move(on_executed);
}

}  // namespace arion::sim
