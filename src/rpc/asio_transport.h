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
#include "posix/event_loops.h"
#include "rpc/byte_stream.h"
#include "rpc/rpc_gate.h"
#include "rpc/transport.h"

namespace arion {

struct AsioTransportOptions {
  std::optional<Endpoint>
      listen;  // nullopt: a pure client. ip 0 listens on every address; port 0 takes a free one
  std::optional<Endpoint> advertised;  // what peers call us; nullopt: `listen`
  RpcGate* gate = nullptr;             // outlives the transport; nullptr: everything passes
  // Limits of asio_transport/W2, for one connection. Servers (by port and code of their requests)
  // may have four times as much.
  size_t queued_bytes_max = 64 << 20;
  size_t unanswered_bytes_max = 64 << 20;
  size_t unanswered_requests_max = 4096;
  // Of all accepted connections together, what each has queued above 64 KiB: beyond, those are
  // paused; of those with more than 1 MiB, beyond twice as much who takes nothing for
  // behind_timeout is closed, and beyond four times as much whoever took nothing for longest. So
  // much of half frames, too: beyond it goes who sent no whole one for longest.
  size_t backlog_bytes_max = 256 << 20;
  // Accepted and opened ones; more wait in the kernel until others close.
  int64_t connections_max = INT64_MAX;
  absl::Duration stall_timeout = absl::Seconds(30);
  absl::Duration behind_timeout = absl::Seconds(5);  // the same, of who has twice a limit queued
  absl::Duration connect_timeout = absl::Seconds(3);
  // Pause after a failed connect; doubles up to the second value.
  absl::Duration reconnect_pause = absl::Milliseconds(50);
  absl::Duration reconnect_pause_max = absl::Seconds(1);
};

struct TransportStats {
  Gauge connections;       // open now, both ways
  Gauge backlog_bytes;     // answers that clients do not take, above 64 KiB each
  Gauge half_frame_bytes;  // of frames that are not whole yet, above 64 KiB each
  Counter pauses;          // a connection's requests were left unread until it took its answers
  Counter closed_slow;     // connections closed because they took too little for too long
  Counter accept_stops;    // accepting paused: at the limit of connections, or out of descriptors
  Counter accepted;        // connections, since the start
  Counter received_bytes;
  Counter sent_bytes;
  Counter broken_frames;  // connection closed: what came was no frame, or half a one for long, or
                          // half a one where all of them were too much
  Counter calls;          // requests sent to other servers that want an answer,
  Counter calls_timed_out;
};

class AsioTransport : public Transport {
 public:
  AsioTransport(EventLoops* loops, AsioTransportOptions options);
  ~AsioTransport() override;

  // Starts to accept. The handler is set before.
  absl::Status Listen();
  // Closes every connection; calls under way fail with kNetworkFailure.
  void Stop();

  Endpoint local() const override;
  void SetHandler(RequestHandler handler) override;
  // Who takes over a connection whose first bytes are HTTP; without one it is answered 404.
  void SetByteSessions(ByteSessionFactory factory);
  void Call(Endpoint to, OutboundRequest request, StrandPtr reply_on,
            absl::AnyInvocable<void(RpcResult)> done) override;
  void SendOneWay(Endpoint to, OutboundRequest request) override;

  // As connections_max; those that are open stay.
  void LimitConnections(int64_t max);

  const TransportStats& stats() const;

 private:
  class Hub;
  std::shared_ptr<Hub> hub_;
};

}  // namespace arion
