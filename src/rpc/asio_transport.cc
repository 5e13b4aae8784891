// SPDX-License-Identifier: Apache-2.0
#include "rpc/asio_transport.h"

#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/udp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "base/log.h"
#include "base/status.h"
#include "env/posix_clock.h"
#include "rpc/call_deadlines.h"
#include "rpc/frame.h"
#include "rpc/outbox.h"
#include "rpc/pending_calls.h"
#include "rpc/port_holder.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

using asio::ip::tcp;
using asio::ip::udp;

constexpr size_t kReadBytes = 16 << 10;        // room for one read of a quiet connection
constexpr size_t kReadBytesBusy = 128 << 10;   // and of one that filled it
constexpr size_t kReadBytesPerTurn = 1 << 20;  // then other connections get their turn
constexpr size_t kPiecesPerWrite = 64;
constexpr size_t kRequestOverheadBytes = 256;  // what an unanswered request costs beside its body
constexpr size_t kServerFactor = 4;            // how much more a server may have queued
constexpr size_t kDatagramBytesMax = 1000;
constexpr absl::Duration kTickBusy = absl::Milliseconds(20);  // resolution of call timeouts
constexpr absl::Duration kTickIdle = absl::Milliseconds(500);
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);
constexpr absl::Duration kFarewell = absl::Seconds(2);  // for a peer to take our last words
constexpr Endpoint kPureClient{.ip = 0x7f000001, .port = 1};
constexpr int kRandomPortTries = 16;

constexpr std::string_view kHttpReply =
    "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 29\r\nConnection: "
    "close\r\n\r\n"
    "arion: nothing here for HTTP\n";

Instant Now() { return PosixClock().Now(); }

std::chrono::nanoseconds Chrono(absl::Duration d) {
  return std::chrono::nanoseconds(absl::ToInt64Nanoseconds(d));
}

tcp::endpoint TcpEndpoint(Endpoint e) { return {asio::ip::address_v4(e.ip), e.port}; }

template <class AsioEndpoint>
Endpoint FromAsio(const AsioEndpoint& e) {
  return e.address().is_v4() ? Endpoint{.ip = e.address().to_v4().to_uint(), .port = e.port()}
                             : Endpoint{};
}

// Meta servers that do not lead answer in the struct when the caller can't be forwarded
// (spec/internal-rpc.md 1.8).
bool IsMetaCall(std::string_view name) { return name.starts_with("RPC_CM_") || name == kRpcBeacon; }

Checksums ChecksumsFor(std::string_view name) {
  return name.starts_with(kRpcBeacon) ? Checksums::kHeaderAndBody : Checksums::kNone;
}

void SetTcpOptions(tcp::socket& socket, absl::Duration unacknowledged_max) {
  std::error_code ignored;  // a connection works without them
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  using Idle = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
  using Interval = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
  using Count = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPCNT>;
  socket.set_option(Idle(60), ignored);
  socket.set_option(Interval(10), ignored);
  socket.set_option(Count(3), ignored);
  // While sent bytes wait for their acknowledgement keep-alive is silent: a machine that lost power
  // shows here.
  using UserTimeout = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_USER_TIMEOUT>;
  socket.set_option(UserTimeout(static_cast<int>(absl::ToInt64Milliseconds(unacknowledged_max))),
                    ignored);
  socket.non_blocking(true, ignored);
}

}  // namespace

// What the transport's connections share.
class AsioTransport::Hub : public std::enable_shared_from_this<Hub> {
 public:
  Hub(EventLoops* loops, AsioTransportOptions options);

  absl::Status Listen();
  void Stop();
  void SetHandler(RequestHandler handler);
  uint64_t Send(Endpoint to, OutboundRequest request, StrandPtr reply_on,
                absl::AnyInvocable<void(RpcResult)> done);
  void SendOneWay(Endpoint to, OutboundRequest request);

