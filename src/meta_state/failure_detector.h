// FailureDetector decides from beacons who is alive, the master's side of the lease
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

class FailureDetector {
 public:
  struct Options {
    absl::Duration grace = absl::Seconds(10);
    // Crash-loop guard: a node that restarted `max_successive_unstable_restarts` times, each time
    // before it had been up for `stable_running`, is not answered until it has been up that long.
    // 0: no guard.
    absl::Duration stable_running = absl::Minutes(10);
    int32_t max_successive_unstable_restarts = 5;
  };
  enum class Verdict {
    kRefused,    // no answer; the beacon counts for nothing
    kFormer,     // the same: of a process that another has replaced, as far as one can tell
    kAlive,      // it was alive
    kCameAlive,  // unknown or dead before; the same process as far as one can tell
    kRestarted,  // a new process at a known endpoint, whether that was alive or dead
  };

  explicit FailureDetector(Options options) : options_(options) {}

  // What names the sender's process. `id` is drawn: one that none of its last few processes had is a
  // restart, one of theirs a late message, which says nothing. A late one of a process that was never
  // heard before is taken for a restart, too: then the running one is the former, gets no answer, and so
  // no lease, until it has been dead for a grace. An older version tells none: then a
  // larger `start_time` is a restart; a smaller one (a late message, or a wall clock that was set
  // back) says nothing but of a node that was dead.
  struct Process {
    std::optional<int64_t> start_time;  // ms, unix
    std::optional<int64_t> id = std::nullopt;
  };
  Verdict OnBeacon(Endpoint node, Process process, Instant now);
  // A node that stored configurations name: given one grace to show up.
  void AssumeAlive(Endpoint node, Instant now);
  std::vector<Endpoint> Expire(Instant now);
  Instant NextDeadline() const;  // InfiniteFuture: nobody is alive
  // How often Expire declared it dead.
  int64_t Deaths(Endpoint node) const;
  // When the last accepted beacon of the process before the present one arrived; valid after
  // kRestarted.
  Instant FormerServiceEnd(Endpoint node) const;

 private:
  struct Record {
    bool alive = false;
    Instant last_beacon;
    Process process;
    std::deque<int64_t> former_ids;  // the last few
    Instant up_since;                // first beacon of this process
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
