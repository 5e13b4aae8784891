// Each edge of the writes (rpc/PROTOCOL.md 5): what is logged and what is answered.
// SPDX-License-Identifier: Apache-2.0
#include "data_api/write_operations.h"
#include "data_api/table_settings.h"
#include "messages/configuration.h"

#include <gtest/gtest.h>

#include "base/raw_key.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

constexpr uint32_t kNow = 1000;
constexpr StorageError kOk = StorageError::kOk;
constexpr StorageError kInvalidArgument = StorageError::kInvalidArgument;
constexpr StorageError kTryAgain = StorageError::kTryAgain;

using Found = std::optional<Record>;
Found Value(std::string value, uint32_t expire_ts = 0) {
  return Record{std::move(value), expire_ts};
}

template <class Request>
WriteOperation Decoded(WriteCode code, const Request& request) {
  auto operation = WriteOperation::Decode(code, EncodeWrapped(request, PeerGeneration::kNone, 1));
  EXPECT_TRUE(operation.ok()) << operation.status();
  return *std::move(operation);
}
template <class Request>
WriteOutcome Decide(WriteCode code, const Request& request, const Found& record = std::nullopt,
                    const TableSettings& settings = {}) {
  WriteOperation operation = Decoded(code, request);
  if (!operation.IsAcceptable()) return operation.Refusal();
  return std::move(operation).Decide(record, settings, kNow);
}

// "put h/s=v", "put h/s=v until 5", "remove h/s".
std::string Text(const Update& update) {
  const auto name = [](std::string_view raw_key) {
    const auto parts = SplitRawKey(raw_key);
    return std::string(parts->hash_key) + "/" + std::string(parts->sort_key);
  };
  EXPECT_EQ(update.serialization, 1);
  if (update.code == WriteCode::kRemove) return "remove " + name(*DecodeWrapped<Blob>(update.data));
  EXPECT_EQ(update.code, WriteCode::kPut);
  const auto put = *DecodeWrapped<UpdateRequest>(update.data);
  return "put " + name(put.key) + "=" + put.value.bytes +
         (put.expire_ts_seconds == 0
              ? ""
              : " until " + std::to_string(static_cast<uint32_t>(put.expire_ts_seconds)));
}
std::vector<std::string> Logged(const WriteOutcome& outcome) {
  std::vector<std::string> texts;
  for (const Update& update : outcome.updates) texts.push_back(Text(update));
  return texts;
}
using Texts = std::vector<std::string>;

// ---- plain writes ----

TEST(WriteOperationTest, PutsAndRemovesAreLoggedAsTheyCame) {
  const std::string put =
      EncodeWrapped(UpdateRequest{JoinRawKey("h", "s"), "v", 77}, PeerGeneration::kNone, 1);
  auto operation = *WriteOperation::Decode(WriteCode::kPut, put);
  operation.ForEachHashKey([](std::string_view hash_key) { EXPECT_EQ(hash_key, "h"); });
  EXPECT_FALSE(operation.NeedsRecord());
  const WriteOutcome outcome = std::move(operation).Decide(std::nullopt, {}, kNow);
  ASSERT_EQ(outcome.updates.size(), 1u);
  EXPECT_EQ(outcome.updates[0], (Update{WriteCode::kPut, 1, put}));
  EXPECT_EQ(Logged(Decide(WriteCode::kRemove, Blob(JoinRawKey("", "s")))), Texts{"remove /s"});
}

TEST(WriteOperationTest, SeveralAtOnceAreOneUpdateAsTheyCame) {
  const MultiPutRequest put{.hash_key = "h", .kvs = {{"a", "1", {}}, {"a", "2", {}}}};
  const WriteOutcome puts = Decide(WriteCode::kMultiPut, put);
  ASSERT_EQ(puts.updates.size(), 1u);
  EXPECT_EQ(puts.updates[0].code, WriteCode::kMultiPut);
  EXPECT_EQ(*DecodeWrapped<MultiPutRequest>(puts.updates[0].data), put);

  const WriteOutcome removes =
      Decide(WriteCode::kMultiRemove,
             MultiRemoveRequest{.hash_key = "h", .sort_keys = {"a", "b", "a"}, .max_count = 1});
  ASSERT_EQ(removes.updates.size(), 1u);
  EXPECT_EQ(removes.number, 3) << "sort keys given, whatever was there (must-do 4)";
}

