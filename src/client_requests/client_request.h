// ClientRequest: what a client asks of a replica, whose answer is counted and timed on its way out.
//
// Threads   Strand-bound.
// Lifetime  The RequestWatch outlives neither server nor Environment; requests share it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/instant.h"
#include "rpc/transport.h"
#include "stats/request_stats.h"
#include "stats/write_times.h"

namespace arion {

class Clock;
class ForegroundPace;
struct SlowRequest;
class SlowRequests;

// Where one replica's requests are counted, and which of them are slow.
struct RequestWatch {
  const Clock& clock;
  PartitionId pid;
  std::string table;
  std::shared_ptr<RequestStats> stats;
  std::shared_ptr<SlowRequests> slow;
  std::shared_ptr<ForegroundPace> foreground;
  // Requests that take this long are kept for displays.
  absl::Duration kept_from;
  // And those that take so long are logged, too.
  absl::Duration logged_from;

  // Keeps a slow request for displays, and logs it where it took `logged_from` or longer.
  void Note(const SlowRequest& request) const;
};

// After `deadline` nobody waits for the answer any more: what has not been logged or read by then
// is dropped.
struct RequestTimes {
  Instant arrived;
  Instant deadline = Instant::InfiniteFuture();
};

// The way back to one client. Reply or Drop ends it, once; it counts the answer and its time.
class ClientAnswer {
 public:
  ClientAnswer() = default;
  ClientAnswer(Responder responder, std::shared_ptr<const RequestWatch> watch, RequestKind kind,
               Instant arrived, Endpoint from, size_t asked_bytes)
      : responder_(std::move(responder)),
        watch_(std::move(watch)),
        arrived_(arrived),
        asked_bytes_(asked_bytes),
        from_(from),
        kind_(kind) {}
  ClientAnswer(ClientAnswer&&) = default;
  ClientAnswer& operator=(ClientAnswer&&) = default;

  RequestKind kind() const { return kind_; }
  Instant arrived() const { return arrived_; }
  // The answer to a read, or to a write that was not logged.
  void Reply(ErrorCode error, std::string body = {}) {
    Answer(error, std::move(body), nullptr, Instant());
  }
  // That of a write, applied then, whose mutation passed the log and the other members at `times`.
  void Reply(std::string body, const WriteTimes::Times& times, Instant applied) {
    Answer(ErrorCode::kOk, std::move(body), &times, applied);
  }
  // Nobody waits for it any more: nothing is said to the client. Counts as a timeout.
  void Drop();

 private:
  void Answer(ErrorCode error, std::string body, const WriteTimes::Times* times, Instant applied);

  Responder responder_;
  std::shared_ptr<const RequestWatch> watch_;
  Instant arrived_;
  size_t asked_bytes_ = 0;
  Endpoint from_;
  RequestKind kind_ = RequestKind::kGet;
};

// A request as the parts of a replica pass it on; only one of them has it at a time.
struct ClientRequest {
  RequestHeader header;
  // The wrapped argument.
  std::string body;
  ClientAnswer responder;
};

}  // namespace arion
