// SPDX-License-Identifier: Apache-2.0
#include "base/mutation.h"

#include <gtest/gtest.h>

#include "base/coding.h"

namespace arion {
namespace {

Mutation Sample() {
  Mutation m{.pid = {2, 1},
             .ballot = Ballot(3),
             .decree = Decree(1),
             .log_offset = 76,
             .last_committed = Decree(0)};
  m.timestamp_us = 1640995200000001;
  m.updates = {{WriteCode::kPut, 1, "payload one"}, {WriteCode::kRemove, 1, ""}};
  return m;
}

TEST(Mutation, ComesBackAsItWasWritten) {
  std::string bytes;
  AppendMutation(Sample(), 76, &bytes);
  EXPECT_EQ(bytes.size(), EncodedSize(Sample()));
  bytes += "rest";
  std::string_view rest = bytes;
  absl::StatusOr<Mutation> read = TakeMutation(&rest);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, Sample());
  EXPECT_EQ(rest, "rest");
}

TEST(Mutation, RefusesEveryTruncation) {
  std::string bytes;
  AppendMutation(Sample(), 76, &bytes);
  for (size_t n = 0; n < bytes.size(); ++n) {
    std::string_view rest = std::string_view(bytes).substr(0, n);
    EXPECT_FALSE(TakeMutation(&rest).ok()) << n;
    EXPECT_EQ(rest.size(), n);
  }
}

TEST(Mutation, RefusesNegativeAndHugeCounts) {
  for (const int32_t count : {-1, 1 << 30, INT32_MAX}) {
    std::string bytes;
    AppendMutation(Sample(), 76, &bytes);
    StoreLittle(count, bytes.data() + 56);
    std::string_view rest = bytes;
    EXPECT_EQ(TakeMutation(&rest).status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(Mutation, RefusesUnknownCodesAndVersionsButReadsTheOldest) {
  std::string bytes;
  AppendMutation(Sample(), 76, &bytes);
  std::string changed = bytes;
  changed[65] = 'X';  // first letters of the code name
  std::string_view rest = changed;
  EXPECT_FALSE(TakeMutation(&rest).ok());

  changed = bytes;
  StoreLittle(int64_t{64}, changed.data());
  rest = changed;
  EXPECT_FALSE(TakeMutation(&rest).ok());

  StoreLittle(int64_t{0x7f0000001000}, changed.data());  // a pointer, as data before 2017 have
  rest = changed;
  absl::StatusOr<Mutation> read = TakeMutation(&rest);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->timestamp_us, 0);
}

}  // namespace
}  // namespace arion
