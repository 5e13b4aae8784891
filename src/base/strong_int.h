// StrongInt<Tag> is an int64_t that does not mix with other ints: Decree + Ballot does not compile.
//
// Sums and differences end at int64's ends instead of overflowing: numbers off the network may be
// any.
//
// Threads   Immutable after construction, except by ++.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <ostream>
#include <utility>

namespace arion {

// `Tag` is any type of its own; it need not be complete. The difference of two is a plain int64_t.
// A plain number becomes one only by an explicit conversion, and one becomes a number only by
// value().
//
//   using Decree = StrongInt<struct DecreeTag>;
//   Decree next = last + 1;
//   int64_t distance = next - last;
template <class Tag>
class StrongInt {
 public:
  constexpr StrongInt() = default;
  constexpr explicit StrongInt(int64_t value) : value_(value) {}

  constexpr int64_t value() const { return value_; }

  // Stays at the largest value.
  constexpr StrongInt& operator++() {
    value_ = Sum(value_, 1);
    return *this;
  }
  constexpr StrongInt operator+(int64_t n) const { return StrongInt(Sum(value_, n)); }
  constexpr StrongInt operator-(int64_t n) const { return StrongInt(Difference(value_, n)); }
  // The distance from `other`, cut off at int64's ends.
  constexpr int64_t operator-(StrongInt other) const { return Difference(value_, other.value_); }
  constexpr auto operator<=>(const StrongInt&) const = default;

  template <class H>
  friend H AbslHashValue(H h, StrongInt v) {
    return H::combine(std::move(h), v.value_);
  }
  friend std::ostream& operator<<(std::ostream& out, StrongInt v) { return out << v.value_; }

 private:
  using Limits = std::numeric_limits<int64_t>;
  static constexpr int64_t Sum(int64_t a, int64_t b) {
    int64_t sum = 0;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return b < 0 ? Limits::min() : Limits::max();
  }
  static constexpr int64_t Difference(int64_t a, int64_t b) {
    int64_t difference = 0;
    if (!__builtin_sub_overflow(a, b, &difference)) return difference;
    return b < 0 ? Limits::max() : Limits::min();
  }

  // Any number, negative ones included: who takes one off the wire asks decrees/possible.h.
  int64_t value_ = 0;
};

}  // namespace arion
