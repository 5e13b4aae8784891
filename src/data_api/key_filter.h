// KeyFilter: which hash or sort keys a read is about (rpc/PROTOCOL.md 6).
//
// Threads   Immutable.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "messages/client_messages.h"

namespace arion {

// A rule about one kind of key. Keys and patterns are any bytes, compared as they are.
class KeyFilter {
 public:
  // `type` as a request has it (FilterType). nullopt: there is no such type.
  static std::optional<KeyFilter> Make(int32_t type, std::string pattern) {
    if (type < static_cast<int32_t>(FilterType::kNone) ||
        type > static_cast<int32_t>(FilterType::kPostfix))
      return std::nullopt;
    return KeyFilter(static_cast<FilterType>(type), std::move(pattern));
  }

  // Whether the read is about this key. A pattern longer than the key passes nothing, an empty one
  // everything.
  bool Passes(std::string_view key) const {
    switch (type_) {
      case FilterType::kNone:
        return true;
      case FilterType::kAnywhere:
        return key.find(pattern_) != std::string_view::npos;
      case FilterType::kPrefix:
        return key.starts_with(pattern_);
      case FilterType::kPostfix:
        return key.ends_with(pattern_);
    }
    return false;
  }
  // What every key that passes begins with; empty: nothing is known. Lives as long as the filter.
  std::string_view prefix() const {
    return type_ == FilterType::kPrefix ? std::string_view(pattern_) : std::string_view();
  }

 private:
  KeyFilter(FilterType type, std::string pattern) : type_(type), pattern_(std::move(pattern)) {}

  // Immutable; not const, so that filters can be moved.
  FilterType type_;
  std::string pattern_;
};

}  // namespace arion
