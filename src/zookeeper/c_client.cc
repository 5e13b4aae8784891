// SPDX-License-Identifier: Apache-2.0
#include "zookeeper/c_client.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "posix/thread_limit.h"
#include "zookeeper/c_connection.h"
#include "zookeeper/c_log.h"
#include "zookeeper/node_limits.h"

namespace arion {
namespace {

using Answer = CConnection::Answer;
using State = ZooKeeperSession::State;

// What was asked and is not answered yet, on the session's strand. Answers are told in the order of
// the questions, those too that are known at once (zookeeper_session/Z1).
class Questions final : public CConnection::Listener,
                        public std::enable_shared_from_this<Questions> {
 public:
  // Hands a question over; how it was taken.
  using Send = absl::AnyInvocable<absl::Status(uint64_t question)>;
  using Tell = absl::AnyInvocable<void(Answer)>;

  Questions(StrandPtr strand, absl::Duration timeout, std::function<void(State)> on_state)
      : strand_(std::move(strand)), timeout_(timeout), on_state_(std::move(on_state)) {}

  int64_t id() const { return id_; }
  absl::Duration timeout() const { return timeout_; }

  // `allowed`: whether it may be asked at all. `changed`: of a watch; may be null.
  void Ask(absl::Status allowed, Send send, Tell tell,
           absl::AnyInvocable<void()> changed = nullptr) {
    CHECK_ON_STRAND(strand_);
    const uint64_t question = first_ + waiting_.size();
    const bool is_refused = !allowed.ok();
    if (is_refused) send = [allowed = std::move(allowed)](uint64_t) { return allowed; };
    waiting_.push_back({.send = std::move(send), .tell = std::move(tell)});
    if (changed) watches_.emplace(question, std::move(changed));
    if (is_opened_ || is_refused || state_ == State::kEnded) HandOver(question);
  }

  // Nothing is told any more.
  void Leave() {
    is_left_ = true;
    waiting_.clear();
    watches_.clear();
    on_state_ = nullptr;
  }

  void OnOpened() override {
    is_opened_ = true;
    for (size_t i = 0; i < waiting_.size(); ++i)
      if (waiting_[i].send) HandOver(first_ + i);
  }

  void OnState(State state, int64_t id, absl::Duration timeout) override {
    if (is_left_ || state_ == State::kEnded) return;
    if (state == State::kConnected) {
      id_ = id;
      timeout_ = timeout;
    }
    if (state == state_) return;
    state_ = state;
    if (state == State::kEnded) {
      watches_.clear();
      for (Question& question : waiting_)
        if (!question.answer) question.answer = Answer{.status = Ended()};
      TellAll();
    }
    if (on_state_ == nullptr) return;
    const auto on_state = on_state_;  // it may end the session, and what is told here
    on_state(state);
  }

  void OnAnswer(uint64_t question, Answer answer) override {
    Known(question, std::move(answer));
    TellAll();
  }

  void OnChanged(uint64_t question) override {
    const auto found = watches_.find(question);
    if (found == watches_.end()) return;
    auto changed = std::move(found->second);
    watches_.erase(found);
    changed();
  }

 private:
  struct Question {
    // Empty once it is handed over.
    Send send;
    Tell tell;
    std::optional<Answer> answer;
  };

  static absl::Status Ended() {
    return absl::CancelledError("the session with ZooKeeper has ended");
  }

  void HandOver(uint64_t question) {
    Send send = std::move(waiting_[question - first_].send);
    waiting_[question - first_].send = nullptr;
    absl::Status taken = state_ == State::kEnded ? Ended() : send(question);
    if (taken.ok()) return;
    Known(question, {.status = std::move(taken)});
    strand_->Post([me = weak_from_this()] {
      if (const auto self = me.lock()) self->TellAll();
    });
  }

  void Known(uint64_t question, Answer answer) {
    if (question < first_ || question >= first_ + waiting_.size()) return;  // as Cancelled, before
    Question& asked = waiting_[question - first_];
    if (asked.answer) return;
    if (!answer.status.ok()) watches_.erase(question);
    asked.answer = std::move(answer);
  }

  // What is told may ask anew, or end the session. Answers to the former wait for their own turn.
  void TellAll() {
    const uint64_t end = first_ + waiting_.size();
    while (first_ < end && !waiting_.empty() && waiting_.front().answer) {
      Question question = std::move(waiting_.front());
      waiting_.pop_front();
      ++first_;
      question.tell(*std::move(question.answer));
    }
  }

  const StrandPtr strand_;
  absl::Duration timeout_;
  std::function<void(State)> on_state_;
  int64_t id_ = 0;
  State state_ = State::kConnecting;
  bool is_opened_ = false;
  bool is_left_ = false;
  // The number of waiting_.front().
  uint64_t first_ = 1;
  std::deque<Question> waiting_;
  std::map<uint64_t, absl::AnyInvocable<void()>> watches_;
};

// A Tell: `part` of the answer, or its error.
template <class Done, class Part>
Questions::Tell Telling(Done done, Part part) {
  return [done = std::move(done), part](Answer answer) mutable {
    if (answer.status.ok())
      done(std::move(answer.*part));
    else
      done(std::move(answer.status));
  };
}

Questions::Tell TellingStatus(absl::AnyInvocable<void(absl::Status)> done) {
  return [done = std::move(done)](Answer answer) mutable { done(std::move(answer.status)); };
}

class CSession final : public ZooKeeperSession {
 public:
  CSession(std::shared_ptr<Questions> questions, std::shared_ptr<CConnection> connection,
           size_t root_size)
      : questions_(std::move(questions)),
        connection_(std::move(connection)),
        root_size_(root_size) {}
  ~CSession() override {
    questions_->Leave();
    connection_->Close();
  }

