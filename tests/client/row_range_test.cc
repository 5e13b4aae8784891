// Ranges over scans that are scripts.
// SPDX-License-Identifier: Apache-2.0
#include "arion/row_range.h"

#include <gtest/gtest.h>

#include <deque>

#include "env/loop_thread.h"

namespace arion {
namespace {

using Batch = absl::StatusOr<std::vector<Row>>;

class ScriptedScan : public AsyncScan {
 public:
  ScriptedScan(std::deque<Batch> batches, int* asked, bool* dropped)
      : batches_(std::move(batches)), asked_(asked), dropped_(dropped) {}
  ~ScriptedScan() override { *dropped_ = true; }
  void Next(Callback<Batch> done) override {
    ++*asked_;
    Batch batch = std::vector<Row>();
    if (!batches_.empty()) {
      batch = std::move(batches_.front());
      batches_.pop_front();
    }
    done(std::move(batch));
  }

 private:
  std::deque<Batch> batches_;
  int* asked_;
  bool* dropped_;
};

class RowRangeTest : public testing::Test {
 protected:
  RowRange Range(std::deque<Batch> batches) {
    return RowRange(std::make_unique<ScriptedScan>(std::move(batches), &asked_, &dropped_));
  }
  static Batch Rows(std::vector<std::string> sort_keys) {
    std::vector<Row> rows;
    for (std::string& key : sort_keys) rows.push_back({.sort_key = std::move(key)});
    return rows;
  }
  static std::string Text(RowRange range) {
    std::string text;
    for (absl::StatusOr<Row>& row : range)
      text += row.ok() ? row->sort_key : row.status().ToString();
    return text;
  }
  int asked_ = 0;
  bool dropped_ = false;
};

TEST_F(RowRangeTest, RowsComeInOrderOverBatches) {
  EXPECT_EQ(Text(Range({Rows({"a", "b"}), Rows({"c"})})), "abc");
  EXPECT_TRUE(dropped_);
  EXPECT_EQ(Text(Range({})), "");
}

TEST_F(RowRangeTest, AnErrorIsTheLastElement) {
  EXPECT_EQ(Text(Range({Rows({"a"}), absl::UnavailableError("gone"), Rows({"b"})})),
            "aUNAVAILABLE: gone");
  EXPECT_EQ(Text(Range({absl::NotFoundError("no table")})), "NOT_FOUND: no table");
}

TEST_F(RowRangeTest, TheNextBatchIsAskedForWhileThisOneIsRead) {
  RowRange range = Range({Rows({"a", "b"}), Rows({"c"})});
  EXPECT_EQ(asked_, 0) << "nothing before begin()";
  auto at = range.begin();
  EXPECT_EQ((*at)->sort_key, "a");
  EXPECT_EQ(asked_, 2);
}

TEST_F(RowRangeTest, BreakingOffDropsTheScan) {
  {
    RowRange range = Range({Rows({"a", "b"}), Rows({"c"})});
    for (absl::StatusOr<Row>& row : range) {
      EXPECT_EQ(row->sort_key, "a");
      break;
    }
    EXPECT_FALSE(dropped_);
  }
  EXPECT_TRUE(dropped_);
}

TEST_F(RowRangeTest, RowsMayBeMovedOut) {
  RowRange range = Range({Rows({"a", "b"})});
  std::vector<Row> rows;
  for (absl::StatusOr<Row>& row : range) rows.push_back(*std::move(row));
  EXPECT_EQ(rows.at(1).sort_key, "b");
}

TEST_F(RowRangeTest, ACallbackMustNotWait) {
  LoopThreadMark as_if_in_a_callback;
  EXPECT_EQ(Text(Range({Rows({"a"})})), "FAILED_PRECONDITION: a callback must not wait");
}

}  // namespace
}  // namespace arion
