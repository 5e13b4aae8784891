// AsioConnection: one TCP connection of a transport, accepted or opened.
//
// Threads   Lives on one event loop: its socket and parser belong to that thread. Send, SendCall
//           and closed are thread-safe. What is sent is written by the loop that sends it, at the
//           end of its turn, so that an answer wakes no other loop.
// Lifetime  Its host holds it until Closed; a read or write under way holds it too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "rpc/byte_stream.h"
#include "rpc/call_deadlines.h"
#include "rpc/frame.h"
#include "rpc/outbox.h"
#include "rpc/outbox_writer.h"

namespace arion {

class AsioConnection;
struct AsioTransportOptions;
class PendingCalls;
struct TransportStats;

// What a connection needs of the transport it belongs to; AsioTransport's Hub is it, and a test may
// be. Started, Closed, Connected and ConnectFailed come on the thread of its loop.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  // The connection lives from now on, and is to be held.
  virtual void Started(const std::shared_ptr<AsioConnection>& connection) = 0;
  // It is closed; nothing more comes of it.
  virtual void Closed(const std::shared_ptr<AsioConnection>& connection) = 0;
  // An opened connection has reached its peer, or could not reach it.
  virtual void Connected(Endpoint peer) = 0;
  virtual void ConnectFailed(Endpoint peer) = 0;

  // nullptr: there is none.
  virtual const RequestHandler* handler() const = 0;
  // nullptr: there is none.
  virtual const ByteSessionFactory* byte_sessions() const = 0;
  virtual const AsioTransportOptions& options() const = 0;
  virtual PendingCalls& calls() = 0;
  virtual TransportStats& stats() = 0;
  virtual Endpoint local() const = 0;
  // No connection is opened any more.
  virtual bool stopping() const = 0;
  // That of the calling thread, if it runs one of the transport's loops; else nullptr.
  virtual asio::io_context* current_context() const = 0;
};

// Whether a message carries checksums: beacons and their answers do, on every channel
// (rpc/PROTOCOL.md 2.6).
Checksums ChecksumsFor(std::string_view rpc_name);

// Construct; StartAccepted or StartConnect on the loop; then Tick now and then, until Close. That
// comes from the host, the peer, an error or a limit (asio_transport/W2). Reading, and what comes
// of it, happens on the loop alone. Any thread queues; one loop's thread at a time writes.
class AsioConnection : public ByteStream, public std::enable_shared_from_this<AsioConnection> {
 public:
  // An accepted connection.
  AsioConnection(std::shared_ptr<ConnectionHost> host, int loop, asio::io_context& context,
                 asio::ip::tcp::socket socket)
      : host_(std::move(host)),
        loop_(loop),
        context_(context),
        socket_(std::move(socket)),
        parser_(FrameParser::Expect::kAny) {}
  // A connection to be opened to a server.
  AsioConnection(std::shared_ptr<ConnectionHost> host, int loop, asio::io_context& context,
                 Endpoint peer, Lane lane)
      : host_(std::move(host)),
        loop_(loop),
        context_(context),
        socket_(context),
        parser_(FrameParser::Expect::kRdsn),
        peer_(peer),
        lane_(lane),
        outgoing_(true),
        peer_is_server_(true) {}

  // The number of its loop, among the transport's.
  int loop() const { return loop_; }
  // Of an accepted connection invalid until StartAccepted.
  Endpoint peer() const override { return peer_; }
  Lane lane() const { return lane_; }
  bool outgoing() const { return outgoing_; }

  // Any thread.
  bool closed() const { return closed_.load(); }
  // Queues one message. Dropped where the connection is closed. A connection that is too far behind
  // is closed instead; with SendCall only at the next Tick.
  void Send(std::string header, ReplyBody body);
  // As Send, for a message that is to be answered. `call` fails when it is not answered in time or
  // the connection closes. False: it is closed already, and nothing was queued.
  bool SendCall(uint64_t call, absl::Duration timeout, std::string header, std::string body);

  // ByteStream, of a connection that speaks another protocol. Post: any thread; the rest on the
  // loop.
  void Post(Task task) override;
  void Write(std::string bytes, Task sent) override;
  void WriteLast(std::string bytes) override { SayFarewell(std::move(bytes)); }
  void PauseReading() override { session_paused_ = true; }
  void ResumeReading() override;

  // Beyond so many times a limit connections are closed even if their peers read.
  static constexpr size_t kHardFactor = 4;

  // On the loop's thread, as all that follows. One of the two is called, once. When the peer is
  // reached, or can't be, StartConnect tells the host.
  void StartAccepted();
  void StartConnect();
  // Called every 20 ms where calls may be due, else twice a second: ends calls that are due, and
  // judges whether the peer still moves.
  void Tick(Instant now);
  // Since when it has taken nothing, or has sent no whole frame.
  Instant rests_since() const { return std::min(last_progress_.load(), frame_began_); }
  // Closes it now. `why` is for the log; calls under way fail.
  void Close(std::string_view why);

 private:
  // Counts a request as unanswered until its responder is used or dropped: the responder owns it.
  // It holds the connection weakly, which may close before.
  struct Unanswered {
    Unanswered(std::weak_ptr<AsioConnection> c, size_t b) : connection(std::move(c)), bytes(b) {}
    // What was moved from counts nothing.
    Unanswered(Unanswered&&) = default;
    ~Unanswered() {
      if (auto open = connection.lock()) open->Answered(bytes);
    }
    std::weak_ptr<AsioConnection> connection;
    size_t bytes;
  };