  int64_t id() const override { return questions_->id(); }
  absl::Duration timeout() const override { return questions_->timeout(); }

  void Create(const std::string& path, const std::string& data, Mode mode,
              absl::AnyInvocable<void(absl::StatusOr<std::string>)> done) override {
    questions_->Ask(
        CheckNode(path, data),
        [to = connection_, path, data, mode](uint64_t question) {
          return to->Create(question, path, data, mode);
        },
        [done = std::move(done), root = root_size_](Answer answer) mutable {
          if (answer.status.ok())
            done(answer.path.substr(std::min(root, answer.path.size())));
          else
            done(std::move(answer.status));
        });
  }

  void Get(const std::string& path,
           absl::AnyInvocable<void(absl::StatusOr<ZooKeeperNode>)> done) override {
    questions_->Ask(
        CheckNodePath(path),
        [to = connection_, path](uint64_t question) {
          return to->Get(question, path, CConnection::Watch::kNo);
        },
        Telling(std::move(done), &Answer::node));
  }

  void GetAndWatch(const std::string& path, absl::AnyInvocable<void()> changed,
                   absl::AnyInvocable<void(absl::StatusOr<ZooKeeperNode>)> done) override {
    questions_->Ask(
        CheckNodePath(path),
        [to = connection_, path](uint64_t question) {
          return to->Get(question, path, CConnection::Watch::kYes);
        },
        Telling(std::move(done), &Answer::node), std::move(changed));
  }

  void List(const std::string& path,
            absl::AnyInvocable<void(absl::StatusOr<std::vector<std::string>>)> done) override {
    questions_->Ask(
        CheckNodePath(path),
        [to = connection_, path](uint64_t question) { return to->List(question, path); },
        Telling(std::move(done), &Answer::names));
  }

  void Remove(const std::string& path, absl::AnyInvocable<void(absl::Status)> done) override {
    questions_->Ask(
        CheckNodePath(path),
        [to = connection_, path](uint64_t question) { return to->Remove(question, path); },
        TellingStatus(std::move(done)));
  }

