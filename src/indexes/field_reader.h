// FieldReader: the fields of a record's value that a table's indexes are on.
//
// Shapes    A JSON value is read from its beginning until every field is found, or until it ends,
//           is no JSON, is nested deeper than kDepthMax, or kValueBytesMax are read: what was found
//           before counts. So a field is found or not whatever other indexes there are. Of members
//           of one name the first counts. null, objects and arrays are no field.
// Threads   One at a time: it keeps memory between calls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "messages/index_definition.h"
#include "messages/index_messages.h"

namespace arion {

//   FieldReader reader(definitions);
//   for (const auto& [at, field] : reader.Read(value)) ...      // definitions[at] has this field
class FieldReader {
 public:
  static constexpr size_t kDepthMax = 64;
  static constexpr size_t kValueBytesMax = 1 << 20;

  explicit FieldReader(const std::vector<IndexDefinition>& definitions);
  ~FieldReader();
  FieldReader(FieldReader&&) noexcept;
  FieldReader& operator=(FieldReader&&) noexcept;

  struct Found {
    size_t at = 0;
    FieldValue field;
  };
  // Valid until the next call.
  const std::vector<Found>& Read(std::string_view value);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace arion
