// A mutation read where it lies: what is taken, and what is refused. SPDX-License-Identifier: Apache-2.0
#include "base/mutation_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

using testing::HasSubstr;

Mutation Viewed(std::vector<Update> updates) {
  Mutation mutation{.pid = {2, 5},
                    .ballot = Ballot(3),
                    .decree = Decree(9),
                    .log_offset = 76,
                    .last_committed = Decree(8)};
  mutation.timestamp_us = 1640995200000001;
  mutation.updates = std::move(updates);
  return mutation;
}

std::string BytesOf(const Mutation& mutation) {
  std::string bytes;
  AppendMutation(mutation, mutation.log_offset, &bytes);
  return bytes;
}

absl::Status Refused(const std::string& bytes) {
  std::string_view rest = bytes;
  MutationView view;
  const absl::Status status = TakeMutationView(&rest, &view);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_EQ(rest.size(), bytes.size()) << "nothing is taken of what is refused";
  return status;
}

TEST(MutationViewTest, ItShowsTheHeaderAndLeavesWhatFollows) {
  const Mutation mutation = Viewed({{WriteCode::kPut, 1, "one"}});
  const std::string bytes = BytesOf(mutation) + "next";
  std::string_view rest = bytes;
  MutationView view;
  ASSERT_TRUE(TakeMutationView(&rest, &view).ok());
  EXPECT_EQ(view.pid(), mutation.pid);
  EXPECT_EQ(view.ballot(), mutation.ballot);
  EXPECT_EQ(view.decree(), mutation.decree);
  EXPECT_EQ(view.log_offset(), 76);
  EXPECT_EQ(view.last_committed(), mutation.last_committed);
  EXPECT_EQ(view.size(), bytes.size() - 4);
  EXPECT_EQ(rest, "next");
}

TEST(MutationViewTest, ACopyIsTheMutationWhateverItsUpdates) {
  for (const auto& updates :
       {std::vector<Update>{}, std::vector<Update>{{WriteCode::kIncr, 2, "i"}},
        std::vector<Update>{{WriteCode::kRemove, 1, ""},
                            {WriteCode::kPut, 3, std::string("\0b", 2)},
                            {WriteCode::kMultiPut, 1, std::string(5000, 'm')}}}) {
    const Mutation mutation = Viewed(updates);
    const std::string bytes = BytesOf(mutation);
    std::string_view rest = bytes;
    MutationView view;
    ASSERT_TRUE(TakeMutationView(&rest, &view).ok());
    EXPECT_EQ(view.ToMutation(), mutation);
    Mutation used = Viewed({{WriteCode::kPut, 1, "old"}, {WriteCode::kPut, 1, "older"}});
    used.decree = Decree(1);
    view.CopyTo(&used);
    EXPECT_EQ(used, mutation) << "nothing of the former content is left";
  }
}

TEST(MutationViewTest, WhatDoesNotFitIsNamed) {
  const std::string bytes = BytesOf(Viewed({{WriteCode::kPut, 1, "one"}}));
  EXPECT_THAT(Refused(bytes.substr(0, kMutationHeaderBytes - 1)).message(),
              HasSubstr("shorter than its header"));
  EXPECT_THAT(Refused(bytes.substr(0, bytes.size() - 1)).message(),
              HasSubstr("update data does not fit"));
  EXPECT_THAT(Refused(bytes.substr(0, kMutationHeaderBytes + 20)).message(),
              HasSubstr("update descriptor does not fit"));
  std::string many = bytes;
  StoreLittle<int32_t>(3, many.data() + 56);
  EXPECT_THAT(Refused(many).message(), HasSubstr("does not fit"));
  StoreLittle<int32_t>(-1, many.data() + 56);
  EXPECT_THAT(Refused(many).message(), HasSubstr("update count -1"));
}

TEST(MutationViewTest, NegativeSizesAreRefused) {
  const std::string bytes = BytesOf(Viewed({{WriteCode::kPut, 1, "one"}}));
  const size_t name_bytes = WriteCodeName(WriteCode::kPut).size();
  std::string name = bytes;
  StoreLittle<int32_t>(-1, name.data() + kMutationHeaderBytes);
  EXPECT_THAT(Refused(name).message(), HasSubstr("update name does not fit"));
  std::string data = bytes;
  StoreLittle<int32_t>(-1, data.data() + kMutationHeaderBytes + 8 + name_bytes);
  EXPECT_THAT(Refused(data).message(), HasSubstr("update descriptor does not fit"));
}

TEST(MutationViewTest, UnknownCodesAndVersionsAreNamed) {
  std::string bytes = BytesOf(Viewed({{WriteCode::kPut, 1, "one"}}));
  std::string changed = bytes;
  changed[kMutationHeaderBytes + 4] = 'X';
  EXPECT_THAT(Refused(changed).message(), HasSubstr("unknown code 'XPC_RRDB_RRDB_PUT'"));
  changed = bytes;
  StoreLittle<int64_t>(1, changed.data());
  EXPECT_THAT(Refused(changed).message(), HasSubstr("unknown version 1"));
  StoreLittle<int64_t>(-1, changed.data());
  EXPECT_THAT(Refused(changed).message(), HasSubstr("unknown version -1"));
}

}  // namespace
}  // namespace arion