  void Commit(const std::vector<ZooKeeperStep>& steps,
              absl::AnyInvocable<void(absl::Status)> done) override {
    questions_->Ask(
        CheckTransaction(steps),
        [to = connection_, steps](uint64_t question) { return to->Commit(question, steps); },
        TellingStatus(std::move(done)));
  }

  void Sync(const std::string& path, absl::AnyInvocable<void(absl::Status)> done) override {
    questions_->Ask(
        CheckNodePath(path),
        [to = connection_, path](uint64_t question) { return to->Sync(question, path); },
        TellingStatus(std::move(done)));
  }

 private:
  const std::shared_ptr<Questions> questions_;
  const std::shared_ptr<CConnection> connection_;
  // Of what goes before all paths at the ensemble.
  const size_t root_size_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CZooKeeper>> CZooKeeper::Make(const CZooKeeperOptions& options) {
  ASSIGN_OR_RETURN(EnsembleAddress ensemble, ParseEnsembleAddress(options.hosts));
  const int64_t timeout_ms = absl::ToInt64Milliseconds(options.timeout);
  if (timeout_ms < 1 || timeout_ms > std::numeric_limits<int32_t>::max())
    return absl::InvalidArgumentError(absl::StrCat("ZooKeeper's session timeout is ",
                                                   absl::FormatDuration(options.timeout),
                                                   "; write some seconds, 10s for instance"));
  RETURN_IF_ERROR(TryThreads(static_cast<int>(ensemble.servers.size())));
  LimitZooKeeperLog();
  return std::unique_ptr<CZooKeeper>(new CZooKeeper(std::move(ensemble), options));
}

CZooKeeper::CZooKeeper(EnsembleAddress ensemble, CZooKeeperOptions options)
    : ensemble_(std::move(ensemble)),
      options_(std::move(options)),
      names_("ZooKeeper's servers", ensemble_.servers, options_.look_up) {
  names_.Start([this](const std::vector<Endpoint>& endpoints) { ServersAre(endpoints); });
}

CZooKeeper::~CZooKeeper() {
  names_.Stop();
  std::vector<std::shared_ptr<CConnection>> left;
  {
    const MutexLock lock(mutex_);
    for (const std::weak_ptr<CConnection>& connection : connections_)
      if (auto held = connection.lock()) left.push_back(std::move(held));
  }
  for (const auto& connection : left) connection->Close();
  for (const auto& connection : left) connection->AwaitClosed();
}

void CZooKeeper::ServersAre(const std::vector<Endpoint>& endpoints) {
  const MutexLock lock(mutex_);
  endpoints_ = endpoints;
  servers_ = absl::StrJoin(endpoints, ",", [](std::string* out, Endpoint endpoint) {
    absl::StrAppend(out, endpoint.ToString());
  });
  for (const std::weak_ptr<CConnection>& connection : connections_)
    if (const auto held = connection.lock()) held->ServersAre(servers_);
}

std::vector<Endpoint> CZooKeeper::Servers() {
  const MutexLock lock(mutex_);
  return endpoints_;
}

std::unique_ptr<ZooKeeperSession> CZooKeeper::Connect(StrandPtr strand,
                                                      std::function<void(State)> on_state) {
  auto questions = std::make_shared<Questions>(strand, options_.timeout, std::move(on_state));
  auto connection = std::make_shared<CConnection>(
      ensemble_, options_.timeout, [this] { names_.LookUpSoon(); }, strand, questions);
  {
    const MutexLock lock(mutex_);
    std::erase_if(connections_, [](const auto& before) { return before.expired(); });
    connections_.push_back(connection);
    connection->ServersAre(servers_);
  }
  connection->Begin();
  return std::make_unique<CSession>(std::move(questions), std::move(connection),
                                    ensemble_.root.size());
}

}  // namespace arion
