// What clients ask of a partition's primary (rpc/PROTOCOL.md 5 and 6). client/ and the official
// clients fill the requests; data_api and client_requests answer them.
//
// Shapes    "raw key": base/raw_key.h. Expiry times are absolute, in seconds since 2016; 0 = never;
//           negative ones are read as u32. `error` is a StorageError. Enumerations travel as plain
//           numbers, because an unknown one has an answer of its own. Clients may leave out any
//           field; what we write has every field that is not optional.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/blob.h"

namespace arion {

// RPC codes.
inline constexpr char kRpcPut[] = "RPC_RRDB_RRDB_PUT";
inline constexpr char kRpcRemove[] = "RPC_RRDB_RRDB_REMOVE";
inline constexpr char kRpcMultiPut[] = "RPC_RRDB_RRDB_MULTI_PUT";
inline constexpr char kRpcMultiRemove[] = "RPC_RRDB_RRDB_MULTI_REMOVE";
inline constexpr char kRpcIncr[] = "RPC_RRDB_RRDB_INCR";
inline constexpr char kRpcCheckAndSet[] = "RPC_RRDB_RRDB_CHECK_AND_SET";
inline constexpr char kRpcCheckAndMutate[] = "RPC_RRDB_RRDB_CHECK_AND_MUTATE";
inline constexpr char kRpcGet[] = "RPC_RRDB_RRDB_GET";
inline constexpr char kRpcMultiGet[] = "RPC_RRDB_RRDB_MULTI_GET";
inline constexpr char kRpcBatchGet[] = "RPC_RRDB_RRDB_BATCH_GET";
inline constexpr char kRpcSortKeyCount[] = "RPC_RRDB_RRDB_SORTKEY_COUNT";
inline constexpr char kRpcTtl[] = "RPC_RRDB_RRDB_TTL";
inline constexpr char kRpcGetScanner[] = "RPC_RRDB_RRDB_GET_SCANNER";
inline constexpr char kRpcScan[] = "RPC_RRDB_RRDB_SCAN";
// Never answered.
inline constexpr char kRpcClearScanner[] = "RPC_RRDB_RRDB_CLEAR_SCANNER";

// PUT; also what every atomic operation becomes in the log.
struct UpdateRequest {
  // A raw key.
  Blob key;
  Blob value;
  // Absolute, seconds since 2016; 0: never.
  int32_t expire_ts_seconds = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.key), v(2, s.value), v(3, s.expire_ts_seconds);
  }
  bool operator==(const UpdateRequest&) const = default;
};
// The answer to PUT and REMOVE. (REMOVE's argument, like GET's and TTL's, is a bare Blob: the raw
// key.)
struct UpdateResponse {
  // A StorageError.
  int32_t error = 0;
  int32_t app_id = 0;
  int32_t partition_index = 0;
  // The mutation that holds the write; -1: nothing was written.
  int64_t decree = -1;
  // The answering server's address, for people.
  std::string server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.app_id), v(3, s.partition_index), v(4, s.decree), v(5, s.server);
  }
  bool operator==(const UpdateResponse&) const = default;
};
// The answer to GET.
struct ReadResponse {
  // A StorageError. kNotFound: there is no such record, or it has expired.
  int32_t error = 0;
  Blob value;
  int32_t app_id = 0;
  int32_t partition_index = 0;
  std::string server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.value), v(3, s.app_id), v(4, s.partition_index), v(6, s.server);
  }
  bool operator==(const ReadResponse&) const = default;
};
// The answer to TTL.
struct TtlResponse {
  int32_t error = 0;
  // -1: no TTL.
  int32_t ttl_seconds = 0;
  int32_t app_id = 0;
  int32_t partition_index = 0;
  std::string server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.ttl_seconds), v(3, s.app_id), v(4, s.partition_index), v(6, s.server);
  }
  bool operator==(const TtlResponse&) const = default;
};

