// IndexList: which indexes of a replica are in its store, and which of them are whole; a small file
// beside the store.
//
// Shapes    "arion indexes 1", next_id and serial, then a line for each: id, "whole" or "begun", name, definition, how
//           many entries were put and records left out, with tabs between; then "crc " and eight
//           hexadecimal digits. An id is used once.
// Errors    DataLoss: the file can't be understood.
// Threads   A plain value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/index_definition.h"

namespace arion {

struct ListedIndex {
  uint32_t id = 0;
  // Holds every record; else it is to be built anew.
  bool is_whole = false;
  std::string name;
  IndexDefinition definition;
  // Put so far, and records that had no such field; as of the last change of the list.
  int64_t entries = 0;
  int64_t left_out = 0;
  bool operator==(const ListedIndex&) const = default;
};

struct IndexList {
  // Of the next index.
  uint32_t next_id = 1;
  // Rises with each change of what is listed. The store holds it too: a list that was put back from
  // an older copy, beside a later store, shows by it.
  int64_t serial = 0;
  std::vector<ListedIndex> indexes;
  bool operator==(const IndexList&) const = default;

  std::string Encode() const;
  static absl::StatusOr<IndexList> Decode(std::string_view bytes);
};

}  // namespace arion
