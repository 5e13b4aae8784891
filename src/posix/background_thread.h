// What threads that nobody waits for do about those that somebody waits for.
//
// Threads   The calling one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace arion {

// Names the calling thread (15 bytes at most) and lowers its rank, so that it gets a third of the
// processor that each other thread gets. The share matters less than the moment: Linux lets a
// thread finish its slice, 3 ms, before another of the same rank that has been woken; a thread of
// lower rank it stops at once. To be called once, first on the thread.
void ComeLast(const char* name);

}  // namespace arion
