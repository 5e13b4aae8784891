// SPDX-License-Identifier: Apache-2.0
#include "data_api/scanner_table.h"

#include <gtest/gtest.h>

#include "engine/memory_engine.h"
#include "tests/engine/test_environment.h"

namespace arion {
namespace {

class ScannerTableTest : public testing::Test {
 protected:
  ScannerTableTest() {
    engine_ = *MemoryEngineFactory(environment_).Open(environment_.root() + "/data");
    table_.Seed(0xfedcba9876543210);
  }
  int64_t Keep(Instant now) {
    const int64_t id = table_.NewId();
    table_.Keep(id, ScanCursor::Make(engine_->View(), {}, nullptr), now);
    return id;
  }

  TestEnvironment environment_;
  std::unique_ptr<Engine> engine_;
  ScannerTable table_;
  const Instant now_{1'000'000'000};
};

TEST_F(ScannerTableTest, AnIdWorksOnce) {
  const int64_t id = Keep(now_);
  EXPECT_GE(id, 0);
  EXPECT_NE(table_.Take(id, now_), nullptr);
  EXPECT_EQ(table_.Take(id, now_), nullptr);
}

TEST_F(ScannerTableTest, IdsOfOthersAreUnknown) {
  const int64_t id = Keep(now_);
  for (const int64_t other : {id + 1, id ^ (int64_t{1} << 40), int64_t{0}, int64_t{-1}, int64_t{-2},
                              INT64_MAX, INT64_MIN, id & 0xffffffff})
    EXPECT_EQ(table_.Take(other, now_), nullptr) << other;
  EXPECT_NE(table_.Take(id, now_), nullptr);
}

TEST_F(ScannerTableTest, UnusedForFiveMinutesItIsGone) {
  const int64_t first = Keep(now_);
  const int64_t second = Keep(now_ + absl::Seconds(1));
  EXPECT_EQ(table_.Take(first, now_ + absl::Minutes(5)), nullptr);
  EXPECT_NE(table_.Take(second, now_ + absl::Minutes(5)), nullptr);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(ScannerTableTest, ForgettingIsForOneAndUnknownOnesAreFine) {
  const int64_t first = Keep(now_);
  const int64_t second = Keep(now_);
  table_.Forget(first);
  table_.Forget(first);
  table_.Forget(-1);
  EXPECT_EQ(table_.Take(first, now_), nullptr);
  EXPECT_NE(table_.Take(second, now_), nullptr);
}

TEST_F(ScannerTableTest, OfTooManyTheOldestGoes) {
  const int64_t first = Keep(now_);
  const int64_t second = Keep(now_);
  for (size_t i = 1; i < ScannerTable::kScansMax; ++i) Keep(now_);
  EXPECT_EQ(table_.size(), ScannerTable::kScansMax);
  EXPECT_EQ(table_.Take(first, now_), nullptr);
  EXPECT_NE(table_.Take(second, now_), nullptr);
}

}  // namespace
}  // namespace arion
