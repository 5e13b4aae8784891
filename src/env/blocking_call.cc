// SPDX-License-Identifier: Apache-2.0
#include "env/blocking_call.h"

#include <chrono>

#include "base/counter.h"
#include "base/log.h"
#include "env/loop_thread.h"

namespace arion {
namespace {

thread_local CallRecord* current_record = nullptr;
Counter on_loops;

void OnLoop(std::string_view step, std::string_view path) {
  on_loops.Add();
#ifdef ARION_CHECK_LOOP_THREADS
  // A test must not pass by luck: a disk that is quick today stalls every strand of the loop
  // tomorrow.
  LOG(FATAL) << "an event loop waits for a disk: " << step << " " << path;
#else
  // In production the server goes on: a late answer is better than none.
  LOG_EVERY_N(ERROR, 1000) << "an event loop waits for a disk: " << step << " " << path;
#endif
}

}  // namespace

// The steady clock itself, not the environment's: a watchdog looks at real threads, which the
// simulator does not have.
void CallRecord::Changed() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  changed_nanos_.store(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(),
                       std::memory_order_relaxed);
}

void CallRecord::Enter(std::string_view step, std::string_view path) {
  Changed();
  const MutexLock lock(mutex_);
  step_ = step;
  path_ = path;
}

void CallRecord::Leave() {
  Changed();
  const MutexLock lock(mutex_);
  step_.clear();
}

std::string CallRecord::Now() const {
  const MutexLock lock(mutex_);
  return step_.empty() ? std::string() : step_ + " " + path_;
}

CallRecordMark::CallRecordMark(CallRecord* record) { current_record = record; }
CallRecordMark::~CallRecordMark() { current_record = nullptr; }

BlockingCall::BlockingCall(std::string_view step, std::string_view path) {
  if (OnLoopThread()) OnLoop(step, path);
  if (current_record != nullptr) current_record->Enter(step, path);
}
BlockingCall::~BlockingCall() {
  if (current_record != nullptr) current_record->Leave();
}

const Counter& BlockingCallsOnLoops() { return on_loops; }

}  // namespace arion
