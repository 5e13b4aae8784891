// Random operations against an ordered map and a clock moved by hand: every answer compared, with
// restarts in between. ARION_MODEL_OPERATIONS: how many (default 30,000 an engine).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "base/raw_key.h"
#include "data_api/mutation_operations.h"
#include "data_api/read_operations.h"
#include "data_api/table_settings.h"
#include "data_api/write_operations.h"
#include "engine/memory_engine.h"
#include "engine/rocksdb_engine.h"
#include "rpc/thrift_codec.h"
#include "tests/engine/test_environment.h"
#include "tests/replica/whole_answers.h"

namespace arion {
namespace {

using MakeFactory = std::unique_ptr<EngineFactory> (*)(TestEnvironment&);

// hash key -> sort key -> record; hash keys by length first, as records lie in a partition.
struct ByLength {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};
using Rows = std::map<std::string, Record>;
using Model = std::map<std::string, Rows, ByLength>;

class DataModelTest : public testing::TestWithParam<MakeFactory> {
 protected:
  DataModelTest() { Open(); }
  void Open() {
    engine_.reset();
    auto engine = factory_->Open(environment_.root() + "/2.1.pegasus/data");
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }

  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  std::string Pick(std::initializer_list<const char*> texts) {
    return *(texts.begin() + Below(static_cast<uint32_t>(texts.size())));
  }
  std::string HashKey() {
    return Pick({"", "a", "b", "aa", "ab", "\xff", "\xff\xff", "long hash"});
  }
  std::string SortKey() {
    return Pick({"", "a", "aa", "ab", "b", "ba", "c", "\x01", "\xff", "\xff\xff"});
  }
  std::string Value() {
    return Pick({"", "0", "1", "7", "-3", "0x10", "text", "9223372036854775807", "ab", "b"});
  }
  int32_t Expiry() {
    switch (Below(4)) {
      case 0:
        return static_cast<int32_t>(now_ + Below(5));
      case 1:
        return Below(10) == 0 ? -1 : 0;
      default:
        return 0;
    }
  }

  // ---- the model ----

  bool IsLive(const Record& r) const { return r.expire_ts == 0 || r.expire_ts > now_; }
  const Record* Find(const std::string& hash, const std::string& sort) const {
    const auto rows = model_.find(hash);
    if (rows == model_.end()) return nullptr;
    const auto row = rows->second.find(sort);
    return row == rows->second.end() || !IsLive(row->second) ? nullptr : &row->second;
  }
  void Set(const std::string& hash, const std::string& sort, const std::string& value,
           int32_t expiry) {
    uint32_t at = static_cast<uint32_t>(expiry);
    if (at == 0 && default_ttl_ > 0) at = now_ + default_ttl_;
    model_[hash][sort] = {.value = value, .expire_ts = std::min(at, kExpiryMax)};
  }

  // ---- writes ----

  template <class Request>
  WriteOutcome Write(WriteCode code, const Request& request) {
    WriteOperation operation = *WriteOperation::Decode(code, EncodeWrapped(request));
    if (!operation.IsAcceptable()) return operation.Refusal();
    std::optional<Record> record;
    if (operation.NeedsRecord()) {
      auto found = engine_->Get(operation.record_key(), now_, ReadTier::kAll);
      if (found.ok()) record = *found;
    }
    WriteOutcome outcome =
        std::move(operation).Decide(record, {.default_ttl_seconds = default_ttl_}, now_);
    if (outcome.updates.empty()) return outcome;
    Mutation mutation;
    mutation.decree = engine_->last_applied() + 1;
    mutation.timestamp_us = now_ * int64_t{1000000};
    mutation.updates = outcome.updates;
    const auto operations = MutationOperations::Decode(mutation, *engine_, ReadTier::kAll);
    EXPECT_TRUE(operations.ok()) << operations.status();
    EXPECT_TRUE(engine_->Apply(mutation.decree, mutation.timestamp_us, operations->ops()).ok());
    return outcome;
  }

