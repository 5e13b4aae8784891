// CheckDirectory: is a configured directory there and ours to write? Asked before anything is
// started.
//
// Threads   They wait for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>

namespace arion {

// `origin` ("file:line") and `key` lead the message, which says what to do. InvalidArgument: no
// directory can be there. NotFound: perhaps a disk that is not mounted yet. PermissionDenied: with
// owner and mode. Unavailable: its disk fails, or has become read-only.
absl::Status CheckDirectory(std::string_view origin, std::string_view key, const std::string& path);

// Returns once the disk itself has answered, be it with an error. Leaves nothing behind. A disk
// that hangs keeps the thread, so callers give it one of its own.
void AwaitDisk(const std::string& path);

}  // namespace arion
