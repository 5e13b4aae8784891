// SPDX-License-Identifier: Apache-2.0
#include "client/index_find.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <limits>
#include <utility>

#include "base/raw_key.h"
#include "tests/client/scripted_server.h"

namespace arion {
namespace {

// Positions are words, and a row's field is its position.
FoundRow FoundAt(const std::string& position) {
  return {.key = JoinRawKey("h", position),
          .field = FieldValue::Of(position),
          .position = position,
          .value = {}};
}

FindResponse Rows(const std::vector<std::string>& positions, const char* next = nullptr) {
  FindResponse answer{.built_percent = 100};
  for (const std::string& position : positions) answer.rows.push_back(FoundAt(position));
  if (next != nullptr) answer.next = Blob(next);
  return answer;
}

class IndexFindTest : public ScriptedServerTest {
 protected:
  // The four partitions are asked in their order.
  void Script(std::vector<FindResponse> answers) {
    for (const FindResponse& answer : answers) answers_.push_back(Ok(answer));
  }
  absl::StatusOr<FindResult> Find(const FindOptions& options) {
    return Outcome<FindResult>([&](auto done) { table_->Find("city", options, std::move(done)); });
  }
  absl::StatusOr<IndexOverview> Describe() {
    return Outcome<IndexOverview>(
        [&](auto done) { table_->DescribeIndex("city", {}, std::move(done)); });
  }
  // "a b c", and behind a bar where it goes on.
  static std::string TextOf(const absl::StatusOr<FindResult>& result) {
    if (!result.ok()) return result.status().ToString();
    std::vector<std::string> words;
    for (const IndexedRow& row : result->rows) words.push_back(row.sort_key);
    return absl::StrCat(absl::StrJoin(words, " "), "|", result->next);
  }
  FindRequest Asked(size_t i) { return *DecodeWrapped<FindRequest>(asked_[i].body); }
};

TEST_F(IndexFindTest, AllPartitionsAreAskedAndTheirRowsMerged) {
  Script({Rows({"b", "e"}), Rows({}), Rows({"a", "f"}), Rows({"c"})});
  const auto found = Find({.values = Values::kReturn});
  EXPECT_EQ(TextOf(found), "a b c e f|") << "no more: nowhere to go on";
  ASSERT_EQ(asked_.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(asked_[i].name, kRpcFind);
    EXPECT_EQ(asked_[i].pid, (PartitionId{2, static_cast<int32_t>(i)}));
    EXPECT_NE((PartitionId{2, static_cast<int32_t>(asked_[i].partition_hash % 8)}), asked_[i].pid)
        << "once the table is split, the hash is the other half's";
    EXPECT_EQ(Asked(i), (FindRequest{.index = "city", .with_value = true}));
  }
}

TEST_F(IndexFindTest, TheQuestionTravelsAsItWasAsked) {
  Script({Rows({}), Rows({}), Rows({}), Rows({})});
  EXPECT_EQ(TextOf(Find({.lower = 18,
                         .upper = 2.5,
                         .lower_bound = Bound::kExclusive,
                         .upper_bound = Bound::kExclusive,
                         .order = FindOptions::Order::kDescending,
                         .limit = 7,
                         .after = "here",
                         .while_building = FindOptions::WhileBuilding::kScan})),
            "|");
  FindRequest expected{.index = "city",
                       .lower = FieldValue::Of(int64_t{18}),
                       .upper = FieldValue::Of(2.5),
                       .lower_inclusive = false,
                       .upper_inclusive = false,
                       .descending = true,
                       .limit = 7,
                       .after = Blob("here"),
                       .may_scan = true};
  EXPECT_EQ(Asked(3), expected);
  Script({Rows({}), Rows({}), Rows({}), Rows({})});
  EXPECT_TRUE(Find({.prefix = "Be"}).ok());
  EXPECT_EQ(Asked(4), (FindRequest{.index = "city", .prefix = Blob("Be")}));
  Script({Rows({}), Rows({}), Rows({}), Rows({})});
  EXPECT_TRUE(Find(FindOptions::Equal("Berlin")).ok());
  EXPECT_EQ(Asked(8), (FindRequest{.index = "city",
                                   .lower = FieldValue::Of(std::string("Berlin")),
                                   .upper = FieldValue::Of(std::string("Berlin"))}));
}

TEST_F(IndexFindTest, TheLimitCutsAndSaysWhereToGoOn) {
  Script({Rows({"b", "e"}, "e"), Rows({"d"}), Rows({"a", "f"}, "f"), Rows({"c"})});
  const auto found = Find({.limit = 2});
  EXPECT_EQ(TextOf(found), "a b|b");
  EXPECT_EQ(asked_.size(), 4u) << "each partition has answered for more than is returned";
  Script({Rows({"e"}), Rows({"d"}), Rows({"f"}), Rows({"c"})});
  EXPECT_EQ(TextOf(Find({.limit = 4, .after = found->next})), "c d e f|") << "just as many";
  EXPECT_EQ(Asked(5).after, Blob("b")) << "the same for all of them";
  Script({Rows({"a"}), Rows({"b"}), Rows({"c"}), Rows({})});
  EXPECT_EQ(TextOf(Find({.limit = 2})), "a b|b") << "each is through, and yet one row is left";
}

TEST_F(IndexFindTest, APartitionThatAnsweredForLessIsAskedOnFirst) {
  // The first met a bound of its own behind "b": its "c" comes before the others' "d".
  Script({Rows({"b"}, "b"), Rows({"d", "e"}, "e"), Rows({"f"}), Rows({})});
  Script({Rows({"c", "g"}, "g")});
  EXPECT_EQ(TextOf(Find({.limit = 3})), "b c d|d");
  ASSERT_EQ(asked_.size(), 5u);
  EXPECT_EQ(asked_[4].pid, (PartitionId{2, 0}));
  EXPECT_EQ(Asked(4).after, Blob("b"));
  EXPECT_EQ(Asked(4).limit, 2) << "one of three lies within what it has answered for";
}

TEST_F(IndexFindTest, ItIsAskedOnUntilItHasAnsweredForEnough) {
  // No rows at all, and yet not at its end: what it read were entries whose rows had changed.
  Script({Rows({}, "b"), Rows({"d"}), Rows({"e"}), Rows({})});
  Script({Rows({}, "c")});
  Script({Rows({}, "d1")});
  Script({Rows({"z"})});
  EXPECT_EQ(TextOf(Find({.limit = 100})), "d e z|");
  EXPECT_EQ(asked_.size(), 7u);
  asked_.clear();
  Script({Rows({}, "b"), Rows({"d"}), Rows({"e"}), Rows({})});
  Script({Rows({}, "d1")});
  EXPECT_EQ(TextOf(Find({.limit = 1})), "d|d") << "behind d1 there is more";
  EXPECT_EQ(asked_.size(), 5u);
}

TEST_F(IndexFindTest, DescendingAllOfItIsTheOtherWayRound) {
  Script({Rows({"y", "b"}), Rows({"x"}, "x"), Rows({"z"}), Rows({})});
  Script({Rows({"w", "a"}, "a")});
  EXPECT_EQ(TextOf(Find({.order = FindOptions::Order::kDescending, .limit = 4})), "z y x w|w");
  EXPECT_EQ(Asked(4).after, Blob("x"));
  EXPECT_EQ(Asked(4).limit, 1);
}

TEST_F(IndexFindTest, PositionsAreBytesWithoutASign) {
  Script({Rows({"\xff"}), Rows({"\x7f"}), Rows({"\x01"}), Rows({"\x80"})});
  EXPECT_EQ(TextOf(Find({})), "\x01 \x7f \x80 \xff|");
}

TEST_F(IndexFindTest, ARecordThatTwoPartitionsHaveComesOnce) {
  Script({Rows({"a", "b"}), Rows({"a", "b"}), Rows({"c"}), Rows({})});
  EXPECT_EQ(TextOf(Find({})), "a b c|");
}

TEST_F(IndexFindTest, APartitionThatDoesNotGetAnyFurtherIsNotAskedForEver) {
  Script({Rows({"a"}, "b"), Rows({}), Rows({}), Rows({})});
  Script({Rows({}, "b")});
  EXPECT_TRUE(absl::IsInternal(Find({}).status()));
  EXPECT_EQ(asked_.size(), 5u);
}

TEST_F(IndexFindTest, FieldsAndValuesComeAsTheyAre) {
  FindResponse answer;
  for (const FieldValue& field : {FieldValue::Of(true), FieldValue::Of(int64_t{-5}),
                                  FieldValue::Of(1.5), FieldValue::Of(std::string("\0x", 2))}) {
    FoundRow& row = answer.rows.emplace_back(FoundAt(std::to_string(answer.rows.size())));
    row.field = field;
    row.value = Blob("v");
  }
  Script({answer, Rows({}), Rows({}), Rows({})});
  const auto found = Find({.values = Values::kReturn});
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->rows.size(), 4u);
  EXPECT_EQ(found->rows[0].field, IndexedValue(true));
  EXPECT_EQ(found->rows[1].field, IndexedValue(int64_t{-5}));
  EXPECT_EQ(found->rows[2].field, IndexedValue(1.5));
  EXPECT_EQ(found->rows[3].field, IndexedValue(std::string("\0x", 2)));
  EXPECT_EQ(found->rows[3].hash_key, "h");
  EXPECT_EQ(found->rows[3].value, "v");
}

TEST_F(IndexFindTest, AnAnswerThatIsNoneIsAnErrorAndNotARow) {
  FindResponse no_key = Rows({"a"});
  no_key.rows[0].key = "x";
  FindResponse no_kind = Rows({"a"});
  no_kind.rows[0].field.kind = 9;
  for (const FindResponse& bad : {no_key, no_kind}) {
    Script({bad, Rows({}), Rows({}), Rows({})});
    EXPECT_TRUE(absl::IsInternal(Find({}).status()));
  }
  answers_.push_back(RpcResult{.body = "no message"});
  Script({Rows({}), Rows({}), Rows({})});
  EXPECT_TRUE(absl::IsInternal(Find({}).status()));
}

FindResponse Failed(StorageError error, int32_t percent = 0) {
  return {.error = static_cast<int32_t>(error), .built_percent = percent};
}

TEST_F(IndexFindTest, AnIndexThatNobodyKnowsIsNotFound) {
  const FindResponse unknown = Failed(StorageError::kNotFound);
  Script({unknown, unknown, unknown, unknown});
  const absl::Status status = Find({}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(status.message(), "no such index");
}

TEST_F(IndexFindTest, OneThatIsBeingBuiltSaysHowFarTheSlowestIsAndIsNotAskedAgain) {
  Script({Failed(StorageError::kTryAgain, 80), Failed(StorageError::kTryAgain, 62),
          Failed(StorageError::kTryAgain, 70), Rows({"a"})});
  absl::Status status = Find({}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(status.message(), "index is being built, 62 %");
  EXPECT_EQ(asked_.size(), 4u);
  // Not all servers have heard of it.
  Script({Rows({"a"}), Failed(StorageError::kTryAgain, 80), Failed(StorageError::kNotFound),
          Rows({})});
  status = Find({}).status();
  EXPECT_EQ(status.message(), "index is being built, 0 %");
}

TEST_F(IndexFindTest, WhatTheServersCallNotValidIsSo) {
  Script({Rows({}), Failed(StorageError::kInvalidArgument), Failed(StorageError::kTryAgain),
          Rows({})});
  EXPECT_TRUE(absl::IsInvalidArgument(Find({}).status()));
  Script({Rows({}), Failed(StorageError::kIOError), Rows({}), Rows({})});
  EXPECT_TRUE(absl::IsInternal(Find({}).status()));
}

TEST_F(IndexFindTest, AnOlderServerIsNamedAsTheReason) {
  Script({Rows({"a"}), Rows({}), Rows({})});
  answers_.push_back(RpcResult{.error = ErrorCode::kHandlerNotFound});
  const absl::Status status = Find({}).status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_NE(status.message().find("servers of an older version have no indexes"),
            absl::string_view::npos)
      << status;
}

TEST_F(IndexFindTest, WhatCantBeRightIsNotSent) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const FindOptions& bad :
       {FindOptions{.limit = 0}, FindOptions{.limit = -1}, FindOptions{.lower = "a", .prefix = "a"},
        FindOptions{.upper = 5, .prefix = ""}, FindOptions{.lower = nan}, FindOptions::Equal(nan)})
    EXPECT_TRUE(absl::IsInvalidArgument(Find(bad).status())) << Find(bad).status();
  const auto unnamed =
      Outcome<FindResult>([&](auto done) { table_->Find("no name", {}, std::move(done)); });
  EXPECT_TRUE(absl::IsInvalidArgument(unnamed.status()));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(IndexFindTest, ATableThatIsSplitMeanwhileIsAskedAnew) {
  int32_t count = 4;
  cluster_.SetServer(kMeta, [&](const OutboundRequest&) -> std::optional<RpcResult> {
    QueryConfigResponse answer{.app_id = 2, .partition_count = count, .is_stateful = true};
    for (int i = 0; i < count; ++i) {
      PartitionConfiguration& partition = answer.partitions.emplace_back();
      partition.pid = {2, i};
      partition.ballot = Ballot(3);
      partition.primary = kServer;
    }
    count = 8;  // the next one who asks
    return Ok(answer);
  });
  Script({Rows({"a"}), Rows({"b"})});
  answers_.push_back(RpcResult{.error = ErrorCode::kParentPartitionMisused});
  Script({Rows({"d"}), Rows({"never seen"})});
  for (const char* row : {"a", "b", "c", "d", "e", "f", "g", "h"}) Script({Rows({row})});
  EXPECT_EQ(TextOf(Find({})), "a b c d e f g h|");
}

TEST_F(IndexFindTest, AnOverviewAddsUpAndAsksForNoRows) {
  Script({{.built_percent = 100, .entries = 10, .left_out = 1},
          {.built_percent = 50, .entries = 5, .left_out = 2},
          Failed(StorageError::kNotFound),
          Failed(StorageError::kTryAgain, 30)});
  const auto overview = Describe();
  ASSERT_TRUE(overview.ok()) << overview.status();
  EXPECT_EQ(overview->partitions, 4);
  EXPECT_EQ(overview->unaware, 1);
  EXPECT_EQ(overview->lowest_percent, 0);
  EXPECT_EQ(overview->mean_percent, 45);
  EXPECT_EQ(overview->entries, 15);
  EXPECT_EQ(overview->left_out, 3);
  EXPECT_EQ(Asked(0), (FindRequest{.index = "city", .limit = 0, .may_scan = true}));
  const FindResponse unknown = Failed(StorageError::kNotFound);
  Script({unknown, unknown, unknown, unknown});
  EXPECT_TRUE(absl::IsNotFound(Describe().status()));
}

TEST_F(IndexFindTest, WithoutAnAnswerItEndsAtItsDeadline) {
  cluster_.SetServer(kServer, [](const OutboundRequest&) { return std::nullopt; });
  std::optional<absl::Status> status;
  cluster_.Run([&] { table_->Find("city", {}, [&](auto found) { status = found.status(); }); },
               absl::Milliseconds(10));
  EXPECT_FALSE(status.has_value());
  cluster_.RunFor(absl::Seconds(10));
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(*status)) << *status;
}

}  // namespace
}  // namespace arion
