// What operations take and return: options, keys, filters, checks and rows, as plain structs for
// designated initialisers.
//
//   table->Put("user1", "name", "Ann", {.ttl = absl::Hours(24), .timeout = absl::Seconds(1)});
//   table->MultiGet("user1", {.range = {.start = "a", .stop = "m"}, .count_max = 100});
//
// Shapes    Keys and values are any bytes. Hash key <= 65534 bytes, and not empty where the
//           operation works on several records of one hash key. Views in arguments need to live
//           only until the call returns, asynchronous calls included.
// Units     A TTL counts from the call, by the caller's clock, in whole seconds (rounded up). It
//           must be above zero and end in 2084 at the latest. InfiniteDuration: the record never
//           expires, or after the table's own default TTL.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>
#include <arion/client_options.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace arion {
inline namespace client_v1 {

// The longest hash key. Sort keys and values are bounded by the size of a request only.
inline constexpr size_t kHashKeyLimitBytes = 65534;

// Options of reads. Here and in all options below, `timeout` bounds the operation with all its
// retries; without a value the client's own timeout counts.
struct ReadOptions {
  std::optional<absl::Duration> timeout = {};
  // When the primary has not answered after this long, a secondary is asked too, and the first good
  // answer counts. A secondary's answer may be older than what was acknowledged: set this only
  // where stale data are acceptable. Infinite: no secondary is asked.
  absl::Duration backup_after = absl::InfiniteDuration();
};

// Options of removes.
struct WriteOptions {
  std::optional<absl::Duration> timeout = {};
  // No value: as ClientOptions::write_retries.
  std::optional<WriteRetries> write_retries = {};
};

// Options of writes that store values.
struct PutOptions {
  // The lifetime of each record written.
  absl::Duration ttl = absl::InfiniteDuration();
  std::optional<absl::Duration> timeout = {};
  // No value: as ClientOptions::write_retries.
  std::optional<WriteRetries> write_retries = {};
  // Instead of `ttl`: when each record written expires, rounded up to a second. For copies of
  // records that were read with their expiry times (Row::expires). InfiniteFuture: never.
  std::optional<absl::Time> expires = {};
};

// Options of Incr. It has no `write_retries`: it is never sent again once it may have happened.
struct IncrOptions {
  // The record's new lifetime. No value: the record keeps the expiry time it has.
  std::optional<absl::Duration> ttl = {};
  std::optional<absl::Duration> timeout = {};
};

// ---- keys, records ----

// Names a record. The hash key chooses the partition; within a hash key records are ordered by sort
// key. An empty hash key is allowed here: then the sort key chooses the partition.
struct Key {
  std::string_view hash_key;
  std::string_view sort_key;
};

// A record to be written, with its whole key.
struct RowToPut {
  std::string_view hash_key;
  std::string_view sort_key;
  std::string_view value;
};

// A record to be written under a hash key that is given beside it.
struct SortKeyValue {
  std::string_view sort_key;
  std::string_view value;
};

// A record that was read. It owns its bytes.
struct Row {
  std::string hash_key;
  std::string sort_key;
  // Empty where the options say Values::kOmit.
  std::string value;
  // When the record expires; InfiniteFuture: never. Present only in scans with
  // ExpiryTimes::kReturn.
  std::optional<absl::Time> expires;
};

// ---- which records, and what of them ----

// Whether a bound itself belongs to the range.
enum class Bound { kInclusive, kExclusive };

// The sort keys between two bounds, compared as unsigned bytes. The default is all of them.
struct SortKeyRange {
  // Empty: from the first sort key.
  std::string_view start = {};
  // Empty: to the last sort key, whatever stop_bound says.
  std::string_view stop = {};
  Bound start_bound = Bound::kInclusive;
  Bound stop_bound = Bound::kExclusive;
};

// Which keys pass. The server filters, so rows that do not pass do not travel.
struct KeyFilter {
  // Where in the key `pattern` must occur.
  enum class Match { kAll, kAnywhere, kPrefix, kPostfix };
  Match match = Match::kAll;
  // Any bytes, compared as they are. Empty: every key passes.
  std::string_view pattern = {};

  static KeyFilter Anywhere(std::string_view pattern) { return {Match::kAnywhere, pattern}; }
  static KeyFilter Prefix(std::string_view pattern) { return {Match::kPrefix, pattern}; }
  static KeyFilter Postfix(std::string_view pattern) { return {Match::kPostfix, pattern}; }
};

// Whether values are returned. kOmit: only keys travel; values come back empty.
enum class Values { kReturn, kOmit };
// Whether Row::expires is filled.
enum class ExpiryTimes { kReturn, kOmit };

// Options of MultiGet and MultiGetKeys: which records of one hash key, and how many of them.
struct MultiGetOptions {
  // `range`, `sort_key_filter` and `from` have no meaning in MultiGetKeys.
  SortKeyRange range = {};
  KeyFilter sort_key_filter = {};
  // At most this many rows. 0: the server's own limit, which holds in any case.
  int32_t count_max = 0;
  // At most this many bytes of sort keys and values. The row that crosses the limit is still
  // returned. 0: the server's own limit.
  int32_t bytes_max = 0;
  // Which end of the range fills the limits first.
  enum class From { kStart, kStop };
  // kStop returns the last rows that fit. The rows are in ascending order in any case.
  From from = From::kStart;
  Values values = Values::kReturn;
  std::optional<absl::Duration> timeout = {};
  // As ReadOptions::backup_after.
  absl::Duration backup_after = absl::InfiniteDuration();
};

// One answer of bounded size.
struct MultiGetResult {
  // Ascending by sort key. Of MultiGetKeys: in the order of the keys asked for.
  std::vector<Row> rows;
  // False: a limit was met, and there may be more rows in the range.
  bool is_complete = true;
};

// Options of Scan and Count: the records of one hash key.
struct ScanOptions {
  SortKeyRange range = {};
  KeyFilter sort_key_filter = {};
  Values values = Values::kReturn;
  ExpiryTimes expiry_times = ExpiryTimes::kOmit;
  // At most this many rows in one answer. 0: the server's own limit.
  int32_t batch_size = 0;
  // Of each batch, not of the whole scan.
  std::optional<absl::Duration> timeout = {};
};

// Options of ScanTable and CountTable: all records of a table. They come partition by partition,
// and within a partition in the order of their raw keys (the hash key's length, hash key, sort
// key).
struct TableScanOptions {
  KeyFilter hash_key_filter = {};
  KeyFilter sort_key_filter = {};
  Values values = Values::kReturn;
  ExpiryTimes expiry_times = ExpiryTimes::kOmit;
  int32_t batch_size = 0;
  std::optional<absl::Duration> timeout = {};
  // Reads only the part with this number, 0 <= part < parts. All parts together are the whole
  // table, and no record is in two of them. A part is a set of partitions, so more parts than
  // partitions leave some parts empty.
  int32_t part = 0;
  int32_t parts = 1;
  // Only what lies behind this key, in the order above. In each partition of the part.
  std::optional<Key> after = {};
  // kExact: `part` is the partition of that index of a table of `parts` partitions. Where there is
  // none, or it is split while it is read, the scan ends in Aborted: who keeps a place in it has to
  // keep one in both halves.
  enum class Partitions { kAny, kExact };
  Partitions partitions = Partitions::kAny;
};

// ---- indexes ----

// What an index holds of a value. In the order of an index: false, true, numbers (whole ones and
// fractions together), strings (any bytes, unsigned).
using IndexedValue = std::variant<bool, int64_t, double, std::string>;

// Options of Find: which records, by the field that the index is on, and how many of them.
//
//   table->Find("city", FindOptions::Equal("Berlin"));
//   table->Find("age", {.lower = 18, .limit = 1000});
struct FindOptions {
  // Bounds of the field. One alone: to the end of its kind, so {.lower = 18} finds numbers only.
  // None, and no prefix: the whole index.
  std::optional<IndexedValue> lower = {};
  std::optional<IndexedValue> upper = {};
  Bound lower_bound = Bound::kInclusive;
  Bound upper_bound = Bound::kInclusive;
  // Strings that begin so. Not together with bounds.
  std::optional<std::string_view> prefix = {};
  enum class Order { kAscending, kDescending };
  // By field; records of one field by their keys.
  Order order = Order::kAscending;
  // At most this many rows, at least 1.
  int32_t limit = 100;
  Values values = Values::kOmit;
  // FindResult::next of the same question: goes on there. Empty: from the beginning.
  std::string_view after = {};
  // What to do where the index is not built yet: say how far it is, or read all records, which
  // takes as long as a scan.
  enum class WhileBuilding { kRefuse, kScan };
  WhileBuilding while_building = WhileBuilding::kRefuse;
  std::optional<absl::Duration> timeout = {};

  static FindOptions Equal(const IndexedValue& value) { return {.lower = value, .upper = value}; }
};

// A record that an index names.
struct IndexedRow {
  std::string hash_key;
  std::string sort_key;
  IndexedValue field;
  // Empty where the options say Values::kOmit.
  std::string value;
};

struct FindResult {
  std::vector<IndexedRow> rows;
  // For FindOptions::after. Opaque bytes, good for as long as the index is the same. Empty: there
  // are no more rows.
  std::string next;
};

// What building is at: of the data, about, what is to be read yet, and how much in a second now.
struct IndexPace {
  int64_t left_bytes = 0;
  int64_t bytes_per_second = 0;
  // Until it is built; nullopt: nothing is read now.
  std::optional<int64_t> seconds_left() const {
    if (left_bytes == 0) return 0;
    if (bytes_per_second <= 0) return std::nullopt;
    return left_bytes / bytes_per_second + 1;
  }
};

// What an index of a table is at.
struct IndexOverview {
  int32_t partitions = 0;
  // Partitions whose server has not heard of the index yet. They count as 0 %.
  int32_t unaware = 0;
  // Of the building, over all partitions. 100: it is whole.
  int32_t lowest_percent = 0;
  double mean_percent = 0;
  // Entries, about.
  int64_t entries = 0;
  // Records that are not in it: no JSON, or without the field.
  int64_t left_out = 0;
  // Partitions where it is built anew, and answers meanwhile.
  int32_t renewed = 0;
  IndexPace pace;
  // By server, of the partitions it leads: where something is to be built or renewed.
  std::map<std::string, IndexPace> servers;
};

// ---- conditional writes ----

// What the value of a record is tested for before a conditional write. A record that is missing
// passes kNone, kNotExist and kNotExistOrEmpty only.
//
// Numbers are decimal, hexadecimal (0x...) or octal (0...). A value or an operand that is not a
// number makes the operation InvalidArgument. The values of the enumerators travel on the wire.
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
  // Used by kContains and all that follow it.
  std::string_view operand = {};

  static Check NotExist() { return {Type::kNotExist, {}}; }
  static Check Exist() { return {Type::kExist, {}}; }
  static Check Equals(std::string_view value) { return {Type::kBytesEqual, value}; }
};

