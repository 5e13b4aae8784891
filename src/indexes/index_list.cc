// SPDX-License-Identifier: Apache-2.0
#include "indexes/index_list.h"

#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>

#include "base/crc.h"
#include "base/status.h"

namespace arion {
namespace {

constexpr std::string_view kHead = "arion indexes 2";
constexpr std::string_view kCrc = "crc ";
constexpr char kBegun[] = "begun";

using Parts = std::vector<std::string>;

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("list of indexes: ", Text(what)));
}

void Append(const IndexGeneration& generation, std::string* bytes) {
  absl::StrAppend(bytes, "\t", generation.id, "\t", generation.entries, "\t", generation.left_out);
}

std::string Written(Decree decree) {
  return decree == kInvalidDecree ? kBegun : absl::StrCat(decree.value());
}

// Of the three parts from `at` on.
bool Read(const Parts& parts, size_t at, uint32_t next_id, IndexGeneration* generation) {
  return absl::SimpleAtoi(parts[at], &generation->id) && generation->id < next_id &&
         absl::SimpleAtoi(parts[at + 1], &generation->entries) &&
         absl::SimpleAtoi(parts[at + 2], &generation->left_out);
}

bool ReadDecree(const std::string& part, Decree* decree) {
  int64_t value = kInvalidDecree.value();
  if (part != kBegun && (!absl::SimpleAtoi(part, &value) || value < 0)) return false;
  *decree = Decree(value);
  return true;
}

absl::StatusOr<ListedIndex> ReadIndex(const Parts& parts, uint32_t next_id) {
  ListedIndex index;
  const bool has_successor = parts.size() == 10;
  if ((parts.size() != 7 && !has_successor) || !ReadDecree(parts[1], &index.whole_at) ||
      !IsIndexName(parts[2]) || !Read(parts, 4, next_id, &index.current))
    return Damaged("an index");
  if (has_successor && !Read(parts, 7, next_id, &index.successor.emplace()))
    return Damaged("a successor");
  index.name = parts[2];
  ASSIGN_OR_RETURN(index.definition, IndexDefinition::Parse(parts[3]));
  return index;
}

absl::StatusOr<SavedWalk> ReadWalk(const Parts& parts) {
  SavedWalk walk;
  // No string of hexadecimal digits that are none passes the checksum.
  if (parts.size() != 7 || !ReadDecree(parts[2], &walk.at) ||
      !absl::SimpleAtoi(parts[3], &walk.records) || !absl::SimpleAtoi(parts[4], &walk.bytes))
    return Damaged("a walk");
  walk.from = absl::HexStringToBytes(parts[1]);
  for (const std::string& id : Parts(absl::StrSplit(parts[5], ',', absl::SkipEmpty())))
    if (!absl::SimpleAtoi(id, &walk.ids.emplace_back())) return Damaged("a walk's ids");
  walk.files = absl::StrSplit(parts[6], ',', absl::SkipEmpty());
  return walk;
}

}  // namespace

std::vector<IndexTarget> IndexList::Targets() const {
  std::vector<IndexTarget> targets;
  for (const ListedIndex& index : indexes) {
    targets.push_back({index.current, index.definition});
    if (index.successor) targets.push_back({*index.successor, index.definition});
  }
  return targets;
}

std::vector<IndexTarget> IndexList::Missing() const {
  std::vector<IndexTarget> missing;
  for (const ListedIndex& index : indexes)
    if (index.missing() != nullptr && !index.definition.is_paused)
      missing.push_back({*index.missing(), index.definition});
  return missing;
}

std::string IndexList::Encode() const {
  std::string bytes = absl::StrCat(Text(kHead), "\t", next_id, "\t", serial, "\t",
                                   built_store_bytes, "\t", built_data_bytes, "\n");
  for (const ListedIndex& index : indexes) {
    absl::StrAppend(&bytes, "index\t", Written(index.whole_at), "\t", index.name, "\t",
                    index.definition.Text());
    Append(index.current, &bytes);
    if (index.successor) Append(*index.successor, &bytes);
    bytes += '\n';
  }
  if (walk)
    absl::StrAppend(&bytes, "walk\t", absl::BytesToHexString(walk->from), "\t", Written(walk->at),
                    "\t", walk->records, "\t", walk->bytes, "\t", absl::StrJoin(walk->ids, ","),
                    "\t", absl::StrJoin(walk->files, ","), "\n");
  return absl::StrCat(bytes, Text(kCrc), absl::StrFormat("%08x", Crc32c(bytes)), "\n");
}

absl::StatusOr<IndexList> IndexList::Decode(std::string_view bytes) {
  const size_t crc = bytes.rfind(kCrc);
  if (crc == std::string_view::npos ||
      bytes.substr(crc + kCrc.size()) != absl::StrFormat("%08x\n", Crc32c(bytes.substr(0, crc))))
    return Damaged("wrong checksum");
  Parts lines = absl::StrSplit(Text(bytes.substr(0, crc)), '\n');
  lines.pop_back();  // behind the last line's end
  if (lines.empty()) return Damaged("empty");
  IndexList list;
  const Parts head = absl::StrSplit(lines[0], '\t');
  if (head.size() != 5 || head[0] != kHead || !absl::SimpleAtoi(head[1], &list.next_id) ||
      !absl::SimpleAtoi(head[2], &list.serial) ||
      !absl::SimpleAtoi(head[3], &list.built_store_bytes) ||
      !absl::SimpleAtoi(head[4], &list.built_data_bytes))
    return Damaged("of another format");
  for (size_t i = 1; i < lines.size(); ++i) {
    const Parts parts = absl::StrSplit(lines[i], '\t');
    if (parts[0] == "index") {
      ASSIGN_OR_RETURN(list.indexes.emplace_back(), ReadIndex(parts, list.next_id));
    } else if (parts[0] == "walk" && !list.walk) {
      ASSIGN_OR_RETURN(list.walk, ReadWalk(parts));
    } else {
      return Damaged(lines[i]);
    }
  }
  return list;
}

}  // namespace arion
