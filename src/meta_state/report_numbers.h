// ReportNumbers: the numbers of config syncs (meta/STATE.md 4.1). A report that carries a larger
// number than another was asked for later.
//
// Threads   Strand-bound to its owner.
// Promises  report_numbers/N1  A number is given once in a life of the meta server. `first` is drawn,
//               so that none is likely to be one of a former life.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace arion {

// One for each life of a meta server, whose owner draws `first`. It ends with it.
class ReportNumbers {
 public:
  explicit ReportNumbers(int64_t first) : last_(first) {}
  int64_t Next() { return ++last_; }
  // The one that was given last, to any server.
  int64_t last() const { return last_; }

 private:
  int64_t last_;
};

}  // namespace arion
