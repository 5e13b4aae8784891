// What a primary takes of another cluster's writes.
// SPDX-License-Identifier: Apache-2.0
#include "data_api/duplicated_writes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/error_code.h"
#include "base/raw_key.h"
#include "data_api/table_settings.h"
#include "data_api/write_operations.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

const DuplicationGroup kGroup{.ids = {{"here", 1}, {"there", 2}}, .own_id = 1};

template <class Request>
DuplicateEntry Entry(WriteCode code, const Request& request, int8_t cluster_id = 2) {
  return {.timestamp_us = 7,
          .task_code = Blob(WriteCodeName(code)),
          .raw_message = Blob(EncodeWrapped(request)),
          .cluster_id = cluster_id};
}
DuplicateEntry Put(const char* hash_key, const char* sort_key, int8_t cluster_id = 2) {
  return Entry(WriteCode::kPut, UpdateRequest{JoinRawKey(hash_key, sort_key), "v", 0}, cluster_id);
}

TEST(DuplicatedWritesTest, WhatItsOperatorMustChangeIsAnsweredWithTheHintsOf25) {
  const auto hint = [](std::vector<DuplicateEntry> entries) {
    const auto refusal = RefusalOf({std::move(entries)}, kGroup, /*now_us=*/7);
    if (!refusal) return std::string("taken");
    EXPECT_EQ(refusal->error, static_cast<int32_t>(StorageError::kInvalidArgument));
    return refusal->error_hint.value_or("");
  };
  EXPECT_EQ(hint({}), "taken");
  EXPECT_EQ(hint({Put("a", "1"), Put("b", "1")}), "taken");
  EXPECT_EQ(hint({Put("a", "1"), Put("b", "1", 3)}), "request cluster id is unconfigured");
  EXPECT_EQ(hint({Put("a", "1", 0)}), "request cluster id is unconfigured");
  EXPECT_EQ(hint({Put("a", "1", -126)}), "request cluster id is unconfigured");
  EXPECT_EQ(hint({{}}), "request cluster id is unconfigured");
  EXPECT_EQ(hint({Put("a", "1", 1)}), "self-duplicating");
  EXPECT_EQ(hint({Put("a", "1"), Entry(WriteCode::kIncr, IncrRequest{})}),
            "unrecognized task code RPC_RRDB_RRDB_INCR");
  EXPECT_EQ(hint({Entry(WriteCode::kDuplicate, DuplicateRequest{})}),
            "unrecognized task code RPC_RRDB_RRDB_DUPLICATE");
  EXPECT_EQ(hint({Entry(WriteCode::kEmpty, Blob())}),
            "unrecognized task code RPC_REPLICATION_WRITE_EMPTY");
  EXPECT_EQ(hint({{.cluster_id = int8_t{2}}}), "unrecognized task code ");
  EXPECT_EQ(hint({{.task_code = Blob("\xfe\n"), .cluster_id = int8_t{2}}}),
            "unrecognized task code \\xfe\\n");
  EXPECT_EQ(hint({{.task_code = Blob(std::string(1000, 'x')), .cluster_id = int8_t{2}}}).size(),
            std::string("unrecognized task code ").size() + 64);
}

// It may pass, so a sender must not take it for good.
TEST(DuplicatedWritesTest, ATimeThatNoClockHasYetIsRefusedWithBothTimes) {
  constexpr int64_t kNow = 1'700'000'000'000'000;
  const auto refusal = [](int64_t time_us) {
    DuplicateEntry entry = Put("a", "1");
    entry.timestamp_us = time_us;
    return RefusalOf({{entry}}, kGroup, kNow);
  };
  const int64_t day_us = absl::ToInt64Microseconds(kAheadMax);
  EXPECT_FALSE(refusal(0)) << "not known";
  EXPECT_FALSE(refusal(kNow + day_us));
  for (const int64_t wrong : {kNow + day_us + 1, int64_t{1} << 60, INT64_MAX, int64_t{-1}}) {
    const auto refused = refusal(wrong);
    ASSERT_TRUE(refused) << wrong;
    EXPECT_EQ(refused->error, static_cast<int32_t>(StorageError::kTryAgain));
    EXPECT_THAT(*refused->error_hint, testing::HasSubstr("set the clocks"));
  }
  EXPECT_THAT(*refusal(kNow + 2 * day_us)->error_hint,
              testing::HasSubstr("a write of 2023-11-16T22:13:20+00:00, here it is 2023-11-14"));
}

