// WriteTimes remembers when each mutation of a primary passed its stages, until its clients are
// answered.
//
// Shapes    The last kRemembered mutations; of an older one nothing is known any more. `sequence`
//           numbers the appends to the replica's log.
// Threads   Strand-bound.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/ids.h"
#include "base/instant.h"
#include "stats/request_stats.h"

namespace arion {

// Of each mutation: Appended, Durable, Committed, then Find. It takes memory only once a replica
// has been primary.
class WriteTimes {
 public:
  static constexpr size_t kRemembered = 64;
  // When one mutation passed its stages, by the server's clock.
  struct Times {
    Decree decree;
    // Instant(): not yet.
    Instant appended, submitted, durable, committed;
  };

  // The mutation was given to the log as its append number `sequence`.
  void Appended(Decree decree, uint64_t sequence, Instant now) {
    if (ring_ == nullptr) ring_ = std::make_unique<Ring>();
    // The slot may hold a mutation that is kRemembered older; it is forgotten here.
    ring_->times[At(decree)] = {.decree = decree, .appended = now};
    ring_->logging[sequence % kRemembered] = decree;
  }
  // That append is durable now. `submitted`: when the log's write with it began.
  void Durable(uint64_t sequence, Instant submitted, Instant now) {
    if (ring_ == nullptr) return;
    Times& times = ring_->times[At(ring_->logging[sequence % kRemembered])];
    // The first report counts: the slot of a mutation that is reported twice must not get a later
    // time.
    if (times.durable != Instant()) return;
    times.submitted = submitted;
    times.durable = now;
  }
  // Every member has the mutation.
  void Committed(Decree decree, Instant now) {
    if (ring_ == nullptr) return;
    Times& times = ring_->times[At(decree)];
    if (times.decree == decree) times.committed = now;
  }
  // Null: not known, or not all of it. Valid until the next call.
  const Times* Find(Decree decree) const {
    if (ring_ == nullptr) return nullptr;
    const Times& times = ring_->times[At(decree)];
    const bool is_whole =
        times.decree == decree && times.durable != Instant() && times.committed != Instant();
    return is_whole ? &times : nullptr;
  }

 private:
  // The last kRemembered mutations, by decree modulo their number.
  struct Ring {
    std::array<Times, kRemembered> times;
    // By sequence.
    std::array<Decree, kRemembered> logging;
  };
  static size_t At(Decree decree) { return static_cast<uint64_t>(decree.value()) % kRemembered; }

  // Null: the replica was never primary.
  std::unique_ptr<Ring> ring_;
};

// How long each stage took of a write that arrived then. Where one event is noticed late, the next
// stage is shorter for it; none is below zero.
StageNanos StagesOf(const WriteTimes::Times& times, Instant arrived, Instant applied,
                    Instant answered);

}  // namespace arion
