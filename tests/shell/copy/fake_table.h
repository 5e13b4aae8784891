// A table in memory: its partitions are read in batches, and its answers can be made to fail.
// Answers come inside the call, which a real client's never do: what is tested queues them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arion/async_table.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/crc.h"
#include "base/raw_key.h"
#include "tools/shell/copy/copy_position.h"

namespace arion::shell {

class FakeTable : public AsyncTable {
 public:
  struct Record {
    std::string value;
    absl::Time expires = absl::InfiniteFuture();
    bool operator==(const Record&) const = default;
  };
  // By raw key.
  std::map<std::string, Record> records;
  int32_t partitions = 4;
  size_t batch = 3;
  // What the next batch of a partition, or write of a raw key, fails with; OK: it does not.
  std::function<absl::Status(int32_t partition)> read_error = [](int32_t) {
    return absl::OkStatus();
  };
  std::function<absl::Status(const std::string& raw_key)> write_error = [](const std::string&) {
    return absl::OkStatus();
  };
  int writes = 0, scans = 0;

  void Add(const std::string& hash_key, const std::string& sort_key, const std::string& value,
           absl::Time expires = absl::InfiniteFuture()) {
    records[JoinRawKey(hash_key, sort_key)] = {value, expires};
  }
  std::vector<Share> Shares() const {
    std::vector<Share> shares;
    for (int32_t i = 0; i < partitions; ++i) shares.push_back({i, partitions});
    return shares;
  }

  std::unique_ptr<AsyncScan> ScanTable(const TableScanOptions& options) override {
    ++scans;
    return std::make_unique<Scanning>(this, options);
  }
  void Put(std::string_view hash_key, std::string_view sort_key, std::string_view value,
           const PutOptions& options, Callback<absl::Status> done) override {
    done(Write({{JoinRawKey(hash_key, sort_key), std::string(value)}}, options.expires));
  }
  void MultiPut(std::string_view hash_key, absl::Span<const SortKeyValue> values,
                const PutOptions& options, Callback<absl::Status> done) override {
    std::vector<std::pair<std::string, std::string>> all;
    for (const SortKeyValue& value : values)
      all.emplace_back(JoinRawKey(hash_key, value.sort_key), std::string(value.value));
    done(Write(all, options.expires));
  }
  void CheckAndSet(const CheckedSet& set, Callback<absl::StatusOr<CheckOutcome>> done) override {
    const std::string raw_key = JoinRawKey(set.hash_key, set.check_sort_key);
    if (records.contains(raw_key)) return done(CheckOutcome{.is_passed = false});
    const absl::Status set_it = Write({{raw_key, std::string(set.set_value)}}, set.expires);
    if (!set_it.ok()) return done(set_it);
    done(CheckOutcome{.is_passed = true});
  }

  void Get(std::string_view, std::string_view, const ReadOptions&,
           Callback<absl::StatusOr<std::string>> done) override {
    done(No());
  }
  void Remove(std::string_view, std::string_view, const WriteOptions&,
              Callback<absl::Status> done) override {
    done(No());
  }
  void Ttl(std::string_view, std::string_view, const ReadOptions&,
           Callback<absl::StatusOr<absl::Duration>> done) override {
    done(No());
  }
  void MultiGet(std::string_view, const MultiGetOptions&,
                Callback<absl::StatusOr<MultiGetResult>> done) override {
    done(No());
  }
  void MultiGetKeys(std::string_view, absl::Span<const std::string_view>, const MultiGetOptions&,
                    Callback<absl::StatusOr<MultiGetResult>> done) override {
    done(No());
  }
  void MultiRemove(std::string_view, absl::Span<const std::string_view>, const WriteOptions&,
                   Callback<absl::Status> done) override {
    done(No());
  }
  void SortKeyCount(std::string_view, const ReadOptions&,
                    Callback<absl::StatusOr<int64_t>> done) override {
    done(No());
  }
  void Incr(std::string_view, std::string_view, int64_t, const IncrOptions&,
            Callback<absl::StatusOr<int64_t>> done) override {
    done(No());
  }
  void CheckAndMutate(const CheckedMutations&,
                      Callback<absl::StatusOr<CheckOutcome>> done) override {
    done(No());
  }
  void BatchGet(absl::Span<const Key>, const ReadOptions&,
                Callback<std::vector<absl::StatusOr<std::string>>> done) override {
    done({});
  }
  void BatchPut(absl::Span<const RowToPut>, const PutOptions&,
                Callback<std::vector<absl::Status>> done) override {
    done({});
  }
  void BatchRemove(absl::Span<const Key>, const WriteOptions&,
                   Callback<std::vector<absl::Status>> done) override {
    done({});
  }
  std::unique_ptr<AsyncScan> Scan(std::string_view, const ScanOptions&) override { return nullptr; }
  void Count(std::string_view, const ScanOptions&,
             Callback<absl::StatusOr<int64_t>> done) override {
    done(No());
  }
  void CountTable(const TableScanOptions&, Callback<absl::StatusOr<int64_t>> done) override {
    done(No());
  }

 private:
  class Scanning : public AsyncScan {
   public:
    Scanning(FakeTable* table, const TableScanOptions& options)
        : table_(table),
          part_(options.part),
          parts_(options.parts),
          has_values_(options.values == Values::kReturn),
          has_times_(options.expiry_times == ExpiryTimes::kReturn) {
      EXPECT_EQ(options.partitions, TableScanOptions::Partitions::kExact);
      if (options.after) after_ = JoinRawKey(options.after->hash_key, options.after->sort_key);
    }
    void Next(Callback<absl::StatusOr<std::vector<Row>>> done) override {
      if (parts_ != table_->partitions) return done(absl::AbortedError("split"));
      if (const absl::Status error = table_->read_error(part_); !error.ok()) return done(error);
      std::vector<Row> rows;
      auto at = after_ ? table_->records.upper_bound(*after_) : table_->records.begin();
      for (; at != table_->records.end() && rows.size() < table_->batch; ++at) {
        const KeyParts key = *SplitRawKey(at->first);
        if (PartitionHash(at->first) % static_cast<uint64_t>(parts_) !=
            static_cast<uint64_t>(part_))
          continue;
        Row& row = rows.emplace_back(
            Row{.hash_key = std::string(key.hash_key), .sort_key = std::string(key.sort_key)});
        if (has_values_) row.value = at->second.value;
        if (has_times_) row.expires = at->second.expires;
        after_ = at->first;
      }
      done(std::move(rows));
    }

   private:
    FakeTable* const table_;
    const int32_t part_, parts_;
    const bool has_values_, has_times_;
    std::optional<std::string> after_;
  };

  static absl::Status No() { return absl::UnimplementedError("not of this table"); }
  absl::Status Write(const std::vector<std::pair<std::string, std::string>>& all,
                     const std::optional<absl::Time>& expires) {
    ++writes;
    for (const auto& [raw_key, value] : all)
      if (const absl::Status error = write_error(raw_key); !error.ok()) return error;
    for (const auto& [raw_key, value] : all)
      records[raw_key] = {value, expires.value_or(absl::InfiniteFuture())};
    return absl::OkStatus();
  }
};

}  // namespace arion::shell
