// The hub is what all connections share. Connections live on their loops, in sets that only those
// loops touch; the map of opened ones, by peer and lane, and the pauses after failed connects are
// under a lock, because any thread calls. A call is registered, then queued; whatever ends first,
// its answer, its deadline or its connection, finds it among the pending ones.
// SPDX-License-Identifier: Apache-2.0
#include "rpc/asio_transport.h"

#include <algorithm>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <map>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/status.h"
#include "messages/meta_messages.h"
#include "posix/event_loops.h"
#include "posix/posix_clock.h"
#include "rpc/asio_connection.h"
#include "rpc/beacon_socket.h"
#include "rpc/pending_calls.h"
#include "rpc/port_holder.h"
#include "rpc/rpc_gate.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

using asio::ip::tcp;
using asio::ip::udp;

constexpr absl::Duration kTickBusy = absl::Milliseconds(20);  // resolution of call timeouts
constexpr absl::Duration kTickIdle = absl::Milliseconds(500);
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);
// A port no server has: peers see that nobody listens there.
constexpr Endpoint kPureClient{.ip = 0x7f000001, .port = 1};
constexpr int kRandomPortTries = 16;
constexpr int kAcceptsPerTurn = 64;

std::chrono::nanoseconds Chrono(absl::Duration d) {
  return std::chrono::nanoseconds(absl::ToInt64Nanoseconds(d));
}

// Meta servers that do not lead answer in the struct when the caller can't be forwarded (bit 10 of
// rpc/PROTOCOL.md 2.5).
bool IsMetaCall(std::string_view name) { return name.starts_with("RPC_CM_") || name == kRpcBeacon; }

}  // namespace

// What the transport's connections share.
class AsioTransport::Hub : public ConnectionHost, public std::enable_shared_from_this<Hub> {
 public:
  Hub(EventLoops* loops, AsioTransportOptions options);

  absl::Status Listen();
  void Stop();
  void SetHandler(RequestHandler handler);
  void SetByteSessions(ByteSessionFactory factory) { byte_sessions_ = std::move(factory); }
  void LimitConnections(int64_t max) { connections_max_.store(max); }
  uint64_t Send(Endpoint to, OutboundRequest request, StrandPtr reply_on,
                absl::AnyInvocable<void(RpcResult)> done);
  void SendOneWay(Endpoint to, OutboundRequest request);

  // For connections, on the thread of their loop.
  void Started(const std::shared_ptr<AsioConnection>& connection) override;
  void Closed(const std::shared_ptr<AsioConnection>& connection) override;
  void Connected(Endpoint peer) override;
  void ConnectFailed(Endpoint peer) override;

  const RequestHandler* handler() const override {
    return handler_.load(std::memory_order_acquire);
  }
  const ByteSessionFactory* byte_sessions() const override {
    return byte_sessions_ ? &byte_sessions_ : nullptr;
  }
  const AsioTransportOptions& options() const override { return options_; }
  PendingCalls& calls() override { return calls_; }
  Endpoint local() const override { return local_.load(); }
  bool stopping() const override { return stopping_.load(); }
  asio::io_context* current_context() const override { return loops_->current_context(); }
  TransportStats& stats() override { return stats_; }

 private:
  using ConnectionSet = std::set<std::shared_ptr<AsioConnection>>;
  struct LoopState {
    explicit LoopState(asio::io_context& context) : tick(context) {}
    ConnectionSet& SetOf(const AsioConnection& connection) {
      return connection.outgoing() ? outgoing : accepted;
    }
    bool ticking() const { return next_tick != Instant::InfiniteFuture(); }
    ConnectionSet accepted;
    ConnectionSet outgoing;  // few, looked at often: calls time out there
    asio::steady_timer tick;
    Instant next_tick = Instant::InfiniteFuture();
    Instant next_accepted_tick;
  };
  struct Pause {
    Instant until;
    absl::Duration next;
  };
  using PeerLane = std::pair<Endpoint, Lane>;

