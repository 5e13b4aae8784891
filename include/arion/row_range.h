// RowRange: the rows of a scan, one after the other, while the next batch is already on its way.
//
//   for (absl::StatusOr<arion::Row>& row : table->Scan("user1")) {
//     if (!row.ok()) return row.status();  // the last element, if the scan failed
//     Use(row->sort_key, row->value);
//   }
//
// Shapes    A row comes at most once, also when a server moved or forgot the scan. Rows that are
//           written while the scan runs may be there or not.
// Errors    As Table. An error is an element of its own, and the last.
// Threads   For one thread at a time, and never in a callback: begin() and ++ wait for the server.
// Lifetime  Can be iterated once. May outlive its Table. It may outlive its Client too: then it
//           ends in DeadlineExceeded. A range that is destroyed early tells the server to forget
//           the scan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <arion/async_table.h>

#include <cstddef>
#include <iterator>
#include <memory>

namespace arion {
inline namespace client_v1 {

// A single-pass range for `for` loops. Move-only; it must not be moved while it is iterated,
// because iterators point to it.
class RowRange {
 public:
  // Takes over a scan that has not been asked yet. Nothing is sent before begin().
  explicit RowRange(std::unique_ptr<AsyncScan> scan);
  ~RowRange();
  RowRange(RowRange&&) noexcept;
  RowRange& operator=(RowRange&&) noexcept;

  // An input iterator: all copies advance together. An element may be moved from.
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = absl::StatusOr<Row>;
    using difference_type = std::ptrdiff_t;
    using pointer = value_type*;
    using reference = value_type&;

    iterator() = default;
    reference operator*() const { return *range_->Current(); }
    pointer operator->() const { return range_->Current(); }
    iterator& operator++() {
      if (!range_->Advance()) range_ = nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(const iterator& other) const { return range_ == other.range_; }

   private:
    friend class RowRange;
    explicit iterator(RowRange* range) : range_(range) {}
    // nullptr: the end.
    RowRange* range_ = nullptr;
  };

  // Waits for the first batch. To be called once.
  iterator begin();
  iterator end() { return iterator(); }

 private:
  class State;
  absl::StatusOr<Row>* Current();
  // Makes the next row current, and waits where it is not here yet. False: the end.
  bool Advance();

  std::unique_ptr<State> state_;
};

}  // namespace client_v1
}  // namespace arion
