// CConnection: one session of ZooKeeper's C client, with the thread that opens it, tells it of its
// servers' addresses and closes it. The client's two threads call in here, and go no further: what
// they say is copied and posted to the strand.
//
// Shapes    Paths are the caller's; `ensemble.root` goes before them.
// Errors    Of the statuses that questions return: the question was not taken, and no answer
//           comes. Those in answers: zookeeper_session.h.
// Threads   Thread-safe. The listener is called on the strand.
// Lifetime  Held by shared_ptr. Close, at the latest by whoever destroys the last ZooKeeper.
// Promises  c_connection/C1  What the client's threads are given lives until they have called back
//               for the last time, or the client is closed.
//           c_connection/C2  The client is only called while it is open: before zookeeper_close.
//           c_connection/C3  Whose watch gets lost hears that something has changed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "env/strand.h"
#include "zookeeper/ensemble_address.h"
#include "zookeeper/zookeeper_session.h"

// Its zhandle_t.
struct _zhandle;

namespace arion {

class CConnection : public std::enable_shared_from_this<CConnection> {
 public:
  // What came; each question asks for some of it.
  struct Answer {
    absl::Status status;
    // Of a node that was made.
    std::string path;
    ZooKeeperNode node;
    std::vector<std::string> names;
  };
  class Listener {
   public:
    virtual ~Listener() = default;
    // From now on questions are taken.
    virtual void OnOpened() = 0;
    // At each change of the client's state; `id` and `timeout` are the session's once it is
    // connected, and 0 before.
    virtual void OnState(ZooKeeperSession::State state, int64_t id, absl::Duration timeout) = 0;
    virtual void OnAnswer(uint64_t question, Answer answer) = 0;
    // What the question read and watches was set or removed.
    virtual void OnChanged(uint64_t question) = 0;
  };
  enum class Watch { kNo, kYes };

  // `look_up_soon`: asks for other addresses of the servers. Called until it is closed.
  CConnection(EnsembleAddress ensemble, absl::Duration timeout, std::function<void()> look_up_soon,
              StrandPtr strand, std::weak_ptr<Listener> listener);
  CConnection(const CConnection&) = delete;
  ~CConnection();

  // Begins to look for servers. Called once.
  void Begin();
  // Has the session ended at the ensemble, and all that belongs to it here; waits for nothing.
  void Close();
  // Waits until all is closed after Close.
  void AwaitClosed();
  // All addresses that are known now: "1.2.3.4:2181,1.2.3.5:2181"; empty: none.
  void ServersAre(const std::string& servers);

  // `question` names the answer. Paths and data are such as node_limits.h lets pass.
  absl::Status Create(uint64_t question, const std::string& path, const std::string& data,
                      ZooKeeperSession::Mode mode);
  absl::Status Get(uint64_t question, const std::string& path, Watch watch);
  absl::Status List(uint64_t question, const std::string& path);
  absl::Status Remove(uint64_t question, const std::string& path);
  absl::Status Commit(uint64_t question, const std::vector<ZooKeeperStep>& steps);
  absl::Status Sync(uint64_t question, const std::string& path);

 private:
  // A question at the client, and a watch there.
  struct Call;
  struct Watched;
  // What the client calls.
  struct Callbacks;
  // Its number and secret.
  struct Session;
  enum class Phase { kOpening, kConnected, kSearching, kEnded };

  std::string Full(const std::string& path) const;
  absl::Status Send(std::unique_ptr<Call> call,
                    absl::FunctionRef<int(_zhandle* client, Call* call)> send);
  void Heard(Call* call, Answer answer);
  void Changed(Watched* watched);
  void StateIs(int state, int64_t id, int timeout_ms);
  void Post(absl::AnyInvocable<void(Listener&)> tell);

  // On the thread.
  void Run();
  // A client that takes `session` over, if there is one. Null: it is to be closed.
  _zhandle* Open(const Session& session);
  void Tend();
  void AnswerWhatIsLeft();
  // Of what is tried again and again: when it is new, and once a minute.
  void Complain(const std::string& trouble);

  const EnsembleAddress ensemble_;
  // Of the log's lines.
  const std::string name_;
  const absl::Duration timeout_;
  const std::function<void()> look_up_soon_;
  // Until nothing runs any more.
  StrandPtr strand_;
  const std::weak_ptr<Listener> listener_;

  // The thread's own.
  std::string last_trouble_;
  int trouble_times_ = 0;

  Mutex mutex_;
  ConditionVariable changed_;
  // Null before it is open and from when it is closed (c_connection/C2).
  _zhandle* client_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kOpening;
  bool is_closing_ ABSL_GUARDED_BY(mutex_) = false;
  // What is known, and what the client was told of it.
  std::string servers_ ABSL_GUARDED_BY(mutex_);
  std::string client_servers_ ABSL_GUARDED_BY(mutex_);
  // Nothing runs any more.
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = true;
  // What the client's threads may yet call back with (c_connection/C1).
  std::map<const Call*, std::unique_ptr<Call>> calls_ ABSL_GUARDED_BY(mutex_);
  std::map<const Watched*, std::unique_ptr<Watched>> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
