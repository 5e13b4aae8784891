// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/table_filters.h"

#include "base/status.h"

namespace arion::shell {

absl::StatusOr<KeyFilter> FilterOf(const Arguments& arguments, const std::string& type_option,
                                   const std::string& pattern_option, const std::string& pattern) {
  const std::string type = arguments.Value(type_option);
  // One without the other would mean all records, and remove them.
  if (type.empty() != pattern.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(type.empty() ? pattern_option : type_option, " needs ",
                     type.empty() ? absl::StrCat(type_option, ": anywhere, prefix or postfix")
                                  : absl::StrCat(pattern_option, ", the pattern")));
  if (type.empty()) return KeyFilter();
  if (type == "anywhere") return KeyFilter::Anywhere(pattern);
  if (type == "prefix") return KeyFilter::Prefix(pattern);
  if (type == "postfix") return KeyFilter::Postfix(pattern);
  return absl::InvalidArgumentError(absl::StrCat(type_option, " is anywhere, prefix or postfix"));
}

absl::StatusOr<TableFilters> TableFilters::Of(const Arguments& arguments) {
  TableFilters filters;
  filters.hash_type_ = arguments.Value("-h");
  filters.hash_pattern_ = arguments.Value("-x");
  filters.sort_type_ = arguments.Value("-s");
  filters.sort_pattern_ = arguments.Value("-y");
  ASSIGN_OR_RETURN(const KeyFilter hash, FilterOf(arguments, "-h", "-x", filters.hash_pattern_));
  ASSIGN_OR_RETURN(const KeyFilter sort, FilterOf(arguments, "-s", "-y", filters.sort_pattern_));
  filters.hash_match_ = hash.match;
  filters.sort_match_ = sort.match;
  return filters;
}

TableScanOptions TableFilters::Options() const {
  TableScanOptions options;
  options.hash_key_filter = {hash_match_, hash_pattern_};
  options.sort_key_filter = {sort_match_, sort_pattern_};
  return options;
}

std::string TableFilters::ToString() const {
  if (TakesAll()) return "all";
  std::string text;
  const auto add = [&](const char* key, const std::string& type, const std::string& pattern) {
    if (!type.empty())
      absl::StrAppend(&text, text.empty() ? "" : ", ", key, " ", type, " \"", Escape(pattern),
                      "\"");
  };
  add("hash key", hash_type_, hash_pattern_);
  add("sort key", sort_type_, sort_pattern_);
  return text;
}

}  // namespace arion::shell
