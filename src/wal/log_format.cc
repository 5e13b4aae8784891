// SPDX-License-Identifier: Apache-2.0
#include "wal/log_format.h"

#include <absl/strings/numbers.h>

#include <algorithm>

#include "base/coding.h"
#include "base/crc.h"
#include "base/log.h"
#include "base/status.h"

namespace arion {
namespace {

constexpr std::string_view kNamePrefix = "log.";

// Digits alone: SimpleAtoi would also take a sign and blanks.
bool IsNumeric(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string LogFileName::ToString() const { return absl::StrCat("log.", index, ".", start_offset); }

absl::StatusOr<std::optional<LogFileName>> ParseLogFileName(std::string_view name) {
  if (name.substr(0, kNamePrefix.size()) != kNamePrefix) return std::nullopt;
  // log.1.2.removed has a third part that is no number, so its offset is none either.
  const std::string_view numbers = name.substr(kNamePrefix.size());
  const size_t dot = numbers.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view index = numbers.substr(0, dot);
  const std::string_view offset = numbers.substr(dot + 1);
  if (!IsNumeric(index) || !IsNumeric(offset)) return std::nullopt;
  LogFileName parsed;
  if (!absl::SimpleAtoi(Text(index), &parsed.index) ||
      !absl::SimpleAtoi(Text(offset), &parsed.start_offset))
    return absl::OutOfRangeError(
        absl::StrCat("log file name '", Text(name), "': a number exceeds 2^63-1"));
  return parsed;
}

BlockHeader LoadBlockHeader(const char* from) {
  return {.magic = LoadLittle<uint32_t>(from),
          .length = LoadLittle<int32_t>(from + 4),
          .body_crc = LoadLittle<uint32_t>(from + 8),
          .position = LoadLittle<uint32_t>(from + 12)};
}

void StoreBlockHeader(const BlockHeader& header, char* to) {
  CHECK_EQ(header.magic, kLogMagic) << "a reader ends at such a block";
  CHECK_GE(header.length, 0) << "a reader ends at such a block";
  StoreLittle(header.magic, to);
  StoreLittle(header.length, to + 4);
  StoreLittle(header.body_crc, to + 8);
  StoreLittle(header.position, to + 12);
}

const LogFileHeader::Entry* LogFileHeader::Find(PartitionId pid) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [pid](const Entry& e) { return e.pid == pid; });
  return found == entries.end() ? nullptr : &*found;
}

absl::StatusOr<LogFileHeader> TakeFileHeader(std::string_view* bytes) {
  ByteReader reader(*bytes);
  LogFileHeader header;
  const auto magic = reader.Little<uint32_t>();
  header.version = reader.Little<int32_t>();
  // Reading behind the end gives zeros; reader.ok() tells of it below.
  header.start_offset = reader.Little<int64_t>();
  const auto count = reader.Little<int32_t>();
  if (!reader.ok()) return absl::DataLossError("file header: shorter than it must be");
  if (magic != kLogMagic) return absl::DataLossError("file header: wrong magic");
  // Checked against the bytes before anything is allocated: the count may be hostile.
  if (count < 0 || static_cast<size_t>(count) > reader.rest().size() / kFileHeaderEntryBytes)
    return absl::DataLossError(absl::StrCat("file header: ", count, " entries do not fit"));
  header.entries.resize(static_cast<size_t>(count));
  for (LogFileHeader::Entry& entry : header.entries) {
    entry.pid.app_id = reader.Little<int32_t>();
    entry.pid.index = reader.Little<int32_t>();
    entry.max_decree = Decree(reader.Little<int64_t>());
    entry.valid_start_offset = reader.Little<int64_t>();
  }
  *bytes = reader.rest();
  return header;
}

uint32_t StoreFirstBlock(int64_t start_offset, const LogFileHeader::Entry& entry, char* to) {
  CHECK(to != nullptr);
  CHECK_GE(start_offset, 0);
  CHECK_LE(entry.valid_start_offset, start_offset) << "the file would begin with void records";
  // The file header is the whole body. Its fields and their places are drawn in log_format.h.
  char* body = to + kBlockHeaderBytes;
  StoreLittle(kLogMagic, body);
  StoreLittle(int32_t{1}, body + 4);
  StoreLittle(start_offset, body + 8);
  StoreLittle(int32_t{1}, body + 16);
  StoreLittle(entry.pid.app_id, body + 20);
  StoreLittle(entry.pid.index, body + 24);
  StoreLittle(entry.max_decree.value(), body + 28);
  StoreLittle(entry.valid_start_offset, body + 36);
  const size_t body_bytes = kFirstBlockBytes - kBlockHeaderBytes;
  const uint32_t crc = Crc32c({body, body_bytes});
  StoreBlockHeader({.length = static_cast<int32_t>(body_bytes), .body_crc = crc, .position = 0},
                   to);
  return crc;
}

}  // namespace arion
