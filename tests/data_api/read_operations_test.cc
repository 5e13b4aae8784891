// Each edge of the reads of several records (rpc/PROTOCOL.md 6), on both engines.
// SPDX-License-Identifier: Apache-2.0
#include "data_api/read_operations.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/crc.h"
#include "base/raw_key.h"
#include "engine/memory_engine.h"
#include "engine/rocksdb_engine.h"
#include "tests/engine/test_environment.h"
#include "tests/replica/whole_answers.h"

namespace arion {
namespace {

constexpr uint32_t kNow = 1000;
constexpr int32_t kInvalidArgument = 4;
constexpr int32_t kIncomplete = 7;
using MakeFactory = std::unique_ptr<EngineFactory> (*)(TestEnvironment&);
using Strings = std::vector<std::string>;

// Moves on by a second at each look.
class HastyClock : public Clock {
 public:
  Instant Now() const override { return now_ = now_ + absl::Seconds(1); }
  int64_t WallMicros() const override { return 0; }

 private:
  mutable Instant now_;
};

class ReadOperationsTest : public testing::TestWithParam<MakeFactory> {
 protected:
  ReadOperationsTest() {
    auto engine = factory_->Open(environment_.root() + "/2.1.pegasus/data");
    EXPECT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  void Put(std::string_view hash, std::string_view sort, std::string_view value = "v",
           uint32_t expire_ts = 0) {
    const std::string key = JoinRawKey(hash, sort);
    const WriteOp op{.key = key, .value = value, .expire_ts = expire_ts};
    ASSERT_TRUE(engine_->Apply(engine_->last_applied() + 1, 1, {&op, 1}).ok());
  }
  void Fill(std::string_view hash, const Strings& sorts) {
    for (const std::string& sort : sorts) Put(hash, sort, "v" + sort);
  }
  ReadTerms Terms() const {
    return {.pid = {2, 1},
            .server = "127.0.0.1:34801",
            .now = kNow,
            .clock = environment_.clock(),
            .deadline = Instant::InfiniteFuture(),
            .limits = limits_,
            .owned = owned_};
  }
  // The partition that has this key, of many.
  static KeyOwnership OwnerOf(std::string_view hash, std::string_view sort = {}) {
    constexpr int32_t kCount = 1024;
    return {.index = static_cast<int32_t>(PartitionHash(JoinRawKey(hash, sort)) % kCount),
            .count = kCount};
  }

  MultiGetResponse Get(const MultiGetRequest& request) {
    auto response = WholeMultiGet(*engine_->View(), request, Terms());
    EXPECT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->app_id, 2);
    EXPECT_EQ(response->partition_index, 1);
    EXPECT_EQ(response->server, "127.0.0.1:34801");
    return *response;
  }
  static Strings Keys(const std::vector<KeyValue>& kvs) {
    Strings keys;
    for (const KeyValue& kv : kvs) keys.push_back(kv.key.bytes);
    return keys;
  }
  // A range of hash key h, everything included unless `change` says otherwise.
  static MultiGetRequest Range(auto change) {
    MultiGetRequest request{.hash_key = "h", .start_inclusive = true};
    change(request);
    return request;
  }
  void ExpectKeys(const MultiGetRequest& request, const Strings& keys, int32_t error = 0) {
    const MultiGetResponse response = Get(request);
    EXPECT_EQ(Keys(response.kvs), keys);
    EXPECT_EQ(response.error, error);
  }

  std::unique_ptr<ScanCursor> Cursor(const GetScannerRequest& request,
                                     const std::optional<KeyOwnership>& owned = {}) {
    return ScanCursor::Make(engine_->View(), request,
                            owned ? std::make_shared<const KeyOwnership>(*owned) : nullptr);
  }
  // Everything that a scan returns, batch by batch: sort keys joined, "|" between batches, and how
  // it ended.
  std::string Scan(const GetScannerRequest& request,
                   const std::optional<KeyOwnership>& owned = {}) {
    const auto cursor = Cursor(request, owned);
    if (cursor == nullptr) return "refused";
    std::string text;
    for (int64_t id = 10; id < 60; ++id) {
      const auto batch = WholeBatch(*cursor, Terms(), id);
      EXPECT_TRUE(batch.ok()) << batch.status();
      EXPECT_EQ(batch->error, 0) << "never kIncomplete";
      for (const KeyValue& kv : batch->kvs) text += SplitRawKey(kv.key)->sort_key;
      if (batch->kv_count) text += "#" + std::to_string(*batch->kv_count);
      if (batch->context_id == kScanEnded) {
        EXPECT_TRUE(cursor->ended());
        return text;
      }
      EXPECT_EQ(batch->context_id, id);
      text += "|";
    }
    return text + " without end";
  }
  static GetScannerRequest FullScan(auto change) {
    GetScannerRequest request{.start_key = std::string(2, '\0'),
                              .stop_key = "\xff\xff",
                              .start_inclusive = true,
                              .batch_size = 100};
    change(request);
    return request;
  }

