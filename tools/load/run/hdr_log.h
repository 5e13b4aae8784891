// HdrLog: latencies as HdrHistogram's interval log, which its tools in several languages read,
// merge and plot.
//
// Shapes    Text, a line an interval and tag: Tag=READ,start,length,max,<base64>. The base64 is a
//           compressed histogram of encoding 2 (cookies 0x1C849314 and 0x1C849313). Recorded values
//           are nanoseconds; start and length seconds; the max column milliseconds, as the format
//           has it.
// Threads   One at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <string>
#include <string_view>

#include "tools/load/run/latency_histogram.h"

namespace arion::load {

// One interval of one kind of operation.
struct HdrInterval {
  std::string_view tag;
  // Since the log's start.
  absl::Duration start;
  absl::Duration length;
};

// The lines that begin a log.
std::string HdrLogHead(absl::Time start);
// One line.
std::string HdrLogLine(const HdrInterval& interval, const LatencyHistogram& latencies);

}  // namespace arion::load