  // For connections, on the thread of their loop.
  void Started(const std::shared_ptr<Connection>& connection);
  void Closed(const std::shared_ptr<Connection>& connection);
  void Connected(Endpoint peer);
  void ConnectFailed(Endpoint peer);

  const RequestHandler* handler() const { return handler_.load(std::memory_order_acquire); }
  const AsioTransportOptions& options() const { return options_; }
  PendingCalls& calls() { return calls_; }
  Endpoint local() const { return local_.load(); }
  bool stopping() const { return stopping_.load(); }
  size_t connection_count() const { return connection_count_.load(); }

 private:
  struct LoopState {
    explicit LoopState(asio::io_context& context) : tick(context) {}
    std::set<std::shared_ptr<Connection>> connections;
    asio::steady_timer tick;
    bool ticking = false;
    bool busy = false;  // some connection is outgoing
  };
  struct Pause {
    Instant until;
    absl::Duration next;
  };
  using PeerLane = std::pair<Endpoint, Lane>;

  std::shared_ptr<Connection> OutgoingTo(Endpoint to, Lane lane);
  Frame RequestFrame(uint64_t id, const OutboundRequest& request) const;
  absl::Status Bind(uint16_t port);
  absl::Status AddressInUse(uint16_t port, const std::error_code& error) const;
  void Accept();
  void ScheduleTick(int loop);
  void Tick(int loop);
  int NextLoop() { return static_cast<int>(next_loop_.fetch_add(1) % loops_->size()); }

  EventLoops* const loops_;
  const AsioTransportOptions options_;
  std::atomic<Endpoint> local_;
  std::unique_ptr<RequestHandler> owned_handler_;
  std::atomic<const RequestHandler*> handler_ = nullptr;
  std::atomic<bool> stopping_ = false;
  std::atomic<size_t> connection_count_ = 0;
  PendingCalls calls_;
  std::atomic<uint64_t> next_id_ = 1;
  std::atomic<uint32_t> next_loop_ = 0;
  std::vector<std::unique_ptr<LoopState>> loop_states_;  // each: on its loop's thread
  std::unique_ptr<tcp::acceptor> acceptor_;              // on loop 0, once listening
  std::unique_ptr<asio::steady_timer> accept_pause_;     // on loop 0
  std::shared_ptr<BeaconSocket> beacons_;

  std::mutex mutex_;
  std::map<PeerLane, std::shared_ptr<Connection>> outgoing_;  // guarded by mutex_
  std::map<Endpoint, Pause> pauses_;                          // guarded by mutex_
};