  void WriteSomething() {
    const std::string hash = HashKey(), sort = SortKey();
    switch (Below(7)) {
      case 0: {
        const UpdateRequest put{JoinRawKey(hash, sort), Value(), Expiry()};
        ASSERT_EQ(Write(WriteCode::kPut, put).error, StorageError::kOk);
        return Set(hash, sort, put.value.bytes, put.expire_ts_seconds);
      }
      case 1:
        ASSERT_EQ(Write(WriteCode::kRemove, Blob(JoinRawKey(hash, sort))).error, StorageError::kOk);
        model_[hash].erase(sort);
        return;
      case 2: {
        MultiPutRequest put{.hash_key = hash, .expire_ts_seconds = Expiry()};
        for (uint32_t n = Below(4); n > 0; --n) put.kvs.push_back({SortKey(), Value(), {}});
        ASSERT_EQ(Write(WriteCode::kMultiPut, put).error,
                  put.kvs.empty() ? StorageError::kInvalidArgument : StorageError::kOk);
        for (const KeyValue& kv : put.kvs)
          Set(hash, kv.key.bytes, kv.value.bytes, put.expire_ts_seconds);
        return;
      }
      case 3: {
        MultiRemoveRequest remove{.hash_key = hash};
        for (uint32_t n = Below(4); n > 0; --n) remove.sort_keys.push_back(SortKey());
        const WriteOutcome outcome = Write(WriteCode::kMultiRemove, remove);
        ASSERT_EQ(outcome.number, static_cast<int64_t>(remove.sort_keys.size()));
        for (const Blob& key : remove.sort_keys) model_[hash].erase(key.bytes);
        return;
      }
      case 4:
        return Increment(hash, sort);
      case 5: {
        const CheckAndSetRequest set{.hash_key = hash,
                                     .check_sort_key = sort,
                                     .check_type = static_cast<int32_t>(Below(18)),
                                     .check_operand = Value(),
                                     .set_diff_sort_key = Below(2) == 0,
                                     .set_sort_key = SortKey(),
                                     .set_value = Value(),
                                     .set_expire_ts_seconds = Expiry(),
                                     .return_check_value = Below(2) == 0};
        if (!ExpectCheck(set, Write(WriteCode::kCheckAndSet, set))) return;
        return Set(hash, set.set_diff_sort_key ? set.set_sort_key.bytes : sort, set.set_value.bytes,
                   set.set_expire_ts_seconds);
      }
      default: {
        CheckAndMutateRequest mutate{.hash_key = hash,
                                     .check_sort_key = sort,
                                     .check_type = static_cast<int32_t>(Below(18)),
                                     .check_operand = Value(),
                                     .return_check_value = Below(2) == 0};
        for (uint32_t n = 1 + Below(3); n > 0; --n)
          mutate.mutate_list.push_back(
              {static_cast<int32_t>(Below(2)), SortKey(), Value(), Expiry()});
        if (!ExpectCheck(mutate, Write(WriteCode::kCheckAndMutate, mutate))) return;
        for (const Mutate& m : mutate.mutate_list) {
          if (m.operation == Mutate::kPut)
            Set(hash, m.sort_key.bytes, m.value.bytes, m.set_expire_ts_seconds);
          else
            model_[hash].erase(m.sort_key.bytes);
        }
      }
    }
  }

  static std::optional<int64_t> Integer(const std::string& text) {
    static const std::map<std::string, int64_t> kKnown = {
        {"0", 0}, {"1", 1}, {"7", 7}, {"-3", -3}, {"0x10", 16}, {"9223372036854775807", INT64_MAX}};
    const auto known = kKnown.find(text);
    if (known != kKnown.end()) return known->second;
    if (text.empty() || text == "text" || text == "ab" || text == "b") return std::nullopt;
    return std::stoll(text);  // what increments left
  }

