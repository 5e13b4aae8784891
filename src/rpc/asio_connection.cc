// SPDX-License-Identifier: Apache-2.0
#include "rpc/asio_connection.h"

#include <netinet/tcp.h>

#include <algorithm>
#include <asio/post.hpp>

#include "base/log.h"
#include "base/status.h"
#include "messages/client_messages.h"
#include "messages/tool_messages.h"
#include "posix/posix_clock.h"
#include "rpc/asio_transport.h"
#include "rpc/pending_calls.h"
#include "rpc/rpc_gate.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

using asio::ip::tcp;

constexpr size_t kReadBytes = 2 << 10;         // room that a connection keeps for its next request
constexpr size_t kReadBytesServer = 16 << 10;  // and one of a server
constexpr size_t kReadBytesBusy = 128 << 10;   // room for what comes behind, lent by the thread
constexpr size_t kReadBytesPerTurn = 256 << 10;  // then other connections get their turn
constexpr size_t kFramesPerTurn = 64;  // of all connections of a loop that have more than one
constexpr size_t kFramesAtLeast = 2;
constexpr size_t kWriteAtOnceBytes = 16 << 10;  // such an answer gains nothing by waiting
constexpr size_t kBehindBytes = 1 << 20;  // queued by one that is closed where the sum is too much
// A connection with so many limits queued is closed soon if it takes nothing.
constexpr size_t kBehindFactor = 2;
constexpr int kUnsentBytesMax = 256 << 10;     // of a client's, that the kernel keeps for it
constexpr size_t kRequestOverheadBytes = 256;  // what an unanswered request costs beside its body
constexpr absl::Duration kFarewell = absl::Seconds(2);  // for a peer to take our last words
constexpr absl::Duration kSessionIdle = absl::Minutes(5);

constexpr std::string_view kHttpReply =
    "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 29\r\nConnection: "
    "close\r\n\r\n"
    "arion: nothing here for HTTP\n";

Instant Now() { return PosixClock().Now(); }

// How many connections of this thread's loop have more frames for their next turn.
thread_local size_t going_on = 0;

// What a connection reads into while it has much to read.
std::string& SpareBuffer() {
  thread_local std::string buffer;
  return buffer;
}

