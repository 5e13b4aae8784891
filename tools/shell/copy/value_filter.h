// ValueFilter: which values pass: -v TYPE -z PATTERN. Servers filter keys only, so values travel to
// be looked at.
//
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace arion::shell {

class ValueFilter {
 public:
  // All pass.
  ValueFilter() = default;
  // `type`: anywhere, prefix, postfix, exact. Both empty: all pass. InvalidArgument: an unknown
  // type, or one without the other.
  static absl::StatusOr<ValueFilter> Make(const std::string& type, const std::string& pattern);

  bool TakesAll() const { return type_ == Type::kAll; }
  bool Passes(std::string_view value) const;
  // "value prefix \"a\""; "" where all pass.
  std::string ToString() const;

 private:
  enum class Type { kAll, kAnywhere, kPrefix, kPostfix, kExact };
  Type type_ = Type::kAll;
  std::string name_, pattern_;
};

}  // namespace arion::shell
