// SPDX-License-Identifier: Apache-2.0
#include "tools/load/workload/value_codec.h"

#include <cstring>

#include "base/crc.h"
#include "base/status.h"
#include "tools/load/workload/dice.h"

namespace arion::load {
namespace {

constexpr std::string_view kMagic = "ArL1";
constexpr size_t kSummedFrom = 8;  // the CRC covers what follows it

template <class T>
void Put(std::string& out, size_t at, T number) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out[at + i] = static_cast<char>(static_cast<uint64_t>(number) >> (8 * i));
  }
}

template <class T>
T Take(std::string_view bytes, size_t at) {
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    number |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return static_cast<T>(number);
}

}  // namespace

std::string EncodeValue(const Stamp& stamp, size_t bytes) {
  std::string value(std::max(bytes, kStampBytes), '\0');
  value.replace(0, kMagic.size(), kMagic);
  Put(value, 8, stamp.run);
  Put(value, 16, stamp.record);
  Put(value, 24, stamp.sequence);
  // Bytes that the sequence alone determines.
  Dice filler(static_cast<uint64_t>(stamp.sequence));
  for (size_t at = kStampBytes; at < value.size(); at += 8) {
    const uint64_t word = filler.Next();
    memcpy(value.data() + at, &word, std::min<size_t>(8, value.size() - at));
  }
  Put(value, 4, Crc32c(std::string_view(value).substr(kSummedFrom)));
  // A value that is too short for the stamp is cut: it can't be verified (CheckVerifiable).
  value.resize(bytes);
  return value;
}

absl::StatusOr<Stamp> DecodeValue(std::string_view value) {
  if (value.size() < kStampBytes || !value.starts_with(kMagic)) {
    return absl::DataLossError(
        absl::StrCat("a value of ", value.size(), " bytes that this tool did not write"));
  }
  const Stamp stamp{.run = Take<uint64_t>(value, 8),
                    .record = Take<int64_t>(value, 16),
                    .sequence = Take<int64_t>(value, 24)};
  if (Take<uint32_t>(value, 4) != Crc32c(value.substr(kSummedFrom))) {
    return absl::DataLossError(absl::StrCat("the checksum of a value of ", value.size(),
                                            " bytes is wrong; it says record ", stamp.record,
                                            ", sequence ", stamp.sequence));
  }
  return stamp;
}

}  // namespace arion::load
