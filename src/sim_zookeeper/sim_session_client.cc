// SPDX-License-Identifier: Apache-2.0
#include "sim_zookeeper/sim_session_client.h"

#include <absl/status/status.h>

#include <algorithm>
#include <utility>

#include "sim/sim_environment.h"
#include "sim_zookeeper/sim_ensemble.h"

namespace arion::sim {
namespace {

// Before it looks for a server again: after it lost one, and after none was there.
constexpr absl::Duration kRestMin = absl::Milliseconds(1);
constexpr absl::Duration kRestMax = absl::Milliseconds(100);
constexpr absl::Duration kRefusedRestMax = absl::Seconds(1);
// A timer that rounding let run too early goes on by that.
constexpr absl::Duration kTimerMin = absl::Milliseconds(1);

absl::Status Unknown() {
  return absl::UnavailableError("no answer came from ZooKeeper; it may have been carried out");
}

absl::Status NotSent() { return absl::UnavailableError("no ZooKeeper server could be reached"); }

absl::Status Ended() { return absl::CancelledError("the session with ZooKeeper has ended"); }

}  // namespace

SimSessionClient::SimSessionClient(SimEnsemble& ensemble, Wires& wires, SimNode& node,
                                   StrandPtr strand, std::function<void(State)> on_state,
                                   absl::Duration timeout)
    : ensemble_(ensemble),
      wires_(wires),
      node_(node),
      life_(node.life_state()),
      strand_(std::move(strand)),
      on_state_(std::move(on_state)),
      timeout_(timeout) {}

void SimSessionClient::Begin() { Arm(node_.world().random().Between(kRestMin, kRestMax)); }

void SimSessionClient::Ask(ZooKeeperRequest request, absl::AnyInvocable<void()> changed,
                           Done done) {
  if (absl::Status status = CheckRequest(request); !status.ok())
    return Post([status = std::move(status), done = std::move(done)]() mutable {
      done({.status = std::move(status)});
    });
  if (phase_ == Phase::kEnded)
    return Post([done = std::move(done)]() mutable { done({.status = Ended()}); });
  Question question{std::move(request), std::move(changed), std::move(done)};
  if (phase_ == Phase::kConnected) {
    SendOut(std::move(question));
  } else {
    waiting_.push_back(std::move(question));
  }
}

void SimSessionClient::Leave() {
  // After a crash there is nobody who could say anything.
  if (!life_->alive) return;
  node_.world().Cancel(std::exchange(timer_, kNoTimer));
  if (wire_ == nullptr) return;
  if (phase_ == Phase::kConnected) {
    wire_->ToEnsemble([&ensemble = ensemble_](const WirePtr& wire) { ensemble.OnLeave(wire); });
    wire_->Leave();
  } else {
    wire_->Discard();
  }
}

// ---- the library's thread ----

void SimSessionClient::Arm(absl::Duration delay) {
  SimWorld& world = node_.world();
  world.Cancel(timer_);
  if (!life_->alive) return;
  timer_ =
      world.Schedule(world.now() + node_.ToWorld(std::max(delay, kTimerMin)), EventKind::kTimer,
                     &node_, life_->number, nullptr, [weak = weak_from_this()] {
                       if (const auto self = weak.lock()) self->OnTimer();
                     });
}

void SimSessionClient::ArmConnected() {
  const Instant due = std::min(last_heard_ + timeout_ * 2 / 3, last_sent_ + timeout_ / 3);
  Arm(due - node_.Now());
}

void SimSessionClient::OnTimer() {
  timer_ = kNoTimer;
  if (phase_ == Phase::kResting) return Attempt();
  // Nobody answers, not even to refuse.
  if (phase_ == Phase::kAttempting) return FailAttempt(kRestMin);
  const Instant now = node_.Now();
  if (now - last_heard_ >= timeout_ * 2 / 3) return Disconnect();
  if (now - last_sent_ >= timeout_ / 3) {
    last_sent_ = now;
    wire_->ToEnsemble([&ensemble = ensemble_](const WirePtr& wire) { ensemble.OnPing(wire); });
  }
  ArmConnected();
}

void SimSessionClient::Attempt() {
  phase_ = Phase::kAttempting;
  wire_ = wires_.New(node_, weak_from_this());
  wire_->ToEnsemble([&ensemble = ensemble_, id = id_, timeout = timeout_](const WirePtr& wire) {
    ensemble.OnHello(wire, id, timeout);
  });
  Arm(timeout_ / 3);
}

void SimSessionClient::FailAttempt(absl::Duration rest) {
  phase_ = Phase::kResting;
  std::exchange(wire_, nullptr)->Discard();
  AnswerAll(NotSent());
  Arm(rest);
}

void SimSessionClient::Disconnect() {
  phase_ = Phase::kResting;
  std::exchange(wire_, nullptr)->GiveUp();
  Tell(State::kConnecting);
  AnswerAll(Unknown());
  Arm(node_.world().random().Between(kRestMin, kRestMax));
}

void SimSessionClient::OnClosed() {
  if (phase_ == Phase::kConnected) return Disconnect();
  FailAttempt(node_.world().random().Between(kRestMax, kRefusedRestMax));
}

void SimSessionClient::OnWelcome(int64_t session, absl::Duration timeout) {
  phase_ = Phase::kConnected;
  id_ = session;
  timeout_ = timeout;
  last_sent_ = last_heard_ = node_.Now();
  Tell(State::kConnected);
  if (!watches_.empty()) {
    std::vector<std::string> paths;
    for (const auto& [path, changed] : watches_) paths.push_back(path);
    wire_->ToEnsemble([&ensemble = ensemble_, paths = std::move(paths),
                       transaction = transaction_](const WirePtr& wire) {
      ensemble.OnWatchAgain(wire, paths, transaction);
    });
  }
  // They go out first: what is asked by what is told comes later, as a task of the strand.
  for (Question& question : std::exchange(waiting_, {})) SendOut(std::move(question));
  ArmConnected();
}

void SimSessionClient::OnExpired() {
  phase_ = Phase::kEnded;
  node_.world().Cancel(std::exchange(timer_, kNoTimer));
  std::exchange(wire_, nullptr)->GiveUp();
  Tell(State::kEnded);
  AnswerAll(Ended());
  // Nobody watches any more.
  for (auto& [path, watches] : std::exchange(watches_, {}))
    for (auto& changed : watches) Post(std::move(changed));
}

void SimSessionClient::Heard(int64_t transaction) {
  last_heard_ = node_.Now();
  transaction_ = std::max(transaction_, transaction);
}

void SimSessionClient::OnAnswer(ZooKeeperAnswer answer) {
  Heard(answer.transaction);
  // What was answered is part of the trace.
  node_.world().FoldIntoTrace(static_cast<uint64_t>(answer.transaction) << 8 |
                              static_cast<uint64_t>(answer.status.raw_code()));
  // Answers come in the order of the requests.
  Question question = std::move(sent_.front());
  sent_.pop_front();
  if (question.request.watches && answer.status.ok())
    watches_[question.request.path].push_back(std::move(question.changed));
  Post([done = std::move(question.done), answer = std::move(answer)]() mutable {
    done(std::move(answer));
  });
}

void SimSessionClient::OnPong(int64_t transaction) { Heard(transaction); }

void SimSessionClient::OnChanged(const std::string& path) {
  last_heard_ = node_.Now();
  const auto it = watches_.find(path);
  // Its answer was lost with a connection: nobody knows that it was watched.
  if (it == watches_.end()) return;
  auto watches = std::move(it->second);
  watches_.erase(it);
  for (auto& changed : watches) Post(std::move(changed));
}

// ---- questions ----

void SimSessionClient::SendOut(Question question) {
  last_sent_ = node_.Now();
  wire_->ToEnsemble([&ensemble = ensemble_, request = question.request](const WirePtr& wire) {
    ensemble.OnRequest(wire, request);
  });
  sent_.push_back(std::move(question));
}

void SimSessionClient::AnswerAll(const absl::Status& status) {
  for (std::deque<Question>* questions : {&sent_, &waiting_})
    for (Question& question : std::exchange(*questions, {}))
      Post([done = std::move(question.done), status]() mutable { done({.status = status}); });
}

void SimSessionClient::Tell(State state) {
  Post([this, state] {
    if (on_state_) on_state_(state);
  });
}

void SimSessionClient::Post(absl::AnyInvocable<void()> call) {
  strand_->Post([weak = weak_from_this(), call = std::move(call)]() mutable {
    // Nothing is told after the session was destroyed.
    if (const auto self = weak.lock()) call();
  });
}

}  // namespace arion::sim
