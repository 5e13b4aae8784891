// SPDX-License-Identifier: Apache-2.0
#include "zookeeper/c_connection.h"

#include <absl/strings/str_cat.h>
#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#define THREADED  // of the client's two kinds, the one with threads
#include <zookeeper/zookeeper.h>

#include "base/log.h"
#include "base/status.h"
#include "posix/thread_limit.h"
#include "zookeeper/c_errors.h"
#include "zookeeper/c_log.h"

namespace arion {
namespace {

// Between two tries of what may work later.
constexpr std::chrono::seconds kBetweenTries{3};
constexpr int kTriesAMinute = 20;
// The client's: one that sends and receives, one that calls back. It ends the process where it
// can't have them.
constexpr int kThreadsOfClient = 2;
// For answers that are under way when the session ends.
constexpr std::chrono::seconds kLastAnswers{1};
// Of nodes: any version.
constexpr int kAnyVersion = -1;

}  // namespace

struct CConnection::Call {
  CConnection* const connection;
  const uint64_t question;
  // What an error is of.
  const std::string path;
  // Null: nothing is watched.
  Watched* watched = nullptr;
  // Of a transaction, as the client has them: whole paths, and what it writes to.
  std::vector<ZooKeeperStep> steps;
  std::vector<zoo_op_t> operations;
  std::vector<zoo_op_result_t> results;
};

struct CConnection::Watched {
  CConnection* const connection;
  const uint64_t question;
};

struct CConnection::Session {
  clientid_t id{};
};

// All on the client's thread that calls back. What it hands over lives during the call only.
struct CConnection::Callbacks {
  static Call* Asked(const void* data) { return const_cast<Call*>(static_cast<const Call*>(data)); }

  static void OnNothing(int code, const void* data) {
    Call* const call = Asked(data);
    call->connection->Heard(call, {.status = StatusOfZooKeeper(code, call->path)});
  }

  static void OnString(int code, const char* text, const void* data) {
    Call* const call = Asked(data);
    Answer answer{.status = StatusOfZooKeeper(code, call->path)};
    if (text != nullptr) answer.path = text;
    call->connection->Heard(call, std::move(answer));
  }

  static void OnData(int code, const char* bytes, int size, const Stat* stat, const void* data) {
    Call* const call = Asked(data);
    Answer answer{.status = StatusOfZooKeeper(code, call->path)};
    if (bytes != nullptr && size > 0) answer.node.data.assign(bytes, size);  // -1: there are none
    if (stat != nullptr) {
      answer.node.version = stat->version;
      answer.node.owner = stat->ephemeralOwner;
      answer.node.created_unix_ms = stat->ctime;
    }
    call->connection->Heard(call, std::move(answer));
  }

  static void OnNames(int code, const String_vector* names, const void* data) {
    Call* const call = Asked(data);
    Answer answer{.status = StatusOfZooKeeper(code, call->path)};
    if (names != nullptr)
      for (int i = 0; i < names->count; ++i) answer.names.emplace_back(names->data[i]);
    call->connection->Heard(call, std::move(answer));
  }

  static void OnSteps(int code, const void* data) {
    Call* const call = Asked(data);
    absl::Status status = StatusOfZooKeeper(code, call->path);
    // Steps before the one that fails have 0, those behind it "inconsistency".
    for (size_t i = 0; code != ZOK && !IsOfTheSession(code) && i < call->results.size(); ++i) {
      const int step_code = call->results[i].err;
      if (step_code == ZOK || step_code == ZRUNTIMEINCONSISTENCY) continue;
      status = StatusOfZooKeeper(step_code, absl::StrCat(call->steps[i].path, ", step ", i + 1,
                                                         " of ", call->results.size()));
      break;
    }
    call->connection->Heard(call, {.status = std::move(status)});
  }

  // Watches hear of the session's states, too: those change no node.
  static void OnNode(zhandle_t*, int type, int, const char*, void* context) {
    if (type == ZOO_SESSION_EVENT) return;
    auto* const watched = static_cast<Watched*>(context);
    watched->connection->Changed(watched);
  }

