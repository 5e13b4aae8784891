// OperationSource: the operations of a phase, one after the other: which record, what kind, how
// long a value. KeyNames: what a record's number is called.
//
// Shapes    The same workload, seed and phase give the same operations, whoever carries them out
//           and whenever. Reads aim at what was loaded and at what the run inserted, but for its
//           last `settling` inserts, which may still be under way (YCSB waits for answers instead,
//           so that its operations depend on time). A multi-operation stays within its hash key.
// Threads   One at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/load/workload/dice.h"
#include "tools/load/workload/distributions.h"
#include "tools/load/workload/workload.h"

namespace arion::load {

enum class Phase { kLoad, kRun };

// One operation, without the names of records.
struct Operation {
  // From 0.
  int64_t index = 0;
  Kind kind = Kind::kRead;
  // The first, of a scan or a multi-operation.
  int64_t record = 0;
  // How many records it reads at most, or writes.
  int64_t count = 1;
  // Of each record it writes.
  int64_t value_bytes = 0;
  // 0: it never expires.
  int64_t ttl_seconds = 0;

  bool operator==(const Operation&) const = default;
};

// One phase's operations.
class OperationSource {
 public:
  struct Options {
    Phase phase = Phase::kRun;
    uint64_t seed = 1;
    int64_t settling = 0;
  };
  OperationSource(const Workload& workload, Options options);

  // kLoad ends after the last record; kRun goes on for ever.
  std::optional<Operation> Next();

 private:
  Kind NextKind();
  int64_t NextRecord();
  // The range that NextRecord chooses from.
  int64_t first() const { return workload_.insert_start; }
  int64_t last() const;

  const Workload workload_;
  const Options options_;
  Dice dice_;
  int64_t next_index_ = 0;
  int64_t next_insert_;
  // Null: kLatest, kExponential.
  std::unique_ptr<Distribution> requests_;
  std::unique_ptr<Zipfian> latest_;
  std::unique_ptr<Exponential> exponential_;
  std::unique_ptr<Distribution> field_length_;
  std::unique_ptr<Distribution> scan_length_;
};

// A record's key, as the table's API takes it.
struct RecordKey {
  std::string hash_key;
  std::string sort_key;
};

// The same number always has the same key.
class KeyNames {
 public:
  explicit KeyNames(const Workload& workload);
  RecordKey Of(int64_t record) const;
  // The record that the sort key names under the hash key of `record_beside`.
  std::optional<int64_t> RecordOf(int64_t record_beside, std::string_view sort_key) const;
  int64_t per_hash_key() const { return workload_.records_per_hash_key; }

 private:
  const Workload workload_;
  const size_t sort_key_digits_;
  // Null: keys are as long as they are.
  const std::unique_ptr<Distribution> key_length_;
};

}  // namespace arion::load
