// What it means that the system makes no thread: a refusal, as of memory, that may pass. A server
// makes its own at its start; what libraries make later, and would end the process for, is asked
// for before.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <system_error>

namespace arion {

// ResourceExhausted, with the limit and the remedy, for what std::thread throws.
absl::Status ThreadRefused(const std::system_error& error);

// Whether so many can be made now: they are.
absl::Status TryThreads(int count);

}  // namespace arion
