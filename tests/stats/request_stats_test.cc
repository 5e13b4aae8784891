// SPDX-License-Identifier: Apache-2.0
#include "stats/request_stats.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(RequestBookTest, ATablesSumsKeepWhatAReplicaThatWentCounted) {
  RequestBook book;
  const auto stays = book.Open({2, 0}, "t");
  const auto goes = book.Open({2, 1}, "t");
  stays->Answered(RequestKind::kGet, ErrorCode::kOk, 1000, 10, 100);
  goes->Answered(RequestKind::kGet, ErrorCode::kBusy, 3000, 20, 0);
  book.Close({2, 1}, goes);

  const auto rows = book.Read(RequestBook::Level::kTable);
  ASSERT_EQ(rows.size(), 1u);
  const RequestStats::Totals& gets = rows[0].by_kind.at(RequestKind::kGet);
  EXPECT_EQ(gets.latency.count, 2u);
  EXPECT_EQ(gets.latency.sum, 4000u);
  EXPECT_EQ(gets.asked_bytes, 30u);
  EXPECT_EQ(gets.answered_bytes, 100u);
  EXPECT_THAT(gets.errors, testing::ElementsAre(testing::Pair(ErrorCode::kBusy, 1)));
  const auto partitions = book.Read(RequestBook::Level::kPartition);
  ASSERT_EQ(partitions.size(), 1u);
  EXPECT_EQ(partitions[0].pid, (PartitionId{2, 0}));
}

TEST(RequestBookTest, TablesOfOneNameAreOneAndARenamedOneMoves) {
  RequestBook book;
  book.Open({2, 0}, "t")->Answered(RequestKind::kPut, ErrorCode::kOk, 1, 1, 1);
  book.Open({3, 0}, "t")->Answered(RequestKind::kPut, ErrorCode::kOk, 1, 1, 1);
  ASSERT_EQ(book.Read(RequestBook::Level::kTable).size(), 1u);
  book.Rename(3, "u");
  const auto rows = book.Read(RequestBook::Level::kTable);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].table, "u");
}

TEST(RequestBookTest, ATableIsForgottenAWhileAfterItsLastReplicaWent) {
  RequestBook book;
  for (int32_t id = 2; id < 100; ++id) {
    const auto stats = book.Open({id, 0}, absl::StrCat("t", id));
    stats->Answered(RequestKind::kGet, ErrorCode::kOk, 1, 1, 1);
    book.Close({id, 0}, stats);
  }
  const auto stays = book.Open({100, 0}, "stays");
  const Instant start(1);
  book.ForgetGone(start);
  book.ForgetGone(start + RequestBook::kKeep - absl::Seconds(1));
  EXPECT_EQ(book.Read(RequestBook::Level::kTable).size(), 99u);
  book.ForgetGone(start + RequestBook::kKeep);
  const auto rows = book.Read(RequestBook::Level::kTable);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].table, "stays");
  const auto server = book.Read(RequestBook::Level::kServer);
  ASSERT_EQ(server.size(), 1u);
  EXPECT_EQ(server[0].by_kind.at(RequestKind::kGet).latency.count, 98u)
      << "a server's sums only rise";
}

TEST(RequestBookTest, ATableThatCameBackMeanwhileIsNotForgotten) {
  RequestBook book;
  const auto first = book.Open({2, 0}, "t");
  first->Answered(RequestKind::kGet, ErrorCode::kOk, 1, 1, 1);
  book.Close({2, 0}, first);
  const Instant start(1);
  book.ForgetGone(start);
  book.Close({2, 0}, book.Open({2, 0}, "t"));
  book.ForgetGone(start + RequestBook::kKeep);
  const auto rows = book.Read(RequestBook::Level::kTable);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].by_kind.at(RequestKind::kGet).latency.count, 1u);
}

}  // namespace
}  // namespace arion
