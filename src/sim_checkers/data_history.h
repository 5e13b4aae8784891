// DataHistory: operations of the whole data API, each on one hash key, with what was asked and what
// was answered, in the world's time.
//
// Shapes   Writes without an answer are kUndecided: they happened at any time after `invoked`, or
//          never. Refused writes must not be seen and reads without an answer say nothing: neither
//          is kept. Rows of an answer are in the order of their sort keys. Expiry: seconds since
//          2016, 0 = never.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "messages/client_messages.h"

namespace arion::sim {

struct FindPage;

// One operation. Fields that its kind has no use for stay as they are.
struct DataOperation {
  enum class Kind : uint8_t {
    kPut,
    kRemove,
    kMultiPut,
    kMultiRemove,
    kIncr,
    kCheckAndSet,
    kCheckAndMutate,
    kGet,
    kMultiGet,
    kBatchGet,
    kScan,
    kSortKeyCount,
    kTtl,
    kFind,
  };
  static constexpr int kKinds = static_cast<int>(Kind::kFind) + 1;
  enum class Outcome : uint8_t { kAnswered, kRefused, kUndecided };
  struct Write {
    std::string sort_key;
    // None: removes it.
    std::optional<std::string> value;
    int32_t expire_ts = 0;
  };
  // What INCR and CHECK_... came to.
  enum class Verdict : uint8_t { kWritten, kCheckFailed, kInvalid };

  Kind kind = Kind::kGet;
  Outcome outcome = Outcome::kUndecided;
  std::string hash_key;
  Instant invoked;
  Instant returned = Instant::InfiniteFuture();

  // Asked.
  // What writes but INCR write, in order.
  std::vector<Write> writes;
  // GET, TTL, INCR; what CHECK_... looks at.
  std::string sort_key;
  CheckType check = CheckType::kNoCheck;
  std::string operand;
  // By how much INCR changes the number.
  int64_t amount = 0;
  // INCR: 0 keeps what is, negative: none.
  int32_t expire_ts = 0;
  // MULTI_GET, BATCH_GET; empty: all.
  std::vector<std::string> sort_keys;
  // Of a MULTI_GET without sort keys; 0: no limit.
  int32_t rows_max = 0;
  // FIND, of which this tells what it says of one hash key; shared by all of them.
  std::shared_ptr<const FindPage> find;

  // Answered.
  Verdict verdict = Verdict::kWritten;
  // CHECK_...: `value` is what was there.
  bool told_value = false;
  // GET, CHECK_...; none: no record.
  std::optional<std::string> value;
  // INCR, SORTKEY_COUNT; TTL: -1 never expires.
  int64_t number = 0;
  // Of a FIND that asked for no values: positions.
  std::vector<std::pair<std::string, std::string>> rows;
  // MULTI_GET: there may be more.
  bool is_incomplete = false;

  bool IsRead() const { return kind >= Kind::kGet; }
  // Whether it writes without a look at what is there.
  bool IsBlind() const { return kind <= Kind::kMultiRemove; }
  // Whether it looks at and writes the same single record.
  bool IsOfOneRecord() const {
    return kind == Kind::kPut || kind == Kind::kRemove || kind == Kind::kIncr;
  }
  std::string ToString() const;
};
const char* KindName(DataOperation::Kind kind);

// All operations of a run, in the order of their begins; FINDs in that of their answers. Workloads
// write it; CheckData reads it.
class DataHistory {
 public:
  // The operation began at `now`.
  size_t Invoke(DataOperation operation, Instant now) {
    operation.invoked = now;
    operations_.push_back(std::move(operation));
    return operations_.size() - 1;
  }
  DataOperation& operator[](size_t index) { return operations_[index]; }
  void Return(size_t index, DataOperation::Outcome outcome, Instant now) {
    operations_[index].outcome = outcome;
    if (outcome != DataOperation::Outcome::kUndecided) operations_[index].returned = now;
  }
  const std::vector<DataOperation>& operations() const { return operations_; }
  // But FINDs, which are not of one hash key.
  int64_t CountAnswered() const;
  int64_t CountAnswered(DataOperation::Kind kind) const;

 private:
  std::vector<DataOperation> operations_;
};

}  // namespace arion::sim
