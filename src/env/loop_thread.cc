// SPDX-License-Identifier: Apache-2.0
#include "env/loop_thread.h"

namespace arion {
namespace {
thread_local bool on_loop_thread = false;
}  // namespace

bool OnLoopThread() { return on_loop_thread; }
LoopThreadMark::LoopThreadMark() { on_loop_thread = true; }
LoopThreadMark::~LoopThreadMark() { on_loop_thread = false; }

}  // namespace arion