  // The open connection, or a new one that is just being opened. nullptr: a pause, or the end.
  std::shared_ptr<AsioConnection> OutgoingTo(Endpoint to, Lane lane);
  Frame RequestFrame(uint64_t id, const OutboundRequest& request) const;
  absl::Status Bind(uint16_t port);
  absl::Status AddressInUse(uint16_t port, const std::error_code& error) const;
  void Accept();
  void AcceptMore();
  bool IsFull() const { return stats_.connections.value() >= connections_max_.load(); }
  void Begin(int loop, tcp::socket socket);
  void PauseAccepting(std::string_view why);
  void ScheduleTick(int loop);
  void TickAll(const ConnectionSet& connections, Instant now);
  void Tick(int loop);
  int LoopInTurn() const { return static_cast<int>(next_loop_.load() % loops_->size()); }
  int NextLoop() { return static_cast<int>(next_loop_.fetch_add(1) % loops_->size()); }

  EventLoops* const loops_;
  const AsioTransportOptions options_;
  std::atomic<int64_t> connections_max_{options_.connections_max};
  std::atomic<Endpoint> local_;
  std::unique_ptr<RequestHandler> owned_handler_;
  std::atomic<const RequestHandler*> handler_ = nullptr;
  ByteSessionFactory byte_sessions_;
  std::atomic<bool> stopping_ = false;
  TransportStats stats_;
  PendingCalls calls_;
  std::atomic<uint64_t> next_id_ = 1;
  std::atomic<uint32_t> next_loop_ = 0;
  std::vector<std::unique_ptr<LoopState>> loop_states_;  // each: on its loop's thread
  std::unique_ptr<tcp::acceptor> acceptor_;              // on loop 0, once listening
  std::unique_ptr<asio::steady_timer> accept_pause_;     // on loop 0
  std::shared_ptr<BeaconSocket> beacons_;

  Mutex mutex_;
  std::map<PeerLane, std::shared_ptr<AsioConnection>> outgoing_ ABSL_GUARDED_BY(mutex_);
  std::map<Endpoint, Pause> pauses_ ABSL_GUARDED_BY(mutex_);
};

// Hub.

AsioTransport::Hub::Hub(EventLoops* loops, AsioTransportOptions options)
    : loops_(loops),
      options_(std::move(options)),
      local_(options_.advertised.value_or(options_.listen.value_or(kPureClient))) {
  for (int i = 0; i < loops_->size(); ++i)
    loop_states_.push_back(std::make_unique<LoopState>(loops_->context(i)));
}

void AsioTransport::Hub::SetHandler(RequestHandler handler) {
  // Requests read the pointer without a lock, so it changes once only, from nothing to the handler.
  CHECK(owned_handler_ == nullptr) << "one handler, set once";
  owned_handler_ = std::make_unique<RequestHandler>(std::move(handler));
  handler_.store(owned_handler_.get(), std::memory_order_release);
}

absl::Status AsioTransport::Hub::AddressInUse(uint16_t port, const std::error_code& error) const {
  std::string holder = error == asio::error::address_in_use ? DescribePortHolder(port) : "";
  return absl::UnavailableError(absl::StrCat("listen on port ", port, ": ", error.message(),
                                             holder.empty() ? "" : "; it is held by ", holder,
                                             error == asio::error::address_in_use
                                                 ? absl::StrCat(". See `ss -tlnp 'sport = :", port,
                                                                "'`, stop that process or "
                                                                "choose another port")
                                                 : ""));
}

absl::Status AsioTransport::Hub::Bind(uint16_t port) {
  asio::io_context& context = loops_->context(0);
  tcp::endpoint where(asio::ip::address_v4(options_.listen->ip), port);
  std::error_code error;
  auto acceptor = std::make_unique<tcp::acceptor>(context);
  acceptor->open(tcp::v4(), error);
  // A server that is started again must not wait for the connections of its former process to time
  // out.
  if (!error) acceptor->set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor->bind(where, error);
  if (!error) acceptor->non_blocking(true, error);
  if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
  if (error) return AddressInUse(port, error);
  port = acceptor->local_endpoint().port();

  // The same number for TCP and UDP, since peers know one endpoint.
  udp::socket beacons(context);
  beacons.open(udp::v4(), error);
  if (!error) beacons.bind({where.address(), port}, error);
  if (!error) beacons.non_blocking(true, error);
  if (error) return AddressInUse(port, error);

  // Only when both are bound: a failed attempt leaves nothing behind.
  acceptor_ = std::move(acceptor);
  beacons_ = std::make_shared<BeaconSocket>(shared_from_this(), context, std::move(beacons));
  Endpoint local = local_;
  if (local.port == 0) local.port = port;
  local_ = local;
  return absl::OkStatus();
}

