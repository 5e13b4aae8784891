// What operations take and give: options structs for designated initialisers, checks, filters, rows.
//
// Shapes    Keys and values are any bytes. Hash key <= 65534 bytes, and not empty where the operation
//           works on several records of one hash key. Views in arguments need to live only until the
//           call returns, asynchronous calls included.
// Units     A TTL counts from the call, by the caller's clock, in whole seconds (rounded up); it ends
//           in 2084 at the latest. InfiniteDuration: never expires (or the table's own default).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>
#include <arion/client_options.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace arion {
inline namespace client_v1 {

inline constexpr size_t kHashKeyLimitBytes = 65534;

// In every options struct: `timeout` of this operation, all its retries included; none: the client's.

struct ReadOptions {
  std::optional<absl::Duration> timeout = {};
  // When the primary has not answered after this long, a secondary is asked too, and the first answer
  // counts: it may be older than what was acknowledged.
  absl::Duration backup_after = absl::InfiniteDuration();
};

struct WriteOptions {
  std::optional<absl::Duration> timeout = {};
  std::optional<WriteRetries> write_retries = {};  // none: the client's
};

struct PutOptions {
  absl::Duration ttl = absl::InfiniteDuration();
  std::optional<absl::Duration> timeout = {};
  std::optional<WriteRetries> write_retries = {};
};

struct IncrOptions {
  std::optional<absl::Duration> ttl = {};  // none: the record keeps what it has
  std::optional<absl::Duration> timeout = {};
};

// ---- keys, records ----

struct Key {
  std::string_view hash_key;
  std::string_view sort_key;
};

struct RowToPut {
  std::string_view hash_key;
  std::string_view sort_key;
  std::string_view value;
};

struct SortKeyValue {  // to be put under a hash key given beside
  std::string_view sort_key;
  std::string_view value;
};

struct Row {  // that was read
  std::string hash_key;
  std::string sort_key;
  std::string value;
  std::optional<absl::Time> expires;  // only where it was asked for: InfiniteFuture = never
};

// ---- which records, and what of them ----

enum class Bound { kInclusive, kExclusive };

struct SortKeyRange {
  std::string_view start = {};
  std::string_view stop = {};  // empty: to the last one
  Bound start_bound = Bound::kInclusive;
  Bound stop_bound = Bound::kExclusive;
};

struct KeyFilter {
  enum class Match { kAll, kAnywhere, kPrefix, kPostfix };
  Match match = Match::kAll;
  std::string_view pattern = {};  // empty: all pass

  static KeyFilter Anywhere(std::string_view pattern) { return {Match::kAnywhere, pattern}; }
  static KeyFilter Prefix(std::string_view pattern) { return {Match::kPrefix, pattern}; }
  static KeyFilter Postfix(std::string_view pattern) { return {Match::kPostfix, pattern}; }
};

enum class Values { kReturn, kOmit };  // kOmit: keys only, values come back empty
enum class ExpiryTimes { kReturn, kOmit };

struct MultiGetOptions {
  SortKeyRange range = {};
  KeyFilter sort_key_filter = {};
  int32_t count_max = 0;  // 0: the server's limit
  int32_t bytes_max =
      0;  // of sort keys and values; the row that crosses it is still there. 0: the server's
  enum class From { kStart, kStop };
  From from = From::kStart;  // which rows fit into the limits; their order is ascending in any case
  Values values = Values::kReturn;
  std::optional<absl::Duration> timeout = {};
  absl::Duration backup_after = absl::InfiniteDuration();  // ReadOptions
};

struct MultiGetResult {
  std::vector<Row> rows;    // by sort key
  bool is_complete = true;  // false: a limit was met, there may be more
};

struct ScanOptions {  // of one hash key
  SortKeyRange range = {};
  KeyFilter sort_key_filter = {};
  Values values = Values::kReturn;
  ExpiryTimes expiry_times = ExpiryTimes::kOmit;
  int32_t batch_size = 0;                      // rows an answer; 0: the server's limit
  std::optional<absl::Duration> timeout = {};  // of each batch
};

struct TableScanOptions {  // of a whole table: partition by partition, in each by raw key
  KeyFilter hash_key_filter = {};
  KeyFilter sort_key_filter = {};
  Values values = Values::kReturn;
  ExpiryTimes expiry_times = ExpiryTimes::kOmit;
  int32_t batch_size = 0;
  std::optional<absl::Duration> timeout = {};
  // Only part `part` of `parts`: together they are the whole table, no row twice.
  int32_t part = 0;
  int32_t parts = 1;
};

// ---- conditional writes ----

// What a value is tested for. A missing record passes kNone, kNotExist and kNotExistOrEmpty only.
// Numbers are decimal, 0x... or 0...; a value or operand that is none is InvalidArgument.
struct Check {
  enum class Type : int32_t {
    kNone = 0,
    kNotExist,
    kNotExistOrEmpty,
    kExist,
    kNotEmpty,
    kContains,
    kHasPrefix,
    kHasPostfix,
    kBytesLess,
    kBytesLessOrEqual,
    kBytesEqual,
    kBytesGreaterOrEqual,
    kBytesGreater,
    kNumberLess,
    kNumberLessOrEqual,
    kNumberEqual,
    kNumberGreaterOrEqual,
    kNumberGreater,
  };
  Type type = Type::kNone;
  std::string_view operand = {};  // from kContains on

  static Check NotExist() { return {Type::kNotExist, {}}; }
  static Check Exist() { return {Type::kExist, {}}; }
  static Check Equals(std::string_view value) { return {Type::kBytesEqual, value}; }
};

enum class CheckedValue { kReturn, kOmit };

struct CheckedSet {
  std::string_view hash_key = {};
  std::string_view check_sort_key = {};
  Check check = {};
  std::optional<std::string_view> set_sort_key = {};  // none: the checked one
  std::string_view set_value = {};
  absl::Duration ttl = absl::InfiniteDuration();
  CheckedValue checked_value = CheckedValue::kOmit;
  std::optional<absl::Duration> timeout = {};
};

struct SortKeyMutation {
  enum class Kind { kPut, kRemove };
  Kind kind = Kind::kPut;
  std::string_view sort_key = {};
  std::string_view value = {};
  absl::Duration ttl = absl::InfiniteDuration();

  static SortKeyMutation Put(std::string_view sort_key, std::string_view value,
                             absl::Duration ttl = absl::InfiniteDuration()) {
    return {Kind::kPut, sort_key, value, ttl};
  }
  static SortKeyMutation Remove(std::string_view sort_key) { return {Kind::kRemove, sort_key, {}}; }
};

struct CheckedMutations {
  std::string_view hash_key = {};
  std::string_view check_sort_key = {};
  Check check = {};
  std::vector<SortKeyMutation> mutations = {};  // all or none, in this order
  CheckedValue checked_value = CheckedValue::kOmit;
  std::optional<absl::Duration> timeout = {};
};

struct CheckOutcome {
  bool is_passed = false;  // false: nothing was written
  std::optional<std::string>
      value;  // CheckedValue::kReturn: before the write; none: no such record
};

}  // namespace client_v1
}  // namespace arion
