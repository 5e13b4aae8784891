// SPDX-License-Identifier: Apache-2.0
#include "disks/app_info_file.h"
#include "env/file_system.h"
#include "messages/configuration.h"

#include <gtest/gtest.h>

#include "base/crc.h"
#include "sim/sim_environment.h"
#include "tests/support/fixtures.h"

namespace arion {
namespace {

AppInfo Table() {
  return {.status = AppStatus::kAvailable,
          .app_type = "pegasus",
          .app_name = "temp",
          .app_id = 2,
          .partition_count = 8,
          .is_stateful = true,
          .max_replica_count = 3,
          .create_second = 1640995200,
          .init_partition_count = 8};
}

TEST(AppInfoFile, A29_EncodesExactlyTheFixture) {
  const std::string path = SpecFixtures() + "/info/.app-info";
  REQUIRE_FIXTURE(path);
  EXPECT_EQ(EncodeAppInfo(Table()), Slurp(path));
  EXPECT_EQ(DecodeAppInfo(Slurp(path)).value(), Table());
}

TEST(AppInfoFile, AwkwardNamesSurvive) {
  AppInfo table = Table();
  table.app_name = "a\"b\\c\n\t\x01 \xc3\xa4";
  EXPECT_EQ(DecodeAppInfo(EncodeAppInfo(table)).value(), table);
}

TEST(AppInfoFile, StoresOneEnvironmentOnly) {
  AppInfo table = Table();
  table.envs = {{"default_ttl", "86400"}, {"rocksdb.allow_ingest_behind", "true"}};
  const std::map<std::string, std::string> kept = {{"rocksdb.allow_ingest_behind", "true"}};
  EXPECT_EQ(DecodeAppInfo(EncodeAppInfo(table))->envs, kept);
}

TEST(AppInfoFile, UnknownFieldsAreReadOverAndAbsentOnesKeepDefaults) {
  const std::string wrapper("\x08\x00\x00\xDE\xAD\xBE\xEF\x00", 8);
  const auto info = DecodeAppInfo(
      wrapper + R"({"0":{"rec":{"2":{"str":"pegasus"},"15":{"tf":1},"99":{"lst":["i32",1,7]}}}})");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->app_type, "pegasus");
  EXPECT_EQ(info->init_partition_count, -1);
}

TEST(AppInfoFile, DamageIsDataLoss) {
  const std::string good = EncodeAppInfo(Table());
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_TRUE(absl::IsDataLoss(DecodeAppInfo(good.substr(0, length)).status())) << length;
  std::string wrong_type = good;
  wrong_type.replace(wrong_type.find("\"i32\":8"), 7, "\"str\":8");
  EXPECT_FALSE(DecodeAppInfo(wrong_type).ok());
}

class StoredAppInfoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(files().CreateDirectories(kDirectory).ok());
    ASSERT_TRUE(StoreAppInfo(files(), kDirectory, Table()).ok());
  }
  FileSystem& files() { return env_.files(); }
  std::string Content() { return *ReadFile(files(), JoinPath(kDirectory, kAppInfoName)); }

  static constexpr char kDirectory[] = "/d/2.0.pegasus";
  sim::SimWorld world_{1};
  sim::SimEnvironment& env_ = world_.AddNode("r1").Start();
};

TEST_F(StoredAppInfoTest, HasAChecksumBehindWhatOlderVersionsWrite) {
  const std::string older = EncodeAppInfo(Table());
  const std::string content = Content();
  ASSERT_TRUE(content.starts_with(older));
  EXPECT_EQ(content.substr(older.size()), absl::StrFormat(" crc32c:%08x", Crc32c(older)));
  EXPECT_EQ(LoadAppInfo(files(), kDirectory).value(), Table());
}

// By a wrong count a replica owned other keys than its own, and dropped those (seed 148600608).
TEST_F(StoredAppInfoTest, NoChangedByteIsTakenForATable) {
  const std::string good = Content();
  for (size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string rotten = good;
      rotten[at] = static_cast<char>(rotten[at] ^ 1 << bit);
      EXPECT_TRUE(absl::IsDataLoss(DecodeAppInfo(rotten).status())) << at << ", bit " << bit;
    }
}

}  // namespace
}  // namespace arion
