// SPDX-License-Identifier: Apache-2.0
#include "base/program_output.h"

#include <errno.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/status.h"

namespace arion {
namespace {

int g_exit_code = EXIT_FAILURE;  // where standard output took not all
bool g_is_told = false;          // by who called PrintOut

absl::Status CantWrite(std::string_view what, int error) {
  return absl::FailedPreconditionError(absl::StrCat(
      "can't write ", Text(what), ": ",
      error == 0 ? std::string("a part of it is lost") : std::string(strerror(error))));
}

void CloseStandardOutput() {
  // Asked before fclose, which forgets both. EBADF with nothing pending: standard output was closed
  // by whoever started the program, and nothing was written to it.
  const bool is_pending = __fpending(stdout) != 0;
  const bool has_failed = ferror(stdout) != 0;
  errno = 0;
  const bool fails = fclose(stdout) != 0;
  if (!has_failed && (!fails || (errno == EBADF && !is_pending))) return;
  if (!g_is_told && errno != EPIPE)
    fprintf(stderr, "%s: %s\n", program_invocation_short_name,
            std::string(CantWrite("standard output", errno).message()).c_str());
  // This runs within exit(): only _exit can still change the code.
  _exit(g_exit_code);
}

}  // namespace

void CheckStandardOutputAtExit(int exit_code) {
  g_exit_code = exit_code;
  static const int registered = atexit(CloseStandardOutput);  // once
  (void)registered;
}

absl::Status PrintOut(std::string_view text) {
  errno = 0;
  fwrite(text.data(), 1, text.size(), stdout);
  // What failed before is lost as well.
  if (fflush(stdout) == 0 && ferror(stdout) == 0) return absl::OkStatus();
  g_is_told = true;
  return CantWrite("standard output", errno);
}

absl::Status WriteOutputFile(const std::string& path, std::string_view text) {
  errno = 0;
  FILE* const file = fopen(path.c_str(), "we");
  if (file == nullptr) return CantWrite(path, errno);
  const bool is_written =
      fwrite(text.data(), 1, text.size(), file) == text.size() && fflush(file) == 0;
  const int error = errno;
  // Closed in any case; its error counts as well, since file systems may report there what they
  // lost.
  const bool is_closed = fclose(file) == 0;
  if (!is_written || !is_closed) return CantWrite(path, is_written ? errno : error);
  return absl::OkStatus();
}

}  // namespace arion
