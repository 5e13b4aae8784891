// SPDX-License-Identifier: Apache-2.0
#include "tools/log/progress.h"

#include <absl/strings/str_format.h>

#include <algorithm>

#include "base/status.h"

namespace arion::logtool {
namespace {

constexpr absl::Duration kSilence = absl::Seconds(1);
constexpr absl::Duration kPause = absl::Milliseconds(200);

}  // namespace

Progress::Progress(const Clock& clock, std::string what, std::function<void(std::string_view)> show)
    : clock_(clock),
      what_(std::move(what)),
      show_(std::move(show)),
      start_(clock.Now()),
      next_(start_ + kSilence) {}

void Progress::Add(uint64_t bytes) {
  done_ += bytes;
  if (!show_) return;
  const Instant now = clock_.Now();
  if (now < next_) return;
  next_ = now + kPause;
  const double seconds = absl::ToDoubleSeconds(now - start_);
  const double rate = static_cast<double>(done_) / seconds;
  std::string line = absl::StrFormat("\r%s  %s", what_, BytesText(static_cast<double>(done_)));
  if (expected_ >= done_ && done_ > 0) {
    const double left = static_cast<double>(expected_ - done_) / rate;
    absl::StrAppendFormat(&line, " of %s  %d %%  %s/s  %.0f s left",
                          BytesText(static_cast<double>(expected_)), done_ * 100 / expected_,
                          BytesText(rate), left);
  } else {
    absl::StrAppendFormat(&line, "  %s/s", BytesText(rate));
  }
  show_(line + "\x1b[K");
  is_shown_ = true;
}

void Progress::Clear() {
  if (is_shown_) show_("\r\x1b[K");
  is_shown_ = false;
}

std::string BytesText(double bytes) {
  const char* units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  const int digits = unit == 0 || bytes >= 100 ? 0 : bytes >= 10 ? 1 : 2;
  return absl::StrFormat("%.*f %s", digits, bytes, units[unit]);
}

}  // namespace arion::logtool
