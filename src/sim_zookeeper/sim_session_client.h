// SimSessionClient: what ZooKeeper's C library does for one session: it looks for the ensemble,
// pings it, gives up a connection that is silent, and connects anew.
//
// Shapes    After a third of the timeout without a message it sends a ping; after two thirds
//           without an answer it gives the connection up, and tells all that is in flight
//           Unavailable. An attempt to connect lasts a third at most. One that fails does the same
//           to what was asked meanwhile, which has not been sent.
//           Of the session's end it hears from the ensemble only.
// Threads   The session's methods run on its strand. Messages and timers are events of the node,
//           as the library's own thread is: they wait where the node is paused, and end with its
//           life.
// Lifetime  Held by its session; what comes later finds it gone.
// Promises  zookeeper_session/Z1, zookeeper_session/Z2.
// Sources   What was measured of the C client 3.8.0 with a server of that version: README.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/instant.h"
#include "env/strand.h"
#include "sim_zookeeper/wire.h"
#include "sim_zookeeper/zookeeper_request.h"
#include "zookeeper/zookeeper_session.h"

namespace arion::sim {

class SimEnsemble;

class SimSessionClient : public WireClient, public std::enable_shared_from_this<SimSessionClient> {
 public:
  using State = ZooKeeperSession::State;
  using Done = absl::AnyInvocable<void(ZooKeeperAnswer)>;

  SimSessionClient(SimEnsemble& ensemble, Wires& wires, SimNode& node, StrandPtr strand,
                   std::function<void(State)> on_state, absl::Duration timeout);

  void Begin();
  // `changed`: of a watch.
  void Ask(ZooKeeperRequest request, absl::AnyInvocable<void()> changed, Done done);
  // The session goes: it says so, where it is connected.
  void Leave();

  const StrandPtr& strand() const { return strand_; }
  int64_t id() const { return id_; }
  absl::Duration timeout() const { return timeout_; }

  void OnWelcome(int64_t session, absl::Duration timeout) override;
  void OnExpired() override;
  void OnAnswer(ZooKeeperAnswer answer) override;
  void OnPong(int64_t transaction) override;
  void OnChanged(const std::string& path) override;
  void OnClosed() override;

 private:
  enum class Phase : uint8_t { kResting, kAttempting, kConnected, kEnded };
  struct Question {
    ZooKeeperRequest request;
    absl::AnyInvocable<void()> changed;
    Done done;
  };

  void OnTimer();
  // Another timer takes this one's place.
  void Arm(absl::Duration delay);
  void ArmConnected();
  void Attempt();
  void FailAttempt(absl::Duration rest);
  void Disconnect();
  void Heard(int64_t transaction);
  void SendOut(Question question);
  // All that waits for an answer, in the order of the calls.
  void AnswerAll(const absl::Status& status);
  void Tell(State state);
  void Post(absl::AnyInvocable<void()> call);

  SimEnsemble& ensemble_;
  Wires& wires_;
  SimNode& node_;
  const std::shared_ptr<const SimLife> life_;
  const StrandPtr strand_;
  const std::function<void(State)> on_state_;
  absl::Duration timeout_;
  int64_t id_ = 0;
  Phase phase_ = Phase::kResting;
  WirePtr wire_;
  TimerId timer_ = kNoTimer;
  // By the node's clock.
  Instant last_sent_, last_heard_;
  // The last one that it has seen the effect of.
  int64_t transaction_ = 0;
  // Not sent yet: no connection; sent.
  std::deque<Question> waiting_, sent_;
  // By path.
  std::map<std::string, std::vector<absl::AnyInvocable<void()>>> watches_;
};

}  // namespace arion::sim