// A record, or part of one. `key` is the sort key in MULTI_PUT and MULTI_GET, the raw key in scans.
struct KeyValue {
  Blob key;
  Blob value;
  // Only in scans that ask for it.
  std::optional<int32_t> expire_ts_seconds;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.key), v(2, s.value), v(3, s.expire_ts_seconds);
  }
  bool operator==(const KeyValue&) const = default;
};
// A key of BATCH_GET.
struct FullKey {
  Blob hash_key;
  Blob sort_key;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.hash_key), v(2, s.sort_key);
  }
  bool operator==(const FullKey&) const = default;
};
// A record of BATCH_GET's answer.
struct FullData {
  Blob hash_key;
  Blob sort_key;
  Blob value;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.hash_key), v(2, s.sort_key), v(3, s.value);
  }
  bool operator==(const FullData&) const = default;
};

// ---- writes ----

// MULTI_PUT; answered by an UpdateResponse.
struct MultiPutRequest {
  Blob hash_key;
  std::vector<KeyValue> kvs;
  // Of all records; that of each is ignored.
  int32_t expire_ts_seconds = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.hash_key), v(2, s.kvs), v(3, s.expire_ts_seconds);
  }
  bool operator==(const MultiPutRequest&) const = default;
};
// MULTI_REMOVE.
struct MultiRemoveRequest {
  Blob hash_key;
  std::vector<Blob> sort_keys;
  // Has no meaning.
  int64_t max_count = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.hash_key), v(2, s.sort_keys), v(3, s.max_count);
  }
  bool operator==(const MultiRemoveRequest&) const = default;
};
// The answer to MULTI_REMOVE.
struct MultiRemoveResponse {
  int32_t error = 0;
  // How many sort keys the request had, whether they existed or not.
  int64_t count = 0;
  // Every answer names the partition that gave it.
  int32_t app_id = 0;
  int32_t partition_index = 0;
  int64_t decree = -1;
  std::string server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.count), v(3, s.app_id), v(4, s.partition_index), v(5, s.decree);
    v(6, s.server);
  }
  bool operator==(const MultiRemoveResponse&) const = default;
};
// INCR. The record's value is a decimal number; a missing one counts as 0.
struct IncrRequest {
  // A raw key.
  Blob key;
  int64_t increment = 0;
  // 0: the record keeps its expiry; negative: it never expires.
  int32_t expire_ts_seconds = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.key), v(2, s.increment), v(3, s.expire_ts_seconds);
  }
  bool operator==(const IncrRequest&) const = default;
};
// `new_value`: the sum; on an overflow the value before.
struct IncrResponse {
  int32_t error = 0;
  int64_t new_value = 0;
  int32_t app_id = 0;
  int32_t partition_index = 0;
  int64_t decree = -1;
  std::string server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.new_value), v(3, s.app_id), v(4, s.partition_index), v(5, s.decree);
    v(6, s.server);
  }
  bool operator==(const IncrResponse&) const = default;
};