TEST(DuplicatedWritesTest, ATombstoneMarkIsPassedOverByWhoeverDoesNotKnowIt) {
  constexpr auto kRemove = WriteCode::kRemove, kSeveral = WriteCode::kMultiRemove;
  const std::string body = EncodeWrapped(Blob(JoinRawKey("h", "s")));
  const std::string marked = WithTombstoneMark(kRemove, body);
  EXPECT_TRUE(HasTombstoneMark(kRemove, marked));
  EXPECT_FALSE(HasTombstoneMark(kRemove, body));
  EXPECT_EQ(WithTombstoneMark(kRemove, marked), marked);
  EXPECT_EQ(WithoutTombstoneMark(kRemove, marked), body);
  EXPECT_EQ(WithoutTombstoneMark(kRemove, body + "x"), body + "x") << "as it came";
  EXPECT_EQ(WithTombstoneMark(kRemove, body + "x"), marked);
  EXPECT_EQ(DecodeWrapped<Blob>(marked)->bytes, JoinRawKey("h", "s"));
  const MultiRemoveRequest request{.hash_key = "h", .sort_keys = {"1", "2"}};
  const std::string several = WithTombstoneMark(kSeveral, EncodeWrapped(request));
  EXPECT_TRUE(HasTombstoneMark(kSeveral, several));
  EXPECT_EQ(*DecodeWrapped<MultiRemoveRequest>(several), request);
  for (const char* bytes : {"", "x"}) {
    EXPECT_EQ(WithTombstoneMark(kRemove, bytes), bytes);
    EXPECT_FALSE(HasTombstoneMark(kRemove, bytes));
  }
}

TEST(DuplicatedWritesTest, AKeyThatEndsAsAMarkIsNone) {
  const std::string body =
      EncodeWrapped(Blob(JoinRawKey("h", std::string("s\x02\x03\xec\x01", 5))));
  ASSERT_TRUE(body.ends_with(std::string("\x02\x03\xec\x01\0", 5)));
  EXPECT_FALSE(HasTombstoneMark(WriteCode::kRemove, body));
  EXPECT_EQ(WithoutTombstoneMark(WriteCode::kRemove, body), body);
  EXPECT_TRUE(HasTombstoneMark(WriteCode::kRemove, WithTombstoneMark(WriteCode::kRemove, body)));
}

TEST(DuplicatedWritesTest, OnlyRemovesOfADuplicatedTableAreMarked) {
  const auto logged = [](WriteCode code, std::string body, bool is_duplicated) {
    auto operation = *WriteOperation::Decode(code, std::move(body));
    if (is_duplicated) operation.LeaveTombstones();
    return std::move(operation).Decide(std::nullopt, TableSettings(), 100).updates.at(0).data;
  };
  const std::string remove = EncodeWrapped(Blob(JoinRawKey("h", "s")));
  const std::string several =
      EncodeWrapped(MultiRemoveRequest{.hash_key = "h", .sort_keys = {"1", "2"}});
  const std::string put = EncodeWrapped(UpdateRequest{JoinRawKey("h", "s"), "v", 0});
  EXPECT_EQ(logged(WriteCode::kRemove, remove, false), remove);
  EXPECT_EQ(logged(WriteCode::kRemove, remove, true),
            WithTombstoneMark(WriteCode::kRemove, remove));
  EXPECT_EQ(logged(WriteCode::kMultiRemove, several, true),
            WithTombstoneMark(WriteCode::kMultiRemove, several));
  EXPECT_EQ(logged(WriteCode::kPut, put, true), put);
  EXPECT_EQ(logged(WriteCode::kRemove, WithTombstoneMark(WriteCode::kRemove, remove), false),
            remove)
      << "a client's mark says nothing";
  const CheckAndMutateRequest mutate{.hash_key = "h", .mutate_list = {{Mutate::kDelete, "s"}}};
  EXPECT_EQ(logged(WriteCode::kCheckAndMutate, EncodeWrapped(mutate), true),
            WithTombstoneMark(WriteCode::kRemove, remove));
}

