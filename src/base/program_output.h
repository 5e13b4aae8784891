// What a program hands over: standard output, and files that somebody named. It is all there, or
// the program says so and its exit code is not 0.
//
// Threads   Standard output: one thread at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>

namespace arion {

// At the beginning of main. When the program ends, by a return, exit() or a library's, standard
// output is flushed and closed. What it did not take, whoever wrote it, is said on standard error
// and makes the exit code `exit_code`. A reader that has gone (EPIPE) is not told, nor is standard
// output that was closed before and never written.
void CheckStandardOutputAtExit(int exit_code);

// Written and flushed. FailedPrecondition: with the reason; who gets it tells it.
absl::Status PrintOut(std::string_view text);

// In place of what the file held. FailedPrecondition: with its name and the reason; it may hold a part.
absl::Status WriteOutputFile(const std::string& path, std::string_view text);

}  // namespace arion
