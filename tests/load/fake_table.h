// FakeTable: a store in memory behind AsyncTable, on a clock moved by hand. Each operation takes
// effect when it is asked for and is answered `latency` later; a pause delays every answer to its end.
// Operations the load tool does not use end the test. One thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>

#include <arion/async_table.h>

#include "base/log.h"
#include "env/clock.h"

namespace arion::load {

class HandClock : public Clock {
 public:
  Instant Now() const override { return now; }
  int64_t WallMicros() const override { return now.nanos() / 1000; }
  Instant now{1'000'000'000};
};

class FakeTable : public AsyncTable {
 public:
  explicit FakeTable(HandClock& clock) : clock_(clock) {}

  absl::Duration latency = absl::Microseconds(100);
  Instant pause_begins = Instant::InfiniteFuture();
  Instant pause_ends = Instant::InfiniteFuture();
  absl::Status refusal;  // of every operation,
  Instant refusal_begins = Instant(0);
  Instant refusal_ends = Instant::InfiniteFuture();          // that is asked for in this time
  std::function<bool()> loses_write = [] { return false; };  // acknowledged all the same
  std::function<bool()> reads_stale = [] { return false; };  // the value before the last
  int64_t asked = 0;
  int64_t most_under_way = 0;

  Instant next_answer() const {
    return answers_.empty() ? Instant::InfiniteFuture() : answers_.begin()->first;
  }
  void AnswerDue() {
    while (!answers_.empty() && answers_.begin()->first <= clock_.now) {
      auto answer = answers_.extract(answers_.begin());
      answer.mapped()();
    }
  }
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> rows;  // all versions

  void Put(std::string_view hash_key, std::string_view sort_key, std::string_view value,
           const PutOptions&, Callback<absl::Status> done) override {
    Write(hash_key, sort_key, value);
    Answer([status = Refusal(), done = std::move(done)]() mutable { done(status); });
  }
  void Get(std::string_view hash_key, std::string_view sort_key, const ReadOptions&,
           Callback<absl::StatusOr<std::string>> done) override {
    absl::StatusOr<std::string> value = Read(hash_key, sort_key);
    if (!Refusal().ok()) value = Refusal();
    Answer(
        [value = std::move(value), done = std::move(done)]() mutable { done(std::move(value)); });
  }
  void Remove(std::string_view hash_key, std::string_view sort_key, const WriteOptions&,
              Callback<absl::Status> done) override {
    rows.erase({std::string(hash_key), std::string(sort_key)});
    Answer([status = Refusal(), done = std::move(done)]() mutable { done(status); });
  }
  void MultiPut(std::string_view hash_key, absl::Span<const SortKeyValue> values, const PutOptions&,
                Callback<absl::Status> done) override {
    for (const SortKeyValue& value : values) Write(hash_key, value.sort_key, value.value);
    Answer([status = Refusal(), done = std::move(done)]() mutable { done(status); });
  }
  void MultiGetKeys(std::string_view hash_key, absl::Span<const std::string_view> sort_keys,
                    const MultiGetOptions&,
                    Callback<absl::StatusOr<MultiGetResult>> done) override {
    MultiGetResult result;
    for (std::string_view sort_key : sort_keys) {
      absl::StatusOr<std::string> value = Read(hash_key, sort_key);
      if (value.ok())
        result.rows.push_back({std::string(hash_key), std::string(sort_key), *value, {}});
    }
    Answer([result = std::move(result), done = std::move(done)]() mutable {
      done(std::move(result));
    });
  }
  std::unique_ptr<AsyncScan> Scan(std::string_view hash_key, const ScanOptions& options) override {
    auto scan = std::make_unique<FakeScan>(*this);
    const std::string start(options.range.start);
    for (auto row = rows.lower_bound({std::string(hash_key), start});
         row != rows.end() && row->first.first == hash_key; ++row) {
      scan->rows.push_back({row->first.first, row->first.second, row->second.back(), {}});
    }
    scan->batch_size = static_cast<size_t>(options.batch_size);
    return scan;
  }

