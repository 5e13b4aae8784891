// SPDX-License-Identifier: Apache-2.0
#include "duplication/duplication_book.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(DuplicationBookTest, WhoHasEndedIsNotShownAndItsTotalsStay) {
  DuplicationBook book;
  auto first = std::make_shared<DuplicationFigures>();
  const auto second = std::make_shared<DuplicationFigures>();
  book.Note({2, 1}, {"temp", "b"}, first);
  book.Note({2, 0}, {"temp", "b"}, second);
  book.TotalsOf({"temp", "b"})->updates += 3;
  book.TotalsOf({"temp", "b"})->updates += 4;
  book.TotalsOf({"temp", "c"});
  first->decrees_behind = 7;
  auto rows = book.Rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].pid.index, 0) << "by partition";
  EXPECT_EQ(rows[1].figures->decrees_behind, 7);
  EXPECT_EQ(rows[1].cluster, "b");
  rows.clear();
  first.reset();
  ASSERT_EQ(book.Rows().size(), 1u);
  EXPECT_EQ(book.Rows()[0].pid.index, 0);
  EXPECT_EQ(book.Totals().at({"temp", "b"})->updates, 7);
}

TEST(DuplicationBookTest, TotalsAreOfATableAndACluster) {
  DuplicationBook book;
  {
    const auto figures = std::make_shared<DuplicationFigures>();
    book.Note({2, 1}, {"temp", "b"}, figures);
    book.TotalsOf({"temp", "b"})->bytes += 5;
  }
  EXPECT_TRUE(book.Rows().empty());
  book.TotalsOf({"temp", "b"})->bytes += 6;
  EXPECT_EQ(book.Totals().at({"temp", "b"})->bytes, 11);
}

}  // namespace
}  // namespace arion