  void Increment(const std::string& hash, const std::string& sort) {
    const IncrRequest request{JoinRawKey(hash, sort), static_cast<int64_t>(Below(5)) - 2, Expiry()};
    const WriteOutcome outcome = Write(WriteCode::kIncr, request);
    const Record* old = Find(hash, sort);
    const std::optional<int64_t> before =
        old == nullptr || old->value.empty() ? 0 : Integer(old->value);
    if (!before) {
      ASSERT_EQ(outcome.error, StorageError::kInvalidArgument);
      ASSERT_EQ(outcome.number, 0);
      return;
    }
    const __int128 sum = static_cast<__int128>(*before) + request.increment;
    if (sum > INT64_MAX || sum < INT64_MIN) {
      ASSERT_EQ(outcome.error, StorageError::kInvalidArgument);
      ASSERT_EQ(outcome.number, *before);
      return;
    }
    ASSERT_EQ(outcome.error, StorageError::kOk);
    ASSERT_EQ(outcome.number, static_cast<int64_t>(sum));
    int32_t expiry = request.expire_ts_seconds;
    if (expiry == 0 && old != nullptr) expiry = static_cast<int32_t>(old->expire_ts);
    if (request.expire_ts_seconds < 0) expiry = 0;
    Set(hash, sort, std::to_string(static_cast<int64_t>(sum)), expiry);
  }

  // Whether the check passed.
  template <class Request>
  bool ExpectCheck(const Request& request, const WriteOutcome& outcome) {
    const Record* record = Find(request.hash_key.bytes, request.check_sort_key.bytes);
    EXPECT_EQ(outcome.check_value_returned, request.return_check_value);
    EXPECT_EQ(outcome.check_value_exist, request.return_check_value && record != nullptr);
    EXPECT_EQ(outcome.check_value,
              request.return_check_value && record != nullptr ? record->value : "");
    const std::string& operand = request.check_operand.bytes;
    const std::string value = record == nullptr ? "" : record->value;
    const int type = request.check_type;
    bool passes = false;
    if (type <= 4) {
      const bool table[] = {true, record == nullptr, value.empty(), record != nullptr,
                            !value.empty()};
      passes = table[type];
    } else if (record == nullptr) {
      passes = false;
    } else if (type <= 7) {
      const bool fits = value.size() >= operand.size();
      passes = type == 5   ? value.find(operand) != std::string::npos
               : type == 6 ? fits && value.substr(0, operand.size()) == operand
                           : fits && value.substr(value.size() - operand.size()) == operand;
    } else {
      int order = value.compare(operand);
      if (type >= 13) {
        const auto left = Integer(value), right = Integer(operand);
        if (!left || !right) {
          EXPECT_EQ(outcome.error, StorageError::kInvalidArgument);
          return false;
        }
        order = *left < *right ? -1 : *left > *right ? 1 : 0;
      }
      const bool table[] = {order<0, order <= 0, order == 0, order >= 0, order> 0};
      passes = table[type >= 13 ? type - 13 : type - 8];
    }
    EXPECT_EQ(outcome.error, passes ? StorageError::kOk : StorageError::kTryAgain)
        << "type " << type << " value " << value << " operand " << operand;
    return passes;
  }

  // ---- reads ----

  ReadTerms Terms() {
    return {.pid = {2, 1},
            .server = "s",
            .now = now_,
            .clock = environment_.clock(),
            .deadline = Instant::InfiniteFuture(),
            .limits = {.multi_get_records = 3 + Below(40), .scan_records = 1 + Below(20)}};
  }
  static bool Matches(int32_t type, const std::string& pattern, const std::string& key) {
    if (type == 0 || pattern.empty()) return true;
    if (key.size() < pattern.size()) return false;
    if (type == 1) return key.find(pattern) != std::string::npos;
    return (type == 2 ? key.substr(0, pattern.size()) : key.substr(key.size() - pattern.size())) ==
           pattern;
  }

  void ReadOne() {
    const std::string hash = HashKey(), sort = SortKey();
    const Record* expected = Find(hash, sort);
    const auto record = engine_->Get(JoinRawKey(hash, sort), now_, ReadTier::kAll);
    ASSERT_EQ(record.ok(), expected != nullptr);
    if (expected == nullptr) return;
    ASSERT_EQ(record->value, expected->value);
    ASSERT_EQ(record->expire_ts, expected->expire_ts);
  }

