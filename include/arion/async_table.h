// AsyncTable: every operation on one table, answered by a callback.
//
// Errors    As Table (arion/table.h).
// Threads   Thread-safe. A callback runs exactly once, on a thread of the client, never inline: it
//           must not block and must not destroy the Client; it may start operations, which is the
//           cheapest way to keep many under way. Operations started in a burst leave together.
// Lifetime  Arguments need to live only until the call returns. May outlive its Client: what is under
//           way when that goes, and what is asked later, ends in DeadlineExceeded.
// Mocks     A test may implement this class; Table works over any.
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

template <class T>
using Callback = absl::AnyInvocable<void(T)>;

// A scan under way. Next is called again only after its callback ran. Dropped before its end, it tells
// the server to forget it.
class AsyncScan {
 public:
  virtual ~AsyncScan() = default;
  // The next rows; none: the scan has ended. An error ends it too.
  virtual void Next(Callback<absl::StatusOr<std::vector<Row>>> done) = 0;
};

class AsyncTable {
 public:
  virtual ~AsyncTable() = default;

  virtual void Put(std::string_view hash_key, std::string_view sort_key, std::string_view value,
                   const PutOptions& options, Callback<absl::Status> done) = 0;
  virtual void Get(std::string_view hash_key, std::string_view sort_key, const ReadOptions& options,
                   Callback<absl::StatusOr<std::string>> done) = 0;
  virtual void Remove(std::string_view hash_key, std::string_view sort_key,
                      const WriteOptions& options, Callback<absl::Status> done) = 0;
  virtual void Ttl(std::string_view hash_key, std::string_view sort_key, const ReadOptions& options,
                   Callback<absl::StatusOr<absl::Duration>> done) = 0;

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

  virtual void Incr(std::string_view hash_key, std::string_view sort_key, int64_t by,
                    const IncrOptions& options, Callback<absl::StatusOr<int64_t>> done) = 0;
  virtual void CheckAndSet(const CheckedSet& set, Callback<absl::StatusOr<CheckOutcome>> done) = 0;
  virtual void CheckAndMutate(const CheckedMutations& mutations,
                              Callback<absl::StatusOr<CheckOutcome>> done) = 0;

  // Outcomes in the order of the arguments.
  virtual void BatchGet(absl::Span<const Key> keys, const ReadOptions& options,
                        Callback<std::vector<absl::StatusOr<std::string>>> done) = 0;
  virtual void BatchPut(absl::Span<const RowToPut> rows, const PutOptions& options,
                        Callback<std::vector<absl::Status>> done) = 0;
  virtual void BatchRemove(absl::Span<const Key> keys, const WriteOptions& options,
                           Callback<std::vector<absl::Status>> done) = 0;

  virtual std::unique_ptr<AsyncScan> Scan(std::string_view hash_key,
                                          const ScanOptions& options) = 0;
  virtual std::unique_ptr<AsyncScan> ScanTable(const TableScanOptions& options) = 0;
  // How many rows such a scan would return; only the numbers travel.
  virtual void Count(std::string_view hash_key, const ScanOptions& options,
                     Callback<absl::StatusOr<int64_t>> done) = 0;
  virtual void CountTable(const TableScanOptions& options,
                          Callback<absl::StatusOr<int64_t>> done) = 0;
};

}  // namespace client_v1
}  // namespace arion
