// SPDX-License-Identifier: Apache-2.0
#include "env/secret_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace arion {
namespace {

constexpr char kSecret[] = "0123456789abcdef";

class SecretFileTest : public testing::Test {
 protected:
  std::string Write(const std::string& content, mode_t mode) {
    const std::string path = testing::TempDir() + "/secret";
    std::filesystem::remove(path);
    std::ofstream(path) << content;
    chmod(path.c_str(), mode);
    return path;
  }
};

TEST_F(SecretFileTest, TheFirstLineCounts) {
  EXPECT_EQ(*ReadSecretFile(Write(std::string(kSecret) + "\nwhatever\n", 0600)), kSecret);
  EXPECT_EQ(*ReadSecretFile(Write(kSecret, 0640)), kSecret);
}

TEST_F(SecretFileTest, WhatOthersMayReadIsNoSecret) {
  for (const mode_t mode : {0644, 0660, 0602, 0601}) {
    const auto secret = ReadSecretFile(Write(kSecret, mode));
    ASSERT_FALSE(secret.ok()) << mode;
    EXPECT_THAT(secret.status().message(), testing::HasSubstr("chmod 640"));
  }
}

TEST_F(SecretFileTest, WhatIsWrongIsSaidWithoutTheSecret) {
  EXPECT_FALSE(ReadSecretFile("/nowhere/at/all").ok());
  EXPECT_FALSE(ReadSecretFile(testing::TempDir()).ok());
  for (const std::string& bad : {std::string("hunter2"), std::string(""), std::string(2000, 'x'),
                                 std::string("hunter2 hunter2 hunter2"),
                                 "\n" + std::string(kSecret), std::string("0123456789abcde\xff")}) {
    const auto secret = ReadSecretFile(Write(bad, 0600));
    ASSERT_FALSE(secret.ok()) << bad;
    EXPECT_THAT(secret.status().message(), testing::Not(testing::HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace arion