TEST(WriteOperationTest, EmptyListsAreInvalidAndWriteNothing) {
  for (const WriteOutcome& outcome :
       {Decide(WriteCode::kMultiPut, MultiPutRequest{.hash_key = "h"}),
        Decide(WriteCode::kMultiRemove, MultiRemoveRequest{.hash_key = "h"}),
        Decide(WriteCode::kCheckAndMutate, CheckAndMutateRequest{.hash_key = "h"})}) {
    EXPECT_EQ(outcome.error, kInvalidArgument);
    EXPECT_TRUE(outcome.updates.empty());
    EXPECT_EQ(outcome.number, 0);
  }
}

TEST(WriteOperationTest, MalformedAndTooLongKeysAreInvalidAndWriteNothing) {
  const std::string cut("\x00\x09z", 3);
  const std::string long_raw = std::string("\xff\xff") + std::string(65535, 'x');
  const std::string long_hash(65535, 'x');
  for (const std::string& key : {std::string(), std::string(1, '\0'), cut, long_raw}) {
    EXPECT_EQ(Decide(WriteCode::kPut, UpdateRequest{.key = key}).error, kInvalidArgument);
    EXPECT_EQ(Decide(WriteCode::kRemove, Blob(key)).error, kInvalidArgument);
    EXPECT_EQ(Decide(WriteCode::kIncr, IncrRequest{.key = key}).error, kInvalidArgument);
  }
  EXPECT_EQ(Decide(WriteCode::kMultiPut, MultiPutRequest{.hash_key = long_hash, .kvs = {{}}}).error,
            kInvalidArgument);
  EXPECT_EQ(
      Decide(WriteCode::kMultiRemove, MultiRemoveRequest{.hash_key = long_hash, .sort_keys = {"a"}})
          .error,
      kInvalidArgument);
  EXPECT_EQ(Decide(WriteCode::kCheckAndSet, CheckAndSetRequest{.hash_key = long_hash}).error,
            kInvalidArgument);
  EXPECT_EQ(Decide(WriteCode::kCheckAndMutate,
                   CheckAndMutateRequest{.hash_key = long_hash, .mutate_list = {{.sort_key = "a"}}})
                .error,
            kInvalidArgument);
  EXPECT_EQ(Decide(WriteCode::kMultiPut,
                   MultiPutRequest{.hash_key = std::string(65534, 'x'), .kvs = {{}}})
                .error,
            kOk);
}

TEST(WriteOperationTest, WhatDoesNotDecodeIsRefusedAsSuch) {
  for (const WriteCode code :
       {WriteCode::kPut, WriteCode::kRemove, WriteCode::kMultiPut, WriteCode::kMultiRemove,
        WriteCode::kIncr, WriteCode::kCheckAndSet, WriteCode::kCheckAndMutate})
    EXPECT_FALSE(WriteOperation::Decode(code, "\x0c").ok());
}

TEST(WriteOperationTest, AShortListUnderALongHashKeyIsMeasuredWhole) {
  const std::string hash(60000, 'x');
  MultiPutRequest put{.hash_key = hash};
  for (int i = 0; i < 100; ++i) put.kvs.push_back({std::to_string(i), "v", {}});
  EXPECT_GT(Decoded(WriteCode::kMultiPut, put).expanded_bytes(), 6'000'000u);
  EXPECT_LT(
      Decoded(WriteCode::kMultiPut, MultiPutRequest{.hash_key = "h", .kvs = {{}}}).expanded_bytes(),
      100u);
}

// ---- the table's default TTL ----