TEST(DuplicatedWritesTest, SendersSendListsAndLogsHoldBothForms) {
  const DuplicateRequest list{{Put("a", "1")}};
  EXPECT_EQ(*DecodeSentDuplicate(EncodeWrapped(list)), list);
  EXPECT_EQ(*DecodeLoggedDuplicate(EncodeWrapped(list)), list);
  EXPECT_FALSE(DecodeSentDuplicate(EncodeWrapped(list.entries[0])).ok()) << "of 2.3";
  EXPECT_EQ(*DecodeLoggedDuplicate(EncodeWrapped(list.entries[0])), list);
  for (const char* bytes : {"", "x", "\x0c"}) EXPECT_FALSE(DecodeSentDuplicate(bytes).ok());
}

TEST(DuplicatedWritesTest, ItIsLoggedAsItCameAndKnowsItsKeys) {
  const DuplicateRequest request{
      {Put("a", "1"), Put("a", "2"), Entry(WriteCode::kRemove, Blob(JoinRawKey("b", ""))),
       Entry(WriteCode::kMultiPut, MultiPutRequest{.hash_key = "c", .kvs = {{"1", "v", {}}}}),
       Entry(WriteCode::kMultiRemove, MultiRemoveRequest{.hash_key = "d", .sort_keys = {"1"}})}};
  // A byte behind the argument, as it may come.
  const std::string body = EncodeWrapped(request) + "x";
  auto operation = WriteOperation::OfDuplicate(request, body);
  ASSERT_TRUE(operation.ok()) << operation.status();
  std::vector<std::string> keys;
  operation->ForEachHashKey([&](std::string_view key) { keys.emplace_back(key); });
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "a", "b", "c", "d"}));
  EXPECT_FALSE(operation->NeedsRecord());
  EXPECT_GE(operation->expanded_bytes(), body.size());
  const WriteOutcome outcome =
      (*std::move(operation)).Decide(std::nullopt, TableSettings{.default_ttl_seconds = 5}, 100);
  ASSERT_EQ(outcome.updates.size(), 1u);
  EXPECT_EQ(outcome.updates[0],
            (Update{.code = WriteCode::kDuplicate, .serialization = 1, .data = body}));
}

TEST(DuplicatedWritesTest, OneKeyOfAnotherPartitionIsEnoughToRefuseAll) {
  const auto owned = [](std::vector<DuplicateEntry> entries) {
    return WriteOperation::OfDuplicate({std::move(entries)}, "")->IsOwned({.index = 1, .count = 4});
  };
  // Hash keys of partition 1 of 4, and of 0.
  EXPECT_TRUE(owned({Put("g", "s"), Put("n", "s")}));
  EXPECT_FALSE(owned({Put("g", "s"), Put("h", "s")}));
}

// 2.5.0 logs such a request though it answers it with an error, and so sends it on.
TEST(DuplicatedWritesTest, AnEmptyListWritesNothingAndIsNoFault) {
  auto operation = WriteOperation::OfDuplicate(
      {{Entry(WriteCode::kMultiPut, MultiPutRequest{.hash_key = "h"}), Put("a", "1"),
        Entry(WriteCode::kMultiRemove, MultiRemoveRequest{.hash_key = "h"})}},
      "");
  ASSERT_TRUE(operation.ok()) << operation.status();
  int keys = 0;
  operation->ForEachHashKey([&](std::string_view) { ++keys; });
  EXPECT_EQ(keys, 1);
}

TEST(DuplicatedWritesTest, WhatCouldNotBeAppliedIsNoOperation) {
  const auto is_refused = [](DuplicateEntry entry) {
    return absl::IsInvalidArgument(WriteOperation::OfDuplicate({{std::move(entry)}}, "").status());
  };
  const std::string too_long(kHashKeyBytesMax + 1, 'h');
  EXPECT_TRUE(is_refused(Entry(WriteCode::kPut, UpdateRequest{.key = "\x01"})));
  EXPECT_TRUE(is_refused(Entry(WriteCode::kRemove, Blob())));
  EXPECT_TRUE(is_refused(Entry(WriteCode::kMultiPut, MultiPutRequest{.hash_key = too_long})));
  EXPECT_TRUE(is_refused(Entry(WriteCode::kMultiRemove,
                               MultiRemoveRequest{.hash_key = too_long, .sort_keys = {"s"}})));
  DuplicateEntry put = Put("a", "1");
  put.raw_message = Blob("x");
  EXPECT_TRUE(is_refused(put));
  put.raw_message.reset();
  EXPECT_TRUE(is_refused(put));
}

}  // namespace
}  // namespace arion