// One TCP connection, accepted or opened. Its socket and parser belong to its loop's thread; Send
// and Call come from any.
class AsioTransport::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Hub> hub, int loop, asio::io_context& context, tcp::socket socket)
      : hub_(std::move(hub)),
        loop_(loop),
        context_(context),
        socket_(std::move(socket)),
        parser_(FrameParser::Expect::kAny) {}
  Connection(std::shared_ptr<Hub> hub, int loop, asio::io_context& context, Endpoint peer,
             Lane lane)
      : hub_(std::move(hub)),
        loop_(loop),
        context_(context),
        socket_(context),
        parser_(FrameParser::Expect::kRdsn),
        peer_(peer),
        lane_(lane),
        outgoing_(true),
        peer_is_server_(true) {}

  int loop() const { return loop_; }
  Endpoint peer() const { return peer_; }
  Lane lane() const { return lane_; }
  bool outgoing() const { return outgoing_; }

  // Any thread.
  bool closed() const { return closed_.load(); }
  void Send(std::string header, std::string body);
  // Like Send; `call` fails when it is not answered in time or the connection closes. False: closed
  // already.
  bool SendCall(uint64_t call, absl::Duration timeout, std::string header, std::string body);

  // The loop's thread.
  void StartAccepted();
  void StartConnect();
  void Tick(Instant now);
  void Close(std::string_view why);

 private:
  // Counts a request as unanswered until its responder is used or dropped.
  struct Unanswered {
    Unanswered(std::weak_ptr<Connection> c, size_t b) : connection(std::move(c)), bytes(b) {}
    Unanswered(const Unanswered&) = delete;
    ~Unanswered() {
      if (auto open = connection.lock()) open->Answered(bytes);
    }
    std::weak_ptr<Connection> connection;
    size_t bytes;
  };

  size_t Factor() const { return peer_is_server_.load() ? kServerFactor : 1; }
  bool Overloaded() const {
    return queued_bytes_.load() > hub_->options().queued_bytes_max * Factor() ||
           unanswered_bytes_.load() > hub_->options().unanswered_bytes_max * Factor();
  }
  bool QueueLocked(std::string header, std::string body);
  void Established();
  void Read();
  void OnRead(const std::error_code& error, size_t n);
  void HandleFrames();
  void HandleRequest(Frame frame);
  void Reply(const Frame& request, ErrorCode error, std::string body);
  void Answered(size_t bytes);
  void Resume();
  void Flush();
  void SayFarewell(std::string_view last_words);

  const std::shared_ptr<Hub> hub_;
  const int loop_;
  asio::io_context& context_;
  tcp::socket socket_;
  FrameParser parser_;
  Endpoint peer_;
  const Lane lane_ = Lane::kData;
  const bool outgoing_ = false;
  std::atomic<bool> peer_is_server_ = false;
  std::atomic<bool> closed_ = false;  // set with mutex_ held
  std::atomic<size_t> queued_bytes_ = 0;
  std::atomic<size_t> unanswered_bytes_ = 0;
  std::atomic<bool> paused_ = false;  // frames wait in the parser until the queues shrink

  std::mutex mutex_;
  Outbox outbox_;                 // guarded by mutex_
  CallDeadlines deadlines_;       // guarded by mutex_
  bool flush_scheduled_ = false;  // guarded by mutex_

  // The loop's thread.
  bool established_ = false;
  bool reading_ = false;
  bool waiting_to_write_ = false;
  bool farewell_ = false;  // only our last words are still to be sent
  std::vector<std::string> writing_;
  size_t first_piece_ = 0;   // of writing_
  size_t piece_offset_ = 0;  // in the first piece
  size_t room_bytes_ = kReadBytes;
  Instant started_;
  Instant last_progress_;  // of writing
};

// Beacons over UDP (spec/internal-rpc.md 1.7): one frame a datagram, answered to the header's
// `from`.
class AsioTransport::BeaconSocket : public std::enable_shared_from_this<BeaconSocket> {
 public:
  BeaconSocket(std::shared_ptr<Hub> hub, asio::io_context& context, udp::socket socket)
      : hub_(hub), context_(context), socket_(std::move(socket)) {}

  void Receive() {
    socket_.async_receive_from(asio::buffer(datagram_), sender_,
                               [self = shared_from_this()](const std::error_code& error, size_t n) {
                                 if (self->stopped_) return;
                                 if (!error) self->Handle({self->datagram_.data(), n});
                                 self->Receive();
                               });
  }
  void Stop() {
    stopped_ = true;
    std::error_code ignored;
    socket_.close(ignored);
  }

 private:
  void Handle(std::string_view datagram) {
    std::shared_ptr<Hub> hub = hub_.lock();
    FrameParser parser(FrameParser::Expect::kRdsn);
    parser.Feed(datagram);
    Frame frame;
    if (hub == nullptr || datagram.size() > kDatagramBytesMax ||
        parser.Next(&frame) != FrameParser::Result::kFrame) {
      LOG_EVERY_T(WARNING, 10) << "dropped a datagram of " << datagram.size() << " bytes from "
                               << FromAsio(sender_) << ": " << parser.error();
      return;
    }
    const RequestHandler* handler = hub->handler();
    if (!frame.is_request || frame.header.name != kRpcBeacon || !frame.header.from.IsValid() ||
        handler == nullptr) {
      return;
    }
    InboundRequest request;
    request.header = frame.header;
    request.body = std::exchange(frame.body, {});
    request.responder = Responder([self = shared_from_this(), frame = std::move(frame)](
                                      ErrorCode error, std::string body) mutable {
      asio::post(self->context_, [self, frame = std::move(frame), error, body = std::move(body)] {
        self->Answer(frame, error, body);
      });
    });
    (*handler)(std::move(request));
  }