  void ReadRange() {
    MultiGetRequest get{.hash_key = HashKey(),
                        .max_kv_count = static_cast<int32_t>(Below(6)) - 1,
                        .max_kv_size = static_cast<int32_t>(Below(30)) - 1,
                        .no_value = Below(4) == 0,
                        .start_sort_key = SortKey(),
                        .stop_sort_key = SortKey(),
                        .start_inclusive = Below(2) == 0,
                        .stop_inclusive = Below(2) == 0,
                        .sort_key_filter_type = static_cast<int32_t>(Below(4)),
                        .sort_key_filter_pattern = Pick({"", "a", "b", "\xff", "aa"}),
                        .reverse = Below(2) == 0};
    std::vector<std::pair<std::string, Record>> range;
    const std::string& start = get.start_sort_key.bytes;
    const std::string& stop = get.stop_sort_key.bytes;
    for (const auto& [sort, record] : model_[get.hash_key.bytes]) {
      if (sort < start || (sort == start && !get.start_inclusive)) continue;
      if (!stop.empty() && (sort > stop || (sort == stop && !get.stop_inclusive))) continue;
      // Outside of a prefix nothing is examined.
      if (get.sort_key_filter_type == 2 && !Matches(2, get.sort_key_filter_pattern.bytes, sort))
        continue;
      range.emplace_back(sort, record);
    }
    ReadTerms terms = Terms();
    // Whether an expired record still counts depends on whether a compaction has met it.
    if (std::any_of(range.begin(), range.end(),
                    [&](const auto& row) { return !IsLive(row.second); })) {
      terms.limits.multi_get_records = 1000;
      get.max_kv_count = get.max_kv_size = 0;
    }
    const auto answer = WholeMultiGet(*engine_->View(), get, terms);
    ASSERT_TRUE(answer.ok()) << answer.status();
    if (get.reverse) std::reverse(range.begin(), range.end());
    const auto limit = [](int32_t asked, int64_t ours) {
      return asked > 0 ? std::min<int64_t>(asked, ours) : ours;
    };
    std::vector<KeyValue> expected;
    int64_t bytes = 0, examined = 0;
    int32_t error = 0;
    for (const auto& [sort, record] : range) {
      // Another turn: nothing was found in this one.
      if (expected.empty() && examined >= terms.limits.multi_get_records) examined = 0;
      if (static_cast<int64_t>(expected.size()) >=
              limit(get.max_kv_count, terms.limits.multi_get_records) ||
          bytes >= limit(get.max_kv_size, terms.limits.answer_bytes) ||
          examined >= terms.limits.multi_get_records) {
        error = 7;
        break;
      }
      ++examined;
      if (!IsLive(record) ||
          !Matches(get.sort_key_filter_type, get.sort_key_filter_pattern.bytes, sort))
        continue;
      expected.push_back({sort, get.no_value ? "" : record.value, {}});
      bytes += static_cast<int64_t>(sort.size() + expected.back().value.bytes.size());
    }
    if (get.reverse) std::reverse(expected.begin(), expected.end());
    ASSERT_EQ(answer->kvs, expected);
    ASSERT_EQ(answer->error, error);
  }

  void ReadPoints() {
    BatchGetRequest batch;
    std::vector<FullData> expected;
    for (uint32_t n = 1 + Below(5); n > 0; --n) {
      batch.keys.push_back({HashKey(), SortKey()});
      const FullKey& key = batch.keys.back();
      if (const Record* record = Find(key.hash_key.bytes, key.sort_key.bytes))
        expected.push_back({key.hash_key, key.sort_key, record->value});
    }
    ASSERT_EQ(BatchGet(*engine_->View(), batch, Terms(), ReadTier::kAll)->data, expected);

    MultiGetRequest get{.hash_key = HashKey()};
    std::vector<KeyValue> found;
    for (uint32_t n = 1 + Below(3); n > 0; --n) {
      get.sort_keys.push_back(SortKey());
      if (const Record* record = Find(get.hash_key.bytes, get.sort_keys.back().bytes))
        found.push_back({get.sort_keys.back(), record->value, {}});
    }
    ASSERT_EQ(WholeMultiGet(*engine_->View(), get, Terms())->kvs, found);

    int64_t count = 0;
    const std::string hash = HashKey();
    for (const auto& [sort, record] : model_[hash]) count += IsLive(record);
    ASSERT_EQ(WholeCount(*engine_->View(), hash, Terms())->count, count);
  }

