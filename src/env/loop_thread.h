// Whether the calling thread runs an event loop: what may wait for a disk or a lock checks that it
// does not.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace arion {

// Of the calling thread.
bool OnLoopThread();

// Marks the calling thread for as long as it lives. For event loops only: the first thing on their
// thread's stack.
class LoopThreadMark {
 public:
  LoopThreadMark();
  ~LoopThreadMark();
  LoopThreadMark(const LoopThreadMark&) = delete;
  LoopThreadMark& operator=(const LoopThreadMark&) = delete;
};

}  // namespace arion