absl::Status AsioTransport::Hub::Listen() {
  CHECK(options_.listen.has_value()) << "a pure client does not listen";
  CHECK(acceptor_ == nullptr) << "listens already";
  absl::Status status = Bind(options_.listen->port);
  // A free TCP port may be taken for UDP.
  for (int i = 1; !status.ok() && options_.listen->port == 0 && i < kRandomPortTries; ++i)
    status = Bind(0);
  RETURN_IF_ERROR(status);
  accept_pause_ = std::make_unique<asio::steady_timer>(loops_->context(0));
  asio::post(loops_->context(0), [self = shared_from_this()] {
    if (self->stopping()) return;
    self->Accept();
    self->beacons_->Receive();
  });
  return absl::OkStatus();
}

void AsioTransport::Hub::Accept() {
  if (IsFull())
    return PauseAccepting("as many connections as the limit of open files leaves room for");
  const int loop = LoopInTurn();
  acceptor_->async_accept(
      loops_->context(loop),
      [self = shared_from_this(), loop](const std::error_code& error, tcp::socket socket) {
        if (self->stopping() || error == asio::error::operation_aborted) return;
        if (error) return self->PauseAccepting(error.message());
        self->Begin(loop, std::move(socket));
        self->AcceptMore();
      });
}

// Where the loop is busy each of its turns must take more than one of those that wait.
void AsioTransport::Hub::AcceptMore() {
  for (int i = 0; i < kAcceptsPerTurn && !IsFull(); ++i) {
    const int loop = LoopInTurn();
    std::error_code error;
    tcp::socket socket = acceptor_->accept(loops_->context(loop), error);
    if (error) break;  // none waits; what else it may be shows again at the next
    Begin(loop, std::move(socket));
  }
  Accept();
}

void AsioTransport::Hub::Begin(int loop, tcp::socket socket) {
  next_loop_.fetch_add(1);
  // Counted here, before its loop has seen it: the limit must hold for what waits between.
  stats_.connections.Add(1);
  stats_.accepted.Add();
  asio::io_context& context = loops_->context(loop);
  auto connection =
      std::make_shared<AsioConnection>(shared_from_this(), loop, context, std::move(socket));
  asio::post(context, [connection] { connection->StartAccepted(); });
}

// Out of descriptors or memory: others may close something meanwhile, and who connects waits in the
// kernel.
void AsioTransport::Hub::PauseAccepting(std::string_view why) {
  stats_.accept_stops.Add();
  LOG_EVERY_T(ERROR, 10) << "accept on " << local() << ": " << why << "; "
                         << stats_.connections.value()
                         << " connections are open; for more raise the limit of open files: ulimit "
                            "-n, or LimitNOFILE= of the service";
  accept_pause_->expires_after(Chrono(kAcceptPause));
  accept_pause_->async_wait([self = shared_from_this()](const std::error_code& cancelled) {
    if (!cancelled && !self->stopping()) self->Accept();
  });
}

std::shared_ptr<AsioConnection> AsioTransport::Hub::OutgoingTo(Endpoint to, Lane lane) {
  const MutexLock lock(mutex_);
  // Under the lock that Stop takes: no connection begins after it.
  if (stopping_ || !to.IsValid()) return nullptr;
  std::shared_ptr<AsioConnection>& connection = outgoing_[{to, lane}];
  if (connection != nullptr && !connection->closed()) return connection;
  auto pause = pauses_.find(to);
  // Calls to a dead peer fail at once meanwhile, instead of each waiting for a connect of its own.
  if (pause != pauses_.end() && PosixClock().Now() < pause->second.until) {
    // The look-up has made an empty entry.
    if (connection == nullptr) outgoing_.erase({to, lane});
    return nullptr;
  }
  int loop = NextLoop();
  connection =
      std::make_shared<AsioConnection>(shared_from_this(), loop, loops_->context(loop), to, lane);
  asio::post(loops_->context(loop), [connection] { connection->StartConnect(); });
  return connection;
}