Endpoint FromAsio(const tcp::endpoint& e) {
  return e.address().is_v4() ? Endpoint{.ip = e.address().to_v4().to_uint(), .port = e.port()}
                             : Endpoint{};
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

Checksums ChecksumsFor(std::string_view rpc_name) {
  return rpc_name.starts_with(kRpcBeacon) ? Checksums::kHeaderAndBody : Checksums::kNone;
}

// Sending.

// Of an opened connection never: its peer may be waiting for us to take answers.
bool AsioConnection::Overloaded() const {
  if (outgoing_) return false;
  const AsioTransportOptions& options = host_->options();
  const size_t queued = queued_bytes_.load();
  const size_t owed = unanswered_requests_.load() * usual_answer_bytes_.load();
  return queued + owed > options.queued_bytes_max * Factor() ||
         unanswered_bytes_.load() > options.unanswered_bytes_max * Factor() ||
         unanswered_requests_.load() > options.unanswered_requests_max * Factor() ||
         (queued > kFreeBytes &&
          host_->stats().backlog_bytes.value() > static_cast<int64_t>(options.backlog_bytes_max));
}

// A large answer, or some at once, put a connection beyond the limits at one stroke, however fast
// its peer reads: what is held against it is that nothing moves.
bool AsioConnection::IsTooFarBehind(size_t queued, Instant now) const {
  const AsioTransportOptions& options = host_->options();
  const bool is_stalled = now - last_progress_.load() > options.behind_timeout;
  const size_t factor = is_stalled ? kBehindFactor : kHardFactor;
  const bool has_too_much = queued > factor * options.queued_bytes_max * Factor();
  if (outgoing_) return has_too_much;
  if (is_stalled && has_too_much) return true;
  // One connection alone is within its limits; all of them together are not.
  return queued > kBehindBytes && host_->stats().backlog_bytes.value() >
                                      static_cast<int64_t>(factor * options.backlog_bytes_max);
}

void AsioConnection::CountBacklog(size_t before, size_t after) {
  const auto above = [](size_t n) { return static_cast<int64_t>(n - std::min(n, kFreeBytes)); };
  if (!outgoing_ && std::max(before, after) > kFreeBytes)
    host_->stats().backlog_bytes.Add(above(after) - above(before));
}

bool AsioConnection::QueueLocked(std::string header, ReplyBody body) {
  const size_t more = header.size() + body.size();
  const size_t before = queued_bytes_.fetch_add(more);
  CountBacklog(before, before + more);
  outbox_.Append(std::move(header), std::move(body.bytes));
  if (body.piece) {
    outbox_.Append(std::move(body.piece->held));
    outbox_.Append(std::move(body.piece->behind));
  }
  return !std::exchange(flush_scheduled_, true);
}

void AsioConnection::Send(std::string header, ReplyBody body) {
  const bool is_large = body.size() >= kWriteAtOnceBytes;
  bool schedule;
  {
    const MutexLock lock(mutex_);
    if (closed_ || given_up_) return;
    const size_t queued = queued_bytes_.load();
    if (queued > kBehindFactor * host_->options().queued_bytes_max * Factor() &&
        IsTooFarBehind(queued, Now())) {
      given_up_ = true;
      host_->stats().closed_slow.Add();
      return asio::post(context_, [self = shared_from_this(), queued] {
        self->Close(absl::StrCat("too slow: ", queued, " bytes wait for it"));
      });
    }
    schedule = QueueLocked(std::move(header), std::move(body));
  }
  if (!schedule) return;
  // While it is in the processor's cache: after a turn with many of them it would not be.
  if (is_large && !tell_when_written_ && host_->current_context() != nullptr) return Flush();
  ScheduleFlush();
}

bool AsioConnection::SendCall(uint64_t call, absl::Duration timeout, std::string header,
                              std::string body) {
  bool schedule;
  {
    const MutexLock lock(mutex_);
    if (closed_) return false;
    deadlines_.Add(call, timeout, Now());
    schedule = QueueLocked(std::move(header), std::move(body));
  }
  // The deadline is known before the call can be answered.
  if (schedule) ScheduleFlush();
  return true;
}

// Behind what the calling loop has to do already: all that this adds to the outbox leaves with the
// same write.
void AsioConnection::ScheduleFlush() {
  asio::io_context* here = host_->current_context();
  asio::post(here != nullptr ? *here : context_, [self = shared_from_this()] { self->Flush(); });
}

void AsioConnection::Flush() {
  std::error_code error;
  switch (WriteOut(&error)) {
    case Written::kAll:
      if (!paused_ && !tell_when_written_) return;
      if (OnOwnLoop()) return OnAllWritten();
      return asio::post(context_, [self = shared_from_this()] { self->OnAllWritten(); });
    case Written::kMoreLater:
      return;
    case Written::kFailed:
      if (OnOwnLoop()) return Close(error.message());
      return asio::post(context_,
                        [self = shared_from_this(), error] { self->Close(error.message()); });
  }
}

AsioConnection::Written AsioConnection::WriteOut(std::error_code* error) {
  const MutexLock writing(write_mutex_);
  // Whoever waits for the socket, or for the connection, writes all that is queued by then.
  if (closed_ || !established_ || waiting_to_write_) return Written::kMoreLater;
  while (true) {
    if (writer_.done()) {
      const MutexLock lock(mutex_);
      // From here on a message that is queued schedules a flush of its own: none is forgotten
      // between.
      flush_scheduled_ = false;
      writer_.Load(outbox_.Take());
      if (writer_.done()) return Written::kAll;
    }
    const size_t n = writer_.WriteSome(socket_, error);
    if (*error == asio::error::would_block || *error == asio::error::try_again) {
      waiting_to_write_ = true;
      asio::post(context_, [self = shared_from_this()] { self->WaitToWrite(); });
      return Written::kMoreLater;
    }
    if (*error) return Written::kFailed;
    last_progress_ = Now();
    host_->stats().sent_bytes.Add(static_cast<int64_t>(n));
    const size_t before = queued_bytes_.fetch_sub(n);
    CountBacklog(before, before - n);
  }
}

void AsioConnection::WaitToWrite() {
  if (closed_) return;
  socket_.async_wait(tcp::socket::wait_write,
                     [self = shared_from_this()](const std::error_code& failed) {
                       {
                         const MutexLock writing(self->write_mutex_);
                         self->waiting_to_write_ = false;
                       }
                       if (!failed) self->Flush();
                     });
}

void AsioConnection::OnAllWritten() {
  if (closed_ || queued_bytes_ != 0) return;  // there will be another time
  if (farewell_) {
    std::error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    return;
  }
  if (paused_ && !Overloaded()) Resume();
  tell_when_written_ = false;
  if (session_sent_) std::exchange(session_sent_, nullptr)();
}

void AsioConnection::Reply(const Frame& request, ErrorCode error, ReplyBody body) {
  if (request.header.name == kRpcClearScanner) return;  // clients die of an answer
  // So do older versions' servers, of one that says OK and nothing else.
  CHECK(error != ErrorCode::kOk || body.size() > 0) << request.header.name;
  CountUsual(body.size());
  if (request.header.framing == Framing::kRdsn) {
    std::string header = body.piece ? RdsnReplyHeader(request, error, host_->local(), body.size())
                                    : RdsnReplyHeader(request, error, host_->local(), body.bytes,
                                                      ChecksumsFor(request.header.name));
    Send(std::move(header), std::move(body));
  } else {
    std::string header = ThriftReplyHeader(request, error, body.size());
    Send(std::move(header), error == ErrorCode::kOk ? std::move(body) : ReplyBody());
  }
}

// A sliding mean that rises faster than it falls: what was admitted by too low a one is owed at
// once. Two at once may count as one.
void AsioConnection::CountUsual(size_t answer_bytes) {
  const size_t before = usual_answer_bytes_.load();
  const size_t after = answer_bytes > before ? before + (answer_bytes - before) / 2
                                             : before - before / 8 + answer_bytes / 8;
  if (after != before) usual_answer_bytes_ = after;
}

// Receiving.

void AsioConnection::StartAccepted() {
  std::error_code error;
  peer_ = FromAsio(socket_.remote_endpoint(error));
  host_->Started(shared_from_this());
  if (error || host_->stopping()) return Close("");
  Established();
}

void AsioConnection::StartConnect() {
  host_->Started(shared_from_this());
  if (host_->stopping()) return Close("");
  started_ = Now();
  std::error_code error;
  socket_.open(tcp::v4(), error);
  // A server that starts must get its port even while an outgoing connection has it.
  if (!error) socket_.set_option(asio::socket_base::reuse_address(true), error);
  if (error) return Close(error.message());
  socket_.async_connect(tcp::endpoint(asio::ip::address_v4(peer_.ip), peer_.port),
                        [self = shared_from_this()](const std::error_code& failed) {
                          if (self->closed_) return;
                          std::error_code ignored;
                          // A connection to a port of this machine that nobody listens at may be
                          // made to itself.
                          bool itself = !failed && self->socket_.local_endpoint(ignored) ==
                                                       self->socket_.remote_endpoint(ignored);
                          if (failed || itself) {
                            self->host_->ConnectFailed(self->peer_);
                            return self->Close(failed ? failed.message() : "met itself");
                          }
                          self->host_->Connected(self->peer_);
                          self->Established();
                        });
}

void AsioConnection::Established() {
  SetTcpOptions(socket_, host_->options().stall_timeout);
  if (!outgoing_) {
    using UnsentMax = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
    std::error_code ignored;
    socket_.set_option(UnsentMax(kUnsentBytesMax), ignored);
  }
  established_ = true;
  last_progress_ = Now();
  Read();
  Flush();
}

void AsioConnection::Read() {
  if (closed_ || reading_) return;
  reading_ = true;
  // What a server sent a part of comes whole soon, and is long: what there is room for stays, or
  // each part would be copied to fresh memory.
  const bool more_comes = peer_is_server_ && parser_.buffered_bytes() > 0;
  if (!more_comes) parser_.Rest(&SpareBuffer());
  FrameParser::Room room = parser_.Reserve(peer_is_server_ ? kReadBytesServer : kReadBytes,
                                           more_comes ? &SpareBuffer() : nullptr);
  room_bytes_ = room.size;
  socket_.async_read_some(asio::buffer(room.data, room.size),
                          [self = shared_from_this()](const std::error_code& error, size_t n) {
                            self->reading_ = false;
                            self->OnRead(error, n);
                          });
}

void AsioConnection::OnRead(const std::error_code& error, size_t n) {
  if (closed_) return;
  if (error) {
    bool usual = error == asio::error::eof || error == asio::error::connection_reset;
    return Close(usual ? "" : error.message());
  }
  if (farewell_) return Read();  // unread: the room is used again
  parser_.Commit(n);
  heard_ = true;
  if (session_ != nullptr) last_heard_ = Now();
  size_t total = n;
  bool filled = n == room_bytes_;
  while (filled && total < kReadBytesPerTurn) {
    const size_t kept = std::min(parser_.buffered_bytes(), kReadBytesBusy / 2);
    FrameParser::Room room = parser_.Reserve(kReadBytesBusy - kept, &SpareBuffer());
    std::error_code later;
    n = socket_.read_some(asio::buffer(room.data, room.size), later);
    if (later) break;  // nothing more now; an error shows again at the next read
    parser_.Commit(n);
    total += n;
    filled = n == room.size;
  }
  host_->stats().received_bytes.Add(static_cast<int64_t>(total));
  Process();
}

void AsioConnection::Process() {
  HandleFrames();
  if (!closed_) CountHalfFrame(parser_.buffered_bytes());
  if (!closed_ && !paused_ && !session_paused_ && !goes_on_) Read();
}

void AsioConnection::CountHalfFrame(size_t bytes) {
  const size_t above = outgoing_ ? 0 : bytes - std::min(bytes, kFreeBytes);
  if (above == 0)
    frame_began_ = Instant::InfiniteFuture();
  else if (frame_began_ == Instant::InfiniteFuture())
    frame_began_ = Now();
  const size_t before = std::exchange(half_frame_bytes_, above);
  if (above != before)
    host_->stats().half_frame_bytes.Add(static_cast<int64_t>(above) - static_cast<int64_t>(before));
}

void AsioConnection::HandleFrames() {
  if (session_ != nullptr) return session_->OnBytes(parser_.TakeBuffered());
  const size_t frames_max = std::max(kFramesAtLeast, kFramesPerTurn / (1 + going_on)) * Factor();
  for (size_t handled = 0; !closed_ && !farewell_; ++handled) {
    if (Overloaded()) {
      // Before the second look: an answer that comes between the looks resumes this connection.
      paused_ = true;
      if (Overloaded()) return host_->stats().pauses.Add();  // still: Answered or Flush resumes
      paused_ = false;
    }
    // The rest in a later turn, so that other connections of this loop get theirs
    // (asio_transport/W3).
    if (handled == frames_max) {
      goes_on_ = true;
      ++going_on;
      return asio::post(context_, [self = shared_from_this()] {
        // What a stopped loop has left runs on the thread that stops it, which must neither touch
        // its own count nor handle requests.
        if (!self->OnOwnLoop()) return;
        self->goes_on_ = false;
        --going_on;
        self->Process();
      });
    }
    Frame frame;
    switch (parser_.Next(&frame)) {
      case FrameParser::Result::kNeedMore:
        return;
      case FrameParser::Result::kBroken:
        host_->stats().broken_frames.Add();
        return Close(parser_.error());
      case FrameParser::Result::kHttp:
        return BeginSession();
      case FrameParser::Result::kFrame:
        frame_began_ = Instant::InfiniteFuture();
        break;
    }
    if (frame.is_request) {
      HandleRequest(std::move(frame));
    } else {
      RpcResult result{.error = frame.error, .body = std::move(frame.body)};
      if (!frame.payload_readable && !result.body.empty())
        result = {.error = ErrorCode::kInvalidData};
      RpcGate* const gate = host_->options().gate;
      if (gate != nullptr && !gate->Accept(frame.header.name, peer_, frame.cluster_tag()))
        result = {.error = ErrorCode::kClusterNotFound};
      host_->calls().FinishNamed(frame.id, frame.header.name, std::move(result));
    }
  }
}

void AsioConnection::HandleRequest(Frame frame) {
  bool named_server = frame.header.framing == Framing::kRdsn && frame.header.from.port > 1023;
  if (!named_server) frame.header.from = peer_;  // what a client names is a placeholder
  if (named_server && !peer_is_server_) peer_is_server_ = true;
  const RequestHandler* handler = host_->handler();
  RpcGate* const gate = host_->options().gate;
  const uint64_t tag = frame.cluster_tag();
  if (gate != nullptr) frame.SetClusterTag(gate->OurTag());  // goes back with every answer
  if (!frame.payload_readable) return Reply(frame, ErrorCode::kInvalidData, {});
  if (frame.header.name == kRpcNegotiation) {
    return Reply(frame, ErrorCode::kOk,
                 EncodeWrapped(NegotiationResponse{.status = NegotiationStatus::kAuthDisabled}));
  }
  if (handler == nullptr) return Reply(frame, ErrorCode::kHandlerNotFound, {});
  if (gate != nullptr) {
    const ErrorCode refusal = gate->Admit(frame.header, peer_, tag, frame.body);
    if (refusal != ErrorCode::kOk) return Reply(frame, refusal, {});
  }
  // Only now: what the gate refuses must not send long frames.
  if (named_server && NamesServer(frame)) parser_.AllowServerFrames();

  size_t cost = frame.body.size() + kRequestOverheadBytes;
  unanswered_bytes_ += cost;
  unanswered_requests_ += 1;
  // Before the handler, which may answer at once.
  Unanswered unanswered(weak_from_this(), cost);
  InboundRequest request;
  request.header = frame.header;
  request.body = std::exchange(frame.body, {});
  request.responder = Responder([unanswered = std::move(unanswered), frame = std::move(frame)](
                                    ErrorCode error, ReplyBody body) {
    if (auto open = unanswered.connection.lock()) open->Reply(frame, error, std::move(body));
  });
  (*handler)(std::move(request));
}

void AsioConnection::Answered(size_t bytes) {
  unanswered_bytes_ -= bytes;
  unanswered_requests_ -= 1;
  if (paused_ && !Overloaded())
    asio::post(context_, [self = shared_from_this()] { self->Resume(); });
}

void AsioConnection::Resume() {
  if (closed_ || !paused_.exchange(false)) return;
  Process();
}

void AsioConnection::SayFarewell(std::string last_words) {
  farewell_ = true;
  tell_when_written_ = true;
  Send(std::move(last_words), {});
  if (std::exchange(session_paused_, false)) Read();
}

// Another protocol.

void AsioConnection::BeginSession() {
  const ByteSessionFactory* factory = host_->byte_sessions();
  if (factory == nullptr) return SayFarewell(std::string(kHttpReply));
  last_heard_ = Now();
  session_ = (*factory)(weak_from_this());
  session_->OnBytes(parser_.TakeBuffered());
}

void AsioConnection::Post(Task task) { asio::post(context_, std::move(task)); }

void AsioConnection::Write(std::string bytes, Task sent) {
  if (closed_) return;
  session_sent_ = std::move(sent);
  tell_when_written_ = true;
  Send(std::move(bytes), {});
}

void AsioConnection::ResumeReading() {
  last_heard_ = Now();
  if (std::exchange(session_paused_, false) && !closed_) Read();
}

// Time and end.

void AsioConnection::Tick(Instant now) {
  if (outgoing_) {
    std::vector<uint64_t> due;
    {
      const MutexLock lock(mutex_);
      due = deadlines_.TakeDue(now, [&](uint64_t call) { return host_->calls().IsOver(call); });
    }
    // Without the lock: a call's end may post to strands.
    for (uint64_t call : due)
      if (host_->calls().Finish(call, {.error = ErrorCode::kTimeout}))
        host_->stats().calls_timed_out.Add();
    if (!established_ && now - started_ > host_->options().connect_timeout) {
      host_->ConnectFailed(peer_);
      return Close("no connection in time");
    }
  }
  if (farewell_ && now - last_progress_.load() > kFarewell) return Close("");
  if (session_ != nullptr && !session_paused_ && now - last_heard_ > kSessionIdle) return Close("");
  // Half a frame rests. (Between frames a connection may; what we don't read is our delay.)
  if (std::exchange(heard_, false) || !reading_ || parser_.buffered_bytes() == 0) {
    last_moved_ = now;
  } else if (std::error_code ignored; now - last_moved_ > host_->options().stall_timeout &&
                                      socket_.available(ignored) == 0) {
    host_->stats().broken_frames.Add();
    return Close(absl::StrCat("half a frame: ", parser_.buffered_bytes(), " bytes"));
  }
  if (half_frame_bytes_ > 0 &&
      host_->stats().half_frame_bytes.value() >
          static_cast<int64_t>(kHardFactor * host_->options().backlog_bytes_max)) {
    host_->stats().broken_frames.Add();
    return Close(
        absl::StrCat("half a frame, as too many others: ", parser_.buffered_bytes(), " bytes"));
  }
  size_t queued = queued_bytes_;
  if (IsTooFarBehind(queued, now)) {
    host_->stats().closed_slow.Add();
    return Close(absl::StrCat("too slow: ", queued, " bytes wait for it"));
  }
  if (queued == 0 || !established_) {
    last_progress_ = now;
  } else if (now - last_progress_.load() > host_->options().stall_timeout) {
    host_->stats().closed_slow.Add();
    Close(absl::StrCat("took nothing for long: ", queued, " bytes wait for it"));
  }
}

void AsioConnection::Close(std::string_view why) {
  std::vector<uint64_t> calls;
  {
    // Whoever writes on another loop has counted what it wrote before the rest is struck off.
    const MutexLock writing(write_mutex_);
    const MutexLock lock(mutex_);
    // Under both locks: whoever queues sees it closed or is struck off here, and nobody writes.
    if (closed_.exchange(true)) return;
    outbox_.Take();
    calls = deadlines_.TakeAll();
    CountBacklog(queued_bytes_.exchange(0), 0);
    std::error_code ignored;
    socket_.close(ignored);
    writer_.Load({});
  }
  if (!why.empty()) {
    LOG_EVERY_T(WARNING, 1) << (outgoing_ ? "connection to " : "connection from ") << peer_
                            << " closed: " << why;
  }
  // Sums of all connections must not keep what this one had.
  CountHalfFrame(0);
  session_sent_ = nullptr;
  const RpcResult lost{.error = ErrorCode::kNetworkFailure, .was_never_sent = !established_};
  for (uint64_t call : calls) host_->calls().Finish(call, lost);
  host_->Closed(shared_from_this());
}

}  // namespace arion
