// Sessions with ZooKeeper from a thread that waits for the answers, for checks with a real server.
//
// ZOOKEEPER_HOSTS says where it is. What is to happen to it is asked for by a line on standard
// output, "> kill" for one, and has happened when a line comes on standard input:
// tests/cluster/zookeeper_session_test.py.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "env/named_address.h"
#include "posix/event_loops.h"
#include "posix/name_book.h"
#include "zookeeper/c_client.h"

namespace arion {

constexpr std::chrono::seconds kPatience{20};

inline std::string Hosts() { return std::getenv("ZOOKEEPER_HOSTS"); }

// Has something happen to the server, or to this process, and waits until it has.
inline void LetHappen(const std::string& what) {
  std::cout << "> " << what << std::endl;
  std::string line;
  std::getline(std::cin, line);
  ASSERT_EQ(line, "done");
}

// Waits for what comes once.
template <class T>
class Waited {
 public:
  std::function<void(T)> Here() {
    return [promise = promise_](T value) { promise->set_value(std::move(value)); };
  }
  bool HasCome() { return future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  bool Comes() { return future_.wait_for(kPatience) == std::future_status::ready; }
  T Value() {
    if (!Comes()) {
      ADD_FAILURE() << "waited in vain";
      std::abort();  // what waits refers to this
    }
    return future_.get();
  }

 private:
  const std::shared_ptr<std::promise<T>> promise_ = std::make_shared<std::promise<T>>();
  std::future<T> future_ = promise_->get_future();
};

// A session, by a strand of its own.
class WaitingClient {
 public:
  explicit WaitingClient(const std::string& hosts = Hosts(), NameBook::LookUp look_up = LookUp,
                         absl::Duration timeout = absl::Seconds(2))
      : zookeeper_(*CZooKeeper::Make(
            {.hosts = hosts, .timeout = timeout, .look_up = std::move(look_up)})) {
    On([this] {
      session_ = zookeeper_->Connect(strand_, [this](ZooKeeperSession::State state) {
        const MutexLock lock(mutex_);
        states_.push_back(state);
        changed_.NotifyAll();
      });
    });
  }
  ~WaitingClient() { End(); }

  // The session's own end.
  void End() {
    On([this] { session_.reset(); });
  }
  // The same, on the strand.
  void EndHere() { session_.reset(); }
  // What is under way is not waited for.
  void On(std::function<void()> work) {
    Waited<int> waited;
    strand_->Post([work = std::move(work), done = waited.Here()] {
      work();
      done(0);
    });
    waited.Value();
  }

  void Await(ZooKeeperSession::State state) {
    MutexLock lock(mutex_);
    const bool has_come = changed_.WaitFor(
        mutex_, kPatience, [&] { return !states_.empty() && states_.back() == state; });
    ASSERT_TRUE(has_come) << "state " << static_cast<int>(state);
  }
  std::vector<ZooKeeperSession::State> States() {
    const MutexLock lock(mutex_);
    return states_;
  }
  int64_t Id() {
    int64_t id = 0;
    On([&] { id = session_->id(); });
    return id;
  }
  ZooKeeperSession& session() { return *session_; }

  // Each asks and waits, or tells `waited`.
  absl::StatusOr<std::string> Create(
      const std::string& path, const std::string& data = "",
      ZooKeeperSession::Mode mode = ZooKeeperSession::Mode::kPersistent) {
    Waited<absl::StatusOr<std::string>> waited;
    On([&] { session_->Create(path, data, mode, waited.Here()); });
    return waited.Value();
  }
  void Get(const std::string& path, Waited<absl::StatusOr<ZooKeeperNode>>& waited) {
    On([&] { session_->Get(path, waited.Here()); });
  }
  absl::StatusOr<ZooKeeperNode> Get(const std::string& path) {
    Waited<absl::StatusOr<ZooKeeperNode>> waited;
    Get(path, waited);
    return waited.Value();
  }
  absl::StatusOr<ZooKeeperNode> GetAndWatch(const std::string& path, Waited<int>& changed) {
    Waited<absl::StatusOr<ZooKeeperNode>> waited;
    On([&] {
      session_->GetAndWatch(
          path, [here = changed.Here()] { here(0); }, waited.Here());
    });
    return waited.Value();
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& path) {
    Waited<absl::StatusOr<std::vector<std::string>>> waited;
    On([&] { session_->List(path, waited.Here()); });
    return waited.Value();
  }
  absl::Status Remove(const std::string& path) {
    Waited<absl::Status> waited;
    On([&] { session_->Remove(path, waited.Here()); });
    return waited.Value();
  }
  absl::Status Commit(const std::vector<ZooKeeperStep>& steps) {
    Waited<absl::Status> waited;
    On([&] { session_->Commit(steps, waited.Here()); });
    return waited.Value();
  }
  absl::Status Set(const std::string& path, const std::string& data) {
    return Commit({{ZooKeeperStep::Kind::kSet, path, data}});
  }
  absl::Status Sync(const std::string& path) {
    Waited<absl::Status> waited;
    On([&] { session_->Sync(path, waited.Here()); });
    return waited.Value();
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<ZooKeeperSession::State> states_;
  // In this order: the session ends on the strand, then the ensemble, then the loop.
  EventLoops loops_{1};
  StrandPtr strand_ = loops_.NewStrand("check");
  const std::unique_ptr<CZooKeeper> zookeeper_;
  std::unique_ptr<ZooKeeperSession> session_;
};

}  // namespace arion
