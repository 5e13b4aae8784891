// StrongInt<Tag> is an int64_t that does not mix with other ints: Decree + Ballot does not compile.
//
// Immutable after construction, except by ++ and +=. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>

namespace arion {

template <class Tag>
class StrongInt {
 public:
  constexpr StrongInt() = default;
  constexpr explicit StrongInt(int64_t value) : value_(value) {}

  constexpr int64_t value() const { return value_; }

  constexpr StrongInt& operator++() {
    ++value_;
    return *this;
  }
  constexpr StrongInt operator+(int64_t n) const { return StrongInt(value_ + n); }
  constexpr StrongInt operator-(int64_t n) const { return StrongInt(value_ - n); }
  constexpr int64_t operator-(StrongInt other) const { return value_ - other.value_; }
  constexpr auto operator<=>(const StrongInt&) const = default;

  template <class H>
  friend H AbslHashValue(H h, StrongInt v) {
    return H::combine(std::move(h), v.value_);
  }
  friend std::ostream& operator<<(std::ostream& out, StrongInt v) { return out << v.value_; }

 private:
  int64_t value_ = 0;
};

}  // namespace arion
