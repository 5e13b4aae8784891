// Which Arion this is; the commit is put in by CMake when it configures, so a build from a changed
// tree may name the commit before. Shown by --version, pages and metrics.
//
// Threads   Constants.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace arion {

// "0.1.0"
extern const std::string_view kVersion;
// "3ea0b61", with "+" when the tree had changes; "unknown" outside git.
extern const std::string_view kCommit;

}  // namespace arion