Frame AsioTransport::Hub::RequestFrame(uint64_t id, const OutboundRequest& request) const {
  Frame frame;
  frame.id = id;
  frame.trace_id = (id ^ local().packed()) * 0x9e3779b97f4a7c15u;
  frame.context = kRdsnRequest | kRdsnThriftBinary |
                  (IsMetaCall(request.name) ? 0 : kRdsnForwardSupported) |
                  (request.is_backup_request ? kRdsnBackupRequest : 0);
  if (options_.gate != nullptr) frame.SetClusterTag(options_.gate->OurTag());
  frame.header.name = request.name;
  frame.header.pid = request.pid;
  frame.header.thread_hash = request.thread_hash;
  frame.header.partition_hash = request.partition_hash;
  frame.header.timeout_ms = static_cast<int32_t>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(request.timeout), 0, INT32_MAX));
  frame.header.from = local();
  return frame;
}

uint64_t AsioTransport::Hub::Send(Endpoint to, OutboundRequest request, StrandPtr reply_on,
                                  absl::AnyInvocable<void(RpcResult)> done) {
  uint64_t id = next_id_.fetch_add(1);
  stats_.calls.Add();
  std::string header =
      RdsnRequestHeader(RequestFrame(id, request), request.body, ChecksumsFor(request.name));
  // Before it is sent: the answer may come on another loop before SendCall returns.
  calls_.Add(id, std::move(request.name), std::move(reply_on), std::move(done));
  std::shared_ptr<AsioConnection> connection = OutgoingTo(to, request.lane);
  if (connection == nullptr ||
      !connection->SendCall(id, request.timeout, std::move(header), std::move(request.body))) {
    calls_.Finish(id, {.error = ErrorCode::kNetworkFailure, .was_never_sent = true});
  }
  return id;
}

void AsioTransport::Hub::SendOneWay(Endpoint to, OutboundRequest request) {
  uint64_t id = next_id_.fetch_add(1);
  std::string header =
      RdsnRequestHeader(RequestFrame(id, request), request.body, ChecksumsFor(request.name));
  std::shared_ptr<AsioConnection> connection = OutgoingTo(to, request.lane);
  if (connection != nullptr) connection->Send(std::move(header), std::move(request.body));
}

void AsioTransport::Hub::Started(const std::shared_ptr<AsioConnection>& connection) {
  LoopState& state = *loop_states_[connection->loop()];
  state.SetOf(*connection).insert(connection);
  if (connection->outgoing()) stats_.connections.Add(1);  // accepted ones are counted already
  // An idle loop ticks twice a second, which is too seldom for a call's timeout.
  if (!state.ticking() || connection->outgoing()) ScheduleTick(connection->loop());
}

void AsioTransport::Hub::Closed(const std::shared_ptr<AsioConnection>& connection) {
  if (loop_states_[connection->loop()]->SetOf(*connection).erase(connection) > 0)
    stats_.connections.Add(-1);
  if (!connection->outgoing()) return;
  const MutexLock lock(mutex_);
  auto at = outgoing_.find({connection->peer(), connection->lane()});
  // A new connection to the same peer may stand there already.
  if (at != outgoing_.end() && at->second == connection) outgoing_.erase(at);
}

void AsioTransport::Hub::Connected(Endpoint peer) {
  const MutexLock lock(mutex_);
  // The peer is there: the next failure begins with the shortest pause again.
  pauses_.erase(peer);
}

void AsioTransport::Hub::ConnectFailed(Endpoint peer) {
  const MutexLock lock(mutex_);
  auto [at, first] = pauses_.emplace(peer, Pause{.next = options_.reconnect_pause});
  at->second.until = PosixClock().Now() + at->second.next;
  at->second.next = std::min(2 * at->second.next, options_.reconnect_pause_max);
}

