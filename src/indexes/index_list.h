// IndexList: which indexes of a replica are in its store, which of them are whole, and how far a walk
// that builds some has been saved; a small file beside the store.
//
// Shapes    "arion indexes 2", next_id, serial, built_store_bytes and built_data_bytes; a line for
//           each index: "index", whole_at or "begun", name, definition, id, how many entries were
//           put and records left out, and these three of its successor, if it has one; for a walk:
//           "walk", where it goes on (hexadecimal), `at`, records and bytes read, ids, files (with
//           commas between). Tabs between all; then "crc " and eight hexadecimal digits. An id is used once.
// Errors    DataLoss: the file can't be understood.
// Threads   A plain value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "messages/index_definition.h"

namespace arion {

// Entries that were put under one id.
struct IndexGeneration {
  uint32_t id = 0;
  // Put so far, and records that had no such field; as of the last change of the list.
  int64_t entries = 0;
  int64_t left_out = 0;
  bool operator==(const IndexGeneration&) const = default;
};

struct ListedIndex {
  std::string name;
  IndexDefinition definition;
  // `current` holds every record of the data as of this decree or later; -1: it is to be built.
  Decree whole_at = kInvalidDecree;
  IndexGeneration current;
  // Built beside a whole one, which answers meanwhile, to take its place: it lacks the entries of
  // former fields.
  std::optional<IndexGeneration> successor;
  bool operator==(const ListedIndex&) const = default;

  bool is_whole() const { return whole_at != kInvalidDecree; }
  // What is to be built, paused or not; nullptr: nothing.
  const IndexGeneration* missing() const {
    return !is_whole() ? &current : successor ? &*successor : nullptr;
  }
};

// What entries are put for: an index's own, or its successor's.
struct IndexTarget {
  IndexGeneration generation;
  IndexDefinition definition;
};

// How far one walk over the data for several indexes has come, and what it has written so far.
struct SavedWalk {
  std::vector<uint32_t> ids;
  // The next record's key, or one before it. Of those before, all is in the files, or was written
  // since and has its entries in the store.
  std::string from;
  // The data must not be older.
  Decree at = kInvalidDecree;
  int64_t records = 0;
  uint64_t bytes = 0;
  // Of the bulk writer.
  std::vector<std::string> files;
  bool operator==(const SavedWalk&) const = default;
};

struct IndexList {
  // Of the next generation.
  uint32_t next_id = 1;
  // Rises with each change of what is listed. The store holds it too: a list that was put back from
  // an older copy, beside a later store, shows by it.
  int64_t serial = 0;
  // How large the store and the data were when all that was missing had been built.
  uint64_t built_store_bytes = 0;
  uint64_t built_data_bytes = 0;
  std::vector<ListedIndex> indexes;
  std::optional<SavedWalk> walk;
  bool operator==(const IndexList&) const = default;

  std::vector<IndexTarget> Targets() const;
  // Those that are to be built: not of paused ones.
  std::vector<IndexTarget> Missing() const;

  std::string Encode() const;
  static absl::StatusOr<IndexList> Decode(std::string_view bytes);
};

}  // namespace arion
