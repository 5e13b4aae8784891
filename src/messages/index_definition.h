// IndexDefinition: what one index of a table is on. An environment of the table holds it
// (`index.NAME`), so it travels, is stored and is shown as environments are, by older tools too.
//
// Shapes    $.customer.city      a field of values that are JSON objects; $.lines[0].sku
//           value                the whole value
//           bytes(16,8)          the eight bytes from the sixteenth on; values that end before that
//                                are not in the index
//           ;generation=2        behind it: what was built of another generation serves until this
//                                one is built
//           ;paused              behind it: what is missing of it is not built for now
// Errors    InvalidArgument with what was expected; for a person.
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace arion {

// Before the name, in the key of the environment.
inline constexpr char kIndexEnvPrefix[] = "index.";
inline constexpr size_t kIndexesMax = 64;  // of one table
inline constexpr size_t kIndexNameBytesMax = 64;
inline constexpr size_t kIndexPathDepthMax = 32;
inline constexpr size_t kIndexDefinitionBytesMax = 1024;

struct IndexDefinition {
  enum class Source : uint8_t { kField, kValue, kBytes };
  // A step into a JSON value: the member of an object, or the element of an array.
  struct Step {
    std::string member;
    // >= 0: the element; `member` is empty.
    int32_t element = -1;
    bool operator==(const Step&) const = default;
  };

  Source source = Source::kValue;
  // Of kField. Not empty.
  std::vector<Step> path;
  // Of kBytes.
  uint32_t offset = 0;
  uint32_t length = 0;
  int64_t generation = 0;
  bool is_paused = false;

  static absl::StatusOr<IndexDefinition> Parse(std::string_view text);
  std::string Text() const;
  // Whether what was built for the one answers for the other.
  bool IsSameContent(const IndexDefinition& other) const;
  bool operator==(const IndexDefinition&) const = default;
};

// Letters, digits, '_', '-': at least one, at most kIndexNameBytesMax.
bool IsIndexName(std::string_view name);
// The name, if the key is that of an index.
std::optional<std::string_view> IndexNameOf(std::string_view env_key);
std::string IndexEnvKey(std::string_view name);

struct NamedIndex {
  std::string name;
  IndexDefinition definition;
  bool operator==(const NamedIndex&) const = default;
};

}  // namespace arion