  // How much more a server may have queued.
  static constexpr size_t kServerFactor = 4;
  // Bytes queued, or of a frame under way, that count in no sum.
  static constexpr size_t kFreeBytes = 64 << 10;

  // What an answer is expected to take before there was one: 256 requests of a client may then
  // wait, more when answers turn out small.
  static constexpr size_t kUsualAtFirst = 256 << 10;

  size_t Factor() const { return peer_is_server_.load() ? kServerFactor : 1; }
  // Whether no more requests may be taken: what is queued, owed or unanswered is beyond a limit.
  bool Overloaded() const;
  // Whether it is to be closed, since the peer leaves `queued` bytes waiting.
  bool IsTooFarBehind(size_t queued, Instant now) const;
  // Keeps the sum of all connections, when the bytes queued here change.
  void CountBacklog(size_t before, size_t after);
  // With mutex_. Whether the caller is to schedule a flush.
  bool QueueLocked(std::string header, ReplyBody body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The connection is there: sets its options, begins to read, and writes what was queued before.
  void Established();
  // Waits for the next bytes, unless it does already.
  void Read();
  void OnRead(const std::error_code& error, size_t n);
  // Handles what has arrived, then reads on unless something holds it up.
  void Process();
  // Whole frames, as many as a turn allows.
  void HandleFrames();
  // Of the frame that is not whole yet, `bytes` have come.
  void CountHalfFrame(size_t bytes);
  void HandleRequest(Frame frame);
  void Reply(const Frame& request, ErrorCode error, ReplyBody body);
  // Keeps what an answer usually takes; what is owed is judged by it.
  void CountUsual(size_t answer_bytes);
  // A request of `bytes` is no longer unanswered. Any thread.
  void Answered(size_t bytes);
  // Goes on with frames that waited in the parser.
  void Resume();
  // Flush at the end of the calling loop's turn, so that one write takes all that the turn queued.
  void ScheduleFlush();
  // Writes what it can, on any loop's thread.
  void Flush();
  // kMoreLater: not all of it yet; a later flush goes on, unless the connection is closed.
  enum class Written { kAll, kMoreLater, kFailed };
  Written WriteOut(std::error_code* error);
  void WaitToWrite();
  // On the loop: what waited for the queue to be empty.
  void OnAllWritten();
  bool OnOwnLoop() const { return host_->current_context() == &context_; }
  // The first bytes are another protocol's: the host's session takes them from now on.
  void BeginSession();
  // Sends this and nothing more, then ends our side.
  void SayFarewell(std::string last_words);

  const std::shared_ptr<ConnectionHost> host_;
  const int loop_;
  asio::io_context& context_;
  asio::ip::tcp::socket socket_;
  FrameParser parser_;
  Endpoint peer_;
  const Lane lane_ = Lane::kData;
  const bool outgoing_ = false;
  // Of an opened connection true; of an accepted one from the first request that names a server. It
  // may have more queued then.
  std::atomic<bool> peer_is_server_ = false;
  // Set with mutex_ held.
  std::atomic<bool> closed_ = false;
  // Bytes in the outbox and in writing_; of requests taken and not answered; and how many these
  // are.
  std::atomic<size_t> queued_bytes_ = 0;
  std::atomic<size_t> unanswered_bytes_ = 0;
  std::atomic<size_t> unanswered_requests_ = 0;
  std::atomic<size_t> usual_answer_bytes_ = kUsualAtFirst;
  // Frames wait in the parser until the queues shrink.
  std::atomic<bool> paused_ = false;

  Mutex mutex_;
  // Guarded by mutex_, as the next three.
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
  CallDeadlines deadlines_ ABSL_GUARDED_BY(mutex_);
  bool flush_scheduled_ ABSL_GUARDED_BY(mutex_) = false;
  // It is too far behind, and about to be closed.
  bool given_up_ ABSL_GUARDED_BY(mutex_) = false;

  // Taken before mutex_; also held while the socket is closed.
  Mutex write_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  // Guarded by write_mutex_, like the next.
  bool waiting_to_write_ ABSL_GUARDED_BY(write_mutex_) = false;
  OutboxWriter writer_ ABSL_GUARDED_BY(write_mutex_);

  std::atomic<bool> established_ = false;
  // A session or our last words wait for it.
  std::atomic<bool> tell_when_written_ = false;
  // Of writing.
  std::atomic<Instant> last_progress_;

  // From here on: the loop's thread.
  bool reading_ = false;
  // More frames lie in the parser, for the next turn.
  bool goes_on_ = false;
  // Only our last words are still to be sent.
  bool farewell_ = false;
  // Takes the peer's bytes instead of the parser's frames.
  std::shared_ptr<ByteSession> session_;
  bool session_paused_ = false;
  // Runs once everything is written.
  Task session_sent_;
  // Of the read under way: as much as its buffer takes.
  size_t room_bytes_ = 0;
  // When the connect began, of an opened one.
  Instant started_;
  // Of a session.
  Instant last_heard_;
  // As counted in the sum of all connections.
  size_t half_frame_bytes_ = 0;
  // The frame under way; InfiniteFuture: there is none.
  Instant frame_began_ = Instant::InfiniteFuture();
  // Something came since the last tick.
  bool heard_ = false;
  // When a tick last found no frame under way, or more of it.
  Instant last_moved_;
};

}  // namespace arion