  void Ttl(std::string_view, std::string_view, const ReadOptions&,
           Callback<absl::StatusOr<absl::Duration>>) override {
    Refuse();
  }
  void MultiGet(std::string_view, const MultiGetOptions&,
                Callback<absl::StatusOr<MultiGetResult>>) override {
    Refuse();
  }
  void MultiRemove(std::string_view, absl::Span<const std::string_view>, const WriteOptions&,
                   Callback<absl::Status>) override {
    Refuse();
  }
  void SortKeyCount(std::string_view, const ReadOptions&,
                    Callback<absl::StatusOr<int64_t>>) override {
    Refuse();
  }
  void Incr(std::string_view, std::string_view, int64_t, const IncrOptions&,
            Callback<absl::StatusOr<int64_t>>) override {
    Refuse();
  }
  void CheckAndSet(const CheckedSet&, Callback<absl::StatusOr<CheckOutcome>>) override { Refuse(); }
  void CheckAndMutate(const CheckedMutations&, Callback<absl::StatusOr<CheckOutcome>>) override {
    Refuse();
  }
  void BatchGet(absl::Span<const Key>, const ReadOptions&,
                Callback<std::vector<absl::StatusOr<std::string>>>) override {
    Refuse();
  }
  void BatchPut(absl::Span<const RowToPut>, const PutOptions&,
                Callback<std::vector<absl::Status>>) override {
    Refuse();
  }
  void BatchRemove(absl::Span<const Key>, const WriteOptions&,
                   Callback<std::vector<absl::Status>>) override {
    Refuse();
  }
  std::unique_ptr<AsyncScan> ScanTable(const TableScanOptions&) override { Refuse(); }
  void Count(std::string_view, const ScanOptions&, Callback<absl::StatusOr<int64_t>>) override {
    Refuse();
  }
  void CountTable(const TableScanOptions&, Callback<absl::StatusOr<int64_t>>) override { Refuse(); }

 private:
  class FakeScan : public AsyncScan {
   public:
    explicit FakeScan(FakeTable& table) : table_(table) {}
    void Next(Callback<absl::StatusOr<std::vector<Row>>> done) override {
      const size_t end = std::min(rows.size(), next_ + batch_size);
      std::vector<Row> batch(rows.begin() + static_cast<ptrdiff_t>(next_),
                             rows.begin() + static_cast<ptrdiff_t>(end));
      next_ = end;
      table_.Answer(
          [batch = std::move(batch), done = std::move(done)]() mutable { done(std::move(batch)); });
    }
    std::vector<Row> rows;
    size_t batch_size = 0;

   private:
    FakeTable& table_;
    size_t next_ = 0;
  };

  [[noreturn]] static void Refuse() {
    LOG(FATAL) << "the load tool asks for no such thing";
    abort();
  }
  absl::Status Refusal() const {
    return clock_.now >= refusal_begins && clock_.now < refusal_ends ? refusal : absl::OkStatus();
  }
  void Write(std::string_view hash_key, std::string_view sort_key, std::string_view value) {
    if (!Refusal().ok() || loses_write()) return;
    rows[{std::string(hash_key), std::string(sort_key)}].emplace_back(value);
  }
  absl::StatusOr<std::string> Read(std::string_view hash_key, std::string_view sort_key) {
    auto row = rows.find({std::string(hash_key), std::string(sort_key)});
    if (row == rows.end()) return absl::NotFoundError("");
    const std::vector<std::string>& versions = row->second;
    return versions.size() > 1 && reads_stale() ? versions[versions.size() - 2] : versions.back();
  }
  void Answer(absl::AnyInvocable<void()> answer) {
    ++asked;
    Instant at = clock_.now + latency;
    if (at >= pause_begins && at < pause_ends) at = pause_ends;
    answers_.emplace(at, std::move(answer));
    most_under_way = std::max(most_under_way, static_cast<int64_t>(answers_.size()));
  }

  HandClock& clock_;
  std::multimap<Instant, absl::AnyInvocable<void()>> answers_;
};

}  // namespace arion::load
