// Which records a scan is about: -h TYPE -x PATTERN of the hash key, -s, -y of the sort key.
//
// Errors    InvalidArgument: a type without its pattern or the other way round; an unknown type.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <arion/options.h>

#include <string>

#include "tools/shell/arguments.h"

namespace arion::shell {

// A command's usage has it.
inline constexpr char kTableFiltersUsage[] =
    "[-h anywhere|prefix|postfix -x PATTERN] [-s anywhere|prefix|postfix -y PATTERN]";

// `pattern` is the pattern option's value, and outlives the filter.
absl::StatusOr<KeyFilter> FilterOf(const Arguments& arguments, const std::string& type_option,
                                   const std::string& pattern_option, const std::string& pattern);

// Both filters of one command.
class TableFilters {
 public:
  static absl::StatusOr<TableFilters> Of(const Arguments& arguments);
  // They point into this.
  TableScanOptions Options() const;
  bool TakesAll() const { return hash_type_.empty() && sort_type_.empty(); }
  // "hash key prefix \"a\"", "all"
  std::string ToString() const;

 private:
  std::string hash_type_, hash_pattern_, sort_type_, sort_pattern_;
  KeyFilter::Match hash_match_ = KeyFilter::Match::kAll, sort_match_ = KeyFilter::Match::kAll;
};

}  // namespace arion::shell
