// History: each operation on a record as a line of JSON, for a checker of linearizability (each key
// is a register: porcupine's model of one, run key by key).
//
// Shapes    {"key":"user1","op":"write","value":"5-17","call":ns,"return":ns}: op is read, write or
//           remove; a value is run-sequence, null none; "return" is null where no answer came, so
//           that the write may happen at any time. What was refused or failed to read is left out.
//           Damaged values read "damaged". Lines stand in the order of their ends.
// Errors    status(): the first write that failed; what follows is dropped.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "base/mutex.h"
#include "tools/load/workload/operations.h"

namespace arion::load {

// One file.
class History {
 public:
  explicit History(const std::string& path);

  // One operation that ended, or never will.
  struct Entry {
    RecordKey key;
    // "read", "write", "remove"
    std::string_view operation;
    // As ValueText has it.
    std::optional<std::string> value;
    Instant call;
    // No value: no answer came.
    std::optional<Instant> end;
  };
  void Add(const Entry& entry);
  // Writes what is left. The first write that failed, or OK.
  absl::Status Close();

  // How a value is written: by its stamp.
  static std::string ValueText(std::string_view value);
  static std::string ValueText(uint64_t run, int64_t sequence);

 private:
  const std::string path_;
  Mutex mutex_;
  // Guarded by mutex_, as status_.
  std::ofstream file_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion::load
