// FailureDetector decides from beacons which servers are alive: the meta server's side of the lease
// (meta/STATE.md 3). Pure: every call is given the time.
//
// Threads   Strand-bound to its owner.
// Promises  meta_server/M3.
//           failure_detector/F1  Expire(t) declares dead exactly those whose deadline is <= t;
//               NextDeadline() is the earliest one left.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"

namespace arion {

// The judge of who lives. ServerRequests (meta/server_requests.h) feeds it and acts on its
// verdicts:
//
//   detector.AssumeAlive(named_by_the_store, now);          // at the start
//   if (detector.OnBeacon(from, {start, id}, now) == Verdict::kRestarted) ...
//   for (Endpoint dead : detector.Expire(now)) ...          // when NextDeadline() has come
//
// Records are kept for the whole life of the meta server, so a server that returns is told how
// often it was declared dead.
class FailureDetector {
 public:
  // Settings of the meta server.
  struct Options {
    // A server that was silent for so long is dead. Longer than the lease.
    absl::Duration grace = absl::Seconds(10);
    // Crash-loop guard: a node that restarted `max_successive_unstable_restarts` times, each time
    // before it had been up for `stable_running`, is not answered until it has been up that long.
    // 0: no guard.
    absl::Duration stable_running = absl::Minutes(10);
    int32_t max_successive_unstable_restarts = 5;
  };
  // What a beacon says.
  enum class Verdict {
    // No answer; the beacon counts for nothing.
    kRefused,
    // The same: it is of a process that another has replaced, as far as one can tell.
    kFormer,
    // The server was alive, and is.
    kAlive,
    // It was unknown or dead before; the same process as far as one can tell.
    kCameAlive,
    // A new process at a known endpoint, whether that was alive or dead.
    kRestarted,
  };

  explicit FailureDetector(Options options) : options_(options) {}

  // What names the sender's process. `id` is drawn at random. An id that none of its last few
  // processes had is a restart; one of theirs is a late message, which says nothing. A late message
  // of a process that was never heard before is taken for a restart, too. Then the running process
  // counts as the former one, and gets no answer, and so no lease, until it has been dead for a
  // grace. An older version tells no id. Then a larger `start_time` is a restart. A smaller one (a
  // late message, or a wall clock that was set back) says nothing, except of a node that was dead.
  struct Process {
    // Milliseconds, unix.
    std::optional<int64_t> start_time;
    std::optional<int64_t> id = std::nullopt;
  };
  // A beacon arrived. All verdicts but kRefused and kFormer give the sender another grace.
  Verdict OnBeacon(Endpoint node, Process process, Instant now);
  // A node that stored configurations name: it is given one grace to show up.
  void AssumeAlive(Endpoint node, Instant now);
  // The servers that are dead from now on.
  std::vector<Endpoint> Expire(Instant now);
  // InfiniteFuture: nobody is alive.
  Instant NextDeadline() const;
  // How often Expire declared it dead.
  int64_t Deaths(Endpoint node) const;
  // When the last accepted beacon of the process before the present one arrived. Valid after
  // kRestarted.
  Instant FormerServiceEnd(Endpoint node) const;

 private:
  struct Record {
    bool alive = false;
    Instant last_beacon;
    Process process;
    // The last few.
    std::deque<int64_t> former_ids;
    // The first beacon of this process.
    Instant up_since;
    Instant former_service_end;
    int32_t unstable_restarts = 0;
    int64_t deaths = 0;
  };
  static bool IsFormer(const Record& record, const Process& process);
  static bool IsAnother(const Record& record, const Process& process);

  Options options_;
  std::map<Endpoint, Record> records_;
};

}  // namespace arion