TEST(WriteOperationTest, TheDefaultTtlGivesAnExpiryWhereThereIsNone) {
  const TableSettings settings{.default_ttl_seconds = 100};
  const std::string key = JoinRawKey("h", "s");
  const auto logged = [&](WriteCode code, const auto& request, const Found& record = std::nullopt) {
    return Logged(Decide(code, request, record, settings));
  };
  EXPECT_EQ(logged(WriteCode::kPut, UpdateRequest{key, "v", 0}), Texts{"put h/s=v until 1100"});
  EXPECT_EQ(logged(WriteCode::kPut, UpdateRequest{key, "v", 5}), Texts{"put h/s=v until 5"});
  EXPECT_EQ(logged(WriteCode::kPut, UpdateRequest{key, "v", -1}),
            Texts{"put h/s=v until 4294967295"});
  EXPECT_EQ(logged(WriteCode::kIncr, IncrRequest{key, 1, 0}), Texts{"put h/s=1 until 1100"});
  EXPECT_EQ(logged(WriteCode::kIncr, IncrRequest{key, 1, 0}, Value("1", 2000)),
            Texts{"put h/s=2 until 2000"});
  EXPECT_EQ(logged(WriteCode::kIncr, IncrRequest{key, 1, -1}, Value("1", 2000)),
            Texts{"put h/s=2 until 1100"});
  EXPECT_EQ(logged(WriteCode::kCheckAndSet,
                   CheckAndSetRequest{.hash_key = "h", .check_sort_key = "s", .set_value = "v"}),
            Texts{"put h/s=v until 1100"});
  EXPECT_EQ(logged(WriteCode::kCheckAndMutate,
                   CheckAndMutateRequest{
                       .hash_key = "h",
                       .mutate_list = {{Mutate::kPut, "s", "v", 0}, {Mutate::kPut, "t", "w", 7}}}),
            (Texts{"put h/s=v until 1100", "put h/t=w until 7"}));
  const WriteOutcome several =
      Decide(WriteCode::kMultiPut, MultiPutRequest{.hash_key = "h", .kvs = {{"s", "v", 5}}},
             std::nullopt, settings);
  EXPECT_EQ(DecodeWrapped<MultiPutRequest>(several.updates[0].data)->expire_ts_seconds, 1100);
}

TEST(WriteOperationTest, TableSettingsAreReadFromTheEnvironments) {
  const auto from = [](std::map<std::string, std::string> envs) {
    AppInfo app;
    app.partition_count = 8;
    app.envs = std::move(envs);
    return TableSettings::From(app);
  };
  EXPECT_EQ(from({}).default_ttl_seconds, 0u);
  EXPECT_EQ(from({{"default_ttl", "86400"}}).default_ttl_seconds, 86400u);
  EXPECT_EQ(from({{"default_ttl", "-5"}}).default_ttl_seconds, 0u);
  EXPECT_EQ(from({{"default_ttl", "soon"}}).default_ttl_seconds, 0u);
  EXPECT_EQ(from({{"replica.rocksdb_iteration_threshold_time_ms", "250"}}).iteration_time_max,
            absl::Milliseconds(250));
  EXPECT_EQ(from({{"replica.rocksdb_iteration_threshold_time_ms", "0"}}).iteration_time_max,
            absl::InfiniteDuration());
  EXPECT_EQ(from({}).KeysOf(3), (KeyOwnership{.index = 3})) << "not checked";
  EXPECT_EQ(from({{"replica.split.validate_partition_hash", "true"}}).KeysOf(3),
            (KeyOwnership{.index = 3, .count = 8}));
}

TEST(WriteOperationTest, WhetherAllItsKeysAreThePartitions) {
  const auto owned_by = [](const std::string& raw_key) {
    return KeyOwnership{.index = static_cast<int32_t>(PartitionHash(raw_key) % 1024),
                        .count = 1024};
  };
  const auto expect = [&](WriteCode code, std::string body, const std::string& key, bool is_owned) {
    const auto write = WriteOperation::Decode(code, std::move(body));
    ASSERT_TRUE(write.ok()) << write.status();
    EXPECT_EQ(write->IsOwned(owned_by(key)), is_owned) << WriteCodeName(code) << " " << key;
    EXPECT_TRUE(write->IsOwned({}));
  };
  const std::string ours = JoinRawKey("h", "s"), other = JoinRawKey("g", "s");
  const std::pair<WriteCode, std::string> writes[] = {
      {WriteCode::kPut, EncodeWrapped(UpdateRequest{.key = ours, .value = "v"})},
      {WriteCode::kRemove, EncodeWrapped(Blob(ours))},
      {WriteCode::kMultiPut, EncodeWrapped(MultiPutRequest{.hash_key = "h", .kvs = {{"s", "v"}}})},
      {WriteCode::kMultiRemove,
       EncodeWrapped(MultiRemoveRequest{.hash_key = "h", .sort_keys = {"s"}})},
      {WriteCode::kIncr, EncodeWrapped(IncrRequest{.key = ours, .increment = 1})},
      {WriteCode::kCheckAndSet, EncodeWrapped(CheckAndSetRequest{.hash_key = "h"})},
      {WriteCode::kCheckAndMutate,
       EncodeWrapped(CheckAndMutateRequest{.hash_key = "h", .mutate_list = {Mutate{}}})}};
  for (const auto& [code, body] : writes) {
    expect(code, body, ours, true);
    expect(code, body, other, false);
  }
  // Without a hash key each sort key counts.
  const std::string plain = JoinRawKey("", "s");
  expect(WriteCode::kPut, EncodeWrapped(UpdateRequest{.key = plain}), plain, true);
  expect(WriteCode::kMultiPut, EncodeWrapped(MultiPutRequest{.kvs = {{"s", "v"}}}), plain, true);
  expect(WriteCode::kMultiPut, EncodeWrapped(MultiPutRequest{.kvs = {{"s", "v"}, {"t", "v"}}}),
         plain, false);
  expect(WriteCode::kMultiRemove, EncodeWrapped(MultiRemoveRequest{.sort_keys = {"t"}}), plain,
         false);
  expect(WriteCode::kCheckAndSet,
         EncodeWrapped(CheckAndSetRequest{
             .check_sort_key = "s", .set_diff_sort_key = true, .set_sort_key = "t"}),
         plain, false);
  expect(WriteCode::kCheckAndMutate,
         EncodeWrapped(CheckAndMutateRequest{.check_sort_key = "s",
                                             .mutate_list = {Mutate{.sort_key = "t"}}}),
         plain, false);
}

