// SPDX-License-Identifier: Apache-2.0
#include "arion/table.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "base/mutex.h"
#include "env/loop_thread.h"

namespace arion {
inline namespace client_v1 {
namespace {

absl::Status InCallback() { return absl::FailedPreconditionError("a callback must not wait"); }

// What another thread puts and this one waits for. It may go as soon as it was taken.
template <class T>
class Answer {
 public:
  void Put(T value) {
    const MutexLock lock(mutex_);
    value_.emplace(std::move(value));
    // Under the lock: the waiting thread can't return, and destroy this, before the notification is
    // done.
    arrived_.NotifyOne();
  }
  T Take() {
    const MutexLock lock(mutex_);
    arrived_.Wait(mutex_,
                  [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return value_.has_value(); });
    return *std::move(value_);
  }

 private:
  Mutex mutex_;
  ConditionVariable arrived_;
  std::optional<T> value_ ABSL_GUARDED_BY(mutex_);
};

// Starts an operation and waits for its callback. `count`: how many outcomes it has, if it has
// several.
template <class T, class Start>
T Await(Start start, size_t count = 0) {
  // Waiting here would wait for this very thread.
  if (OnLoopThread()) {
    if constexpr (std::is_constructible_v<T, absl::Status>) {
      return InCallback();
    } else {
      // A vector of outcomes holds the refusal for each record, as callers count on one outcome for
      // each.
      return T(count, InCallback());
    }
  }
  // Safe on the stack: the callback runs exactly once, also when the client stops, and Take returns
  // only after it.
  Answer<T> answer;
  start([&answer](T value) { answer.Put(std::move(value)); });
  return answer.Take();
}

}  // namespace

absl::Status Table::Put(std::string_view hash_key, std::string_view sort_key,
                        std::string_view value, const PutOptions& options) {
  return Await<absl::Status>(
      [&](auto done) { async_->Put(hash_key, sort_key, value, options, std::move(done)); });
}

absl::StatusOr<std::string> Table::Get(std::string_view hash_key, std::string_view sort_key,
                                       const ReadOptions& options) {
  return Await<absl::StatusOr<std::string>>(
      [&](auto done) { async_->Get(hash_key, sort_key, options, std::move(done)); });
}

absl::Status Table::Remove(std::string_view hash_key, std::string_view sort_key,
                           const WriteOptions& options) {
  return Await<absl::Status>(
      [&](auto done) { async_->Remove(hash_key, sort_key, options, std::move(done)); });
}

absl::StatusOr<absl::Duration> Table::Ttl(std::string_view hash_key, std::string_view sort_key,
                                          const ReadOptions& options) {
  return Await<absl::StatusOr<absl::Duration>>(
      [&](auto done) { async_->Ttl(hash_key, sort_key, options, std::move(done)); });
}

absl::Status Table::MultiPut(std::string_view hash_key, absl::Span<const SortKeyValue> values,
                             const PutOptions& options) {
  return Await<absl::Status>(
      [&](auto done) { async_->MultiPut(hash_key, values, options, std::move(done)); });
}

absl::StatusOr<MultiGetResult> Table::MultiGet(std::string_view hash_key,
                                               const MultiGetOptions& options) {
  return Await<absl::StatusOr<MultiGetResult>>(
      [&](auto done) { async_->MultiGet(hash_key, options, std::move(done)); });
}

absl::StatusOr<MultiGetResult> Table::MultiGetKeys(std::string_view hash_key,
                                                   absl::Span<const std::string_view> sort_keys,
                                                   const MultiGetOptions& options) {
  return Await<absl::StatusOr<MultiGetResult>>(
      [&](auto done) { async_->MultiGetKeys(hash_key, sort_keys, options, std::move(done)); });
}

absl::Status Table::MultiRemove(std::string_view hash_key,
                                absl::Span<const std::string_view> sort_keys,
                                const WriteOptions& options) {
  return Await<absl::Status>(
      [&](auto done) { async_->MultiRemove(hash_key, sort_keys, options, std::move(done)); });
}

absl::StatusOr<int64_t> Table::SortKeyCount(std::string_view hash_key, const ReadOptions& options) {
  return Await<absl::StatusOr<int64_t>>(
      [&](auto done) { async_->SortKeyCount(hash_key, options, std::move(done)); });
}

absl::StatusOr<int64_t> Table::Incr(std::string_view hash_key, std::string_view sort_key,
                                    int64_t by, const IncrOptions& options) {
  return Await<absl::StatusOr<int64_t>>(
      [&](auto done) { async_->Incr(hash_key, sort_key, by, options, std::move(done)); });
}

absl::StatusOr<CheckOutcome> Table::CheckAndSet(const CheckedSet& set) {
  return Await<absl::StatusOr<CheckOutcome>>(
      [&](auto done) { async_->CheckAndSet(set, std::move(done)); });
}

absl::StatusOr<CheckOutcome> Table::CheckAndMutate(const CheckedMutations& mutations) {
  return Await<absl::StatusOr<CheckOutcome>>(
      [&](auto done) { async_->CheckAndMutate(mutations, std::move(done)); });
}

std::vector<absl::StatusOr<std::string>> Table::BatchGet(absl::Span<const Key> keys,
                                                         const ReadOptions& options) {
  return Await<std::vector<absl::StatusOr<std::string>>>(
      [&](auto done) { async_->BatchGet(keys, options, std::move(done)); }, keys.size());
}

std::vector<absl::Status> Table::BatchPut(absl::Span<const RowToPut> rows,
                                          const PutOptions& options) {
  return Await<std::vector<absl::Status>>(
      [&](auto done) { async_->BatchPut(rows, options, std::move(done)); }, rows.size());
}

std::vector<absl::Status> Table::BatchRemove(absl::Span<const Key> keys,
                                             const WriteOptions& options) {
  return Await<std::vector<absl::Status>>(
      [&](auto done) { async_->BatchRemove(keys, options, std::move(done)); }, keys.size());
}

RowRange Table::Scan(std::string_view hash_key, const ScanOptions& options) {
  return RowRange(async_->Scan(hash_key, options));
}

RowRange Table::ScanTable(const TableScanOptions& options) {
  return RowRange(async_->ScanTable(options));
}

std::vector<RowRange> Table::SplitScan(int32_t parts, TableScanOptions options) {
  // Each range has its own part of the partitions, so together they see every record once.
  options.parts = std::max<int32_t>(1, parts);
  std::vector<RowRange> ranges;
  for (options.part = 0; options.part < options.parts; ++options.part)
    ranges.push_back(ScanTable(options));
  return ranges;
}

absl::StatusOr<int64_t> Table::Count(std::string_view hash_key, const ScanOptions& options) {
  return Await<absl::StatusOr<int64_t>>(
      [&](auto done) { async_->Count(hash_key, options, std::move(done)); });
}

absl::StatusOr<int64_t> Table::CountTable(const TableScanOptions& options) {
  return Await<absl::StatusOr<int64_t>>(
      [&](auto done) { async_->CountTable(options, std::move(done)); });
}

absl::StatusOr<FindResult> Table::Find(std::string_view index, const FindOptions& options) {
  return Await<absl::StatusOr<FindResult>>(
      [&](auto done) { async_->Find(index, options, std::move(done)); });
}

absl::StatusOr<IndexOverview> Table::DescribeIndex(std::string_view index,
                                                   const ReadOptions& options) {
  return Await<absl::StatusOr<IndexOverview>>(
      [&](auto done) { async_->DescribeIndex(index, options, std::move(done)); });
}

}  // namespace client_v1
}  // namespace arion
