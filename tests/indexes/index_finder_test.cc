// Answers of FIND: pages, bounds, refusals, scans. SPDX-License-Identifier: Apache-2.0
#include "indexes/index_finder.h"

#include <gtest/gtest.h>

#include "base/error_code.h"
#include "engine/memory_engine.h"
#include "tests/indexes/indexed_replica.h"

namespace arion {
namespace {

class IndexFinderTest : public testing::Test {
 protected:
  IndexFinderTest() {
    for (int i = 0; i < 30; ++i)
      replica_.Put({{"k" + std::to_string(i), R"({"n":)" + std::to_string(i / 10) + "}"}});
    EXPECT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  }
  FindResponse Page(const FindRequest& request) {
    auto page = replica_.FindPage(request);
    EXPECT_TRUE(page.ok()) << page.status();
    return page.value_or(FindResponse{.error = -1});
  }
  static StorageError ErrorOf(const FindResponse& page) {
    return static_cast<StorageError>(page.error);
  }

  TestEnvironment environment_;
  MemoryEngineFactory plain_{environment_};
  IndexedReplica replica_{environment_, plain_};
};

TEST_F(IndexFinderTest, PagesGoOnWhereTheLastOneEnded) {
  replica_.BuildAll();
  for (const bool descending : {false, true}) {
    for (const int limit : {1, 7, 30, 1000}) {
      const FindRequest request{.index = "by_n",
                                .lower = FieldValue::Of(int64_t{1}),
                                .descending = descending,
                                .limit = limit,
                                .with_value = true};
      const auto found = replica_.Find(request);
      ASSERT_TRUE(found.ok());
      EXPECT_EQ(*found, replica_.Wanted(request, "$.n"));
      EXPECT_EQ(found->size(), 20u);
    }
  }
}

TEST_F(IndexFinderTest, WhatIsNotBuiltIsRefusedOrScanned) {
  FindRequest request{.index = "by_n", .limit = 4};
  EXPECT_EQ(ErrorOf(Page(request)), StorageError::kTryAgain);
  request.may_scan = true;
  for (const bool descending : {false, true}) {
    request.descending = descending;
    const auto found = replica_.Find(request);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(*found, replica_.Wanted(request, "$.n"));
  }
  request.limit = 0;
  EXPECT_EQ(ErrorOf(Page(request)), StorageError::kOk) << "it only tells how far it is";
}

TEST_F(IndexFinderTest, RefusalsSayWhatIsWrong) {
  replica_.BuildAll();
  EXPECT_EQ(ErrorOf(Page({.index = "other"})), StorageError::kNotFound);
  EXPECT_EQ(ErrorOf(Page({.index = "by_n", .limit = -1})), StorageError::kInvalidArgument);
  EXPECT_EQ(ErrorOf(Page({.index = "by_n", .limit = IndexFinder::kRowsMax + 1})), StorageError::kOk)
      << "it gets as many as there may be, and goes on";
  EXPECT_EQ(ErrorOf(Page({.index = "by_n", .lower = FieldValue{.kind = 9}})),
            StorageError::kInvalidArgument);
  EXPECT_EQ(
      ErrorOf(Page({.index = "by_n", .lower = FieldValue::Of(int64_t{1}), .prefix = Blob("a")})),
      StorageError::kInvalidArgument);
}

TEST_F(IndexFinderTest, EntriesOfRecordsThatChangedEndAnAnswerToo) {
  replica_.BuildAll();
  // 6,000 entries, and one record.
  for (int64_t i = 0; i < IndexFinder::kEntriesMax + 1000; ++i)
    replica_.Put({{"changing", R"({"n":)" + std::to_string(100 + i) + "}"}});
  const FindRequest request{.index = "by_n", .lower = FieldValue::Of(int64_t{100}), .limit = 5};
  const FindResponse first = Page(request);
  EXPECT_TRUE(first.rows.empty());
  EXPECT_TRUE(first.next.has_value()) << "there is a way forward";
  EXPECT_EQ(replica_.Find(request)->size(), 1u);
}

TEST_F(IndexFinderTest, ATurnThatIsLateGoesOnAllTheSame) {
  replica_.BuildAll();
  IndexFinder finder(replica_.shared_engine(), {.index = "by_n", .limit = 100});
  int turns = 0;
  absl::StatusOr<std::optional<FindResponse>> answer;
  do {
    answer = finder.Turn({.pid = {1, 0},
                          .server = "here",
                          .now = 0,
                          .clock = environment_.clock(),
                          .deadline = Instant(0)});
    ASSERT_TRUE(answer.ok());
    ASSERT_LT(++turns, 40) << "an entry a turn at least";
  } while (!answer->has_value());
  EXPECT_EQ((*answer)->rows.size(), 30u);
}

TEST_F(IndexFinderTest, RecordsOfOtherPartitionsAreNoRows) {
  // By the index, and by a scan of all records.
  for (const bool is_whole : {false, true}) {
    if (is_whole) replica_.BuildAll();
    size_t rows = 0;
    for (int32_t i = 0; i < 4; ++i) {
      const KeyOwnership owned{.index = i, .count = 4};
      IndexFinder finder(replica_.shared_engine(),
                         {.index = "by_n", .limit = 100, .may_scan = true});
      absl::StatusOr<std::optional<FindResponse>> answer;
      do {
        answer = finder.Turn({.pid = {1, i},
                              .server = "here",
                              .now = 0,
                              .clock = environment_.clock(),
                              .deadline = Instant::InfiniteFuture(),
                              .owned = owned});
        ASSERT_TRUE(answer.ok());
      } while (!answer->has_value());
      EXPECT_LT((*answer)->rows.size(), 30u);
      rows += (*answer)->rows.size();
      for (const FoundRow& row : (*answer)->rows) EXPECT_TRUE(owned.OwnsKey(row.key));
    }
    EXPECT_EQ(rows, 30u) << "each in one of them";
  }
}

TEST_F(IndexFinderTest, AnswersAreBoundedInBytesFromTheIndexAndFromAScan) {
  for (int i = 0; i < 60; ++i)
    replica_.Put({{"large" + std::to_string(i),
                   R"({"n":7,"fill":")" + std::string(200'000, 'x') + R"("})"}});
  FindRequest request{.index = "by_n",
                      .lower = FieldValue::Of(int64_t{7}),
                      .limit = 1000,
                      .with_value = true,
                      .may_scan = true};
  for (const bool is_whole : {false, true}) {
    if (is_whole) replica_.BuildAll();
    for (const bool descending : {false, true}) {
      request.descending = descending;
      const FindResponse page = Page(request);
      EXPECT_LT(page.rows.size(), 25u);
      EXPECT_GT(page.rows.size(), 15u);
      EXPECT_EQ(*replica_.Find(request), replica_.Wanted(request, "$.n"));
    }
  }
}

TEST_F(IndexFinderTest, AnyPositionToGoOnFrom) {
  replica_.BuildAll();
  for (const char* after : {"", "\x30", "\xff\xff", "nonsense"})
    EXPECT_EQ(ErrorOf(Page({.index = "by_n", .after = Blob(after)})), StorageError::kOk);
}

}  // namespace
}  // namespace arion
