// What it means that the system makes no thread: a refusal, as of memory, that may pass. A server
// makes its own threads at its start. What libraries make later, and would end the process for, is
// asked for before.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <system_error>

namespace arion {

// What std::thread throws, as ResourceExhausted with the limit and the remedy.
absl::Status ThreadRefused(const std::system_error& error);

// OK: that many threads could be made just now; they were, and are gone. ResourceExhausted: not so
// many.
absl::Status TryThreads(int count);

}  // namespace arion