// What a value is tested for (CheckAndSetRequest::check_type).
enum class CheckType : int32_t {
  kNoCheck = 0,
  // There is no record; or it is there with an empty value. (Types 0 to 4 need no operand.)
  kNotExist,
  kNotExistOrEmpty,
  // There is a record; or one with a value that is not empty.
  kExist,
  kNotEmpty,
  // The value contains the operand, begins or ends with it.
  kMatchAnywhere,
  kMatchPrefix,
  kMatchPostfix,
  // The value, compared with the operand as unsigned bytes.
  kBytesLess,
  kBytesLessOrEqual,
  kBytesEqual,
  kBytesGreaterOrEqual,
  kBytesGreater,
  // The same as integers, read as IncrRequest reads them. What is no integer is kInvalidArgument.
  kIntLess,
  kIntLessOrEqual,
  kIntEqual,
  kIntGreaterOrEqual,
  kIntGreater,
};
// CHECK_AND_SET: writes one record if another, or the same, passes a check.
struct CheckAndSetRequest {
  Blob hash_key;
  Blob check_sort_key;
  // A CheckType.
  int32_t check_type = 0;
  Blob check_operand;
  // False: the checked record is written.
  bool set_diff_sort_key = false;
  // The record that is written, if set_diff_sort_key says that it is another.
  Blob set_sort_key;
  Blob set_value;
  int32_t set_expire_ts_seconds = 0;
  // Whether the answer is to hold the checked value.
  bool return_check_value = false;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.hash_key), v(2, s.check_sort_key), v(3, s.check_type), v(4, s.check_operand);
    v(5, s.set_diff_sort_key), v(6, s.set_sort_key), v(7, s.set_value);
    v(8, s.set_expire_ts_seconds), v(9, s.return_check_value);
  }
  bool operator==(const CheckAndSetRequest&) const = default;
};
// One change of CHECK_AND_MUTATE. All changes of a request are made, in their order, or none.
struct Mutate {
  static constexpr int32_t kPut = 0;
  static constexpr int32_t kDelete = 1;
  // kPut or kDelete; any other is refused.
  int32_t operation = kPut;
  Blob sort_key;
  Blob value;
  int32_t set_expire_ts_seconds = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.operation), v(2, s.sort_key), v(3, s.value), v(4, s.set_expire_ts_seconds);
  }
  bool operator==(const Mutate&) const = default;
};
// CHECK_AND_MUTATE: makes several changes under one hash key if a record passes a check.
struct CheckAndMutateRequest {
  Blob hash_key;
  Blob check_sort_key;
  // A CheckType.
  int32_t check_type = 0;
  Blob check_operand;
  // Made in this order. Not empty.
  std::vector<Mutate> mutate_list;
  bool return_check_value = false;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.hash_key), v(2, s.check_sort_key), v(3, s.check_type), v(4, s.check_operand);
    v(5, s.mutate_list), v(6, s.return_check_value);
  }
  bool operator==(const CheckAndMutateRequest&) const = default;
};
// The answer to CHECK_AND_SET and CHECK_AND_MUTATE. `error` kTryAgain: the check did not pass. The
// check_value fields tell the value before the write.
struct CheckResponse {
  int32_t error = 0;
  // False: it was not asked for.
  bool check_value_returned = false;
  // False: there was no such record.
  bool check_value_exist = false;
  Blob check_value;
  int32_t app_id = 0;
  int32_t partition_index = 0;
  int64_t decree = -1;
  std::string server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.check_value_returned), v(3, s.check_value_exist), v(4, s.check_value);
    v(5, s.app_id), v(6, s.partition_index), v(7, s.decree), v(8, s.server);
  }
  bool operator==(const CheckResponse&) const = default;
};

// ---- reads ----

