// SPDX-License-Identifier: Apache-2.0
#include "tools/log/unreadable_block.h"

#include <cstdint>

#include "base/coding.h"
#include "base/ids.h"
#include "base/status.h"
#include "tools/log/update_text.h"

namespace arion::logtool {
namespace {

constexpr size_t kTextBytesMax = 32 << 10;
constexpr size_t kNameBytesShown = 64;

// Takes one mutation; false: the bytes do not hold one.
bool TakeOne(ByteReader& reader, std::string* text) {
  reader.Bytes(8);  // version
  PartitionId pid;
  pid.app_id = reader.Little<int32_t>();
  pid.index = reader.Little<int32_t>();
  const auto ballot = reader.Little<int64_t>();
  const auto decree = reader.Little<int64_t>();
  const auto offset = reader.Little<int64_t>();
  reader.Bytes(16);  // last committed, timestamp
  const auto count = reader.Little<int32_t>();
  if (!reader.ok() || count < 0) return false;
  absl::StrAppend(text, "    ", pid.ToString(), "  decree ", decree, "  ballot ", ballot,
                  "  says it is at ", offset, " ");
  uint64_t payload_bytes = 0;
  for (int32_t i = 0; i < count; ++i) {
    const auto name_size = reader.Little<int32_t>();
    if (!reader.ok() || name_size < 0) return false;
    const std::string_view name = reader.Bytes(static_cast<size_t>(name_size));
    reader.Bytes(4);  // serialization
    const auto size = reader.Little<int32_t>();
    if (!reader.ok() || size < 0) return false;
    payload_bytes += static_cast<uint64_t>(size);
    if (text->size() < kTextBytesMax)
      absl::StrAppend(text, " ", EscapeBytes(name.substr(0, kNameBytesShown)), "(", size, ")");
  }
  reader.Bytes(static_cast<size_t>(payload_bytes));
  return reader.ok();
}

}  // namespace

std::string UnreadableBlockText(std::string_view mutations) {
  std::string text;
  ByteReader reader(mutations);
  while (!reader.rest().empty() && text.size() < kTextBytesMax) {
    const size_t before = reader.rest().size();
    const bool is_whole = TakeOne(reader, &text);
    if (!is_whole)
      absl::StrAppend(&text, text.empty() ? "    " : "  ... ", "no mutation in the last ", before,
                      " bytes");
    text += '\n';
    if (!is_whole) break;
  }
  return text;
}

}  // namespace arion::logtool
