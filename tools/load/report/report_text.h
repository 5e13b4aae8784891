// What a person reads: the configuration, a line a second, the summary.
//
// Shapes    Lines end with "\n". Latencies have three digits and a unit: 92.1us, 2.10ms, 1.20s.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/load/run/phase.h"

namespace arion::load {

struct Report;

// 92.1us
std::string LatencyText(int64_t nanos);
// 148,201
std::string CountText(uint64_t count);
// As reports name errors.
std::string CodeText(absl::StatusCode code);

std::string ConfigurationText(const std::vector<std::pair<std::string, std::string>>& lines);

// The lines of a phase's seconds, each kind of operation in columns of its own.
class IntervalLines {
 public:
  // What the lines say of the phase's end: so many operations or seconds of so many.
  struct Options {
    std::string phase;
    LoopKind loop = LoopKind::kClosed;
    std::vector<Kind> kinds;
    int64_t operations_max = INT64_MAX;
    absl::Duration seconds_max = absl::InfiniteDuration();
  };
  explicit IntervalLines(Options options) : options_(std::move(options)) {}

  // The line above the columns.
  std::string Head() const;
  std::string LineOf(const Interval& interval) const;

 private:
  const Options options_;
};

// The end of what a person reads.
std::string SummaryText(const Report& report);

}  // namespace arion::load
