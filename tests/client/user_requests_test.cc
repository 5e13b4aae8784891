// SPDX-License-Identifier: Apache-2.0
#include "client/user_requests.h"
#include "client/question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crc.h"
#include "base/raw_key.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kNow = 340'000'000;
const std::string kLongKey(65535, 'k');

template <class Request>
Request Decoded(const absl::StatusOr<Question>& question) {
  EXPECT_TRUE(question.ok()) << question.status();
  return *DecodeWrapped<Request>(question->body);
}
template <class T>
std::string Refusal(const absl::StatusOr<T>& refused) {
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
  return std::string(refused.status().message());
}

TEST(UserRequests, APutIsItsRawKeyAndAnAbsoluteExpiry) {
  const auto put = AskToPut("h1", "s", "value", absl::Milliseconds(1500), kNow);
  EXPECT_EQ(Decoded<UpdateRequest>(put),
            (UpdateRequest{.key = JoinRawKey("h1", "s"),
                           .value = "value",
                           .expire_ts_seconds = static_cast<int32_t>(kNow) + 2}));
  EXPECT_EQ(put->partition_hash, Crc64("h1"));
  const auto forever = AskToPut("", "s", "", absl::InfiniteDuration(), kNow);
  EXPECT_EQ(Decoded<UpdateRequest>(forever).expire_ts_seconds, 0);
  EXPECT_EQ(forever->partition_hash, Crc64("s"));
}

TEST(UserRequests, ATtlThatCannotBeIsRefusedWithItsLimit) {
  for (absl::Duration ttl : {absl::ZeroDuration(), absl::Seconds(-1), -absl::InfiniteDuration(),
                             absl::Hours(24 * 365 * 60)}) {
    EXPECT_THAT(Refusal(AskToPut("h", "s", "v", ttl, kNow)), HasSubstr("at most 1807483647s"));
    EXPECT_THAT(Refusal(AskToIncr("h", "s", 1, {.ttl = ttl}, kNow)), HasSubstr("at most"));
    EXPECT_THAT(Refusal(AskToMultiPut("h", {{"s", "v"}}, ttl, kNow)), HasSubstr("at most"));
    EXPECT_THAT(Refusal(AskToCheckAndSet({.hash_key = "h", .ttl = ttl}, kNow)),
                HasSubstr("at most"));
  }
  EXPECT_TRUE(AskToPut("h", "s", "v", absl::Seconds(1807483647), kNow).ok());
}

TEST(UserRequests, AHashKeyBeyondTheLimitIsRefusedEverywhere) {
  const std::string_view sort_key = "s";
  const std::string refusals[] = {
      Refusal(AskToPut(kLongKey, "s", "v", absl::InfiniteDuration(), kNow)),
      Refusal(AskOfKey(GetQuestion, kLongKey, "s")),
      Refusal(AskToMultiPut(kLongKey, {{"s", "v"}}, absl::InfiniteDuration(), kNow)),
      Refusal(AskToMultiGet(kLongKey, {})),
      Refusal(AskToMultiGetKeys(kLongKey, {sort_key}, {})),
      Refusal(AskToMultiRemove(kLongKey, {sort_key})),
      Refusal(AskToCount(kLongKey)),
      Refusal(AskToIncr(kLongKey, "s", 1, {}, kNow)),
      Refusal(AskToCheckAndSet({.hash_key = kLongKey}, kNow)),
      Refusal(AskToCheckAndMutate(
          {.hash_key = kLongKey, .mutations = {SortKeyMutation::Remove("s")}}, kNow)),
      Refusal(AskToScan(kLongKey, {}))};
  for (const std::string& refusal : refusals)
    EXPECT_EQ(refusal, "the hash key has 65535 bytes; at most 65534");
}

TEST(UserRequests, WhatTheServerWouldRefuseIsNotSent) {
  EXPECT_THAT(Refusal(AskToMultiGet("", {})), HasSubstr("hash key is empty"));
  EXPECT_THAT(Refusal(AskToScan("", {})), HasSubstr("hash key is empty"));
  EXPECT_THAT(Refusal(AskToMultiPut("h", {}, absl::InfiniteDuration(), kNow)),
              HasSubstr("no values"));
  EXPECT_THAT(Refusal(AskToMultiRemove("h", {})), HasSubstr("no sort keys"));
  EXPECT_THAT(Refusal(AskToMultiGetKeys("h", {}, {})), HasSubstr("no sort keys"));
  EXPECT_THAT(Refusal(AskToCheckAndMutate({.hash_key = "h"}, kNow)), HasSubstr("no mutations"));
  EXPECT_THAT(Refusal(AskToMultiGet("h", {.count_max = -1})), HasSubstr("count_max is -1"));
  EXPECT_THAT(Refusal(AskToMultiGet("h", {.bytes_max = -2})), HasSubstr("bytes_max is -2"));
  EXPECT_THAT(Refusal(AskToScanTable({.batch_size = -3})), HasSubstr("batch_size is -3"));
  EXPECT_THAT(Refusal(AskToScanTable({.part = 2, .parts = 2})), HasSubstr("part 2 of 2"));
}

