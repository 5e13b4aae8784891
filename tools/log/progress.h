// Progress: how far long work has come, its rate and what is left of it, on one line of a terminal
// that is written over.
//
// Shapes    Says nothing within the first second, then five times a second at most.
// Threads   One thread.
// Lifetime  The Clock outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "env/clock.h"

namespace arion::logtool {

// One work: Expect what there is, Add what is done.
class Progress {
 public:
  // `show` writes to the terminal; empty: nobody looks.
  Progress(const Clock& clock, std::string what, std::function<void(std::string_view)> show);
  ~Progress() { Clear(); }

  // So many more bytes are to be done.
  void Expect(uint64_t bytes) { expected_ += bytes; }
  void Add(uint64_t bytes);
  // Takes the line away, before something else is printed.
  void Clear();

 private:
  const Clock& clock_;
  const std::string what_;
  const std::function<void(std::string_view)> show_;
  const Instant start_;
  Instant next_;
  uint64_t expected_ = 0;
  uint64_t done_ = 0;
  bool is_shown_ = false;
};

// "1.5 GB", with three digits.
std::string BytesText(double bytes);

}  // namespace arion::logtool