  TestEnvironment environment_;
  std::unique_ptr<EngineFactory> factory_ = GetParam()(environment_);
  std::unique_ptr<Engine> engine_;
  ReadLimits limits_;
  KeyOwnership owned_;
};

// A scan that is left in its middle holds no memtable back.
TEST_P(ReadOperationsTest, ScansLeftOpenPinNoMemory) {
  constexpr size_t kValueBytes = 1 << 20;
  std::vector<std::unique_ptr<ScanCursor>> left;
  for (int i = 0; i < 30; ++i) {
    const std::string value(kValueBytes, 'v');
    const std::string keys[] = {JoinRawKey("h", "a"), JoinRawKey("h", "b")};
    std::vector<WriteOp> puts;
    for (const std::string& key : keys)
      puts.push_back({.kind = WriteOp::Kind::kPut, .key = key, .value = value});
    ASSERT_TRUE(engine_->Apply(engine_->last_applied() + 1, 1, puts).ok());
    left.push_back(Cursor(FullScan([](auto& request) { request.batch_size = 1; })));
    ASSERT_EQ(WholeBatch(*left.back(), Terms(), 1)->kvs.size(), 1u);
    ASSERT_TRUE(engine_->Flush().ok());
  }
  EXPECT_LE(factory_->unflushed_bytes(), 8 * kValueBytes);
  const auto rest = WholeBatch(*left.front(), Terms(), 1);  // still the view of its beginning
  ASSERT_EQ(rest->kvs.size(), 1u);
  EXPECT_EQ(SplitRawKey(rest->kvs[0].key)->sort_key, "b");
}

// ---- MULTI_GET, points ----

TEST_P(ReadOperationsTest, PointsComeInRequestOrderDuplicatesTwiceMissingNotAtAll) {
  Fill("h", {"a", "b"});
  Put("h", "old", "v", kNow);
  const auto response =
      Get({.hash_key = "h", .sort_keys = {"b", "none", "a", "old", "b"}, .start_sort_key = "z"});
  EXPECT_EQ(response.error, 0);
  EXPECT_EQ(response.kvs,
            (std::vector<KeyValue>{{"b", "vb", {}}, {"a", "va", {}}, {"b", "vb", {}}}));
}

TEST_P(ReadOperationsTest, PointsIgnoreFiltersAndBounds) {
  Fill("h", {"a"});
  ExpectKeys({.hash_key = "h",
              .sort_keys = {"a"},
              .start_sort_key = "x",
              .stop_sort_key = "b",
              .sort_key_filter_type = 2,
              .sort_key_filter_pattern = "x"},
             {"a"});
}

TEST_P(ReadOperationsTest, PointsBeyondTheCountAreIncomplete) {
  Fill("h", {"a", "b", "c"});
  ExpectKeys({.hash_key = "h", .sort_keys = {"a", "b", "c"}, .max_kv_count = 2}, {"a", "b"},
             kIncomplete);
  ExpectKeys({.hash_key = "h", .sort_keys = {"a", "b", "none"}, .max_kv_count = 2}, {"a", "b"});
  limits_.multi_get_records = 1;
  ExpectKeys({.hash_key = "h", .sort_keys = {"a", "b"}, .max_kv_count = -1}, {"a"}, kIncomplete);
}

TEST_P(ReadOperationsTest, ThePointThatCrossesTheSizeIsStillReturned) {
  Fill("h", {"a", "b", "c"});  // 3 bytes each
  ExpectKeys({.hash_key = "h", .sort_keys = {"a", "b", "c"}, .max_kv_size = 4}, {"a", "b"},
             kIncomplete);
  ExpectKeys({.hash_key = "h", .sort_keys = {"a", "b", "c"}, .max_kv_size = 3}, {"a"}, kIncomplete);
  ExpectKeys({.hash_key = "h", .sort_keys = {"a", "b", "c"}, .max_kv_size = 2, .no_value = true},
             {"a", "b"}, kIncomplete);
}

TEST_P(ReadOperationsTest, NothingFoundIsNoError) {
  ExpectKeys({.hash_key = "h", .sort_keys = {"a"}}, {});
  ExpectKeys(Range([](auto&) {}), {});
}

TEST_P(ReadOperationsTest, WhatCantBeAskedIsAnInvalidArgument) {
  Fill("h", {"a"});
  for (const int32_t type : {-1, 4, 1000}) {
    ExpectKeys({.hash_key = "h", .sort_keys = {"a"}, .sort_key_filter_type = type}, {},
               kInvalidArgument);
    ExpectKeys(Range([type](auto& r) { r.sort_key_filter_type = type; }), {}, kInvalidArgument);
  }
  for (const size_t bytes : {65535, 65536, 70000}) {
    ExpectKeys({.hash_key = std::string(bytes, 'x')}, {}, kInvalidArgument);
    ExpectKeys({.hash_key = std::string(bytes, 'x'), .sort_keys = {"a"}}, {}, kInvalidArgument);
  }
}

TEST_P(ReadOperationsTest, TheLongestHashKeyHasARange) {
  const std::string longest(65534, '\xff');
  Fill(longest, {"a", "\xff"});
  ExpectKeys({.hash_key = longest, .start_inclusive = true}, {"a", "\xff"});
}

// ---- MULTI_GET, ranges ----

TEST_P(ReadOperationsTest, ARangeIsOfOneHashKeyOnly) {
  Fill("h", {"", "a", "b"});
  Fill("g", {"a"});
  Fill("i", {"a"});
  Fill("", {"a"});
  Fill("hh", {"a"});
  ExpectKeys(Range([](auto&) {}), {"", "a", "b"});
  ExpectKeys({.hash_key = "", .start_inclusive = true}, {"a"});
}

TEST_P(ReadOperationsTest, WithoutAnInclusiveStartTheEmptySortKeyIsLeftOut) {
  Fill("h", {"", "a"});
  ExpectKeys({.hash_key = "h", .max_kv_count = 10}, {"a"});
}

TEST_P(ReadOperationsTest, BoundsAreInclusiveOrNot) {
  Fill("h", {"a", "b", "c", "d"});
  struct Case {
    bool start, stop;
    Strings keys;
  };
  for (const Case& c : {Case{true, true, {"b", "c"}}, Case{true, false, {"b"}},
                        Case{false, true, {"c"}}, Case{false, false, {}}}) {
    ExpectKeys(Range([&](auto& r) {
                 r.start_sort_key = "b", r.stop_sort_key = "c";
                 r.start_inclusive = c.start, r.stop_inclusive = c.stop;
               }),
               c.keys);
  }
}

TEST_P(ReadOperationsTest, EqualBoundsHoldOneRecordIfBothAreInclusive) {
  Fill("h", {"a", "b"});
  for (const bool start : {false, true})
    for (const bool stop : {false, true})
      ExpectKeys(Range([&](auto& r) {
                   r.start_sort_key = r.stop_sort_key = "b";
                   r.start_inclusive = start, r.stop_inclusive = stop;
                 }),
                 start && stop ? Strings{"b"} : Strings{});
}

TEST_P(ReadOperationsTest, AStartBehindTheStopIsEmpty) {
  Fill("h", {"a", "b", "c"});
  ExpectKeys(Range([](auto& r) {
               r.start_sort_key = "c", r.stop_sort_key = "a", r.stop_inclusive = true;
             }),
             {});
}

TEST_P(ReadOperationsTest, AnEmptyStopMeansToTheLastThoughInclusiveIsSaid) {
  Fill("h", {"a", "\xff\xff"});
  ExpectKeys(Range([](auto& r) { r.stop_inclusive = true; }), {"a", "\xff\xff"});
}

TEST_P(ReadOperationsTest, EachFilterTypePassesItsKeys) {
  Fill("h", {"", "ab", "abc", "ba", "cab"});
  struct Case {
    int32_t type;
    const char* pattern;
    Strings keys;
  };
  for (const Case& c :
       {Case{0, "zz", {"", "ab", "abc", "ba", "cab"}}, Case{1, "ab", {"ab", "abc", "cab"}},
        Case{2, "ab", {"ab", "abc"}}, Case{3, "ab", {"ab", "cab"}},
        Case{1, "", {"", "ab", "abc", "ba", "cab"}}, Case{2, "", {"", "ab", "abc", "ba", "cab"}},
        Case{3, "", {"", "ab", "abc", "ba", "cab"}}, Case{1, "a longer one", {}},
        Case{2, "abcd", {}}, Case{3, "abcde", {}}}) {
    for (const bool reverse : {false, true})
      ExpectKeys(Range([&](auto& r) {
                   r.sort_key_filter_type = c.type, r.sort_key_filter_pattern = c.pattern;
                   r.reverse = reverse;
                 }),
                 c.keys);
  }
}

TEST_P(ReadOperationsTest, APrefixNarrowsTheBoundsSoThatNothingElseIsExamined) {
  Fill("h", {"a", "b1", "b2", "b3", "c"});
  limits_.multi_get_records = 3;
  const auto with_prefix = [](auto change) {
    return Range([&](auto& r) {
      r.sort_key_filter_type = 2, r.sort_key_filter_pattern = "b";
      change(r);
    });
  };
  ExpectKeys(with_prefix([](auto&) {}), {"b1", "b2", "b3"});
  ExpectKeys(with_prefix([](auto& r) { r.reverse = true; }), {"b1", "b2", "b3"});
  ExpectKeys(with_prefix([](auto& r) { r.start_sort_key = "b1", r.start_inclusive = false; }),
             {"b2", "b3"});
  ExpectKeys(with_prefix([](auto& r) { r.stop_sort_key = "b2", r.stop_inclusive = true; }),
             {"b1", "b2"});
  ExpectKeys(with_prefix([](auto& r) { r.start_sort_key = "c"; }), {});
  ExpectKeys(with_prefix([](auto& r) { r.stop_sort_key = "b"; }), {});
  // The prefix itself as an exclusive start stays excluded.
  Put("h", "b");
  ExpectKeys(with_prefix([](auto& r) { r.start_sort_key = "b", r.start_inclusive = false; }),
             {"b1", "b2", "b3"});
}

TEST_P(ReadOperationsTest, ReverseChoosesTheLastButKeepsTheOrder) {
  Fill("h", {"a", "b", "c", "d"});
  ExpectKeys(Range([](auto& r) { r.reverse = true, r.max_kv_count = 2; }), {"c", "d"}, kIncomplete);
  ExpectKeys(Range([](auto& r) { r.reverse = true, r.max_kv_count = 2, r.stop_sort_key = "d"; }),
             {"b", "c"}, kIncomplete);
  ExpectKeys(Range([](auto& r) { r.reverse = true; }), {"a", "b", "c", "d"});
}

TEST_P(ReadOperationsTest, ALimitMetExactlyAtTheEndIsComplete) {
  Fill("h", {"a", "b"});
  Fill("i", {"a"});
  ExpectKeys(Range([](auto& r) { r.max_kv_count = 2; }), {"a", "b"});
  ExpectKeys(Range([](auto& r) { r.max_kv_count = 1, r.stop_sort_key = "b"; }), {"a"});
  ExpectKeys(Range([](auto& r) { r.max_kv_count = 1; }), {"a"}, kIncomplete);
}

TEST_P(ReadOperationsTest, TheRecordThatCrossesTheSizeIsStillReturned) {
  Fill("h", {"a", "b", "c"});  // 3 bytes each
  ExpectKeys(Range([](auto& r) { r.max_kv_size = 4; }), {"a", "b"}, kIncomplete);
  ExpectKeys(Range([](auto& r) { r.max_kv_size = 1, r.reverse = true; }), {"c"}, kIncomplete);
  ExpectKeys(Range([](auto& r) { r.max_kv_size = 2, r.no_value = true; }), {"a", "b"}, kIncomplete);
  limits_.answer_bytes = 3;
  ExpectKeys(Range([](auto& r) { r.max_kv_size = 100; }), {"a"}, kIncomplete);
}

TEST_P(ReadOperationsTest, FilteredAndExpiredRecordsCountAsExamined) {
  Put("h", "a", "v", kNow);
  Fill("h", {"b", "c", "d"});
  limits_.multi_get_records = 2;
  ExpectKeys(Range([](auto&) {}), {"b"}, kIncomplete);
  ExpectKeys(Range([](auto& r) { r.sort_key_filter_type = 3, r.sort_key_filter_pattern = "c"; }),
             {"c"});
  Fill("h", {"e"});
  ExpectKeys(Range([](auto& r) { r.sort_key_filter_type = 3, r.sort_key_filter_pattern = "c"; }),
             {"c"}, kIncomplete);
}

// A client goes on behind the last record it got; an incomplete answer without one is no place. One
// test for each operation: half of the dead have expired, half do not pass the filter.
class DeadRecordsTest : public ReadOperationsTest {
 protected:
  static constexpr int kDead = 100'000;
  static std::string DeadKey(int i) { return "m" + std::to_string(kDead + i); }