  static void OnSession(zhandle_t* client, int type, int state, const char*, void* context) {
    if (type != ZOO_SESSION_EVENT) return;
    static_cast<CConnection*>(context)->StateIs(state, zoo_client_id(client)->client_id,
                                                zoo_recv_timeout(client));
  }
};

CConnection::CConnection(EnsembleAddress ensemble, absl::Duration timeout,
                         std::function<void()> look_up_soon, StrandPtr strand,
                         std::weak_ptr<Listener> listener)
    : ensemble_(std::move(ensemble)),
      name_("ZooKeeper at " + ensemble_.ToString()),
      timeout_(timeout),
      look_up_soon_(std::move(look_up_soon)),
      strand_(std::move(strand)),
      listener_(std::move(listener)) {}

CConnection::~CConnection() = default;

void CConnection::Begin() {
  MutexLock lock(mutex_);
  if (is_closing_) return;
  is_closed_ = false;
  try {
    // Detached, because AwaitClosed waits for all that it does.
    std::thread([self = shared_from_this()] { self->Run(); }).detach();
  } catch (const std::system_error& error) {
    is_closed_ = true;
    LOG(WARNING) << name_ << ": " << ThreadRefused(error).message() << "; trying again";
    strand_->PostAfter(absl::FromChrono(kBetweenTries), [me = weak_from_this()] {
      if (const auto self = me.lock()) self->Begin();
    });
  }
}

void CConnection::Close() {
  const MutexLock lock(mutex_);
  is_closing_ = true;
  changed_.NotifyAll();
}

void CConnection::AwaitClosed() {
  MutexLock lock(mutex_);
  changed_.Wait(mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_closed_; });
}

void CConnection::ServersAre(const std::string& servers) {
  const MutexLock lock(mutex_);
  servers_ = servers;
  changed_.NotifyAll();
}

std::string CConnection::Full(const std::string& path) const {
  return path == "/" && !ensemble_.root.empty() ? ensemble_.root : ensemble_.root + path;
}

absl::Status CConnection::Send(std::unique_ptr<Call> call,
                               absl::FunctionRef<int(zhandle_t* client, Call* call)> send) {
  const MutexLock lock(mutex_);
  if (is_closing_) return StatusOfZooKeeper(ZCLOSING, call->path);
  if (client_ == nullptr) return StatusOfZooKeeper(ZCONNECTIONLOSS, call->path);
  Call* const sent = call.get();
  // Before it is sent: its answer may come before this returns. It stays where it is refused: of
  // some refusals nobody knows whether an answer comes.
  calls_.emplace(sent, std::move(call));
  const int code = send(client_, sent);
  if (code == ZOK) return absl::OkStatus();
  if (code == ZMARSHALLINGERROR || code == ZSYSTEMERROR)  // it may be on its way nevertheless
    return StatusOfZooKeeper(ZCONNECTIONLOSS, sent->path);
  return StatusOfZooKeeper(code, sent->path);
}

void CConnection::Heard(Call* call, Answer answer) {
  const uint64_t question = call->question;
  {
    const MutexLock lock(mutex_);
    // Of the client's end, which is not the session's.
    if (client_ == nullptr && !is_closing_ && absl::IsCancelled(answer.status))
      answer.status = StatusOfZooKeeper(ZCONNECTIONLOSS, call->path);
    if (call->watched != nullptr && !answer.status.ok()) watches_.erase(call->watched);
    calls_.erase(call);
    if (is_closing_ && calls_.empty()) changed_.NotifyAll();
  }
  Post([question, answer = std::move(answer)](Listener& listener) mutable {
    listener.OnAnswer(question, std::move(answer));
  });
}

void CConnection::Changed(Watched* watched) {
  const uint64_t question = watched->question;
  {
    const MutexLock lock(mutex_);
    watches_.erase(watched);
  }
  Post([question](Listener& listener) { listener.OnChanged(question); });
}

void CConnection::StateIs(int state, int64_t id, int timeout_ms) {
  const std::string session = absl::StrCat(name_, ": session 0x", absl::Hex(id));
  const absl::Duration timeout = absl::Milliseconds(timeout_ms);
  auto told = ZooKeeperSession::State::kConnecting;  // states that nobody knows, too
  {
    const MutexLock lock(mutex_);
    if (phase_ == Phase::kEnded) return;
    if (state == ZOO_CONNECTED_STATE) {
      told = ZooKeeperSession::State::kConnected;
      if (phase_ == Phase::kOpening)
        LOG(INFO) << session << " begins, and ends after " << timeout << " without a connection";
      if (phase_ == Phase::kSearching) LOG(INFO) << session << " is connected again";
      phase_ = Phase::kConnected;
      ZooKeeperTroubleIsOver();
    } else if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE) {
      told = ZooKeeperSession::State::kEnded;
      LOG(WARNING) << session
                   << (state == ZOO_EXPIRED_SESSION_STATE
                           ? " has ended: no server heard of it for too long"
                           : " has ended: the servers refuse it");
      phase_ = Phase::kEnded;
      is_closing_ = true;  // it can't do anything any more
    } else if (phase_ == Phase::kConnected) {
      LOG(WARNING) << session << " is not connected; it ends after " << timeout << " of that";
      phase_ = Phase::kSearching;
    }
    changed_.NotifyAll();
  }
  Post([told, id, timeout](Listener& listener) { listener.OnState(told, id, timeout); });
}

