// Table: every operation on one table, waiting for the answer.
//
// Errors    NotFound: no such record (or table). DeadlineExceeded: no answer in time; a write may or
//           may not have happened (after any other error it has not). InvalidArgument: the request
//           can't be right; the text names the limit, and where the client sees it nothing is sent.
//           ResourceExhausted: refused, busy. Unavailable: refused by every server asked.
//           PermissionDenied, FailedPrecondition, Unimplemented: refused. In a callback of a client
//           a waiting call is FailedPrecondition.
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

class Table {
 public:
  explicit Table(std::shared_ptr<AsyncTable> async) : async_(std::move(async)) {}

  // The same operations with callbacks.
  AsyncTable& async() { return *async_; }

  // ---- one record ----
  absl::Status Put(std::string_view hash_key, std::string_view sort_key, std::string_view value,
                   const PutOptions& options = {});
  absl::StatusOr<std::string> Get(std::string_view hash_key, std::string_view sort_key,
                                  const ReadOptions& options = {});
  absl::Status Remove(std::string_view hash_key, std::string_view sort_key,
                      const WriteOptions& options = {});
  // How long it has still to live; InfiniteDuration: it never expires.
  absl::StatusOr<absl::Duration> Ttl(std::string_view hash_key, std::string_view sort_key,
                                     const ReadOptions& options = {});

  // ---- several records of one hash key ----
  // All or none. A sort key twice: the last value counts.
  absl::Status MultiPut(std::string_view hash_key, absl::Span<const SortKeyValue> values,
                        const PutOptions& options = {});
  // One answer of bounded size. What is larger is read by Scan.
  absl::StatusOr<MultiGetResult> MultiGet(std::string_view hash_key,
                                          const MultiGetOptions& options = {});
  // Those of `sort_keys` that there are, in their order; of the options range, filter and `from` mean
  // nothing here.
  absl::StatusOr<MultiGetResult> MultiGetKeys(std::string_view hash_key,
                                              absl::Span<const std::string_view> sort_keys,
                                              const MultiGetOptions& options = {});
  // All or none; keys that are not there are none the worse.
  absl::Status MultiRemove(std::string_view hash_key, absl::Span<const std::string_view> sort_keys,
                           const WriteOptions& options = {});
  absl::StatusOr<int64_t> SortKeyCount(std::string_view hash_key, const ReadOptions& options = {});

  // ---- decided on the server, never sent again once they may have happened ----
  // The new value. A missing or empty record counts as 0; InvalidArgument: it is no number, or the
  // sum is beyond int64.
  absl::StatusOr<int64_t> Incr(std::string_view hash_key, std::string_view sort_key, int64_t by,
                               const IncrOptions& options = {});
  absl::StatusOr<CheckOutcome> CheckAndSet(const CheckedSet& set);
  absl::StatusOr<CheckOutcome> CheckAndMutate(const CheckedMutations& mutations);

  // ---- many records of many hash keys; outcomes in the order of the arguments ----
  // A request for each partition.
  std::vector<absl::StatusOr<std::string>> BatchGet(absl::Span<const Key> keys,
                                                    const ReadOptions& options = {});
  // Each row by itself, many under way. A key twice: either value may stay.
  std::vector<absl::Status> BatchPut(absl::Span<const RowToPut> rows,
                                     const PutOptions& options = {});
  std::vector<absl::Status> BatchRemove(absl::Span<const Key> keys,
                                        const WriteOptions& options = {});

  // ---- scans ----
  RowRange Scan(std::string_view hash_key, const ScanOptions& options = {});
  RowRange ScanTable(const TableScanOptions& options = {});
  // `parts` ranges that are together the whole table, for as many threads. `options`' own part means
  // nothing.
  std::vector<RowRange> SplitScan(int32_t parts, TableScanOptions options = {});
  // How many rows such a scan would return; only the numbers travel.
  absl::StatusOr<int64_t> Count(std::string_view hash_key, const ScanOptions& options = {});
  absl::StatusOr<int64_t> CountTable(const TableScanOptions& options = {});

 private:
  const std::shared_ptr<AsyncTable> async_;
};

}  // namespace client_v1
}  // namespace arion
