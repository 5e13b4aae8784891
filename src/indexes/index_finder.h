// IndexFinder: answers one FIND of a partition, turn by turn, from a view of its data and of the
// index.
//
// Shapes    Each entry's record is read: only what has the field now, and is the partition's, is a
//           row. Where the index is
//           not whole and the request allows it, all records are read instead.
//           An answer ends after `limit` rows, kAnswerBytes, or kEntriesMax entries; it says where
//           to go on.
// Errors    The engine's. Of the request: the answer's `error`. An index that can't be read is given
//           up (IndexSet::Abandon): the answer says that it is being built.
// Threads   One at a time, in a pool.
// Promises  index_finder/F1  A row is true in the view of the data. A record of the partition that
//               was in the data before the view was taken, and was not changed since, is a row. So
//               nothing counts that was read by an index whose successor has taken its place
//               meanwhile.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "data_api/read_operations.h"
#include "indexes/field_reader.h"
#include "indexes/index_set.h"
#include "messages/index_messages.h"

namespace arion {

// Made for one question.
class IndexFinder {
 public:
  static constexpr int32_t kRowsMax = 10'000;
  static constexpr int64_t kEntriesMax = 5'000;
  // Of a turn; one at least, however late it is.
  static constexpr int64_t kTurnRecords = 1'000;
  static constexpr size_t kAnswerBytes = 4 << 20;

  // Nothing is read yet. `engine`: one with indexes, or none.
  IndexFinder(std::shared_ptr<const Engine> engine, FindRequest request);
  ~IndexFinder();

  // nullopt: the turn is over; others get theirs, then it is called again.
  absl::StatusOr<std::optional<FindResponse>> Turn(const ReadTerms& terms);

 private:
  absl::StatusOr<std::optional<FindResponse>> Begin(const ReadTerms& terms);
  absl::StatusOr<std::optional<FindResponse>> ReadEntries(const ReadTerms& terms);
  absl::StatusOr<std::optional<FindResponse>> ReadRecords(const ReadTerms& terms);
  // The record's field, if it has one within the bounds.
  std::optional<FieldValue> FieldOf(std::string_view value);
  FoundRow MakeRow(std::string_view raw_key, FieldValue field, std::string_view position,
                   std::string_view value) const;
  static size_t BytesOf(const FoundRow& row);
  FindResponse Answer(const ReadTerms& terms);

  const std::shared_ptr<const Engine> engine_;
  // Its limit is at most kRowsMax.
  FindRequest request_;
  // They go before the engine.
  std::shared_ptr<const EngineView> data_;
  std::optional<IndexSet::Reading> index_;
  std::optional<FieldReader> reader_;
  // What is left to read: entries, or records.
  KeyRange range_;
  int64_t examined_ = 0;
  size_t bytes_ = 0;
  FindResponse response_;
  // Of a scan: the first rows of the order so far, by position, within the answer's bounds.
  std::map<std::string, FoundRow, std::less<>> best_;
  bool has_more_ = false;
  // Of the index, not of the data.
  absl::Status broken_;
};

}  // namespace arion
