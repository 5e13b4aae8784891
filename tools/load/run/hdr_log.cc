// SPDX-License-Identifier: Apache-2.0
#include "tools/load/run/hdr_log.h"

#include <absl/strings/escaping.h>
#include <zlib.h>

#include <bit>

#include "base/log.h"
#include "base/status.h"

namespace arion::load {
namespace {

// HdrHistogram's second encoding, plain and compressed.
constexpr uint32_t kCookie = 0x1C849303 | 0x10;
constexpr uint32_t kCompressedCookie = 0x1C849304 | 0x10;

void PutBig(std::string& out, uint64_t number, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(number >> (8 * i));
}

// ZigZag and LEB128 with at most nine bytes, the ninth with all of its eight bits.
void PutZigZag(std::string& out, int64_t number) {
  uint64_t rest = (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63);
  for (int i = 0; i < 8; ++i) {
    if (rest < 0x80) {
      out += static_cast<char>(rest);
      return;
    }
    out += static_cast<char>(rest | 0x80);
    rest >>= 7;
  }
  out += static_cast<char>(rest);
}

// Counts one by one; a run of n zeros is the number -n.
std::string EncodeCounts(absl::Span<const uint64_t> counts) {
  std::string out;
  for (size_t i = 0; i < counts.size();) {
    size_t end = i;
    while (end < counts.size() && counts[end] == 0) ++end;
    if (end - i > 1) {
      PutZigZag(out, -static_cast<int64_t>(end - i));
      i = end;
    } else {
      PutZigZag(out, static_cast<int64_t>(counts[i++]));
    }
  }
  return out;
}

std::string EncodeHistogram(const LatencyHistogram& latencies) {
  const std::string counts = EncodeCounts(latencies.counts());
  std::string out;
  PutBig(out, kCookie, 4);
  PutBig(out, counts.size(), 4);
  PutBig(out, 0, 4);  // the offset of a shifted histogram
  PutBig(out, LatencyHistogram::kDigits, 4);
  PutBig(out, 1, 8);
  PutBig(out, static_cast<uint64_t>(LatencyHistogram::kLargest), 8);
  PutBig(out, std::bit_cast<uint64_t>(1.0), 8);
  return out + counts;
}

std::string Compress(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  const int error = compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                             reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  CHECK_EQ(error, Z_OK);  // there is room, so only memory could fail
  packed.resize(size);
  std::string out;
  PutBig(out, kCompressedCookie, 4);
  PutBig(out, packed.size(), 4);
  return out + packed;
}

}  // namespace

std::string HdrLogHead(absl::Time start) {
  const double seconds = absl::ToDoubleSeconds(start - absl::UnixEpoch());
  return absl::StrFormat(
      "#[Histogram log format version 1.3]\n#[StartTime: %.3f (seconds since epoch), %s]\n"
      "#[BaseTime: %.3f (seconds since epoch)]\n"
      "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
      seconds, absl::FormatTime(start, absl::UTCTimeZone()), seconds);
}

std::string HdrLogLine(const HdrInterval& interval, const LatencyHistogram& latencies) {
  return absl::StrFormat(
      "Tag=%s,%.3f,%.3f,%.3f,%s\n", interval.tag, absl::ToDoubleSeconds(interval.start),
      absl::ToDoubleSeconds(interval.length), static_cast<double>(latencies.max()) / 1e6,
      absl::Base64Escape(Compress(EncodeHistogram(latencies))));
}

}  // namespace arion::load