void CConnection::Post(absl::AnyInvocable<void(Listener&)> tell) {
  strand_->Post([weak = listener_, tell = std::move(tell)]() mutable {
    if (const auto listener = weak.lock()) tell(*listener);
  });
}

absl::Status CConnection::Create(uint64_t question, const std::string& path,
                                 const std::string& data, ZooKeeperSession::Mode mode) {
  const int flags =
      mode == ZooKeeperSession::Mode::kPersistent ? ZOO_PERSISTENT : ZOO_EPHEMERAL_SEQUENTIAL;
  return Send(std::unique_ptr<Call>(new Call{this, question, Full(path)}),
              [&data, flags](zhandle_t* client, Call* call) {
                return zoo_acreate(client, call->path.c_str(), data.data(),
                                   static_cast<int>(data.size()), &ZOO_OPEN_ACL_UNSAFE, flags,
                                   Callbacks::OnString, call);
              });
}

absl::Status CConnection::Get(uint64_t question, const std::string& path, Watch watch) {
  std::unique_ptr<Call> asked(new Call{this, question, Full(path)});
  if (watch == Watch::kYes) {
    std::unique_ptr<Watched> watched(new Watched{this, question});
    asked->watched = watched.get();
    const MutexLock lock(mutex_);
    watches_.emplace(asked->watched, std::move(watched));
  }
  return Send(std::move(asked), [](zhandle_t* client, Call* call) {
    return zoo_awget(client, call->path.c_str(), call->watched ? Callbacks::OnNode : nullptr,
                     call->watched, Callbacks::OnData, call);
  });
}

absl::Status CConnection::List(uint64_t question, const std::string& path) {
  return Send(std::unique_ptr<Call>(new Call{this, question, Full(path)}),
              [](zhandle_t* client, Call* call) {
                return zoo_aget_children(client, call->path.c_str(), 0, Callbacks::OnNames, call);
              });
}

absl::Status CConnection::Remove(uint64_t question, const std::string& path) {
  return Send(std::unique_ptr<Call>(new Call{this, question, Full(path)}), [](zhandle_t* client,
                                                                              Call* call) {
    return zoo_adelete(client, call->path.c_str(), kAnyVersion, Callbacks::OnNothing, call);
  });
}

absl::Status CConnection::Commit(uint64_t question, const std::vector<ZooKeeperStep>& steps) {
  std::unique_ptr<Call> asked(new Call{this, question, "a transaction", nullptr, steps});
  asked->operations.resize(steps.size());
  asked->results.resize(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    ZooKeeperStep& step = asked->steps[i];
    step.path = Full(step.path);
    zoo_op_t* const operation = &asked->operations[i];
    const char* const path = step.path.c_str();
    const std::string& data = step.data;
    switch (step.kind) {
      case ZooKeeperStep::Kind::kCheck:
        zoo_check_op_init(operation, path, 0);
        break;
      case ZooKeeperStep::Kind::kCreate:
        zoo_create_op_init(operation, path, data.data(), static_cast<int>(data.size()),
                           &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, nullptr, 0);
        break;
      case ZooKeeperStep::Kind::kSet:
        zoo_set_op_init(operation, path, data.data(), static_cast<int>(data.size()), kAnyVersion,
                        nullptr);
        break;
      case ZooKeeperStep::Kind::kRemove:
        zoo_delete_op_init(operation, path, kAnyVersion);
        break;
    }
  }
  return Send(std::move(asked), [](zhandle_t* client, Call* call) {
    return zoo_amulti(client, static_cast<int>(call->operations.size()), call->operations.data(),
                      call->results.data(), Callbacks::OnSteps, call);
  });
}

absl::Status CConnection::Sync(uint64_t question, const std::string& path) {
  return Send(std::unique_ptr<Call>(new Call{this, question, Full(path)}),
              [](zhandle_t* client, Call* call) {
                return zoo_async(client, call->path.c_str(), Callbacks::OnString, call);
              });
}

