// What mutations of our own and of older logs do to the engine.
// SPDX-License-Identifier: Apache-2.0
#include "data_api/mutation_operations.h"

#include <gtest/gtest.h>

#include "base/raw_key.h"
#include "base/value_schema.h"
#include "data_api/duplicated_writes.h"
#include "engine/memory_engine.h"
#include "env/clock.h"
#include "messages/duplicate_messages.h"
#include "rpc/thrift_codec.h"
#include "tests/engine/test_environment.h"

namespace arion {
namespace {

constexpr uint32_t kNow = 1000;

class MutationOperationsTest : public testing::Test {
 protected:
  MutationOperationsTest()
      : engine_(*MemoryEngineFactory(environment_).Open(environment_.root() + "/data")) {}

  template <class Request>
  static Update Of(WriteCode code, const Request& request) {
    return {.code = code, .serialization = 1, .data = EncodeWrapped(request)};
  }
  static constexpr int64_t kTimestamp = (kExpiryEpochUnixSeconds + kNow) * 1000000;
  absl::Status Apply(std::vector<Update> updates, int64_t timestamp_us = kTimestamp) {
    Mutation mutation;
    mutation.decree = engine_->last_applied() + 1;
    mutation.timestamp_us = timestamp_us;
    mutation.updates = std::move(updates);
    const auto operations = MutationOperations::Decode(mutation, *engine_, ReadTier::kAll);
    if (!operations.ok()) return operations.status();
    return engine_->Apply(mutation.decree, mutation.timestamp_us, operations->ops());
  }
  void ExpectApplied(std::vector<Update> updates) {
    const absl::Status applied = Apply(std::move(updates));
    EXPECT_TRUE(applied.ok()) << applied;
  }
  std::string Read(std::string_view sort_key, uint32_t now = kNow) {
    const auto record = engine_->Get(JoinRawKey("h", sort_key), now, ReadTier::kAll);
    return record.ok() ? record->value : "none";
  }

