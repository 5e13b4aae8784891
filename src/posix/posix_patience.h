// RunWithPatience: asks disks something without waiting for one that hangs.
//
// Threads   Each job runs on a thread of its own, at once. One that is too late goes on after the
//           call has returned, so it shares nothing with the caller but what it holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <functional>
#include <vector>

namespace arion {

// Returns when all are done, or `patience` is over: which of them are done.
std::vector<bool> RunWithPatience(std::vector<std::function<void()>> jobs, absl::Duration patience);

}  // namespace arion
