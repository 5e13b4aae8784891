// Patience: which errors of a copy may pass, how long to wait before the next try, and when to give
// up: after some time in which nothing came through.
//
// Threads   Pure; one thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <string>

namespace arion::shell {

class Patience {
 public:
  Patience(absl::Duration most, absl::Time now) : most_(most), last_(now) {}

  // Something came through.
  void Progressed(absl::Time now) { last_ = now; }
  // OK: it is tried again. Else what the copy ends with. It counts the error.
  absl::Status Judge(const absl::Status& error, absl::Time now);
  // Before try number `tries` + 1, tries >= 1.
  static absl::Duration PauseAfter(int tries);

  int64_t errors() const { return errors_; }
  // "" where there was none.
  const std::string& last_error() const { return last_error_; }

 private:
  const absl::Duration most_;
  absl::Time last_;
  int64_t errors_ = 0;
  std::string last_error_;
};

}  // namespace arion::shell
