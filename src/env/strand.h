// Strand: a serial executor. What is posted to one strand runs one at a time, in order; a strand is
// bound to one event-loop thread (or to the simulator's single thread).
//
//   strand->Post([self = weak_from_this()] {
//     if (const auto me = self.lock()) me->OnAnswer();
//   });
//
// Threads   Post and PostAfter are thread-safe. Cancel only on the strand itself.
// Lifetime  Held by shared_ptr: whoever will post to a strand holds it. Tasks hold weak_ptrs to the
//           objects they touch. When a server stops (or a simulated node crashes) its strands drop
//           what is queued.
// Promises  strand/S1  Tasks posted by one thread run in the order posted. Never inline: Post
//               returns before the task runs.
//           strand/S2  After Cancel(id) on the strand, that timer's task does not run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>

namespace arion {

// Run once, or destroyed without being run when the strand drops what is queued. What a task must
// do in either case belongs into a destructor it holds.
using Task = absl::AnyInvocable<void()>;
// Names a task that waits for its time; 0: none.
using TimerId = uint64_t;
constexpr TimerId kNoTimer = 0;

// Made by Environment::NewStrand. A replica has one and keeps its state on it, so that state needs
// no lock. Tasks must not wait for a disk or a lock: other strands share the thread.
class Strand {
 public:
  virtual ~Strand() = default;
  // Runs `task` after all that was posted before it.
  virtual void Post(Task task) = 0;
  // Runs `task` on this strand no earlier than `delay` from now.
  virtual TimerId PostAfter(absl::Duration delay, Task task) = 0;
  // Drops the timer's task. A timer that has run, or kNoTimer, is ignored.
  virtual void Cancel(TimerId timer) = 0;
  // True when the caller runs as a task of this strand.
  virtual bool IsCurrent() const = 0;
};
using StrandPtr = std::shared_ptr<Strand>;

// Put at each entry of a strand-bound class. Checked in debug builds only.
#define CHECK_ON_STRAND(strand) DCHECK((strand)->IsCurrent()) << "called off its strand"

}  // namespace arion
