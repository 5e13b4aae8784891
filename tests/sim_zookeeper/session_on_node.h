// SessionOnNode: a server of a simulated world that has nothing but a session. Its calls go out on
// its strand, and are awaited by the test.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "sim/sim_environment.h"
#include "sim_zookeeper/sim_zookeeper.h"

namespace arion::sim {

// Empty until the answer came.
template <class T>
using Later = std::shared_ptr<std::optional<T>>;

class SessionOnNode {
 public:
  using State = ZooKeeperSession::State;
  using Mode = ZooKeeperSession::Mode;
  using Step = ZooKeeperStep;

  SessionOnNode(SimWorld& world, SimZooKeeper& zookeeper, const std::string& name)
      : node(world.AddNode(name)), world_(world), zookeeper_(zookeeper) {}

  // A life, which looks for the ensemble.
  void Begin() {
    env_ = &node.Start();
    strand_ = env_->NewStrand("server");
    Connect();
  }
  // The same, and it has found it.
  void Start() {
    Begin();
    CHECK(Reaches(State::kConnected)) << "the session never connected";
  }
  // Another session of the same life.
  void Connect() {
    states.clear();
    On([this] {
      session = zookeeper_.ClientOf(node).Connect(strand_, [this](State state) {
        EXPECT_TRUE(strand_->IsCurrent());
        states.push_back(state);
      });
    });
  }
  void Crash() {
    node.Crash(CrashMode::kProcess);
    session.reset();
  }
  void On(absl::FunctionRef<void()> task) { env_->RunOn(strand_, task); }
  // Whether the last state that it heard of is this one, by then.
  bool Reaches(State state, absl::Duration limit = absl::Minutes(2)) {
    return world_.RunUntil([&] { return !states.empty() && states.back() == state; }, limit);
  }

  Later<absl::StatusOr<std::string>> Create(const std::string& path, const std::string& data,
                                            Mode mode = Mode::kPersistent) {
    return Ask<absl::StatusOr<std::string>>(
        [&](auto done) { session->Create(path, data, mode, std::move(done)); });
  }
  Later<absl::StatusOr<ZooKeeperNode>> Get(const std::string& path) {
    return Ask<absl::StatusOr<ZooKeeperNode>>(
        [&](auto done) { session->Get(path, std::move(done)); });
  }
  // Counts in `changes`.
  Later<absl::StatusOr<ZooKeeperNode>> Watch(const std::string& path) {
    return Ask<absl::StatusOr<ZooKeeperNode>>([&](auto done) {
      session->GetAndWatch(
          path,
          [this, path] {
            EXPECT_TRUE(strand_->IsCurrent());
            changes.push_back(path);
          },
          std::move(done));
    });
  }
  Later<absl::StatusOr<std::vector<std::string>>> List(const std::string& path) {
    return Ask<absl::StatusOr<std::vector<std::string>>>(
        [&](auto done) { session->List(path, std::move(done)); });
  }
  Later<absl::Status> Remove(const std::string& path) {
    return Ask<absl::Status>([&](auto done) { session->Remove(path, std::move(done)); });
  }
  Later<absl::Status> Commit(const std::vector<Step>& steps) {
    return Ask<absl::Status>([&](auto done) { session->Commit(steps, std::move(done)); });
  }
  Later<absl::Status> Set(const std::string& path, const std::string& data) {
    return Commit({{Step::Kind::kSet, path, data}});
  }
  Later<absl::Status> Sync(const std::string& path) {
    return Ask<absl::Status>([&](auto done) { session->Sync(path, std::move(done)); });
  }
  template <class T>
  T Wait(const Later<T>& later) {
    CHECK(world_.RunUntil([&] { return later->has_value(); }, absl::Minutes(2)))
        << "no answer came";
    return **later;
  }
  // Waits, too.
  template <class T>
  void Done(const Later<T>& later) {
    EXPECT_EQ(Code(later), absl::StatusCode::kOk);
  }
  template <class T>
  absl::StatusCode Code(const Later<T>& later) {
    return CodeOf(Wait(later));
  }

  SimNode& node;
  std::unique_ptr<ZooKeeperSession> session;
  std::vector<State> states;
  // Which watches came.
  std::vector<std::string> changes;
  int answers = 0;

 private:
  template <class T, class Call>
  Later<T> Ask(Call call) {
    auto later = std::make_shared<std::optional<T>>();
    On([&] {
      call([this, later](T answer) {
        EXPECT_TRUE(strand_->IsCurrent());
        EXPECT_FALSE(later->has_value()) << "answered twice";
        ++answers;
        *later = std::move(answer);
      });
      EXPECT_FALSE(later->has_value()) << "answered before the call returned";
    });
    return later;
  }
  static absl::StatusCode CodeOf(const absl::Status& status) { return status.code(); }
  template <class T>
  static absl::StatusCode CodeOf(const absl::StatusOr<T>& value) {
    return value.status().code();
  }

  SimWorld& world_;
  SimZooKeeper& zookeeper_;
  SimEnvironment* env_ = nullptr;
  StrandPtr strand_;
};

}  // namespace arion::sim
