// RoutedTable: the AsyncTable that users get. It checks and encodes on the caller's thread; routing
// and retrying is the cores'.
//
// Errors    As arion/async_table.h. InvalidArgument also: a request over 60 MiB, more than a
//           server's connection takes.
// Threads   Thread-safe.
// Lifetime  Holds the runtime, which the Client stops.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arion/async_table.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace arion {

struct AskOptions;
class ClientRuntime;
struct Question;

// One table of one client. The overrides promise what arion/async_table.h says.
class RoutedTable : public AsyncTable {
 public:
  // `name` is the table's; nothing is asked yet.
  RoutedTable(std::shared_ptr<ClientRuntime> runtime, std::string_view name);

  // Each checks and encodes its request here, then hands it to the caller's core.
  void Put(std::string_view hash_key, std::string_view sort_key, std::string_view value,
           const PutOptions& options, Callback<absl::Status> done) override;
  void Get(std::string_view hash_key, std::string_view sort_key, const ReadOptions& options,
           Callback<absl::StatusOr<std::string>> done) override;
  void Remove(std::string_view hash_key, std::string_view sort_key, const WriteOptions& options,
              Callback<absl::Status> done) override;
  void Ttl(std::string_view hash_key, std::string_view sort_key, const ReadOptions& options,
           Callback<absl::StatusOr<absl::Duration>> done) override;
  void MultiPut(std::string_view hash_key, absl::Span<const SortKeyValue> values,
                const PutOptions& options, Callback<absl::Status> done) override;
  void MultiGet(std::string_view hash_key, const MultiGetOptions& options,
                Callback<absl::StatusOr<MultiGetResult>> done) override;
  void MultiGetKeys(std::string_view hash_key, absl::Span<const std::string_view> sort_keys,
                    const MultiGetOptions& options,
                    Callback<absl::StatusOr<MultiGetResult>> done) override;
  void MultiRemove(std::string_view hash_key, absl::Span<const std::string_view> sort_keys,
                   const WriteOptions& options, Callback<absl::Status> done) override;
  void SortKeyCount(std::string_view hash_key, const ReadOptions& options,
                    Callback<absl::StatusOr<int64_t>> done) override;
  // The next three have no write_retries: they are never sent again once an attempt may have
  // happened, because a repetition would not come to the same.
  void Incr(std::string_view hash_key, std::string_view sort_key, int64_t by,
            const IncrOptions& options, Callback<absl::StatusOr<int64_t>> done) override;
  void CheckAndSet(const CheckedSet& set, Callback<absl::StatusOr<CheckOutcome>> done) override;
  void CheckAndMutate(const CheckedMutations& mutations,
                      Callback<absl::StatusOr<CheckOutcome>> done) override;
  // Batches run on one core: its client splits them (client/batches.h). Outcomes are in the order
  // of the keys or rows. One that is refused here, for its key or its size, does not keep the
  // others from being sent.
  void BatchGet(absl::Span<const Key> keys, const ReadOptions& options,
                Callback<std::vector<absl::StatusOr<std::string>>> done) override;
  void BatchPut(absl::Span<const RowToPut> rows, const PutOptions& options,
                Callback<std::vector<absl::Status>> done) override;
  void BatchRemove(absl::Span<const Key> keys, const WriteOptions& options,
                   Callback<std::vector<absl::Status>> done) override;
  // A scan stays on the core of the thread that made it. Nothing is sent before its first Next,
  // whose error says what is wrong with the options. Destroying the scan makes the server forget
  // it.
  std::unique_ptr<AsyncScan> Scan(std::string_view hash_key, const ScanOptions& options) override;
  std::unique_ptr<AsyncScan> ScanTable(const TableScanOptions& options) override;
  // The servers count; no row is sent here. Unimplemented: a server can't only count.
  void Count(std::string_view hash_key, const ScanOptions& options,
             Callback<absl::StatusOr<int64_t>> done) override;
  void CountTable(const TableScanOptions& options, Callback<absl::StatusOr<int64_t>> done) override;
  // Both run on one core, which asks the partitions (client/index_find.h).
  void Find(std::string_view index, const FindOptions& options,
            Callback<absl::StatusOr<FindResult>> done) override;
  void DescribeIndex(std::string_view index, const ReadOptions& options,
                     Callback<absl::StatusOr<IndexOverview>> done) override;

 private:
  // Seconds since 2016, as expiry times count.
  uint32_t Now() const;
  // Sends the question, or reports through `done` why there is none. `read` turns the answer's
  // bytes into the outcome.
  template <class T, class Read>
  void Ask(absl::StatusOr<Question> question, const AskOptions& options, Callback<T> done,
           Read read);
  // `outcomes` holds one status for each record: an error where it was refused here, OK where its
  // question is the next of `writes`.
  void WriteAll(std::vector<absl::Status> outcomes, std::vector<Question> writes,
                const AskOptions& options, Callback<std::vector<absl::Status>> done);

  const std::shared_ptr<ClientRuntime> runtime_;
  // Kept by the runtime: operations refer to it.
  const std::string& name_;
};

}  // namespace arion
