// Progress: how far something is that takes a while, on standard error: one line that is written
// over on a terminal, else a line every few seconds. Ctrl-C meanwhile does not end the shell:
// IsDetached says that nobody wants to wait any longer.
//
// Threads   One thread; one Progress at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>
#include <signal.h>

#include <cstdint>
#include <string>

namespace arion::shell {

// "12/40 partitions, 3.1/s, 9 s left". `elapsed`: since 0 were done. Rate and time left are told
// only between the first and the last.
std::string ProgressText(int64_t done, int64_t all, const std::string& what,
                         absl::Duration elapsed);

// While it lives, Ctrl-C is noted and does not end the process. They share the note: making a
// second one forgets it.
class Interrupts {
 public:
  // Ctrl-C is noted from now on; what was noted before is forgotten.
  Interrupts();
  // Ctrl-C does what it did before.
  ~Interrupts();
  // Whether Ctrl-C came since the last Interrupts was made.
  static bool IsInterrupted();
  // Sleeps for that time, or until Ctrl-C.
  static void Sleep(absl::Duration time);

 private:
  struct sigaction before_;
};

// Show when something was done; the destructor ends the line.
//
//   Progress progress(tables.size(), "tables");
//   for (size_t i = 0; i < tables.size() && !progress.IsDetached(); ++i) progress.Show(i);
class Progress {
 public:
  // `all`: how many there are. `what`: their name, in the plural.
  Progress(int64_t all, std::string what);
  ~Progress();

  // `done` of them are done. Writes at once on a terminal, else at most every five seconds.
  void Show(int64_t done);
  // The same, for what a number does not tell.
  void ShowText(const std::string& text);
  // Whether Ctrl-C came: stop waiting, and leave what was begun to the servers.
  bool IsDetached() const { return Interrupts::IsInterrupted(); }

 private:
  const Interrupts interrupts_;
  const int64_t all_;
  const std::string what_;
  const absl::Time begun_;
  absl::Time shown_;
  bool has_line_ = false;
};

}  // namespace arion::shell
