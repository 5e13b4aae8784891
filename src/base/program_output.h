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

// To be called once, at the beginning of main. When the program ends, by a return, exit() or a
// library's, standard output is flushed and closed. What it did not take, whoever wrote it, is
// reported on standard error and makes the exit code `exit_code`. Not reported: a reader that has
// gone (EPIPE), and standard output that was closed before and never written.
//
//   int main(int argc, char** argv) {
//     CheckStandardOutputAtExit(/*exit_code=*/1);
//     ...
//     if (absl::Status printed = PrintOut(report); !printed.ok()) return Fail(printed);
//   }
void CheckStandardOutputAtExit(int exit_code);

// Writes to standard output and flushes. FailedPrecondition, with the reason; the caller reports
// it.
absl::Status PrintOut(std::string_view text);

// Replaces what the file held. FailedPrecondition: with its name and the reason; the file may hold
// a part.
absl::Status WriteOutputFile(const std::string& path, std::string_view text);

}  // namespace arion
