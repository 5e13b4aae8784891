// ServerLease: this server's lease as its replicas read it, from any thread; written by the failure
// detector alone.
//
//   const uint64_t term = lease->term();         // when the replica is connected
//   ...
//   if (!lease->Holds(term, clock.Now())) ...    // before each act that needs the lease
//
// Shapes    A term is one unbroken holding. A replica remembers the term it was connected in and
//           asks for exactly that one: a lease lost and regained before the replica heard of it
//           does not count.
// Threads   Thread-safe. Writers: one thread.
// Promises  server_lease/V1  Holds(term) is false for ever once that term was lost, and from its
//               end on whatever timers do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/counter.h"
#include "base/ids.h"
#include "base/instant.h"

namespace arion {

// One for a server. It starts without a lease, in term 1.
class ServerLease {
 public:
  // Whether the server may act now, in that term.
  bool Holds(uint64_t term, Instant now) const {
    // The end first: Lose raises the term before a new end is stored, so an end that is seen
    // together with the old term is never a new one.
    return now.nanos() < end_nanos_.load(std::memory_order_acquire) && term == this->term();
  }
  // The present term, held or not.
  uint64_t term() const { return term_.load(std::memory_order_acquire); }
  // The lease holds until `end`, exclusive.
  void Extend(Instant end) { end_nanos_.store(end.nanos(), std::memory_order_release); }
  // Ends the term. The term rises before a new end is stored: whoever sees the new end sees the new
  // term too.
  void Lose() {
    term_.fetch_add(1, std::memory_order_acq_rel);
    end_nanos_.store(INT64_MIN, std::memory_order_release);
  }

  // How long the lease still holds; zero: it does not. For displays.
  absl::Duration Left(Instant now) const {
    const int64_t end = end_nanos_.load(std::memory_order_acquire);
    return end <= now.nanos() ? absl::ZeroDuration() : Instant(end) - now;
  }
  void NoteFailedBeacon() { failed_beacons_.Add(); }
  const Counter& failed_beacons() const { return failed_beacons_; }

  // The meta server believed to lead; may be invalid.
  Endpoint leader() const {
    return Endpoint::FromPacked(leader_.load(std::memory_order_acquire)).value_or(Endpoint{});
  }
  void SetLeader(Endpoint leader) { leader_.store(leader.packed(), std::memory_order_release); }
  // Whether that one is of an older version (Apache Pegasus), by its last answer.
  bool is_leader_older() const { return is_leader_older_.load(std::memory_order_acquire); }
  void SetLeaderIsOlder(bool is_older) {
    is_leader_older_.store(is_older, std::memory_order_release);
  }

 private:
  // INT64_MIN: no lease, at any time.
  std::atomic<int64_t> end_nanos_{INT64_MIN};
  std::atomic<uint64_t> term_{1};
  std::atomic<uint64_t> leader_{0};
  std::atomic<bool> is_leader_older_{false};
  Counter failed_beacons_;
};

}  // namespace arion