  void Scan() {
    GetScannerRequest scan{.start_key = JoinRawKey(HashKey(), SortKey()),
                           .stop_key = JoinRawKey(HashKey(), SortKey()),
                           .start_inclusive = Below(2) == 0,
                           .stop_inclusive = Below(2) == 0,
                           .batch_size = static_cast<int32_t>(Below(8)) - 1,
                           .no_value = Below(4) == 0,
                           .hash_key_filter_type = static_cast<int32_t>(Below(4)),
                           .hash_key_filter_pattern = Pick({"", "a", "b", "\xff"}),
                           .sort_key_filter_type = static_cast<int32_t>(Below(4)),
                           .sort_key_filter_pattern = Pick({"", "a", "b", "\xff"})};
    if (Below(2) == 0) scan.start_key = std::string(2, '\0'), scan.stop_key = "\xff\xff";
    std::vector<KeyValue> expected;
    for (const auto& [hash, rows] : model_) {
      for (const auto& [sort, record] : rows) {
        const std::string key = JoinRawKey(hash, sort);
        const std::string& start = scan.start_key.bytes;
        const std::string& stop = scan.stop_key.bytes;
        if (key < start || (key == start && !scan.start_inclusive)) continue;
        if (key > stop || (key == stop && !scan.stop_inclusive)) continue;
        if (!IsLive(record) ||
            !Matches(scan.hash_key_filter_type, scan.hash_key_filter_pattern.bytes, hash) ||
            !Matches(scan.sort_key_filter_type, scan.sort_key_filter_pattern.bytes, sort))
          continue;
        expected.push_back({key, scan.no_value ? "" : record.value, {}});
      }
    }
    const auto cursor = ScanCursor::Make(engine_->View(), scan, nullptr);
    ASSERT_NE(cursor, nullptr);
    std::vector<KeyValue> got;
    for (int64_t id = 1;; ++id) {
      const auto batch = WholeBatch(*cursor, Terms(), id);
      ASSERT_TRUE(batch.ok()) << batch.status();
      got.insert(got.end(), batch->kvs.begin(), batch->kvs.end());
      if (batch->context_id == kScanEnded) break;
      ASSERT_EQ(batch->context_id, id);
      ASSERT_LT(id, 1000);
    }
    ASSERT_EQ(got, expected);
  }

  TestEnvironment environment_;
  std::unique_ptr<EngineFactory> factory_ = GetParam()(environment_);
  std::unique_ptr<Engine> engine_;
  std::mt19937 random_{20261121};
  Model model_;
  uint32_t now_ = 1000;
  uint32_t default_ttl_ = 0;
};

TEST_P(DataModelTest, EveryAnswerIsTheModels) {
  const char* wanted = std::getenv("ARION_MODEL_OPERATIONS");
  const int operations = wanted == nullptr ? 30000 : std::atoi(wanted);
  for (int i = 0; i < operations; ++i) {
    SCOPED_TRACE(i);
    if (Below(20) == 0) environment_.set_expiry_now(++now_);
    if (Below(500) == 0) default_ttl_ = Below(2) * 10;
    switch (Below(8)) {
      case 0:
        ReadOne();
        break;
      case 1:
        ReadRange();
        break;
      case 2:
        ReadPoints();
        break;
      case 3:
        Scan();
        break;
      default:
        WriteSomething();
    }
    if (Below(5000) == 0) {
      ASSERT_TRUE(engine_->Close().ok());
      Open();
    } else if (Below(2000) == 0) {
      ASSERT_TRUE(engine_->Checkpoint().ok());
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, DataModelTest, testing::Values([](TestEnvironment& e) {
                           return std::unique_ptr<EngineFactory>(
                               std::make_unique<MemoryEngineFactory>(e));
                         }));
INSTANTIATE_TEST_SUITE_P(Rocksdb, DataModelTest, testing::Values([](TestEnvironment& e) {
                           return std::unique_ptr<EngineFactory>(
                               std::make_unique<RocksdbEngineFactory>(e));
                         }));

}  // namespace
}  // namespace arion