// Whether CheckOutcome::value is filled.
enum class CheckedValue { kReturn, kOmit };

// "If the record `check_sort_key` passes `check`, write this one." Atomic: no other write to the
// hash key comes between the check and the write.
struct CheckedSet {
  std::string_view hash_key = {};
  std::string_view check_sort_key = {};
  Check check = {};
  // The record that is written. No value: the one that was checked.
  std::optional<std::string_view> set_sort_key = {};
  // Its new value and lifetime.
  std::string_view set_value = {};
  absl::Duration ttl = absl::InfiniteDuration();
  CheckedValue checked_value = CheckedValue::kOmit;
  std::optional<absl::Duration> timeout = {};
  // As PutOptions::expires.
  std::optional<absl::Time> expires = {};
};

// One change of CheckAndMutate. Make it with Put or Remove.
struct SortKeyMutation {
  enum class Kind { kPut, kRemove };
  Kind kind = Kind::kPut;
  std::string_view sort_key = {};
  // Of Kind::kPut only, as `ttl`.
  std::string_view value = {};
  absl::Duration ttl = absl::InfiniteDuration();

  static SortKeyMutation Put(std::string_view sort_key, std::string_view value,
                             absl::Duration ttl = absl::InfiniteDuration()) {
    return {Kind::kPut, sort_key, value, ttl};
  }
  static SortKeyMutation Remove(std::string_view sort_key) { return {Kind::kRemove, sort_key, {}}; }
};

// "If the record `check_sort_key` passes `check`, make these changes." Atomic as CheckedSet.
struct CheckedMutations {
  std::string_view hash_key = {};
  std::string_view check_sort_key = {};
  Check check = {};
  // At least one. All of them are made, in this order, or none.
  std::vector<SortKeyMutation> mutations = {};
  CheckedValue checked_value = CheckedValue::kOmit;
  std::optional<absl::Duration> timeout = {};
};

// What a conditional write came to.
struct CheckOutcome {
  // False: the check did not pass and nothing was written.
  bool is_passed = false;
  // The checked record's value before the write. Present with CheckedValue::kReturn if the record
  // existed.
  std::optional<std::string> value;
};

}  // namespace client_v1
}  // namespace arion
