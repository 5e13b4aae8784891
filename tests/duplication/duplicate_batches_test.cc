// SPDX-License-Identifier: Apache-2.0
#include "duplication/duplicate_batches.h"

#include <gtest/gtest.h>

#include "base/crc.h"
#include "base/raw_key.h"
#include "data_api/duplicated_writes.h"
#include "messages/client_messages.h"
#include "messages/duplicate_messages.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

Update Put(const std::string& hash_key, const std::string& value) {
  return {.code = WriteCode::kPut,
          .serialization = 1,
          .data = EncodeWrapped(UpdateRequest{.key = JoinRawKey(hash_key, "s"), .value = value})};
}

MutationPtr Mutate(int64_t decree, std::vector<Update> updates) {
  Mutation m;
  m.pid = {2, 1};
  m.ballot = Ballot(3);
  m.decree = Decree(decree);
  m.timestamp_us = 1000 + decree;
  m.updates = std::move(updates);
  return std::make_shared<const Mutation>(std::move(m));
}

std::vector<DuplicateEntry> EntriesOf(const DuplicateBatch& batch) {
  auto request = DecodeWrapped<DuplicateRequest>(batch.body);
  EXPECT_TRUE(request.ok());
  return std::move(request->entries);
}

TEST(DuplicateBatchesTest, UpdatesKeepTheirOrderTimeAndBytes) {
  const Update a = Put("a", "1"), b = Put("b", "2"), c = Put("a", "3");
  const auto made = MakeDuplicateBatches({Mutate(5, {a, b}), Mutate(6, {c})}, 7, 9);
  ASSERT_EQ(made.batches.size(), 1u);
  const DuplicateBatch& batch = made.batches[0];
  EXPECT_EQ(batch.last, Decree(6));
  EXPECT_EQ(batch.updates, 3);
  EXPECT_EQ(batch.timestamp_us, 1005) << "of the oldest";
  EXPECT_EQ(batch.partition_hash, Crc64("a")) << "of the last";
  const auto entries = EntriesOf(batch);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].raw_message->bytes, a.data);
  EXPECT_EQ(entries[1].raw_message->bytes, b.data);
  EXPECT_EQ(entries[2].raw_message->bytes, c.data);
  EXPECT_EQ(entries[2].timestamp_us, 1006);
  EXPECT_EQ(entries[2].cluster_id, 7);
  EXPECT_EQ(entries[2].task_code->bytes, "RPC_RRDB_RRDB_PUT");
  EXPECT_FALSE(entries[2].verify_timetag.has_value());
}

TEST(DuplicateBatchesTest, EachUpdateTellsItsPlaceInTheHistory) {
  const auto made = MakeDuplicateBatches(
      {Mutate(5, {Put("a", "1"), {}, Put("b", "2")}), Mutate(7, {Put("c", "3")})}, 7, 1700000000);
  ASSERT_EQ(made.batches.size(), 1u);
  const auto request = DecodeWrapped<DuplicateRequest>(made.batches[0].body);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->duplication_id, 1700000000);
  EXPECT_FALSE(request->source_decree || request->is_judged) << "the receiver's primary says so";
  std::vector<std::pair<int64_t, int32_t>> places;
  for (const DuplicateEntry& entry : request->entries)
    places.emplace_back(entry.source_decree.value_or(0), entry.source_update.value_or(0));
  EXPECT_EQ(places, (std::vector<std::pair<int64_t, int32_t>>{{5, 1}, {5, 3}, {7, 1}}));
}

TEST(DuplicateBatchesTest, WhatOurLogSaysBesideARemoveIsNotSent) {
  const std::string body = EncodeWrapped(Blob(JoinRawKey("a", "s")));
  const auto made = MakeDuplicateBatches(
      {Mutate(5,
              {{.code = WriteCode::kRemove, .data = WithTombstoneMark(WriteCode::kRemove, body)}})},
      7, 9);
  ASSERT_EQ(made.batches.size(), 1u);
  EXPECT_EQ(EntriesOf(made.batches[0])[0].raw_message->bytes, body);
  EXPECT_EQ(made.batches[0].partition_hash, Crc64("a"));
}

TEST(DuplicateBatchesTest, WhatCameFromElsewhereIsNotSentOn) {
  const auto made = MakeDuplicateBatches(
      {Mutate(1, {{}}), Mutate(2, {{.code = WriteCode::kDuplicate, .data = "x"}}),
       Mutate(3, {{.code = WriteCode::kBulkLoad, .data = "x"}}),
       Mutate(4, {{.code = WriteCode::kIncr, .data = "x"}})},
      1, 9);
  EXPECT_TRUE(made.batches.empty());
  EXPECT_EQ(made.left_out, 2);
  EXPECT_EQ(MakeDuplicateBatches({}, 1, 9).left_out, 0);
}

TEST(DuplicateBatchesTest, ABatchIsFullOrHoldsOneThatIsNotCut) {
  const std::string half(kBatchBytes / 2, 'v'), large(2 << 20, 'v');
  const auto made =
      MakeDuplicateBatches({Mutate(1, {Put("a", half), Put("b", half), Put("c", "1")}),
                            Mutate(2, {Put("d", large)}), Mutate(3, {Put("e", "1")})},
                           1, 9);
  ASSERT_EQ(made.batches.size(), 4u);
  std::vector<size_t> sizes;
  for (const DuplicateBatch& batch : made.batches) sizes.push_back(EntriesOf(batch).size());
  EXPECT_EQ(sizes, (std::vector<size_t>{1, 2, 1, 1}));
  EXPECT_EQ(made.batches[0].last, Decree(1));
  EXPECT_EQ(made.batches[1].last, Decree(1)) << "the rest of that mutation";
}

}  // namespace
}  // namespace arion