  void Answer(const Frame& request, ErrorCode error, const std::string& body) {
    std::shared_ptr<Hub> hub = hub_.lock();
    if (stopped_ || hub == nullptr) return;
    std::string header =
        RdsnReplyHeader(request, error, hub->local(), body, Checksums::kHeaderAndBody);
    if (header.size() + body.size() > kDatagramBytesMax) {
      LOG_EVERY_T(WARNING, 10) << "an answer of " << body.size()
                               << " bytes does not fit a datagram";
      return;
    }
    std::array<asio::const_buffer, 2> pieces = {asio::buffer(header), asio::buffer(body)};
    std::error_code ignored;  // a lost datagram is the protocol's daily bread
    udp::endpoint to(asio::ip::address_v4(request.header.from.ip), request.header.from.port);
    socket_.send_to(pieces, to, 0, ignored);
  }

  const std::weak_ptr<Hub> hub_;
  asio::io_context& context_;
  udp::socket socket_;
  udp::endpoint sender_;
  bool stopped_ = false;
  std::array<char, 2048> datagram_;
};

// Connection: sending.

bool AsioTransport::Connection::QueueLocked(std::string header, std::string body) {
  queued_bytes_ += header.size() + body.size();
  outbox_.Append(std::move(header), std::move(body));
  return !std::exchange(flush_scheduled_, true);
}

void AsioTransport::Connection::Send(std::string header, std::string body) {
  bool schedule;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    schedule = QueueLocked(std::move(header), std::move(body));
  }
  // Behind what the loop has to do already: all that this adds to the outbox leaves with the same
  // write.
  if (schedule) asio::post(context_, [self = shared_from_this()] { self->Flush(); });
}

bool AsioTransport::Connection::SendCall(uint64_t call, absl::Duration timeout, std::string header,
                                         std::string body) {
  bool schedule;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    deadlines_.Add(call, timeout, Now());
    schedule = QueueLocked(std::move(header), std::move(body));
  }
  if (schedule) asio::post(context_, [self = shared_from_this()] { self->Flush(); });
  return true;
}

void AsioTransport::Connection::Flush() {
  if (closed_ || !established_ || waiting_to_write_) return;
  while (true) {
    if (first_piece_ == writing_.size()) {
      std::lock_guard lock(mutex_);
      flush_scheduled_ = false;
      writing_ = outbox_.Take();
      first_piece_ = piece_offset_ = 0;
      if (writing_.empty()) break;
    }
    std::array<asio::const_buffer, kPiecesPerWrite> pieces;
    size_t count = std::min(pieces.size(), writing_.size() - first_piece_);
    for (size_t i = 0; i < count; ++i) {
      std::string_view piece = writing_[first_piece_ + i];
      if (i == 0) piece.remove_prefix(piece_offset_);
      pieces[i] = asio::const_buffer(piece.data(), piece.size());
    }
    std::error_code error;
    size_t n = socket_.write_some(absl::MakeConstSpan(pieces).subspan(0, count), error);
    if (error == asio::error::would_block || error == asio::error::try_again) {
      waiting_to_write_ = true;
      socket_.async_wait(tcp::socket::wait_write,
                         [self = shared_from_this()](const std::error_code& failed) {
                           self->waiting_to_write_ = false;
                           if (!failed) self->Flush();
                         });
      return;
    }
    if (error) return Close(error.message());
    last_progress_ = Now();
    queued_bytes_ -= n;
    n += piece_offset_;
    while (first_piece_ < writing_.size() && n >= writing_[first_piece_].size()) {
      n -= writing_[first_piece_].size();
      writing_[first_piece_++] = {};
    }
    piece_offset_ = n;
  }
  if (farewell_) {
    std::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    return;
  }
  if (paused_ && !Overloaded()) Resume();
}