  DeadRecordsTest() {
    constexpr int kPerWrite = 10'000;
    for (int first = 0; first < kDead; first += kPerWrite) {
      Strings keys;
      for (int i = first; i < first + kPerWrite; ++i) keys.push_back(JoinRawKey("h", DeadKey(i)));
      std::vector<WriteOp> puts;
      for (const std::string& key : keys)
        puts.push_back({.key = key, .value = "v", .expire_ts = first % 20'000 == 0 ? kNow : 0});
      EXPECT_TRUE(engine_->Apply(engine_->last_applied() + 1, 1, puts).ok());
    }
    Fill("h", {"a live", "z live"});
  }
  static MultiGetRequest Live(auto change) {
    return Range([&](auto& r) {
      r.sort_key_filter_type = 1, r.sort_key_filter_pattern = "live";
      change(r);
    });
  }
  // In the turns that its limit of records makes of it, and where each look at the clock is late.
  void ExpectFound(const MultiGetRequest& request, const std::string& key, int turns_min) {
    const HastyClock clock;
    ReadTerms hasty{.now = kNow, .clock = clock, .deadline = Instant()};
    for (const ReadTerms& terms : {Terms(), hasty}) {
      int turns = 0;
      const auto response = *WholeMultiGet(*engine_->View(), request, terms, &turns);
      EXPECT_EQ(Keys(response.kvs), Strings{key});
      EXPECT_GE(turns, turns_min);
    }
  }
};

TEST_P(DeadRecordsTest, ARangeGetsPastThem) {
  ExpectFound(Live([](auto& r) { r.start_sort_key = "b"; }), "z live", kDead / 3000);
}

TEST_P(DeadRecordsTest, ARangeFromItsEndGetsPastThem) {
  ExpectFound(Live([](auto& r) { r.stop_sort_key = "y", r.reverse = true; }), "a live",
              kDead / 3000);
}

TEST_P(DeadRecordsTest, ARangeWithARecordBeforeThemEndsThere) {
  const auto response = Get(Live([](auto&) {}));
  EXPECT_EQ(Keys(response.kvs), Strings{"a live"});
  EXPECT_EQ(response.error, kIncomplete);
}

TEST_P(DeadRecordsTest, NothingButThemIsComplete) {
  ExpectKeys(Live([](auto& r) { r.start_sort_key = "b", r.stop_sort_key = "y"; }), {});
}

TEST_P(DeadRecordsTest, PointsGetPastThem) {
  MultiGetRequest request{.hash_key = "h"};
  for (int i = 0; i < kDead; i += 20'000)
    for (int k = i; k < i + 10'000; ++k) request.sort_keys.push_back(DeadKey(k));
  for (int i = 0; i < kDead / 2; ++i) request.sort_keys.push_back("none" + std::to_string(i));
  request.sort_keys.push_back("z live");
  ExpectFound(request, "z live", 1);
}

TEST_P(DeadRecordsTest, ABatchGetsPastThem) {
  BatchGetRequest request;
  for (int i = 0; i < kDead; ++i) request.keys.push_back({"h", DeadKey(i / 10'000 * 20'000 + i)});
  request.keys.push_back({"h", "z live"});
  limits_.batch_get_bytes = kDead * 10;
  const auto response = *BatchGet(*engine_->View(), request, Terms(), ReadTier::kAll);
  EXPECT_EQ(response.error, 0);
  EXPECT_EQ(response.data.back(), (FullData{"h", "z live", "vz live"}));
}

TEST_P(DeadRecordsTest, ACountGetsPastThem) {
  int turns = 0;
  EXPECT_EQ(WholeCount(*engine_->View(), "h", Terms(), &turns)->count, kDead / 2 + 2);
  EXPECT_GE(turns, kDead / 10'000);
}

// Scans have a place without records: batches with nothing in them, each with the next id.
TEST_P(DeadRecordsTest, AScanGetsPastThem) {
  for (const bool only_counts : {false, true}) {
    const auto cursor = Cursor(FullScan([&](auto& r) {
      r.sort_key_filter_type = 1, r.sort_key_filter_pattern = "live", r.batch_size = 1000;
      if (only_counts) r.only_return_count = true;
    }));
    Strings found;
    int32_t count = 0;
    for (int64_t id = 0; !cursor->ended() && id < 200; ++id) {
      const auto batch = *WholeBatch(*cursor, Terms(), id);
      EXPECT_EQ(batch.error, 0);
      for (const KeyValue& kv : batch.kvs) found.emplace_back(SplitRawKey(kv.key)->sort_key);
      count += batch.kv_count.value_or(0);
    }
    EXPECT_TRUE(cursor->ended());
    EXPECT_EQ(found, only_counts ? Strings() : (Strings{"a live", "z live"}));
    EXPECT_EQ(count, only_counts ? 2 : 0);
  }
}

TEST_P(ReadOperationsTest, NegativeLimitsAreTheServers) {
  Fill("h", {"a", "b", "c"});
  limits_.multi_get_records = 2;
  ExpectKeys(Range([](auto& r) { r.max_kv_count = INT32_MIN, r.max_kv_size = -1; }), {"a", "b"},
             kIncomplete);
}

TEST_P(ReadOperationsTest, WithoutValuesTheyAreEmpty) {
  Fill("h", {"a"});
  EXPECT_EQ(Get(Range([](auto& r) { r.no_value = true; })).kvs,
            (std::vector<KeyValue>{{"a", "", {}}}));
}

TEST_P(ReadOperationsTest, ALateRangeEndsIncompleteButGetsOn) {
  for (int i = 0; i < 200; ++i) Put("h", std::to_string(1000 + i));
  const HastyClock clock;
  const ReadTerms terms{.now = kNow, .clock = clock, .deadline = Instant() + absl::Seconds(1)};
  const auto response = *WholeMultiGet(*engine_->View(), Range([](auto&) {}), terms);
  EXPECT_EQ(response.error, kIncomplete);
  EXPECT_GT(response.kvs.size(), 0u);
  EXPECT_LT(response.kvs.size(), 200u);
}

// ---- BATCH_GET, SORTKEY_COUNT ----

TEST_P(ReadOperationsTest, ABatchReturnsWhatExistsInRequestOrder) {
  Put("h", "a", "1");
  Put("i", "", "2");
  Put("h", "old", "3", kNow);
  const auto response = *BatchGet(
      *engine_->View(), {.keys = {{"i", ""}, {"h", "none"}, {"h", "old"}, {"h", "a"}, {"i", ""}}},
      Terms(), ReadTier::kAll);
  EXPECT_EQ(response.error, 0);
  EXPECT_EQ(response.data,
            (std::vector<FullData>{{"i", "", "2"}, {"h", "a", "1"}, {"i", "", "2"}}));
}

TEST_P(ReadOperationsTest, ABatchOfNothingOrOfImpossibleKeysIsAnInvalidArgument) {
  const auto error = [&](const BatchGetRequest& request) {
    return BatchGet(*engine_->View(), request, Terms(), ReadTier::kAll)->error;
  };
  EXPECT_EQ(error({}), kInvalidArgument);
  EXPECT_EQ(error({.keys = {{std::string(65535, 'x'), "s"}}}), kInvalidArgument);
}

TEST_P(ReadOperationsTest, ABatchTooBigForMemoryIsRefusedNotCut) {
  Put("h", "a", std::string(100, 'v'));
  limits_.batch_get_bytes = 150;
  const auto response = *BatchGet(*engine_->View(), {.keys = {{"h", "a"}, {"h", "a"}, {"h", "a"}}},
                                  Terms(), ReadTier::kAll);
  EXPECT_EQ(response.error, kIncomplete);
  EXPECT_TRUE(response.data.empty());
}

TEST_P(ReadOperationsTest, CountsWhatHasNotExpired) {
  Fill("h", {"", "a", "b"});
  Put("h", "old", "v", kNow);
  Fill("hh", {"a"});
  const auto count = [&](std::string_view hash) {
    return *WholeCount(*engine_->View(), hash, Terms());
  };
  EXPECT_EQ(count("h").count, 3);
  EXPECT_EQ(count("none").count, 0);
  EXPECT_EQ(count("none").error, 0);
  EXPECT_EQ(count(std::string(65535, 'x')).error, kInvalidArgument);
}

TEST_P(ReadOperationsTest, ACountNotDoneInTimeIsMinusOne) {
  for (int i = 0; i < 200; ++i) Put("h", std::to_string(i));
  const HastyClock clock;
  const auto response =
      *WholeCount(*engine_->View(), "h",
                  {.now = kNow, .clock = clock, .deadline = Instant() + absl::Seconds(1)});
  EXPECT_EQ(response.error, 0);
  EXPECT_EQ(response.count, -1);
}

// ---- scans ----

TEST_P(ReadOperationsTest, AFullScanGoesByLengthThenHashKeyThenSortKey) {
  Fill("b", {"3"});
  Fill("aa", {"4", "5"});
  Fill("", {"1"});
  Fill("a", {"2"});
  EXPECT_EQ(Scan(FullScan([](auto&) {})), "12345");
  const auto batch = *WholeBatch(*Cursor(FullScan([](auto&) {})), Terms(), 0);
  EXPECT_EQ(batch.kvs[1].key.bytes, JoinRawKey("a", "2")) << "raw keys";
  EXPECT_EQ(batch.kvs[1].value.bytes, "v2");
  EXPECT_FALSE(batch.kvs[1].expire_ts_seconds.has_value());
  EXPECT_FALSE(batch.kv_count.has_value());
}

TEST_P(ReadOperationsTest, TheStopKeyOfPypegasusScansEverythingBelowIt) {
  Fill("a", {"1"});
  EXPECT_EQ(Scan(FullScan([](auto& r) { r.stop_key = "\xc3\xbf\xc3\xbf"; })), "1");
}

TEST_P(ReadOperationsTest, ScanBoundsAreInclusiveOrNot) {
  Fill("h", {"a", "b", "c"});
  const auto scan = [&](bool start, bool stop) {
    return Scan({.start_key = JoinRawKey("h", "a"),
                 .stop_key = JoinRawKey("h", "c"),
                 .start_inclusive = start,
                 .stop_inclusive = stop});
  };
  EXPECT_EQ(scan(true, true), "abc");
  EXPECT_EQ(scan(true, false), "ab");
  EXPECT_EQ(scan(false, true), "bc");
  EXPECT_EQ(scan(false, false), "b");
}

TEST_P(ReadOperationsTest, AnEmptyRangeHasEndedAtOnce) {
  Fill("h", {"a"});
  EXPECT_EQ(Scan({.start_key = JoinRawKey("h", "b"), .stop_key = JoinRawKey("h", "a")}), "");
  EXPECT_EQ(Scan({.start_key = JoinRawKey("h", "a"), .stop_key = JoinRawKey("h", "a")}), "");
  EXPECT_EQ(Scan({}), "") << "nothing is before an empty stop key";
  EXPECT_EQ(Scan({.start_inclusive = true, .stop_inclusive = true}), "");
  EXPECT_EQ(Scan({.start_key = JoinRawKey("i", ""), .stop_key = "\xff\xff"}), "")
      << "nothing there";
}

TEST_P(ReadOperationsTest, AScanThatEndsWithABatchSaysSoWithItsLastRecords) {
  Fill("h", {"a", "b", "c", "d"});
  EXPECT_EQ(Scan(FullScan([](auto& r) { r.batch_size = 2; })), "ab|cd");
  EXPECT_EQ(Scan(FullScan([](auto& r) { r.batch_size = 3; })), "abc|d");
  EXPECT_EQ(Scan(FullScan([](auto& r) { r.batch_size = 1; })), "a|b|c|d");
}

TEST_P(ReadOperationsTest, BatchSizesBeyondTheServersOrNoneAreTheServers) {
  Fill("h", {"a", "b", "c"});
  limits_.scan_records = 2;
  for (const int32_t size : {0, -1, 3, INT32_MAX})
    EXPECT_EQ(Scan(FullScan([size](auto& r) { r.batch_size = size; })), "ab|c") << size;
}

TEST_P(ReadOperationsTest, ABatchMayBeEmptyAndTheScanGoesOn) {
  for (const char* sort : {"a", "b", "c", "d"}) Put("h", sort, "v", kNow);
  Fill("h", {"e"});
  limits_.scan_records = 2;
  EXPECT_EQ(Scan(FullScan([](auto&) {})), "||e");
}

TEST_P(ReadOperationsTest, BigRecordsEndABatchByTheirBytes) {
  Put("h", "a", std::string(100, 'x'));
  Put("h", "b", std::string(100, 'x'));
  limits_.answer_bytes = 50;
  EXPECT_EQ(Scan(FullScan([](auto&) {})), "a|b");
}

TEST_P(ReadOperationsTest, BothFiltersMustPass) {
  Fill("apple", {"1", "21"});
  Fill("ape", {"1", "3"});
  Fill("tap", {"1"});
  const auto scan = [&](int32_t hash_type, const char* hash, int32_t sort_type, const char* sort) {
    return Scan(FullScan([&](auto& r) {
      r.hash_key_filter_type = hash_type, r.hash_key_filter_pattern = hash;
      r.sort_key_filter_type = sort_type, r.sort_key_filter_pattern = sort;
    }));
  };
  EXPECT_EQ(scan(2, "ap", 0, ""), "13121");
  EXPECT_EQ(scan(2, "app", 0, ""), "121");
  EXPECT_EQ(scan(1, "ap", 3, "1"), "11121");
  EXPECT_EQ(scan(3, "ap", 0, ""), "1");
  EXPECT_EQ(scan(2, "ap", 2, "3"), "3");
  EXPECT_EQ(scan(2, "", 2, ""),
            "131"
            "1"
            "21");
  const std::string too_long(65535, 'x');
  EXPECT_EQ(scan(2, too_long.c_str(), 0, ""), "");
  EXPECT_EQ(scan(4, "", 0, ""), "refused");
  EXPECT_EQ(scan(0, "", -1, ""), "refused");
}

TEST_P(ReadOperationsTest, AHashKeyPrefixIsWhereAScanStarts) {
  Fill("a", {"1"});
  Fill("b", {"2"});
  Fill("bb", {"3"});
  limits_.scan_records = 2;
  EXPECT_EQ(
      Scan(FullScan([](auto& r) { r.hash_key_filter_type = 2, r.hash_key_filter_pattern = "b"; })),
      "23");
}

TEST_P(ReadOperationsTest, OnlyCountsAndOnlyKeys) {
  Fill("h", {"a", "b", "c"});
  EXPECT_EQ(Scan(FullScan([](auto& r) { r.only_return_count = true, r.batch_size = 2; })), "#2|#1");
  EXPECT_EQ(Scan(FullScan([](auto& r) { r.only_return_count = false; })), "abc");
  const auto batch = *WholeBatch(*Cursor(FullScan([](auto& r) { r.no_value = true; })), Terms(), 0);
  EXPECT_EQ(batch.kvs[0].value.bytes, "");
}

// Batch by batch, each by a scan of its own: the keys at which they begin, and how many there are.
TEST_P(ReadOperationsTest, OnlySumsOfBatches) {
  Put("h", "a", "v1", kNow + 5);
  Put("h", "b", "v2");
  Put("h", "c", "gone", kNow - 1);
  Put("h", "d", "v4");
  const auto sum_of = [&](auto change) {
    const auto cursor = Cursor(FullScan([&](auto& r) {
      r.only_return_sum = true, r.return_expire_ts = true;
      change(r);
    }));
    return *WholeBatch(*cursor, Terms(), 10);
  };
  const auto hash = [](const char* sort_key, const char* value, uint32_t expires) {
    return RecordHash(JoinRawKey("h", sort_key), value, expires);
  };
  ScanResponse all = sum_of([](auto&) {});
  EXPECT_TRUE(all.kvs.empty());
  EXPECT_EQ(all.context_id, kScanEnded);
  EXPECT_EQ(all.kv_count, 3);
  EXPECT_EQ(static_cast<uint64_t>(*all.sum),
            hash("a", "v1", kNow + 5) + hash("b", "v2", 0) + hash("d", "v4", 0));
  EXPECT_FALSE(all.next_key);
  // It is no scan that is kept, and says where the next one begins.
  ScanResponse first = sum_of([](auto& r) { r.batch_size = 1; });
  EXPECT_EQ(first.context_id, kScanEnded);
  EXPECT_EQ(first.kv_count, 1);
  EXPECT_EQ(first.next_key->bytes, JoinRawKey("h", "b"));
  ScanResponse rest = sum_of([&](auto& r) { r.start_key = *first.next_key; });
  EXPECT_EQ(*first.sum + *rest.sum, *all.sum);
  // A batch without a live record says so, and goes on.
  ScanResponse dead = sum_of(
      [&](auto& r) { r.start_key = JoinRawKey("h", "c"), r.stop_key = JoinRawKey("h", "d"); });
  EXPECT_EQ(dead.kv_count, 0);
  EXPECT_EQ(dead.sum, 0);
  EXPECT_FALSE(dead.next_key);
  // What is not returned does not count.
  EXPECT_EQ(static_cast<uint64_t>(
                *sum_of([](auto& r) { r.return_expire_ts = false, r.batch_size = 1; }).sum),
            hash("a", "v1", 0));
  EXPECT_EQ(
      static_cast<uint64_t>(*sum_of([](auto& r) { r.no_value = true, r.batch_size = 1; }).sum),
      hash("a", "", kNow + 5));
  limits_.answer_bytes = 1;
  EXPECT_EQ(sum_of([](auto&) {}).kv_count, 1);
  limits_.count_records = 2;
  limits_.answer_bytes = 1 << 20;
  EXPECT_EQ(sum_of([](auto&) {}).next_key->bytes, JoinRawKey("h", "c"));
}

TEST_P(ReadOperationsTest, ExpiriesAreToldOnRequest) {
  Put("h", "a", "v", kNow + 5);
  Put("h", "b", "v");
  const auto batch =
      *WholeBatch(*Cursor(FullScan([](auto& r) { r.return_expire_ts = true; })), Terms(), 0);
  EXPECT_EQ(batch.kvs[0].expire_ts_seconds, static_cast<int32_t>(kNow + 5));
  EXPECT_EQ(batch.kvs[1].expire_ts_seconds, 0);
}

TEST_P(ReadOperationsTest, ScansLeaveOutRecordsOfOtherPartitionsWhateverTheClientWants) {
  Fill("a", {"1"});
  Fill("b", {"2"});
  EXPECT_EQ(Scan(FullScan([](auto&) {})), "12") << "not checked";
  for (const std::optional<bool> wish : {std::optional<bool>(), std::optional(true), {false}})
    EXPECT_EQ(Scan(FullScan([&](auto& r) { r.validate_partition_hash = wish; }), OwnerOf("a")),
              "1");
}

TEST_P(ReadOperationsTest, AScanOfOneHashKeyIsOfOnePartition) {
  const auto is_elsewhere = [&](std::string start, std::string stop, const KeyOwnership& owned) {
    return Cursor(FullScan([&](auto& r) {
                    r.start_key = std::move(start);
                    r.stop_key = std::move(stop);
                  }),
                  owned)
        ->IsElsewhere();
  };
  const std::string first = JoinRawKey("a", ""), behind = EndOfPrefix(first);
  EXPECT_FALSE(is_elsewhere(first, behind, OwnerOf("a")));
  EXPECT_TRUE(is_elsewhere(first, behind, OwnerOf("b")));
  EXPECT_TRUE(is_elsewhere(JoinRawKey("a", "1"), JoinRawKey("a", "3"), OwnerOf("b")));
  EXPECT_FALSE(is_elsewhere(first, "\xff\xff", OwnerOf("b"))) << "of all hash keys from here on";
  EXPECT_FALSE(is_elsewhere(first, behind, {})) << "not checked";
}

TEST_P(ReadOperationsTest, KeysOfOtherPartitionsAreNotRead) {
  Fill("h", {"a", "b"});
  Fill("", {"a", "b"});
  const auto view = engine_->View();
  const auto count = [&](std::string_view hash_key) {
    ReadPlace place;
    return CountSortKeys(*view, hash_key, Terms(), &place);
  };
  const auto range = [&](const char* hash_key) {
    return WholeMultiGet(*view, {.hash_key = hash_key, .start_inclusive = true}, Terms());
  };
  const auto batch = [&](std::vector<FullKey> keys) {
    return BatchGet(*view, {.keys = std::move(keys)}, Terms(), ReadTier::kAll);
  };
  owned_ = OwnerOf("h");
  EXPECT_EQ(range("h")->kvs.size(), 2u);
  EXPECT_EQ((*count("h"))->count, 2);
  EXPECT_EQ(batch({{"h", "a"}, {"h", "b"}})->data.size(), 2u);
  EXPECT_TRUE(absl::IsOutOfRange(batch({{"h", "a"}, {"", "a"}}).status()));
  owned_ = OwnerOf("", "a");
  EXPECT_TRUE(absl::IsOutOfRange(range("h").status()));
  EXPECT_TRUE(absl::IsOutOfRange(count("h").status()));
  EXPECT_TRUE(absl::IsOutOfRange(batch({{"h", "a"}}).status()));
  // Without a hash key each record is of its own partition.
  EXPECT_EQ(Keys(range("")->kvs), Strings{"a"});
  EXPECT_EQ((*count(""))->count, 1);
  const auto points = WholeMultiGet(*view, {.sort_keys = {"a", "b"}}, Terms());
  EXPECT_EQ(Keys(points->kvs), Strings{"a"});
}

TEST_P(ReadOperationsTest, AScanSeesWhatWasThereWhenItBegan) {
  Fill("h", {"a", "b"});
  const auto cursor = Cursor(FullScan([](auto& r) { r.batch_size = 1; }));
  EXPECT_EQ(WholeBatch(*cursor, Terms(), 1)->kvs.size(), 1u);
  Put("h", "b", "changed");
  Put("h", "c");
  const auto batch = *WholeBatch(*cursor, Terms(), 2);
  EXPECT_EQ(batch.context_id, kScanEnded);
  EXPECT_EQ(batch.kvs[0].value.bytes, "vb");
}

TEST_P(ReadOperationsTest, ALateBatchEndsEarlyWithAnIdAndNoError) {
  for (int i = 0; i < 200; ++i) Put("h", std::to_string(1000 + i));
  const HastyClock clock;
  const auto cursor = Cursor(FullScan([](auto& r) { r.batch_size = 1000; }));
  const auto batch = *WholeBatch(
      *cursor, {.now = kNow, .clock = clock, .deadline = Instant() + absl::Seconds(1)}, 7);
  EXPECT_EQ(batch.error, 0);
  EXPECT_EQ(batch.context_id, 7);
  EXPECT_GT(batch.kvs.size(), 0u);
  EXPECT_LT(batch.kvs.size(), 200u);
}

template <class Factory>
std::unique_ptr<EngineFactory> Make(TestEnvironment& environment) {
  return std::make_unique<Factory>(environment);
}
INSTANTIATE_TEST_SUITE_P(Memory, ReadOperationsTest, testing::Values(&Make<MemoryEngineFactory>));
INSTANTIATE_TEST_SUITE_P(Rocksdb, ReadOperationsTest, testing::Values(&Make<RocksdbEngineFactory>));
INSTANTIATE_TEST_SUITE_P(Memory, DeadRecordsTest, testing::Values(&Make<MemoryEngineFactory>));
INSTANTIATE_TEST_SUITE_P(Rocksdb, DeadRecordsTest, testing::Values(&Make<RocksdbEngineFactory>));

}  // namespace
}  // namespace arion
