// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/progress.h"

#include <absl/strings/str_format.h>
#include <absl/time/clock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace arion::shell {
namespace {

constexpr absl::Duration kLineEvery = absl::Seconds(5);  // where there is no terminal

// The only thing that a signal handler may safely write.
volatile sig_atomic_t g_interrupted = 0;

void Note(int) { g_interrupted = 1; }

}  // namespace

std::string ProgressText(int64_t done, int64_t all, const std::string& what,
                         absl::Duration elapsed) {
  std::string text = absl::StrFormat("%d/%d %s", done, all, what);
  const double rate = static_cast<double>(done) / std::max(absl::ToDoubleSeconds(elapsed), 1e-3);
  if (done > 0 && done < all)
    text += absl::StrFormat(", %.1f/s, %.0f s left", rate, static_cast<double>(all - done) / rate);
  return text;
}

Interrupts::Interrupts() {
  g_interrupted = 0;
  struct sigaction note = {};
  note.sa_handler = Note;
  sigaction(SIGINT, &note, &before_);
}
Interrupts::~Interrupts() { sigaction(SIGINT, &before_, nullptr); }
bool Interrupts::IsInterrupted() { return g_interrupted != 0; }
void Interrupts::Sleep(absl::Duration time) {
  const absl::Time until = absl::Now() + time;
  // In short naps: a signal that comes just before a long one would be noticed only at its end.
  while (!IsInterrupted() && absl::Now() < until) usleep(20'000);
}

Progress::Progress(int64_t all, std::string what)
    : all_(all), what_(std::move(what)), begun_(absl::Now()), shown_(begun_) {}

Progress::~Progress() {
  if (has_line_) fprintf(stderr, "\n");
}

void Progress::Show(int64_t done) {
  ShowText(ProgressText(done, all_, what_, absl::Now() - begun_));
}

void Progress::ShowText(const std::string& text) {
  const absl::Time now = absl::Now();
  if (isatty(STDERR_FILENO) != 0) {
    fprintf(stderr, "\r%s\x1b[K", text.c_str());
    has_line_ = true;
  } else if (now - shown_ >= kLineEvery) {
    fprintf(stderr, "%s\n", text.c_str());
    shown_ = now;
  }
}

}  // namespace arion::shell
