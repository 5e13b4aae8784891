// AsioTransport: Transport over TCP (and UDP for beacons) on the event loops.
//
// Shapes    A server listens on one port for THFT and RDSN, told apart by a connection's first four
//           bytes, and on the same UDP port for beacons. Calls go out in RDSN frames, over one
//           connection for each (peer, lane).
// Errors    Listen: Unavailable, with the port, who holds it and a remedy. Calls: transport.h; a
//           peer that could not be reached is tried again after a short pause, in which calls to it
//           fail at once.
// Threads   Thread-safe, but for SetHandler and SetByteSessions (before Listen), Listen and Stop
//           (one thread that is no loop thread).
// Lifetime  The loops outlive the transport. After Stop the handler is not called any more, and
//           calls fail.
// Promises  asio_transport/W1  What is sent to one connection within one turn of its loop leaves in
//               one system call (up to 64 pieces).
//           asio_transport/W2  Bytes queued for a peer and requests of it that are not answered yet
//               are bounded. Above the limit we stop reading from it, so that what is queued grows
//               by answers under way only. A connection that takes nothing for long is closed,
//               above twice the limit soon. The sum of what slow peers have queued is bounded, too:
//               above four times its limit connections are closed until it fits. A frame of which
//               nothing more comes for long costs its connection. Frames above 64 MiB are taken
//               only of servers that the gate let through.
//           asio_transport/W3  Of the connections of a loop that have many requests, one turn
//               handles some 64 in all; then others get theirs. A connection that waits for its
//               next request keeps a few KiB.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "base/counter.h"
#include "rpc/byte_stream.h"
#include "rpc/transport.h"

namespace arion {

class EventLoops;
class RpcGate;

// How one transport listens, and what it bears. The defaults fit a server.
struct AsioTransportOptions {
  // nullopt: a pure client. ip 0 listens on every address; port 0 takes a free one.
  std::optional<Endpoint> listen;
  // What peers call us; nullopt: `listen`.
  std::optional<Endpoint> advertised;
  // Outlives the transport. nullptr: everything passes.
  RpcGate* gate = nullptr;
  // Limits of asio_transport/W2, for one connection. Servers (known by the port and the codes of
  // their requests) may have four times as much.
  size_t queued_bytes_max = 64 << 20;
  size_t unanswered_bytes_max = 64 << 20;
  size_t unanswered_requests_max = 4096;
  // A limit of all accepted connections together. It counts what each has queued above 64 KiB.
  // Beyond it, those connections are paused. Of those with more than 1 MiB, beyond twice the limit
  // the ones that take nothing for behind_timeout are closed, and beyond four times the limit the
  // one that took nothing for longest. The same limit holds for half frames: beyond it goes the one
  // that sent no whole frame for longest.
  size_t backlog_bytes_max = 256 << 20;
  // Accepted and opened ones. More wait in the kernel until others close.
  int64_t connections_max = INT64_MAX;
  // How long a connection may take nothing of what is queued for it.
  absl::Duration stall_timeout = absl::Seconds(30);
  // The same, of a connection that has twice a limit queued.
  absl::Duration behind_timeout = absl::Seconds(5);
  absl::Duration connect_timeout = absl::Seconds(3);
  // The pause after a failed connect; it doubles up to the second value.
  absl::Duration reconnect_pause = absl::Milliseconds(50);
  absl::Duration reconnect_pause_max = absl::Seconds(1);
};

// Figures of one transport, which owns them; the exposition reads them. Counters are since its
// start. Thread-safe.
struct TransportStats {
  // Open now, both ways.
  Gauge connections;
  // Answers that clients do not take, above 64 KiB each.
  Gauge backlog_bytes;
  // Of frames that are not whole yet, above 64 KiB each.
  Gauge half_frame_bytes;
  // How often a connection's requests were left unread until it took its answers.
  Counter pauses;
  // Connections closed because they took too little for too long.
  Counter closed_slow;
  // How often accepting paused: at the limit of connections, or out of descriptors.
  Counter accept_stops;
  // Connections.
  Counter accepted;
  // All that came over TCP, headers included; sent_bytes likewise.
  Counter received_bytes;
  Counter sent_bytes;
  // Connections closed because what came was no frame, or half a one for long, or half a one where
  // all of them were too much.
  Counter broken_frames;
  // Requests sent to other servers that want an answer, and those of them that timed out.
  Counter calls;
  Counter calls_timed_out;
};

// One for a server or client process. Life cycle: construct, SetHandler, SetByteSessions, Listen
// (servers), then calls and requests, Stop.
//
//   AsioTransport transport(&loops, {.listen = Endpoint{0, 34801}, .gate = &access});
//   transport.SetHandler([](InboundRequest request) { ... });
//   RETURN_IF_ERROR(transport.Listen());
class AsioTransport : public Transport {
 public:
  // Connections are spread over `loops`.
  AsioTransport(EventLoops* loops, AsioTransportOptions options);
  ~AsioTransport() override;

  // Starts to accept. The handler is set before.
  absl::Status Listen();
  // Closes every connection; calls under way fail with kNetworkFailure.
  void Stop();

  Endpoint local() const override;
  void SetHandler(RequestHandler handler) override;
  // Who takes over a connection whose first bytes are HTTP. Without it such a connection is
  // answered 404.
  void SetByteSessions(ByteSessionFactory factory);
  void Call(Endpoint to, OutboundRequest request, StrandPtr reply_on,
            absl::AnyInvocable<void(RpcResult)> done) override;
  void SendOneWay(Endpoint to, OutboundRequest request) override;

  // Sets connections_max anew. Connections that are open stay.
  void LimitConnections(int64_t max);

  const TransportStats& stats() const;

 private:
  class Hub;
  std::shared_ptr<Hub> hub_;
};

}  // namespace arion