  TestEnvironment environment_;
  std::unique_ptr<Engine> engine_;
  const std::string key_ = JoinRawKey("h", "s");
};

TEST_F(MutationOperationsTest, PutsAndRemovesInTheirOrder) {
  ExpectApplied({Of(WriteCode::kPut, UpdateRequest{key_, "1", 0}),
                 Of(WriteCode::kRemove, Blob(key_)),
                 Of(WriteCode::kPut, UpdateRequest{key_, "2", 0})});
  EXPECT_EQ(Read("s"), "2");
  ExpectApplied({{}});
  EXPECT_EQ(engine_->last_applied(), Decree(2)) << "the empty write";
}

TEST_F(MutationOperationsTest, SeveralAtOnceLastOfTheSameWins) {
  ExpectApplied({Of(WriteCode::kMultiPut,
                    MultiPutRequest{.hash_key = "h",
                                    .kvs = {{"a", "1", 7}, {"b", "2", {}}, {"a", "3", {}}},
                                    .expire_ts_seconds = kNow + 10})});
  EXPECT_EQ(Read("a"), "3");
  EXPECT_EQ(Read("b"), "2");
  EXPECT_EQ(Read("b", kNow + 10), "none") << "one expiry for all";
  ExpectApplied({Of(WriteCode::kMultiRemove,
                    MultiRemoveRequest{.hash_key = "h", .sort_keys = {"a", "none"}})});
  EXPECT_EQ(Read("a"), "none");
  EXPECT_EQ(Read("b"), "2");
}

// In the log of a table that another cluster is duplicated to.
TEST_F(MutationOperationsTest, DuplicatedWritesAreAppliedInOrderUnderTheirOwnTimeTag) {
  const auto entry = [](WriteCode code, std::string body) {
    return DuplicateEntry{.timestamp_us = 7,
                          .task_code = Blob(WriteCodeName(code)),
                          .raw_message = Blob(std::move(body)),
                          .cluster_id = int8_t{2}};
  };
  const auto put = [&](std::string_view sort_key, const char* value) {
    return entry(WriteCode::kPut,
                 EncodeWrapped(UpdateRequest{JoinRawKey("h", sort_key), value, 0}));
  };
  DuplicateRequest several{
      {put("a", "1"), put("b", "2"),
       entry(WriteCode::kMultiPut,
             EncodeWrapped(MultiPutRequest{.hash_key = "h", .kvs = {{"c", "3", {}}}})),
       entry(WriteCode::kRemove, EncodeWrapped(Blob(JoinRawKey("h", "a"))))}};
  ExpectApplied({Of(WriteCode::kDuplicate, several)});
  EXPECT_EQ(Read("a"), "none");
  EXPECT_EQ(Read("b"), "2");
  EXPECT_EQ(Read("c"), "3");
  Mutation mutation{.decree = Decree(9)};
  mutation.updates = {Of(WriteCode::kDuplicate, several), {}};
  const auto operations = MutationOperations::Decode(mutation, *engine_, ReadTier::kAll);
  ASSERT_TRUE(operations.ok());
  EXPECT_EQ(TimeTag::FromPacked(operations->ops()[0].time_tag),
            (TimeTag{.timestamp_us = 7, .cluster_id = 2}));
  EXPECT_TRUE(TimeTag::FromPacked(operations->ops()[3].time_tag).deleted);

  ExpectApplied({Of(WriteCode::kDuplicate, put("b", "of 2.3"))});
  EXPECT_EQ(Read("b"), "of 2.3") << "the request is an entry";
  DuplicateRequest cut{{put("b", "4"), entry(WriteCode::kIncr, ""), put("c", "5")}};
  ExpectApplied({Of(WriteCode::kDuplicate, cut)});
  EXPECT_EQ(Read("b"), "4");
  EXPECT_EQ(Read("c"), "3") << "behind what can't be duplicated";
  cut.entries[0].verify_timetag = true;
  EXPECT_EQ(Apply({Of(WriteCode::kDuplicate, cut)}).code(), absl::StatusCode::kUnimplemented);
}

TEST_F(MutationOperationsTest, WhatThePrimarySaidOfADuplicateIsDoneByEveryMember) {
  const auto decoded = [&](const Update& update) {
    Mutation mutation{.decree = Decree(9), .timestamp_us = 70, .updates = {update}};
    return *MutationOperations::Decode(mutation, *engine_, ReadTier::kAll);
  };
  DuplicateRequest request{
      {{.timestamp_us = 7,
        .task_code = Blob(WriteCodeName(WriteCode::kRemove)),
        .raw_message = Blob(WithTombstoneMark(WriteCode::kRemove, EncodeWrapped(Blob(key_)))),
        .cluster_id = int8_t{2}}}};
  MutationOperations operations = decoded(Of(WriteCode::kDuplicate, request));
  EXPECT_FALSE(operations.applied().position);
  EXPECT_FALSE(operations.applied().compares_tags);
  EXPECT_FALSE(operations.ops()[0].leaves_tombstone) << "what the source's log says is its own";
  request.is_judged = true;
  request.duplication_id = 9;
  request.source_decree = 5;
  request.source_update = 3;
  request.source_time_us = 8;
  operations = decoded(Of(WriteCode::kDuplicate, request));
  const Engine::AppliedMutation applied = operations.applied();
  EXPECT_EQ(applied.decree, Decree(9));
  EXPECT_EQ(applied.timestamp_us, 70);
  EXPECT_EQ(applied.position, (SourcePosition{2, 9, Decree(5), 3, 8}));
  EXPECT_TRUE(applied.compares_tags);
  EXPECT_TRUE(applied.ops[0].leaves_tombstone);
}

TEST_F(MutationOperationsTest, OwnRemovesLeaveTombstonesWhereTheLogSaysSo) {
  Mutation mutation{.decree = Decree(9)};
  Update marked = Of(WriteCode::kRemove, Blob(key_));
  mutation.updates = {marked, marked};
  mutation.updates[0].data = WithTombstoneMark(WriteCode::kRemove, marked.data);
  const auto operations = MutationOperations::Decode(mutation, *engine_, ReadTier::kAll);
  ASSERT_TRUE(operations.ok()) << operations.status();
  EXPECT_TRUE(operations->ops()[0].leaves_tombstone);
  EXPECT_EQ(operations->ops()[0].key, key_);
  EXPECT_FALSE(operations->ops()[1].leaves_tombstone);
}

TEST_F(MutationOperationsTest, WhatPegasusPreparedAgainHasNoTimestampAndFindsWhatIsThere) {
  ExpectApplied({Of(WriteCode::kPut, UpdateRequest{key_, "7", kNow + 100})});
  const absl::Status applied = Apply({Of(WriteCode::kIncr, IncrRequest{key_, 1, 0})}, 0);
  EXPECT_TRUE(applied.ok()) << applied;
  EXPECT_EQ(Read("s"), "8");
  EXPECT_EQ(Read("s", kNow + 100), "none") << "its expiry stays";
}

TEST_F(MutationOperationsTest, UndecidedOnesOfOlderLogsAreDecidedFromTheEngine) {
  ExpectApplied({Of(WriteCode::kIncr, IncrRequest{key_, 5, 0})});
  ExpectApplied({Of(WriteCode::kIncr, IncrRequest{key_, 37, 0})});
  EXPECT_EQ(Read("s"), "42");
  ExpectApplied({Of(WriteCode::kCheckAndSet, CheckAndSetRequest{.hash_key = "h",
                                                                .check_sort_key = "s",
                                                                .check_type = 15,
                                                                .check_operand = "42",
                                                                .set_diff_sort_key = true,
                                                                .set_sort_key = "t",
                                                                .set_value = "yes"})});
  EXPECT_EQ(Read("t"), "yes");
  ExpectApplied({Of(WriteCode::kCheckAndMutate,
                    CheckAndMutateRequest{.hash_key = "h",
                                          .check_sort_key = "t",
                                          .check_type = 3,
                                          .mutate_list = {{Mutate::kDelete, "t", "", 0},
                                                          {Mutate::kPut, "u", "new", 0}}})});
  EXPECT_EQ(Read("t"), "none");
  EXPECT_EQ(Read("u"), "new");
}

TEST_F(MutationOperationsTest, UndecidedOnesThatWriteNothingAdvanceTheDecree) {
  ExpectApplied({Of(WriteCode::kPut, UpdateRequest{key_, "text", 0})});
  ExpectApplied({Of(WriteCode::kIncr, IncrRequest{key_, 1, 0})});
  ExpectApplied({Of(WriteCode::kIncr, IncrRequest{"", 1, 0})});
  ExpectApplied({Of(WriteCode::kCheckAndSet,
                    CheckAndSetRequest{.hash_key = "h", .check_sort_key = "s", .check_type = 1})});
  EXPECT_EQ(Read("s"), "text");
  EXPECT_EQ(engine_->last_applied(), Decree(4));
}

TEST_F(MutationOperationsTest, TheMutationsOwnTimeSaysWhatHasExpired) {
  ExpectApplied({Of(WriteCode::kPut, UpdateRequest{key_, "7", kNow})});
  ExpectApplied({Of(WriteCode::kIncr, IncrRequest{key_, 1, 0})});
  EXPECT_EQ(Read("s"), "1");
}

TEST_F(MutationOperationsTest, WhatCantBeAppliedIsAnErrorAndNothingIsSkipped) {
  EXPECT_TRUE(absl::IsInvalidArgument(Apply({{.code = WriteCode::kDuplicate, .data = "x"}})));
  EXPECT_TRUE(absl::IsUnimplemented(Apply({{.code = WriteCode::kBulkLoad, .data = "x"}})));
  EXPECT_TRUE(absl::IsInvalidArgument(Apply({{.code = WriteCode::kMultiPut, .data = "x"}})));
  EXPECT_TRUE(absl::IsInvalidArgument(Apply({Of(WriteCode::kPut, UpdateRequest{.key = "\x01"})})));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Apply({Of(WriteCode::kMultiRemove,
                MultiRemoveRequest{.hash_key = std::string(65535, 'x'), .sort_keys = {"s"}})})));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Apply({Of(WriteCode::kIncr, IncrRequest{key_, 1, 0}), Of(WriteCode::kRemove, Blob(key_))})))
      << "an undecided one is alone";
}

}  // namespace
}  // namespace arion
