// Table: every operation on one table, waiting for the answer.
//
//   absl::StatusOr<std::string> name = table->Get("user1", "name");
//   if (absl::IsNotFound(name.status())) ...
//
// Errors    NotFound: there is no such record (or table). DeadlineExceeded: no answer in time; a
//           write may or may not have happened. After any other error a write has not happened.
//           InvalidArgument: the request can't be right; the text names the limit, and where the
//           client sees it nothing is sent. ResourceExhausted: refused, the server is busy or
//           throttles. Unavailable: refused by every server that was asked. PermissionDenied,
//           FailedPrecondition, Unimplemented: refused. In a callback of a client a waiting call is
//           FailedPrecondition.
// Threads   Thread-safe, but for the ranges it returns.
// Lifetime  May outlive its Client: then everything ends in DeadlineExceeded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>
#include <arion/async_table.h>
#include <arion/options.h>
#include <arion/row_range.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace arion {
inline namespace client_v1 {

// A table that Client::OpenTable found, or one over a test's own AsyncTable. Each call waits until
// its operation is over; `timeout` in the options, or else the client's, bounds the wait.
class Table {
 public:
  // `async` is not null.
  explicit Table(std::shared_ptr<AsyncTable> async) : async_(std::move(async)) {}

  // The same operations with callbacks. It lives as long as this Table.
  AsyncTable& async() { return *async_; }

  // Writes the record, whether it existed or not. OK: every member of its partition has it in its
  // log.
  absl::Status Put(std::string_view hash_key, std::string_view sort_key, std::string_view value,
                   const PutOptions& options = {});
  // The record's value. NotFound: it does not exist, or has expired.
  absl::StatusOr<std::string> Get(std::string_view hash_key, std::string_view sort_key,
                                  const ReadOptions& options = {});
  // Removes the record. OK also where there was none.
  absl::Status Remove(std::string_view hash_key, std::string_view sort_key,
                      const WriteOptions& options = {});
  // How long the record has still to live; InfiniteDuration: it never expires.
  absl::StatusOr<absl::Duration> Ttl(std::string_view hash_key, std::string_view sort_key,
                                     const ReadOptions& options = {});

  // Writes all `values` or none of them. Where a sort key is given twice, its last value counts.
  // InvalidArgument: `values` is empty.
  absl::Status MultiPut(std::string_view hash_key, absl::Span<const SortKeyValue> values,
                        const PutOptions& options = {});
  // The rows in a range of sort keys, in one answer of bounded size. Use Scan where there may be
  // more than fits. No row in the range is not an error.
  absl::StatusOr<MultiGetResult> MultiGet(std::string_view hash_key,
                                          const MultiGetOptions& options = {});
  // The rows that exist among `sort_keys`, in the order asked for. `range`, `sort_key_filter` and
  // `from` of the options have no meaning here.
  absl::StatusOr<MultiGetResult> MultiGetKeys(std::string_view hash_key,
                                              absl::Span<const std::string_view> sort_keys,
                                              const MultiGetOptions& options = {});
  // Removes all `sort_keys` or none. Keys that do not exist are not an error.
  absl::Status MultiRemove(std::string_view hash_key, absl::Span<const std::string_view> sort_keys,
                           const WriteOptions& options = {});
  // How many records the hash key has. DeadlineExceeded: the server stopped counting for lack of
  // time.
  absl::StatusOr<int64_t> SortKeyCount(std::string_view hash_key, const ReadOptions& options = {});

  // Adds `by` to the number that the record holds and returns the sum. A missing or empty record
  // counts as 0. InvalidArgument: the record holds no number, or the sum is beyond int64; nothing
  // was written.
  absl::StatusOr<int64_t> Incr(std::string_view hash_key, std::string_view sort_key, int64_t by,
                               const IncrOptions& options = {});
  // A check that does not pass is no error: see CheckOutcome::is_passed.
  absl::StatusOr<CheckOutcome> CheckAndSet(const CheckedSet& set);
  absl::StatusOr<CheckOutcome> CheckAndMutate(const CheckedMutations& mutations);

  // Reads keys of one partition together, up to 1000 with one request.
  std::vector<absl::StatusOr<std::string>> BatchGet(absl::Span<const Key> keys,
                                                    const ReadOptions& options = {});
  // Writes each row by itself, many at a time. Where a key is given twice, either value may remain.
  std::vector<absl::Status> BatchPut(absl::Span<const RowToPut> rows,
                                     const PutOptions& options = {});
  std::vector<absl::Status> BatchRemove(absl::Span<const Key> keys,
                                        const WriteOptions& options = {});

  // ---- scans ----
  // The records of one hash key, ascending by sort key. Nothing is sent before the range is
  // iterated.
  RowRange Scan(std::string_view hash_key, const ScanOptions& options = {});
  // The records of the whole table, or of one part of it.
  RowRange ScanTable(const TableScanOptions& options = {});
  // `parts` ranges that together are the whole table, to be read by as many threads. `part` and
  // `parts` in `options` are ignored. Less than 1 part counts as 1.
  std::vector<RowRange> SplitScan(int32_t parts, TableScanOptions options = {});
  // Counts the rows that such a scan would return. The server counts; no row travels.
  absl::StatusOr<int64_t> Count(std::string_view hash_key, const ScanOptions& options = {});
  absl::StatusOr<int64_t> CountTable(const TableScanOptions& options = {});

  // ---- indexes ----
  // Records by an index of the table (`create_index` of the shell makes one), in its order. What
  // was acknowledged before the call is seen, and each row was true when its server read it.
  // NotFound: no such index. Unavailable: it is being built, with the percentage in the text.
  // InvalidArgument: the bounds or `after` do not fit. Unimplemented: a server of an older version.
  absl::StatusOr<FindResult> Find(std::string_view index, const FindOptions& options = {});
  // How far it is built, and how large it is. `backup_after` has no meaning here.
  absl::StatusOr<IndexOverview> DescribeIndex(std::string_view index,
                                              const ReadOptions& options = {});

 private:
  const std::shared_ptr<AsyncTable> async_;
};

}  // namespace client_v1
}  // namespace arion
