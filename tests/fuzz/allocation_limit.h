// AllocationLimit: while one lives, `operator new` ends the process when it is asked for more than
// so many bytes at once: what a hostile length field would do to a decoder.
//
// Threads   The limit is the process's. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace arion {

class AllocationLimit {
 public:
  explicit AllocationLimit(size_t bytes);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;

 private:
  const size_t before_;
};

}  // namespace arion
