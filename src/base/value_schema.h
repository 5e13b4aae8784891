// ValueSchema: the bytes of a stored value (engine/FORMAT.md 6).
//
// Shapes   Big-endian.   v0: u32 expiry · user data      v1: u32 expiry · u64 time tag · user data
//                        v2: u8 0x82 · u32 expiry · u64 time tag · user data
//          v0 or v1 is a property of the database; a first byte with the top bit set marks v2 (or
//          later, read as v2). v2 is read, never written.
// Errors   DataLoss: too short for its header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace arion {

// How values are stored; see Shapes. One for a database, fixed when it is created; the numbers are
// what its meta family stores.
enum class ValueSchema : uint8_t { kV0 = 0, kV1 = 1, kV2 = 2 };

// When and where a value was written: 56 bits microseconds, 7 bits cluster, 1 bit deleted. Set by
// the primary that ordered the write; of a duplicated write, by the source cluster's.
struct TimeTag {
  int64_t timestamp_us = 0;
  uint8_t cluster_id = 0;
  bool deleted = false;

  bool operator==(const TimeTag&) const = default;
  uint64_t packed() const {
    return static_cast<uint64_t>(timestamp_us) << 8 |
           static_cast<uint64_t>(cluster_id & 0x7f) << 1 | static_cast<uint64_t>(deleted);
  }
  static TimeTag FromPacked(uint64_t packed) {
    return {.timestamp_us = static_cast<int64_t>(packed >> 8),
            .cluster_id = static_cast<uint8_t>(packed >> 1 & 0x7f),
            .deleted = (packed & 1) != 0};
  }
};

// A stored value, taken apart. The user data is a view into the stored bytes.
//
//   ASSIGN_OR_RETURN(const StoredValue value, ParseValue(ValueSchema::kV1, bytes));
//   if (IsExpired(value.expire_ts, ExpiryNow(clock))) return absl::NotFoundError("expired");
struct StoredValue {
  // Seconds since 2016; 0: never.
  uint32_t expire_ts = 0;
  // Zero in v0.
  TimeTag time_tag;
  std::string_view user_data;
};

// The room that StoreValueHeader needs.
constexpr size_t kValueHeaderBytesMax = 13;
// Writes what precedes the user data to `to`, and returns how many bytes that are. The value is
// header + user data.
size_t StoreValueHeader(ValueSchema schema, uint32_t expire_ts, TimeTag time_tag, char* to);
std::string EncodeValue(ValueSchema schema, const StoredValue& value);
// `schema`: the database's, for values that don't name their own. The result points into `bytes`.
absl::StatusOr<StoredValue> ParseValue(ValueSchema schema, std::string_view bytes);

// Both in seconds since 2016.
inline bool IsExpired(uint32_t expire_ts, uint32_t now) {
  return expire_ts != 0 && expire_ts <= now;
}

}  // namespace arion
