// What threads that nobody waits for do about those that somebody does.
//
// Threads   The calling one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace arion {

// Names the calling thread (15 bytes at most) and lets it get a third of the processor that each
// other gets. More than the share it is the moment: Linux lets a thread finish its slice, 3 ms, before
// one of the same rank that has been woken; a lower one it stops at once.
void ComeLast(const char* name);

}  // namespace arion