void AsioTransport::Connection::Reply(const Frame& request, ErrorCode error, std::string body) {
  if (request.header.name == kRpcClearScanner) return;  // clients die of an answer
  if (request.header.framing == Framing::kRdsn) {
    std::string header =
        RdsnReplyHeader(request, error, hub_->local(), body, ChecksumsFor(request.header.name));
    Send(std::move(header), std::move(body));
  } else {
    std::string header = ThriftReplyHeader(request, error, body.size());
    Send(std::move(header), error == ErrorCode::kOk ? std::move(body) : std::string());
  }
}

// Connection: receiving.

void AsioTransport::Connection::StartAccepted() {
  std::error_code error;
  peer_ = FromAsio(socket_.remote_endpoint(error));
  hub_->Started(shared_from_this());
  if (error || hub_->stopping()) return Close("");
  Established();
}

void AsioTransport::Connection::StartConnect() {
  hub_->Started(shared_from_this());
  if (hub_->stopping()) return Close("");
  started_ = Now();
  std::error_code error;
  socket_.open(tcp::v4(), error);
  // A server that starts must get its port even while an outgoing connection has it.
  if (!error) socket_.set_option(asio::socket_base::reuse_address(true), error);
  if (error) return Close(error.message());
  socket_.async_connect(TcpEndpoint(peer_),
                        [self = shared_from_this()](const std::error_code& failed) {
                          if (self->closed_) return;
                          std::error_code ignored;
                          bool itself = !failed && self->socket_.local_endpoint(ignored) ==
                                                       self->socket_.remote_endpoint(ignored);
                          if (failed || itself) {
                            self->hub_->ConnectFailed(self->peer_);
                            return self->Close(failed ? failed.message() : "met itself");
                          }
                          self->hub_->Connected(self->peer_);
                          self->Established();
                        });
}

void AsioTransport::Connection::Established() {
  SetTcpOptions(socket_, hub_->options().stall_timeout);
  established_ = true;
  last_progress_ = Now();
  Read();
  Flush();
}

void AsioTransport::Connection::Read() {
  if (closed_ || reading_) return;
  reading_ = true;
  FrameParser::Room room = parser_.Reserve(room_bytes_);
  room_bytes_ = room.size;
  socket_.async_read_some(asio::buffer(room.data, room.size),
                          [self = shared_from_this()](const std::error_code& error, size_t n) {
                            self->reading_ = false;
                            self->OnRead(error, n);
                          });
}

void AsioTransport::Connection::OnRead(const std::error_code& error, size_t n) {
  if (closed_) return;
  if (error) {
    bool usual = error == asio::error::eof || error == asio::error::connection_reset;
    return Close(usual ? "" : error.message());
  }
  if (farewell_) return Read();  // unread: the room is used again
  parser_.Commit(n);
  size_t total = n;
  bool filled = n == room_bytes_;
  while (filled && total < kReadBytesPerTurn) {
    FrameParser::Room room = parser_.Reserve(kReadBytesBusy);
    std::error_code later;
    n = socket_.read_some(asio::buffer(room.data, room.size), later);
    if (later) break;  // nothing more now; an error shows again at the next read
    parser_.Commit(n);
    total += n;
    filled = n == room.size;
  }
  room_bytes_ = total >= kReadBytesBusy ? kReadBytesBusy : kReadBytes;
  HandleFrames();
  if (!closed_ && !paused_) Read();
}

