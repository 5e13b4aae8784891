// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/value_filter.h"

#include "base/status.h"
#include "tools/shell/words.h"

namespace arion::shell {

absl::StatusOr<ValueFilter> ValueFilter::Make(const std::string& type, const std::string& pattern) {
  if (type.empty() && pattern.empty()) return ValueFilter();
  if (type.empty())
    return absl::InvalidArgumentError("-z needs -v: anywhere, prefix, postfix or exact");
  if (pattern.empty()) return absl::InvalidArgumentError("-v needs -z, the pattern");
  ValueFilter filter;
  filter.name_ = type;
  filter.pattern_ = pattern;
  if (type == "anywhere")
    filter.type_ = Type::kAnywhere;
  else if (type == "prefix")
    filter.type_ = Type::kPrefix;
  else if (type == "postfix")
    filter.type_ = Type::kPostfix;
  else if (type == "exact")
    filter.type_ = Type::kExact;
  else
    return absl::InvalidArgumentError("-v is anywhere, prefix, postfix or exact");
  return filter;
}

bool ValueFilter::Passes(std::string_view value) const {
  switch (type_) {
    case Type::kAll:
      return true;
    case Type::kAnywhere:
      return value.find(pattern_) != std::string_view::npos;
    case Type::kPrefix:
      return value.starts_with(pattern_);
    case Type::kPostfix:
      return value.ends_with(pattern_);
    case Type::kExact:
      return value == pattern_;
  }
  return false;
}

std::string ValueFilter::ToString() const {
  return TakesAll() ? "" : absl::StrCat("value ", name_, " \"", Escape(pattern_), "\"");
}

}  // namespace arion::shell
