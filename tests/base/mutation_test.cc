// SPDX-License-Identifier: Apache-2.0
#include "base/mutation.h"

#include <gtest/gtest.h>

#include <set>

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

// wal/FORMAT.md 3.1: a member of 2.5 ends where a mutation names another code than its own.
TEST(MutationTest, ItsCodesAreThoseThatOlderVersionsHave) {
  const std::set<std::string_view> theirs = {
      "RPC_REPLICATION_WRITE_EMPTY", "RPC_RRDB_RRDB_PUT",
      "RPC_RRDB_RRDB_REMOVE",        "RPC_RRDB_RRDB_MULTI_PUT",
      "RPC_RRDB_RRDB_MULTI_REMOVE",  "RPC_RRDB_RRDB_INCR",
      "RPC_RRDB_RRDB_CHECK_AND_SET", "RPC_RRDB_RRDB_CHECK_AND_MUTATE",
      "RPC_RRDB_RRDB_DUPLICATE",     "RPC_RRDB_RRDB_BULK_LOAD"};
  for (int code = 0; code < kWriteCodeCount; ++code)
    EXPECT_TRUE(theirs.contains(WriteCodeName(static_cast<WriteCode>(code)))) << code;
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
