// SPDX-License-Identifier: Apache-2.0
#include "wal/log_identity.h"

#include <gtest/gtest.h>

#include <string>

namespace arion {
namespace {

FileStatus Status(uint64_t inode, int64_t birth) { return {.inode = inode, .birth_nanos = birth}; }

TEST(LogIdentityTest, ComesBackAsWritten) {
  LogIdentity identity;
  identity.Add(Status(11, 1700000000123456789), Durability::kFsync);
  identity.Add(Status(18446744073709551615ull, 0), Durability::kOs);
  for (const bool clean : {false, true}) {
    identity.clean = clean;
    const auto parsed = LogIdentity::Parse(identity.Format());
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->files, identity.files);
    EXPECT_EQ(parsed->clean, clean);
  }
}

TEST(LogIdentityTest, AFileIsOursOnlyWithItsBirthTime) {
  LogIdentity identity;
  identity.Add(Status(11, 5), Durability::kOs);
  EXPECT_EQ(identity.Find(Status(11, 5)), Durability::kOs);
  EXPECT_EQ(identity.Find(Status(11, 6)), std::nullopt);
  EXPECT_EQ(identity.Find(Status(12, 5)), std::nullopt);
  identity.Add(Status(11, 6), Durability::kFsync);  // the inode was used again
  EXPECT_EQ(identity.Find(Status(11, 5)), std::nullopt);
  EXPECT_EQ(identity.Find(Status(11, 6)), Durability::kFsync);
  identity.Remove(Status(11, 6));
  EXPECT_TRUE(identity.files.empty());
}

TEST(LogIdentityTest, AnyDamageIsSeen) {
  LogIdentity identity;
  identity.Add(Status(11, 5), Durability::kFsync);
  identity.clean = true;
  const std::string text = identity.Format();
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(LogIdentity::Parse(damaged).status())) << i;
    EXPECT_TRUE(absl::IsDataLoss(LogIdentity::Parse(text.substr(0, i)).status())) << i;
  }
}

}  // namespace
}  // namespace arion