void AsioTransport::Connection::HandleFrames() {
  while (!closed_ && !farewell_) {
    if (Overloaded()) {
      paused_ = true;
      if (Overloaded()) return;  // still: Answered or Flush resumes
      paused_ = false;
    }
    Frame frame;
    switch (parser_.Next(&frame)) {
      case FrameParser::Result::kNeedMore:
        return;
      case FrameParser::Result::kBroken:
        return Close(parser_.error());
      case FrameParser::Result::kHttp:
        return SayFarewell(kHttpReply);
      case FrameParser::Result::kFrame:
        break;
    }
    if (frame.is_request) {
      HandleRequest(std::move(frame));
    } else {
      RpcResult result{.error = frame.error, .body = std::move(frame.body)};
      if (!frame.payload_readable && !result.body.empty())
        result = {.error = ErrorCode::kInvalidData};
      hub_->calls().FinishNamed(frame.id, frame.header.name, std::move(result));
    }
  }
}

void AsioTransport::Connection::HandleRequest(Frame frame) {
  if (!frame.header.from.IsValid()) frame.header.from = peer_;
  bool named_server = frame.header.framing == Framing::kRdsn && frame.header.from.port > 1023;
  if (named_server && !peer_is_server_) peer_is_server_ = true;
  const RequestHandler* handler = hub_->handler();
  if (!frame.payload_readable) return Reply(frame, ErrorCode::kInvalidData, {});
  if (frame.header.name == kRpcNegotiation) {
    return Reply(frame, ErrorCode::kOk,
                 EncodeWrapped(NegotiationResponse{.status = NegotiationStatus::kAuthDisabled}));
  }
  if (handler == nullptr) return Reply(frame, ErrorCode::kHandlerNotFound, {});

  size_t cost = frame.body.size() + kRequestOverheadBytes;
  unanswered_bytes_ += cost;
  auto unanswered = std::make_unique<Unanswered>(weak_from_this(), cost);
  InboundRequest request;
  request.header = frame.header;
  request.body = std::exchange(frame.body, {});
  request.responder = Responder([unanswered = std::move(unanswered), frame = std::move(frame)](
                                    ErrorCode error, std::string body) {
    if (auto open = unanswered->connection.lock()) open->Reply(frame, error, std::move(body));
  });
  (*handler)(std::move(request));
}

void AsioTransport::Connection::Answered(size_t bytes) {
  unanswered_bytes_ -= bytes;
  if (paused_ && !Overloaded())
    asio::post(context_, [self = shared_from_this()] { self->Resume(); });
}

void AsioTransport::Connection::Resume() {
  if (closed_ || !paused_.exchange(false)) return;
  HandleFrames();
  if (!closed_ && !paused_) Read();
}

void AsioTransport::Connection::SayFarewell(std::string_view last_words) {
  farewell_ = true;
  Send(std::string(last_words), {});
}

// Connection: time and end.

void AsioTransport::Connection::Tick(Instant now) {
  if (outgoing_) {
    std::vector<uint64_t> due;
    {
      std::lock_guard lock(mutex_);
      due = deadlines_.TakeDue(now, [&](uint64_t call) { return hub_->calls().IsOver(call); });
    }
    for (uint64_t call : due) hub_->calls().Finish(call, {.error = ErrorCode::kTimeout});
    if (!established_ && now - started_ > hub_->options().connect_timeout) {
      hub_->ConnectFailed(peer_);
      return Close("no connection in time");
    }
  }
  if (farewell_ && now - last_progress_ > kFarewell) return Close("");
  size_t queued = queued_bytes_;
  if (queued > 2 * hub_->options().queued_bytes_max * Factor()) {
    return Close(absl::StrCat("too slow: ", queued, " bytes wait for it"));
  }
  if (queued == 0 || !established_) {
    last_progress_ = now;
  } else if (now - last_progress_ > hub_->options().stall_timeout) {
    Close(absl::StrCat("took nothing for long: ", queued, " bytes wait for it"));
  }
}