// ---- INCR ----

TEST(WriteOperationTest, IncrWritesDecimalTextOrNothing) {
  struct Case {
    Found record;
    int64_t increment;
    StorageError error;
    int64_t number;
    Texts logged;
  };
  const std::string key = JoinRawKey("h", "s");
  for (const Case& c : {
           Case{std::nullopt, 5, kOk, 5, {"put h/s=5"}},
           Case{std::nullopt, 0, kOk, 0, {"put h/s=0"}},
           Case{Value(""), -3, kOk, -3, {"put h/s=-3"}},
           Case{Value("7"), 5, kOk, 12, {"put h/s=12"}},
           Case{Value("0x10"), 1, kOk, 17, {"put h/s=17"}},
           Case{Value("010"), 1, kOk, 9, {"put h/s=9"}},
           Case{Value("text"), 1, kInvalidArgument, 0, {}},
           Case{Value("9223372036854775807"), 1, kInvalidArgument, INT64_MAX, {}},
           Case{Value("-9223372036854775808"), -1, kInvalidArgument, INT64_MIN, {}},
           Case{Value("9223372036854775807"),
                -1,
                kOk,
                INT64_MAX - 1,
                {"put h/s=9223372036854775806"}},
           Case{Value("-1"), INT64_MIN, kInvalidArgument, -1, {}},
           Case{Value("9223372036854775808"), -1, kInvalidArgument, 0, {}},
       }) {
    SCOPED_TRACE(c.record ? c.record->value : "missing");
    const WriteOutcome outcome =
        Decide(WriteCode::kIncr, IncrRequest{key, c.increment, 0}, c.record);
    EXPECT_EQ(outcome.error, c.error);
    EXPECT_EQ(outcome.number, c.number);
    EXPECT_EQ(Logged(outcome), c.logged);
  }
}

TEST(WriteOperationTest, IncrKeepsSetsOrRemovesTheTtl) {
  const std::string key = JoinRawKey("h", "s");
  const auto logged = [&](int32_t expire_ts, const Found& record) {
    return Logged(Decide(WriteCode::kIncr, IncrRequest{key, 1, expire_ts}, record))[0];
  };
  EXPECT_EQ(logged(0, std::nullopt), "put h/s=1");
  EXPECT_EQ(logged(0, Value("1", 2000)), "put h/s=2 until 2000");
  EXPECT_EQ(logged(0, Value("", 2000)), "put h/s=1 until 2000") << "empty, but present";
  EXPECT_EQ(logged(0, Value("1", UINT32_MAX)), "put h/s=2 until 4294967295");
  EXPECT_EQ(logged(0, Value("1")), "put h/s=2");
  EXPECT_EQ(logged(3000, std::nullopt), "put h/s=1 until 3000");
  EXPECT_EQ(logged(3000, Value("1", 2000)), "put h/s=2 until 3000");
  EXPECT_EQ(logged(-1, std::nullopt), "put h/s=1");
  EXPECT_EQ(logged(-1, Value("1", 2000)), "put h/s=2");
}

