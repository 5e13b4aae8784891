// SPDX-License-Identifier: Apache-2.0
#include "base/value_schema.h"

#include "base/coding.h"
#include "base/status.h"

namespace arion {

size_t StoreValueHeader(ValueSchema schema, uint32_t expire_ts, TimeTag time_tag, char* to) {
  char* at = to;
  if (schema == ValueSchema::kV2) *at++ = '\x82';
  StoreBig(expire_ts, at);
  at += sizeof(expire_ts);
  if (schema != ValueSchema::kV0) {
    StoreBig(time_tag.packed(), at);
    at += sizeof(uint64_t);
  }
  return static_cast<size_t>(at - to);
}

std::string EncodeValue(ValueSchema schema, const StoredValue& value) {
  char header[kValueHeaderBytesMax];
  std::string bytes(header, StoreValueHeader(schema, value.expire_ts, value.time_tag, header));
  bytes.append(value.user_data);
  return bytes;
}

absl::StatusOr<StoredValue> ParseValue(ValueSchema schema, std::string_view bytes) {
  ByteReader reader(bytes);
  // v0 and v1 begin with an expiry, whose top bit is never set (kExpiryMax of engine/engine.h): it
  // marks values that name their schema.
  if (!bytes.empty() && (bytes[0] & 0x80) != 0) {
    schema = ValueSchema::kV2;
    reader.Little<uint8_t>();
  }
  StoredValue value;
  value.expire_ts = reader.Big<uint32_t>();
  if (schema != ValueSchema::kV0) value.time_tag = TimeTag::FromPacked(reader.Big<uint64_t>());
  if (!reader.ok()) {
    return absl::DataLossError(
        absl::StrCat("a stored value of ", bytes.size(), " bytes is too short for its header"));
  }
  value.user_data = reader.rest();
  return value;
}

}  // namespace arion
