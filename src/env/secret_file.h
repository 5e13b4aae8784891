// A secret that programs are given in a file, which nobody else may read.
//
// Errors    FailedPrecondition: it can't be read; others than owner and group may read it, or its
//           group may write it; its first line is no secret. No error shows any of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>

namespace arion {

// The bounds of a secret's length.
constexpr size_t kSecretBytesMin = 16;
constexpr size_t kSecretBytesMax = 1024;

// The file's first line: printable ASCII without blanks, because it travels in an HTTP header. May
// wait for the disk.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path);

}  // namespace arion
