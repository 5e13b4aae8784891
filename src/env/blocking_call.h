// BlockingCall: names the call that a thread may be waiting in, for as long as it lives. On a loop
// thread such a call is a mistake. It is counted, and where ARION_CHECK_LOOP_THREADS is defined
// (builds with a sanitizer) the process ends there.
//
//   const BlockingCall call("read", path_);
//   const ssize_t n = pread(file_, to, bytes, offset);
//
// Threads   Each on its own thread; CallRecord::Now from any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace arion {

class Counter;

// What one thread is in, if anything; for a watchdog (stuck_work.h). A pool has one for each of its
// threads, and marks it with CallRecordMark.
class CallRecord {
 public:
  // The thread begins a call; Leave ends it. Where calls nest, the record shows the inner one, and
  // nothing after its end.
  void Enter(std::string_view step, std::string_view path);
  void Leave();
  // The call as text, "read /data/1/x"; empty: in none.
  std::string Now() const;
  // When a call last began or ended, by the steady clock; 0: never.
  int64_t changed_nanos() const { return changed_nanos_.load(std::memory_order_relaxed); }

 private:
  void Changed();

  std::atomic<int64_t> changed_nanos_{0};
  mutable Mutex mutex_;
  std::string step_ ABSL_GUARDED_BY(mutex_);
  std::string path_ ABSL_GUARDED_BY(mutex_);
};

// The calling thread's calls go to `record` while this lives.
class CallRecordMark {
 public:
  explicit CallRecordMark(CallRecord* record);
  ~CallRecordMark();
  CallRecordMark(const CallRecordMark&) = delete;
  CallRecordMark& operator=(const CallRecordMark&) = delete;
};

// `step`: what is done ("read", "sync"); `path`: to which file. Made right before the system call,
// on the stack.
class BlockingCall {
 public:
  BlockingCall(std::string_view step, std::string_view path);
  ~BlockingCall();
  BlockingCall(const BlockingCall&) = delete;
  BlockingCall& operator=(const BlockingCall&) = delete;
};

// How many blocking calls were made on loop threads, in this process.
const Counter& BlockingCallsOnLoops();

}  // namespace arion