// Which keys pass (MultiGetRequest::sort_key_filter_type and its like). An empty pattern passes
// all.
enum class FilterType : int32_t { kNone = 0, kAnywhere, kPrefix, kPostfix };
// MULTI_GET: records of one hash key, by name or by range. Without an explicit limit the server's
// own holds.
struct MultiGetRequest {
  Blob hash_key;
  // Not empty: these are read, and the range is ignored.
  std::vector<Blob> sort_keys;
  // <= 0: the server's limit. The same goes for max_kv_size, in bytes.
  int32_t max_kv_count = 0;
  int32_t max_kv_size = 0;
  bool no_value = false;
  Blob start_sort_key;
  // Empty: to the last sort key.
  Blob stop_sort_key;
  bool start_inclusive = false;
  bool stop_inclusive = false;
  // A FilterType.
  int32_t sort_key_filter_type = 0;
  Blob sort_key_filter_pattern;
  // The limits are filled from the range's end. Rows are ascending in any case.
  bool reverse = false;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.hash_key), v(2, s.sort_keys), v(3, s.max_kv_count), v(4, s.max_kv_size);
    v(5, s.no_value), v(6, s.start_sort_key), v(7, s.stop_sort_key), v(8, s.start_inclusive);
    v(9, s.stop_inclusive), v(10, s.sort_key_filter_type), v(11, s.sort_key_filter_pattern);
    v(12, s.reverse);
  }
  bool operator==(const MultiGetRequest&) const = default;
};
// `error` kIncomplete: a limit was met; there may be more.
struct MultiGetResponse {
  int32_t error = 0;
  std::vector<KeyValue> kvs;
  int32_t app_id = 0;
  int32_t partition_index = 0;
  std::string server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.kvs), v(3, s.app_id), v(4, s.partition_index), v(6, s.server);
  }
  bool operator==(const MultiGetResponse&) const = default;
};
// BATCH_GET: records of one partition, of any hash keys.
struct BatchGetRequest {
  // Not empty. What is not there is left out of the answer.
  std::vector<FullKey> keys;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.keys);
  }
  bool operator==(const BatchGetRequest&) const = default;
};
// Only the records that exist, in the order of the keys.
struct BatchGetResponse {
  int32_t error = 0;
  std::vector<FullData> data;
  int32_t app_id = 0;
  int32_t partition_index = 0;
  std::string server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.data), v(3, s.app_id), v(4, s.partition_index), v(6, s.server);
  }
  bool operator==(const BatchGetResponse&) const = default;
};
// The answer to SORTKEY_COUNT, whose argument is a bare Blob: the hash key.
struct CountResponse {
  int32_t error = 0;
  // -1: not done in time.
  int64_t count = 0;
  int32_t app_id = 0;
  int32_t partition_index = 0;
  std::string server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.count), v(3, s.app_id), v(4, s.partition_index), v(6, s.server);
  }
  bool operator==(const CountResponse&) const = default;
};
// GET_SCANNER: opens a scan of one partition and gets its first batch.
struct GetScannerRequest {
  // Raw keys.
  Blob start_key;
  Blob stop_key;
  bool start_inclusive = false;
  bool stop_inclusive = false;
  // <= 0: the server's limit.
  int32_t batch_size = 0;
  bool no_value = false;
  // A FilterType, as sort_key_filter_type.
  int32_t hash_key_filter_type = 0;
  Blob hash_key_filter_pattern;
  int32_t sort_key_filter_type = 0;
  Blob sort_key_filter_pattern;
  // Whether keys of other partitions are left out. Absent: true.
  std::optional<bool> validate_partition_hash;
  std::optional<bool> return_expire_ts;
  // The scan is of the whole partition.
  std::optional<bool> full_scan;
  // Records are counted and not returned.
  std::optional<bool> only_return_count;
  // Arion's: only the number and the sum of the first batch's records are returned (RecordHash in
  // base/crc.h; values and expiries count where they would be returned), and the scan is not kept:
  // whoever asks goes on at next_key by a new one.
  std::optional<bool> only_return_sum;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.start_key), v(2, s.stop_key), v(3, s.start_inclusive), v(4, s.stop_inclusive);
    v(5, s.batch_size), v(6, s.no_value), v(7, s.hash_key_filter_type);
    v(8, s.hash_key_filter_pattern), v(9, s.sort_key_filter_type), v(10, s.sort_key_filter_pattern);
    v(11, s.validate_partition_hash), v(12, s.return_expire_ts), v(13, s.full_scan);
    v(14, s.only_return_count), v(1000, s.only_return_sum);
  }
  bool operator==(const GetScannerRequest&) const = default;
};
// SCAN: the next batch.
struct ScanRequest {
  int64_t context_id = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.context_id);
  }
  bool operator==(const ScanRequest&) const = default;
};
// The scan has ended. Clients ask again and again with any other id that comes without records.
inline constexpr int64_t kScanEnded = -1;
// The answer to GET_SCANNER and SCAN. `error` kNotFound: the scan's id is not known (any more).
struct ScanResponse {
  int32_t error = 0;
  std::vector<KeyValue> kvs;
  // >= 0: SCAN with it gets the next batch. It works once.
  int64_t context_id = kScanEnded;
  int32_t app_id = 0;
  int32_t partition_index = 0;
  std::string server;
  // With only_return_count and only_return_sum: how many records there were, instead of `kvs`.
  std::optional<int32_t> kv_count;
  // Arion's, with only_return_sum; absent: a server that does not know it, which sent `kvs`.
  std::optional<int64_t> sum;
  // The first raw key that was not looked at; absent: the range ends before it.
  std::optional<Blob> next_key;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.kvs), v(3, s.context_id), v(4, s.app_id), v(5, s.partition_index);
    v(6, s.server), v(7, s.kv_count), v(1000, s.sum), v(1001, s.next_key);
  }
  bool operator==(const ScanResponse&) const = default;
};

}  // namespace arion