void AsioTransport::Connection::Close(std::string_view why) {
  std::vector<uint64_t> calls;
  {
    std::lock_guard lock(mutex_);
    if (closed_.exchange(true)) return;
    outbox_.Take();
    calls = deadlines_.TakeAll();
  }
  if (!why.empty()) {
    LOG_EVERY_T(WARNING, 1) << (outgoing_ ? "connection to " : "connection from ") << peer_
                            << " closed: " << why;
  }
  std::error_code ignored;
  socket_.close(ignored);
  writing_.clear();
  first_piece_ = piece_offset_ = 0;
  for (uint64_t call : calls) hub_->calls().Finish(call, {.error = ErrorCode::kNetworkFailure});
  hub_->Closed(shared_from_this());
}

// Hub.

AsioTransport::Hub::Hub(EventLoops* loops, AsioTransportOptions options)
    : loops_(loops),
      options_(std::move(options)),
      local_(options_.advertised.value_or(options_.listen.value_or(kPureClient))) {
  for (int i = 0; i < loops_->size(); ++i)
    loop_states_.push_back(std::make_unique<LoopState>(loops_->context(i)));
}

void AsioTransport::Hub::SetHandler(RequestHandler handler) {
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
  if (!error) acceptor->set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor->bind(where, error);
  if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
  if (error) return AddressInUse(port, error);
  port = acceptor->local_endpoint().port();

  udp::socket beacons(context);
  beacons.open(udp::v4(), error);
  if (!error) beacons.bind({where.address(), port}, error);
  if (!error) beacons.non_blocking(true, error);
  if (error) return AddressInUse(port, error);

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
  int loop = NextLoop();
  asio::io_context& context = loops_->context(loop);
  acceptor_->async_accept(context, [self = shared_from_this(), loop, &context](
                                       const std::error_code& error, tcp::socket socket) {
    if (self->stopping() || error == asio::error::operation_aborted) return;
    if (error) {
      // Out of descriptors or memory: others may close something meanwhile.
      LOG_EVERY_T(ERROR, 10) << "accept on " << self->local() << ": " << error.message()
                             << (error == asio::error::no_descriptors
                                     ? "; raise the limit of open files (ulimit -n)"
                                     : "");
      self->accept_pause_->expires_after(Chrono(kAcceptPause));
      self->accept_pause_->async_wait([self](const std::error_code& cancelled) {
        if (!cancelled && !self->stopping()) self->Accept();
      });
      return;
    }
    auto connection = std::make_shared<Connection>(self, loop, context, std::move(socket));
    asio::post(context, [connection] { connection->StartAccepted(); });
    self->Accept();
  });
}

std::shared_ptr<AsioTransport::Connection> AsioTransport::Hub::OutgoingTo(Endpoint to, Lane lane) {
  std::lock_guard lock(mutex_);
  if (stopping_ || !to.IsValid()) return nullptr;
  std::shared_ptr<Connection>& connection = outgoing_[{to, lane}];
  if (connection != nullptr && !connection->closed()) return connection;
  auto pause = pauses_.find(to);
  if (pause != pauses_.end() && Now() < pause->second.until) {
    if (connection == nullptr) outgoing_.erase({to, lane});
    return nullptr;
  }
  int loop = NextLoop();
  connection =
      std::make_shared<Connection>(shared_from_this(), loop, loops_->context(loop), to, lane);
  asio::post(loops_->context(loop), [connection] { connection->StartConnect(); });
  return connection;
}

Frame AsioTransport::Hub::RequestFrame(uint64_t id, const OutboundRequest& request) const {
  Frame frame;
  frame.id = id;
  frame.trace_id = (id ^ local().packed()) * 0x9e3779b97f4a7c15u;
  frame.context =
      kRdsnRequest | kRdsnThriftBinary | (IsMetaCall(request.name) ? 0 : kRdsnForwardSupported);
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
  std::string header =
      RdsnRequestHeader(RequestFrame(id, request), request.body, ChecksumsFor(request.name));
  calls_.Add(id, std::move(request.name), std::move(reply_on), std::move(done));
  std::shared_ptr<Connection> connection = OutgoingTo(to, request.lane);
  if (connection == nullptr ||
      !connection->SendCall(id, request.timeout, std::move(header), std::move(request.body))) {
    calls_.Finish(id, {.error = ErrorCode::kNetworkFailure});
  }
  return id;
}

