// SPDX-License-Identifier: Apache-2.0
#include "indexes/index_list.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>

#include <algorithm>

#include "base/crc.h"
#include "base/status.h"

namespace arion {
namespace {

constexpr std::string_view kHead = "arion indexes 1";
constexpr std::string_view kCrc = "crc ";

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("list of indexes: ", Text(what)));
}

}  // namespace

std::string IndexList::Encode() const {
  std::string bytes = absl::StrCat(Text(kHead), "\t", next_id, "\t", serial, "\n");
  for (const ListedIndex& index : indexes)
    absl::StrAppend(&bytes, index.id, "\t", index.is_whole ? "whole" : "begun", "\t", index.name,
                    "\t", index.definition.Text(), "\t", index.entries, "\t", index.left_out, "\n");
  return absl::StrCat(bytes, Text(kCrc), absl::StrFormat("%08x", Crc32c(bytes)), "\n");
}

absl::StatusOr<IndexList> IndexList::Decode(std::string_view bytes) {
  const size_t crc = bytes.rfind(kCrc);
  if (crc == std::string_view::npos ||
      bytes.substr(crc + kCrc.size()) != absl::StrFormat("%08x\n", Crc32c(bytes.substr(0, crc))))
    return Damaged("wrong checksum");
  std::vector<std::string> lines = absl::StrSplit(Text(bytes.substr(0, crc)), '\n');
  lines.pop_back();  // behind the last line's end
  IndexList list;
  const std::vector<std::string> head = absl::StrSplit(lines.at(0), '\t');
  if (head.size() != 3 || head[0] != kHead || !absl::SimpleAtoi(head[1], &list.next_id) ||
      !absl::SimpleAtoi(head[2], &list.serial))
    return Damaged("of another format");
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> parts = absl::StrSplit(lines[i], '\t');
    ListedIndex index;
    if (parts.size() != 6 || !absl::SimpleAtoi(parts[0], &index.id) || index.id >= list.next_id ||
        (parts[1] != "whole" && parts[1] != "begun") || !IsIndexName(parts[2]) ||
        !absl::SimpleAtoi(parts[4], &index.entries) || !absl::SimpleAtoi(parts[5], &index.left_out))
      return Damaged(lines[i]);
    index.is_whole = parts[1] == "whole";
    index.name = parts[2];
    ASSIGN_OR_RETURN(index.definition, IndexDefinition::Parse(parts[3]));
    list.indexes.push_back(std::move(index));
  }
  return list;
}

}  // namespace arion