void AsioTransport::Hub::ScheduleTick(int loop) {
  LoopState& state = *loop_states_[loop];
  const absl::Duration pause = state.outgoing.empty() ? kTickIdle : kTickBusy;
  const Instant next = PosixClock().Now() + pause;
  // An earlier tick is on its way.
  if (next >= state.next_tick) return;
  state.next_tick = next;
  state.tick.expires_after(Chrono(pause));
  state.tick.async_wait([self = shared_from_this(), loop](const std::error_code& cancelled) {
    if (!cancelled && !self->stopping()) self->Tick(loop);
  });
}

void AsioTransport::Hub::Tick(int loop) {
  LoopState& state = *loop_states_[loop];
  const Instant now = PosixClock().Now();
  state.next_tick = Instant::InfiniteFuture();
  TickAll(state.outgoing, now);
  // Opened connections hold calls, whose timeouts need the fine tick; accepted ones are many and
  // need none.
  if (now >= state.next_accepted_tick) {
    state.next_accepted_tick = now + kTickIdle;
    TickAll(state.accepted, now);
  }
  if (!state.outgoing.empty() || !state.accepted.empty()) ScheduleTick(loop);
}

// A tick may close connections, which takes them out of the set. Where some must go that the others
// fit, those come first that took nothing, or sent no whole frame, for longest.
void AsioTransport::Hub::TickAll(const ConnectionSet& connections, Instant now) {
  std::vector<std::pair<Instant, std::shared_ptr<AsioConnection>>> all;
  all.reserve(connections.size());
  for (const auto& connection : connections)
    all.emplace_back(connection->rests_since(), connection);
  if (std::max(stats_.backlog_bytes.value(), stats_.half_frame_bytes.value()) >
      static_cast<int64_t>(AsioConnection::kHardFactor * options_.backlog_bytes_max))
    std::sort(all.begin(), all.end());
  for (const auto& [progress, connection] : all) connection->Tick(now);
}

void AsioTransport::Hub::Stop() {
  {
    const MutexLock lock(mutex_);
    if (stopping_.exchange(true)) return;
  }
  // On the loops themselves: nobody else may touch sockets and sets. It waits, so that no callback
  // of a connection comes after Stop.
  loops_->RunOnEach([this](int loop) {
    LoopState& state = *loop_states_[loop];
    state.tick.cancel();
    // Copied: Close takes each out of the set it is in.
    std::vector<std::shared_ptr<AsioConnection>> connections(state.accepted.begin(),
                                                             state.accepted.end());
    connections.insert(connections.end(), state.outgoing.begin(), state.outgoing.end());
    for (const auto& connection : connections) connection->Close("");
    if (loop != 0 || acceptor_ == nullptr) return;
    std::error_code ignored;
    acceptor_->close(ignored);
    accept_pause_->cancel();
    beacons_->Stop();
  });
}

// The facade.

AsioTransport::AsioTransport(EventLoops* loops, AsioTransportOptions options)
    : hub_(std::make_shared<Hub>(loops, std::move(options))) {}

AsioTransport::~AsioTransport() { Stop(); }

absl::Status AsioTransport::Listen() { return hub_->Listen(); }

void AsioTransport::Stop() { hub_->Stop(); }

Endpoint AsioTransport::local() const { return hub_->local(); }

void AsioTransport::SetHandler(RequestHandler handler) { hub_->SetHandler(std::move(handler)); }

void AsioTransport::SetByteSessions(ByteSessionFactory factory) {
  hub_->SetByteSessions(std::move(factory));
}

void AsioTransport::Call(Endpoint to, OutboundRequest request, StrandPtr reply_on,
                         absl::AnyInvocable<void(RpcResult)> done) {
  hub_->Send(to, std::move(request), std::move(reply_on), std::move(done));
}

void AsioTransport::SendOneWay(Endpoint to, OutboundRequest request) {
  hub_->SendOneWay(to, std::move(request));
}

void AsioTransport::LimitConnections(int64_t max) { hub_->LimitConnections(max); }

const TransportStats& AsioTransport::stats() const { return hub_->stats(); }

}  // namespace arion