TEST(WriteOperationTest, IntegersAreReadAsWholeTextsOfAnyBase) {
  for (const auto& [text, value] : std::vector<std::pair<std::string, std::optional<int64_t>>>{
           {"0", 0},
           {"-0", 0},
           {"+42", 42},
           {" \t\n\v\f\r42", 42},
           {"0x1F", 31},
           {"-0X1f", -31},
           {"0777", 511},
           {"9223372036854775807", INT64_MAX},
           {"-9223372036854775808", INT64_MIN},
           {"0x7fffffffffffffff", INT64_MAX},
           {"9223372036854775808", std::nullopt},
           {"-9223372036854775809", std::nullopt},
           {"", std::nullopt},
           {" ", std::nullopt},
           {"42 ", std::nullopt},
           {"4 2", std::nullopt},
           {"42x", std::nullopt},
           {"0x", std::nullopt},
           {"08", std::nullopt},
           {"--1", std::nullopt},
           {"1.0", std::nullopt},
           {std::string("42\0", 3), std::nullopt},
           {std::string("\0", 1), std::nullopt}})
    EXPECT_EQ(ParseInteger(text), value) << text;
}

// ---- CHECK_AND_SET ----

TEST(WriteOperationTest, EveryCheckTypePassesWhatItSays) {
  using enum CheckType;
  constexpr auto kPassed = CheckResult::kPassed;
  constexpr auto kNot = CheckResult::kNotPassed;
  constexpr auto kNoInteger = CheckResult::kNotAnInteger;
  struct Case {
    CheckType type;
    Found record;
    std::string operand;
    CheckResult result;
  };
  for (const Case& c : {
           Case{kNoCheck, std::nullopt, "", kPassed},
           Case{kNoCheck, Value("x"), "", kPassed},
           Case{kNotExist, std::nullopt, "", kPassed},
           Case{kNotExist, Value(""), "", kNot},
           Case{kNotExistOrEmpty, std::nullopt, "", kPassed},
           Case{kNotExistOrEmpty, Value(""), "", kPassed},
           Case{kNotExistOrEmpty, Value("x"), "", kNot},
           Case{kExist, std::nullopt, "", kNot},
           Case{kExist, Value(""), "", kPassed},
           Case{kNotEmpty, std::nullopt, "", kNot},
           Case{kNotEmpty, Value(""), "", kNot},
           Case{kNotEmpty, Value("x"), "", kPassed},
           Case{kMatchAnywhere, std::nullopt, "", kNot},
           Case{kMatchAnywhere, Value("abc"), "b", kPassed},
           Case{kMatchAnywhere, Value("abc"), "", kPassed},
           Case{kMatchAnywhere, Value(""), "", kPassed},
           Case{kMatchAnywhere, Value("abc"), "abcd", kNot},
           Case{kMatchPrefix, Value("abc"), "ab", kPassed},
           Case{kMatchPrefix, Value("abc"), "bc", kNot},
           Case{kMatchPrefix, std::nullopt, "", kNot},
           Case{kMatchPostfix, Value("abc"), "bc", kPassed},
           Case{kMatchPostfix, Value("abc"), "ab", kNot},
           Case{kMatchPostfix, std::nullopt, "", kNot},
           Case{kBytesLess, Value("a"), "b", kPassed},
           Case{kBytesLess, Value("a"), "aa", kPassed},
           Case{kBytesLess, Value("a"), "a", kNot},
           Case{kBytesLess, Value("\x7f"), "\x80", kPassed},
           Case{kBytesLess, std::nullopt, "b", kNot},
           Case{kBytesLessOrEqual, Value("a"), "a", kPassed},
           Case{kBytesLessOrEqual, Value("b"), "a", kNot},
           Case{kBytesLessOrEqual, std::nullopt, "a", kNot},
           Case{kBytesEqual, Value("a"), "a", kPassed},
           Case{kBytesEqual, Value(""), "", kPassed},
           Case{kBytesEqual, Value("a"), "b", kNot},
           Case{kBytesEqual, std::nullopt, "", kNot},
           Case{kBytesGreaterOrEqual, Value("a"), "a", kPassed},
           Case{kBytesGreaterOrEqual, Value("a"), "b", kNot},
           Case{kBytesGreaterOrEqual, std::nullopt, "", kNot},
           Case{kBytesGreater, Value("\xff"), "a", kPassed},
           Case{kBytesGreater, Value("a"), "a", kNot},
           Case{kBytesGreater, std::nullopt, "", kNot},
           Case{kIntLess, Value("9"), "10", kPassed},
           Case{kIntLess, Value("10"), "10", kNot},
           Case{kIntLess, Value("-9223372036854775808"), "9223372036854775807", kPassed},
           Case{kIntLess, std::nullopt, "10", kNot},
           Case{kIntLess, std::nullopt, "ten", kNot},
           Case{kIntLess, Value("ten"), "10", kNoInteger},
           Case{kIntLess, Value("9"), "ten", kNoInteger},
           Case{kIntLess, Value(""), "10", kNoInteger},
           Case{kIntLess, Value("9"), "", kNoInteger},
           Case{kIntLessOrEqual, Value("0x0a"), "10", kPassed},
           Case{kIntLessOrEqual, Value("11"), "10", kNot},
           Case{kIntLessOrEqual, std::nullopt, "10", kNot},
           Case{kIntEqual, Value("0xA"), "10", kPassed},
           Case{kIntEqual, Value("1"), "10", kNot},
           Case{kIntEqual, std::nullopt, "10", kNot},
           Case{kIntGreaterOrEqual, Value("10"), "10", kPassed},
           Case{kIntGreaterOrEqual, Value("9"), "10", kNot},
           Case{kIntGreaterOrEqual, std::nullopt, "10", kNot},
           Case{kIntGreater, Value("11"), "10", kPassed},
           Case{kIntGreater, Value("10"), "10", kNot},
           Case{kIntGreater, std::nullopt, "10", kNot},
       }) {
    EXPECT_EQ(CheckValue(c.type, c.record, c.operand), c.result)
        << static_cast<int>(c.type) << " " << (c.record ? c.record->value : "missing") << " "
        << c.operand;
  }
}

