// RowRange: the rows of a scan, one after the other, while the next batch is already on its way.
//
//   for (absl::StatusOr<arion::Row>& row : table->Scan("user1")) {
//     if (!row.ok()) return row.status();  // the last element, if the scan failed
//     Use(row->sort_key, row->value);
//   }
//
// Shapes    A row at most once, also when a server moved or forgot the scan; rows written meanwhile
//           may be there or not.
// Errors    As Table. An error is an element of its own, and the last.
// Threads   One at a time; never in a callback. It waits in begin() and ++.
// Lifetime  Goes through once. May outlive its Table; not deeper than its Client: then it ends in
//           DeadlineExceeded. Dropped early, it tells the server so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <arion/async_table.h>

#include <cstddef>
#include <iterator>
#include <memory>

namespace arion {
inline namespace client_v1 {

class RowRange {
 public:
  explicit RowRange(std::unique_ptr<AsyncScan> scan);
  ~RowRange();
  RowRange(RowRange&&) noexcept;
  RowRange& operator=(RowRange&&) noexcept;

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
    RowRange* range_ = nullptr;  // nullptr: the end
  };

  iterator begin();  // once
  iterator end() { return iterator(); }

 private:
  class State;
  absl::StatusOr<Row>* Current();
  bool Advance();  // false: the end

  std::unique_ptr<State> state_;
};

}  // namespace client_v1
}  // namespace arion
