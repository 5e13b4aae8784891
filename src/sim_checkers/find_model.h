// FindModel: what a FIND may answer: the index's order, its bounds and its pages, stated again
// (messages/index_messages.h). Knows nothing of the servers' code.
//
// Shapes   Values are those of the simulator's workloads: a JSON object is written without blanks,
//          no string in it holds a quotation mark, and each name stands before one member only.
// Threads  Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "messages/index_definition.h"
#include "messages/index_messages.h"
#include "sim_checkers/checkers.h"

namespace arion::sim {

// What was asked of one partition, and how far the answer goes.
struct FindPage {
  IndexDefinition definition;
  FindRequest request;
  // The answer's; absent: it goes to the end.
  std::optional<std::string> next;
};

// What the index is on, of this value; nullopt: the value has no such field.
std::optional<FieldValue> IndexedField(const IndexDefinition& definition, std::string_view value);
// The row's place in the index, which compares byte by byte.
std::string FoundPosition(const FieldValue& field, std::string_view raw_key);
// The place of a record with this value if the answer speaks of it, so that it had to be among the
// rows.
std::optional<std::string> PlaceInPage(const FindPage& page, std::string_view raw_key,
                                       std::string_view value);
// For a person.
std::string DescribePage(const FindPage& page);

// What one answer says of itself: checkers/C10.
Violations JudgeRows(const FindPage& page, const FindResponse& response);

}  // namespace arion::sim