TEST(WriteOperationTest, CheckAndSetWritesTheCheckedKeyOrTheOther) {
  CheckAndSetRequest request{.hash_key = "h",
                             .check_sort_key = "c",
                             .check_type = static_cast<int32_t>(CheckType::kExist),
                             .set_sort_key = "s",
                             .set_value = "v"};
  EXPECT_EQ(Decoded(WriteCode::kCheckAndSet, request).record_key(), JoinRawKey("h", "c"));
  EXPECT_EQ(Logged(Decide(WriteCode::kCheckAndSet, request, Value("1", 2000))), Texts{"put h/c=v"})
      << "the old TTL is not kept";
  request.set_diff_sort_key = true;
  request.set_expire_ts_seconds = 3000;
  EXPECT_EQ(Logged(Decide(WriteCode::kCheckAndSet, request, Value("1"))),
            Texts{"put h/s=v until 3000"});
}

TEST(WriteOperationTest, CheckOutcomesTellTheValueBeforeTheWrite) {
  struct Case {
    CheckType type;
    const char* operand;
    Found record;
    StorageError error;
    bool writes;
  };
  for (const Case& c : {
           Case{CheckType::kExist, "", Value("1"), kOk, true},
           Case{CheckType::kExist, "", std::nullopt, kTryAgain, false},
           Case{CheckType::kNotExist, "", std::nullopt, kOk, true},
           Case{CheckType::kNotExist, "", Value("1"), kTryAgain, false},
           Case{CheckType::kIntEqual, "1", Value("one"), kInvalidArgument, false},
           Case{CheckType::kIntEqual, "one", Value("1"), kInvalidArgument, false},
           Case{CheckType::kIntEqual, "one", std::nullopt, kTryAgain, false},
       }) {
    for (const bool returned : {false, true}) {
      const CheckAndSetRequest set{.hash_key = "h",
                                   .check_sort_key = "c",
                                   .check_type = static_cast<int32_t>(c.type),
                                   .check_operand = c.operand,
                                   .set_value = "new",
                                   .return_check_value = returned};
      const CheckAndMutateRequest mutate{.hash_key = "h",
                                         .check_sort_key = "c",
                                         .check_type = static_cast<int32_t>(c.type),
                                         .check_operand = c.operand,
                                         .mutate_list = {{Mutate::kPut, "c", "new", 0}},
                                         .return_check_value = returned};
      for (const WriteOutcome& outcome : {Decide(WriteCode::kCheckAndSet, set, c.record),
                                          Decide(WriteCode::kCheckAndMutate, mutate, c.record)}) {
        SCOPED_TRACE(static_cast<int>(c.type));
        EXPECT_EQ(outcome.error, c.error);
        EXPECT_EQ(outcome.check_value_returned, returned);
        EXPECT_EQ(outcome.check_value_exist, returned && c.record.has_value());
        EXPECT_EQ(outcome.check_value, returned && c.record ? c.record->value : "");
        EXPECT_EQ(Logged(outcome), c.writes ? Texts{"put h/c=new"} : Texts{});
      }
    }
  }
}