TEST(UserRequests, MultiGetSaysEverything) {
  const auto question = AskToMultiGet("h", {.range = {.start = "a",
                                                      .stop = "z",
                                                      .start_bound = Bound::kExclusive,
                                                      .stop_bound = Bound::kInclusive},
                                            .sort_key_filter = KeyFilter::Postfix("x"),
                                            .count_max = 7,
                                            .bytes_max = 8,
                                            .from = MultiGetOptions::From::kStop,
                                            .values = Values::kOmit});
  EXPECT_EQ(Decoded<MultiGetRequest>(question), (MultiGetRequest{.hash_key = "h",
                                                                 .max_kv_count = 7,
                                                                 .max_kv_size = 8,
                                                                 .no_value = true,
                                                                 .start_sort_key = "a",
                                                                 .stop_sort_key = "z",
                                                                 .start_inclusive = false,
                                                                 .stop_inclusive = true,
                                                                 .sort_key_filter_type = 3,
                                                                 .sort_key_filter_pattern = "x",
                                                                 .reverse = true}));
  EXPECT_TRUE(Decoded<MultiGetRequest>(AskToMultiGet("h", {})).start_inclusive)
      << "the record with the empty sort key";
}

TEST(UserRequests, IncrKeepsSetsOrDropsTheExpiry) {
  using Asked = IncrRequest;
  EXPECT_EQ(Decoded<Asked>(AskToIncr("h", "s", -5, {}, kNow)),
            (Asked{.key = JoinRawKey("h", "s"), .increment = -5, .expire_ts_seconds = 0}));
  EXPECT_EQ(Decoded<Asked>(AskToIncr("h", "s", 1, {.ttl = absl::InfiniteDuration()}, kNow))
                .expire_ts_seconds,
            -1);
  EXPECT_EQ(
      Decoded<Asked>(AskToIncr("h", "s", 1, {.ttl = absl::Seconds(9)}, kNow)).expire_ts_seconds,
      static_cast<int32_t>(kNow) + 9);
  EXPECT_EQ(AskToIncr("h", "s", 1, {}, kNow)->kind, Question::Kind::kDecidedWrite);
}

TEST(UserRequests, ConditionalWritesSayWhatIsCheckedAndWritten) {
  const auto set = AskToCheckAndSet({.hash_key = "h",
                                     .check_sort_key = "c",
                                     .check = Check::Equals("old"),
                                     .set_sort_key = "",
                                     .set_value = "new",
                                     .checked_value = CheckedValue::kReturn},
                                    kNow);
  EXPECT_EQ(Decoded<CheckAndSetRequest>(set), (CheckAndSetRequest{.hash_key = "h",
                                                                  .check_sort_key = "c",
                                                                  .check_type = 10,
                                                                  .check_operand = "old",
                                                                  .set_diff_sort_key = true,
                                                                  .set_value = "new",
                                                                  .return_check_value = true}));
  EXPECT_FALSE(
      Decoded<CheckAndSetRequest>(AskToCheckAndSet({.hash_key = "h"}, kNow)).set_diff_sort_key);
  const auto mutate =
      AskToCheckAndMutate({.hash_key = "h",
                           .check_sort_key = "c",
                           .check = Check::NotExist(),
                           .mutations = {SortKeyMutation::Put("a", "1", absl::Seconds(1)),
                                         SortKeyMutation::Remove("b")}},
                          kNow);
  EXPECT_THAT(Decoded<CheckAndMutateRequest>(mutate).mutate_list,
              ElementsAre(Mutate{.sort_key = "a", .value = "1", .set_expire_ts_seconds = kNow + 1},
                          Mutate{.operation = Mutate::kDelete, .sort_key = "b"}));
}

TEST(UserRequests, AScanReadsOnlyWhatItsRangeAndPrefixLeave) {
  const GetScannerRequest whole = *AskToScan("h", {});
  EXPECT_EQ(whole.start_key, Blob(JoinRawKey("h", "")));
  EXPECT_TRUE(whole.start_inclusive);
  EXPECT_EQ(whole.stop_key, Blob(EndOfPrefix(JoinRawKey("h", ""))));
  const GetScannerRequest range =
      *AskToScan("h", {.range = {.start = "a", .stop = "c", .stop_bound = Bound::kInclusive}});
  EXPECT_EQ(range.stop_key, Blob(JoinRawKey("h", "c")));
  EXPECT_TRUE(range.stop_inclusive);
  const GetScannerRequest prefix = *AskToScan(
      "h", {.range = {.start = "a", .stop = "z"}, .sort_key_filter = KeyFilter::Prefix("m")});
  EXPECT_EQ(prefix.start_key, Blob(JoinRawKey("h", "m")));
  EXPECT_EQ(prefix.stop_key, Blob(JoinRawKey("h", "n")));
  const GetScannerRequest inside = *AskToScan(
      "h", {.range = {.start = "mb", .stop = "mc"}, .sort_key_filter = KeyFilter::Prefix("m")});
  EXPECT_EQ(inside.start_key, Blob(JoinRawKey("h", "mb")));
  EXPECT_EQ(inside.stop_key, Blob(JoinRawKey("h", "mc")));
}

TEST(UserRequests, RowsComeApart) {
  auto rows = RowsOf({{JoinRawKey("h", "s"), "v", {}},
                      {JoinRawKey("", ""), "", 0},
                      {JoinRawKey("h", "t"), "w", 100}});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ((*rows)[0].hash_key, "h");
  EXPECT_EQ((*rows)[0].sort_key, "s");
  EXPECT_FALSE((*rows)[0].expires.has_value());
  EXPECT_EQ((*rows)[1].expires, absl::InfiniteFuture());
  EXPECT_EQ((*rows)[2].expires, absl::FromUnixSeconds(1451606500));
  EXPECT_TRUE(absl::IsInternal(RowsOf({{"\x01", "v", {}}}).status()));
}

}  // namespace
}  // namespace arion