void CConnection::Run() {
  pthread_setname_np(pthread_self(), "zookeeper");
  Session session;
  while (zhandle_t* const client = Open(session)) {
    Tend();
    {
      const MutexLock lock(mutex_);
      client_ = nullptr;
    }
    session.id = *zoo_client_id(client);
    // Ends the session where a server is connected: up to 4.5 s where that does not answer.
    if (const int code = zookeeper_close(client); code != ZOK)
      LOG(WARNING) << name_ << ": the session could not be ended at a server (" << zerror(code)
                   << "); its ephemeral nodes go when it expires";
    AnswerWhatIsLeft();
  }
  strand_.reset();  // whoever waits for this may end the strand's loop next
  const MutexLock lock(mutex_);
  is_closed_ = true;
  changed_.NotifyAll();
}

// The client says nothing any more.
void CConnection::AnswerWhatIsLeft() {
  std::map<const Call*, std::unique_ptr<Call>> calls;
  std::map<const Watched*, std::unique_ptr<Watched>> watches;
  {
    const MutexLock lock(mutex_);
    calls.swap(calls_);
    watches.swap(watches_);
    if (is_closing_) return;
  }
  for (const auto& [call, owned] : calls)
    Post([question = call->question,
          status = StatusOfZooKeeper(ZCONNECTIONLOSS, call->path)](Listener& listener) mutable {
      listener.OnAnswer(question, {.status = std::move(status)});
    });
  for (const auto& [watched, owned] : watches)  // c_connection/C3
    Post([question = watched->question](Listener& listener) { listener.OnChanged(question); });
}

zhandle_t* CConnection::Open(const Session& session) {
  MutexLock lock(mutex_);
  for (;;) {
    changed_.Wait(mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return is_closing_ || !servers_.empty();
    });
    if (is_closing_) return nullptr;
    client_servers_ = servers_;
    const std::string servers = servers_;
    lock.Unlock();
    absl::Status status = TryThreads(kThreadsOfClient);
    zhandle_t* client = nullptr;
    if (status.ok()) {
      errno = 0;
      client = zookeeper_init2(servers.c_str(), Callbacks::OnSession,
                               static_cast<int>(absl::ToInt64Milliseconds(timeout_)),
                               session.id.client_id != 0 ? &session.id : nullptr, this,
                               ZOO_NO_LOG_CLIENTENV, LogForZooKeeper);
      if (client == nullptr)
        status = absl::UnavailableError(
            absl::StrCat("no session could be begun with ", servers, ": ", strerror(errno)));
    }
    if (!status.ok()) Complain(std::string(status.message()));
    lock.Lock();
    if (client != nullptr) {
      // Else it looks its servers up before each wait for its socket: they are numbers.
      zoo_set_servers_resolution_delay(client, -1);
      client_ = client;
      lock.Unlock();
      Post([](Listener& listener) { listener.OnOpened(); });
      return client;
    }
    changed_.WaitFor(mutex_, kBetweenTries,
                     [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_closing_; });
  }
}

// Until it is to be closed, or it is not connected and its servers have other addresses. Another
// client then takes the session over: 3.8.0 has no lock where it reads what zoo_set_servers frees.
void CConnection::Tend() {
  MutexLock lock(mutex_);
  while (!is_closing_) {
    changed_.Wait(mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return is_closing_ || phase_ != Phase::kConnected;
    });
    const bool is_other =
        changed_.WaitFor(mutex_, kBetweenTries, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          return is_closing_ || phase_ == Phase::kConnected || servers_ != client_servers_;
        });
    if (is_closing_ || phase_ == Phase::kConnected) continue;
    if (servers_ != client_servers_) {
      LOG(INFO) << name_ << ": not connected, and its servers are at " << servers_ << " now";
      return;
    }
    if (is_other) continue;
    lock.Unlock();
    look_up_soon_();
    lock.Lock();
  }
  // The client closes its socket when it has sent the session's end. A server that is still
  // answering questions then finds the connection broken, and reads no further: the session would
  // stay until it expires.
  changed_.WaitFor(mutex_, kLastAnswers, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return calls_.empty() || phase_ != Phase::kConnected;
  });
}

void CConnection::Complain(const std::string& trouble) {
  if (trouble == last_trouble_ && ++trouble_times_ % kTriesAMinute != 0) return;
  if (trouble != last_trouble_) trouble_times_ = 0;
  last_trouble_ = trouble;
  LOG(WARNING) << name_ << ": " << trouble << "; trying again every " << kBetweenTries.count()
               << " s";
}

}  // namespace arion