TEST(WriteOperationTest, UnknownChecksAndMutationsAreInvalidAndTellNothing) {
  for (const int32_t type : {-1, 18, INT32_MAX}) {
    for (const WriteOutcome& outcome :
         {Decide(
              WriteCode::kCheckAndSet,
              CheckAndSetRequest{.hash_key = "h", .check_type = type, .return_check_value = true},
              Value("1")),
          Decide(WriteCode::kCheckAndMutate,
                 CheckAndMutateRequest{.hash_key = "h",
                 .check_type = type,
                 .mutate_list = {{Mutate::kPut, "s", "v", 0}},
                 .return_check_value = true},
                 Value("1"))}) {
      EXPECT_EQ(outcome.error, kInvalidArgument);
      EXPECT_FALSE(outcome.check_value_returned);
      EXPECT_TRUE(outcome.updates.empty());
    }
  }
  for (const int32_t operation : {-1, 2}) {
    const WriteOutcome outcome = Decide(
        WriteCode::kCheckAndMutate,
        CheckAndMutateRequest{.hash_key = "h",
                              .mutate_list = {{Mutate::kPut, "s", "v", 0}, {operation, "t", "", 0}},
                              .return_check_value = true},
        Value("1"));
    EXPECT_EQ(outcome.error, kInvalidArgument);
    EXPECT_FALSE(outcome.check_value_returned);
    EXPECT_TRUE(outcome.updates.empty());
  }
}

TEST(WriteOperationTest, MutationsKeepTheirOrder) {
  const WriteOutcome outcome =
      Decide(WriteCode::kCheckAndMutate,
             CheckAndMutateRequest{.hash_key = "h",
                                   .mutate_list = {{Mutate::kPut, "a", "1", 0},
                                                   {Mutate::kDelete, "a", "ignored", 0},
                                                   {Mutate::kPut, "b", "2", -1},
                                                   {Mutate::kPut, "a", "3", 9}}});
  EXPECT_EQ(Logged(outcome),
            (Texts{"put h/a=1", "remove h/a", "put h/b=2 until 4294967295", "put h/a=3 until 9"}));
}

// ---- answers ----

TEST(WriteOperationTest, EachCodeHasItsAnswer) {
  const WriteOutcome outcome{.error = kTryAgain,
                             .number = 42,
                             .check_value_returned = true,
                             .check_value_exist = true,
                             .check_value = "old"};
  const auto answer = [&](WriteCode code) {
    return EncodeAnswer(code, outcome, {2, 1}, Decree(7), "host:1");
  };
  for (const WriteCode code : {WriteCode::kPut, WriteCode::kRemove, WriteCode::kMultiPut})
    EXPECT_EQ(*DecodeWrapped<UpdateResponse>(answer(code)),
              (UpdateResponse{13, 2, 1, 7, "host:1"}));
  EXPECT_EQ(*DecodeWrapped<MultiRemoveResponse>(answer(WriteCode::kMultiRemove)),
            (MultiRemoveResponse{13, 42, 2, 1, 7, "host:1"}));
  EXPECT_EQ(*DecodeWrapped<IncrResponse>(answer(WriteCode::kIncr)),
            (IncrResponse{13, 42, 2, 1, 7, "host:1"}));
  for (const WriteCode code : {WriteCode::kCheckAndSet, WriteCode::kCheckAndMutate})
    EXPECT_EQ(*DecodeWrapped<CheckResponse>(answer(code)),
              (CheckResponse{13, true, true, "old", 2, 1, 7, "host:1"}));
}

}  // namespace
}  // namespace arion