void AsioTransport::Hub::SendOneWay(Endpoint to, OutboundRequest request) {
  uint64_t id = next_id_.fetch_add(1);
  std::string header =
      RdsnRequestHeader(RequestFrame(id, request), request.body, ChecksumsFor(request.name));
  std::shared_ptr<Connection> connection = OutgoingTo(to, request.lane);
  if (connection != nullptr) connection->Send(std::move(header), std::move(request.body));
}

void AsioTransport::Hub::Started(const std::shared_ptr<Connection>& connection) {
  LoopState& state = *loop_states_[connection->loop()];
  state.connections.insert(connection);
  connection_count_ += 1;
  bool was_busy = std::exchange(state.busy, state.busy || connection->outgoing());
  if (!state.ticking || was_busy != state.busy) ScheduleTick(connection->loop());
}

void AsioTransport::Hub::Closed(const std::shared_ptr<Connection>& connection) {
  if (loop_states_[connection->loop()]->connections.erase(connection) > 0) connection_count_ -= 1;
  if (!connection->outgoing()) return;
  std::lock_guard lock(mutex_);
  auto at = outgoing_.find({connection->peer(), connection->lane()});
  if (at != outgoing_.end() && at->second == connection) outgoing_.erase(at);
}

void AsioTransport::Hub::Connected(Endpoint peer) {
  std::lock_guard lock(mutex_);
  pauses_.erase(peer);
}

void AsioTransport::Hub::ConnectFailed(Endpoint peer) {
  std::lock_guard lock(mutex_);
  auto [at, first] = pauses_.emplace(peer, Pause{.next = options_.reconnect_pause});
  at->second.until = Now() + at->second.next;
  at->second.next = std::min(2 * at->second.next, options_.reconnect_pause_max);
}

void AsioTransport::Hub::ScheduleTick(int loop) {
  LoopState& state = *loop_states_[loop];
  state.ticking = true;
  state.tick.expires_after(Chrono(state.busy ? kTickBusy : kTickIdle));
  state.tick.async_wait([self = shared_from_this(), loop](const std::error_code& cancelled) {
    if (!cancelled && !self->stopping()) self->Tick(loop);
  });
}

void AsioTransport::Hub::Tick(int loop) {
  LoopState& state = *loop_states_[loop];
  Instant now = Now();
  // A tick may close connections, which takes them out of the set.
  std::vector<std::shared_ptr<Connection>> connections(state.connections.begin(),
                                                       state.connections.end());
  for (const auto& connection : connections) connection->Tick(now);
  state.busy = std::any_of(state.connections.begin(), state.connections.end(),
                           [](const auto& connection) { return connection->outgoing(); });
  if (state.connections.empty()) {
    state.ticking = false;
  } else {
    ScheduleTick(loop);
  }
}

void AsioTransport::Hub::Stop() {
  {
    std::lock_guard lock(mutex_);
    if (stopping_.exchange(true)) return;
  }
  loops_->RunOnEach([this](int loop) {
    LoopState& state = *loop_states_[loop];
    state.tick.cancel();
    std::vector<std::shared_ptr<Connection>> connections(state.connections.begin(),
                                                         state.connections.end());
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

void AsioTransport::Call(Endpoint to, OutboundRequest request, StrandPtr reply_on,
                         absl::AnyInvocable<void(RpcResult)> done) {
  hub_->Send(to, std::move(request), std::move(reply_on), std::move(done));
}

void AsioTransport::SendOneWay(Endpoint to, OutboundRequest request) {
  hub_->SendOneWay(to, std::move(request));
}

size_t AsioTransport::connection_count() const { return hub_->connection_count(); }

}  // namespace arion
