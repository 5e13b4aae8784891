// AsyncTable: every operation on one table, answered by a callback.
//
//   table->async().Put("user1", "name", "Ann", {.ttl = absl::Hours(1)},
//                      [](absl::Status status) { ... });
//
// Errors    As Table (arion/table.h).
// Threads   Thread-safe. A callback runs exactly once, on a thread of the client, never inside the
//           call that started the operation. It must not block and must not destroy the Client. It
//           may start operations, which is the cheapest way to keep many under way. Operations
//           started in a burst leave together.
// Lifetime  Arguments need to live only until the call returns. The table may outlive its Client.
//           What is under way when the Client is destroyed ends in DeadlineExceeded, on the thread
//           that destroys it. What is started later ends in DeadlineExceeded too, and then inside
//           the call itself.
// Mocks     A test may implement this class; Table works over any implementation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>
#include <arion/options.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace arion {
inline namespace client_v1 {

// Receives the outcome of one operation. It may own what it captures, and need not be copyable.
template <class T>
using Callback = absl::AnyInvocable<void(T)>;

// A scan under way, made by AsyncTable::Scan or ScanTable. One call at a time: Next is called again
// only after its callback has run.
//
// Nothing is sent before the first Next. After a batch without rows, or after an error, the scan is
// over. A scan that is destroyed before its end tells the server to forget it, best effort.
class AsyncScan {
 public:
  virtual ~AsyncScan() = default;
  // Asks for the next batch of rows. `done` receives at least one row; an empty batch means that
  // the scan has ended. After an error the scan is not asked again.
  virtual void Next(Callback<absl::StatusOr<std::vector<Row>>> done) = 0;
};

// The operations of arion/table.h, which says what each of them does and returns.
//
// All of them return at once. What can't be right (a hash key that is too long, an empty list) is
// answered through `done` as well, with InvalidArgument, and nothing is sent.
class AsyncTable {
 public:
  virtual ~AsyncTable() = default;

  // One record. `done` receives the value or the status that Table's method of the same name
  // returns.
  virtual void Put(std::string_view hash_key, std::string_view sort_key, std::string_view value,
                   const PutOptions& options, Callback<absl::Status> done) = 0;
  // A callback of Get owns the value it receives.
  virtual void Get(std::string_view hash_key, std::string_view sort_key, const ReadOptions& options,
                   Callback<absl::StatusOr<std::string>> done) = 0;
  virtual void Remove(std::string_view hash_key, std::string_view sort_key,
                      const WriteOptions& options, Callback<absl::Status> done) = 0;
  // InfiniteDuration: the record never expires.
  virtual void Ttl(std::string_view hash_key, std::string_view sort_key, const ReadOptions& options,
                   Callback<absl::StatusOr<absl::Duration>> done) = 0;

  // Several records of one hash key. They share a partition, so a write of several is atomic.
  virtual void MultiPut(std::string_view hash_key, absl::Span<const SortKeyValue> values,
                        const PutOptions& options, Callback<absl::Status> done) = 0;
  virtual void MultiGet(std::string_view hash_key, const MultiGetOptions& options,
                        Callback<absl::StatusOr<MultiGetResult>> done) = 0;
  virtual void MultiGetKeys(std::string_view hash_key, absl::Span<const std::string_view> sort_keys,
                            const MultiGetOptions& options,
                            Callback<absl::StatusOr<MultiGetResult>> done) = 0;
  virtual void MultiRemove(std::string_view hash_key, absl::Span<const std::string_view> sort_keys,
                           const WriteOptions& options, Callback<absl::Status> done) = 0;
  virtual void SortKeyCount(std::string_view hash_key, const ReadOptions& options,
                            Callback<absl::StatusOr<int64_t>> done) = 0;

  // Writes that the server decides from the record it holds. They are never sent again once they
  // may have happened, whatever WriteRetries says.
  virtual void Incr(std::string_view hash_key, std::string_view sort_key, int64_t by,
                    const IncrOptions& options, Callback<absl::StatusOr<int64_t>> done) = 0;
  virtual void CheckAndSet(const CheckedSet& set, Callback<absl::StatusOr<CheckOutcome>> done) = 0;
  virtual void CheckAndMutate(const CheckedMutations& mutations,
                              Callback<absl::StatusOr<CheckOutcome>> done) = 0;

  // Many records of many hash keys, with a bounded number of requests under way at a time. `done`
  // is called once, when all outcomes are known; they are in the order of the arguments. Each
  // record succeeds or fails by itself. `timeout` bounds the whole batch.
  virtual void BatchGet(absl::Span<const Key> keys, const ReadOptions& options,
                        Callback<std::vector<absl::StatusOr<std::string>>> done) = 0;
  virtual void BatchPut(absl::Span<const RowToPut> rows, const PutOptions& options,
                        Callback<std::vector<absl::Status>> done) = 0;
  virtual void BatchRemove(absl::Span<const Key> keys, const WriteOptions& options,
                           Callback<std::vector<absl::Status>> done) = 0;

  // Makes a scan. An argument that can't be right is reported by the first Next.
  virtual std::unique_ptr<AsyncScan> Scan(std::string_view hash_key,
                                          const ScanOptions& options) = 0;
  virtual std::unique_ptr<AsyncScan> ScanTable(const TableScanOptions& options) = 0;
  // Counts the rows that such a scan would return. The server counts; no row travels. `timeout`
  // bounds each request to a server, not the whole count.
  virtual void Count(std::string_view hash_key, const ScanOptions& options,
                     Callback<absl::StatusOr<int64_t>> done) = 0;
  virtual void CountTable(const TableScanOptions& options,
                          Callback<absl::StatusOr<int64_t>> done) = 0;

  // By an index of the table, in all partitions at a time. An implementation of a test's need not
  // have them.
  virtual void Find(std::string_view /*index*/, const FindOptions& /*options*/,
                    Callback<absl::StatusOr<FindResult>> done) {
    done(absl::UnimplementedError("this table has no indexes"));
  }
  virtual void DescribeIndex(std::string_view /*index*/, const ReadOptions& /*options*/,
                             Callback<absl::StatusOr<IndexOverview>> done) {
    done(absl::UnimplementedError("this table has no indexes"));
  }
};

}  // namespace client_v1
}  // namespace arion
