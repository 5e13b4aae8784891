// SPDX-License-Identifier: Apache-2.0
#include "disks/init_info.h"
#include "env/file_system.h"

#include <absl/functional/function_ref.h>
#include <gtest/gtest.h>

#include "sim/sim_environment.h"
#include "tests/support/fixtures.h"

namespace arion {
namespace {

TEST(InitInfo, A29_EncodesExactlyTheFixture) {
  const std::string path = SpecFixtures() + "/info/.init-info";
  REQUIRE_FIXTURE(path);
  const InitInfo info{.ballot = Ballot(3), .durable = Decree(0), .offset_in_shared_log = 6500};
  EXPECT_EQ(EncodeInitInfo(info), Slurp(path));
  EXPECT_EQ(DecodeInitInfo(Slurp(path)).value(), info);
}

TEST(InitInfo, ReadsExtraKeysOnlyBesideAllFour) {
  const auto with_all = DecodeInitInfo(
      R"({"crc":1,"init_ballot":7,"init_durable_decree":5,"init_offset_in_shared_log":1,"init_offset_in_private_log":9})");
  ASSERT_TRUE(with_all.ok()) << with_all.status();
  EXPECT_EQ(with_all->ballot, Ballot(7));
  EXPECT_EQ(with_all->offset_in_private_log, 9);
  EXPECT_FALSE(DecodeInitInfo(R"({"crc":1,"init_ballot":7})").ok());
}

TEST(InitInfo, WhatIsWrittenIsRead) {
  for (int bits = 0; bits < 8; ++bits) {
    const InitInfo info{.ballot = Ballot(7),
                        .durable = Decree(5),
                        .is_learner = (bits & 1) != 0,
                        .is_unborn = (bits & 2) != 0,
                        .is_foreign = (bits & 4) != 0};
    EXPECT_EQ(*DecodeInitInfo(EncodeInitInfo(info)), info);
  }
}

TEST(InitInfo, MissingKeysReadZero) {
  const auto info = DecodeInitInfo(R"({"init_ballot":7})");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(*info, InitInfo{.ballot = Ballot(7)});
}

TEST(InitInfo, DamageIsDataLoss) {
  for (const char* bytes :
       {"", "{", "[1]", "null", R"({"init_ballot":"3"})", R"({"init_ballot":1.5})",
        R"({"init_ballot":99999999999999999999})", "\0\0\0\0"})
    EXPECT_TRUE(absl::IsDataLoss(DecodeInitInfo(bytes).status())) << bytes;
  const std::string deep(100000, '[');
  EXPECT_TRUE(absl::IsDataLoss(DecodeInitInfo(deep).status()));
}

// The three ways a file may lie there: none, an older version's, one that fills its sector.
class StoredInitInfo : public testing::Test {
 protected:
  static constexpr char kDirectory[] = "/replica";
  const InitInfo old_{.ballot = Ballot(7), .durable = Decree(5)};
  const InitInfo new_{.ballot = Ballot(8), .durable = Decree(1LL << 62), .is_learner = true};

  sim::SimWorld world_{5};
  sim::SimNode& node_ = world_.AddNode("r");

  FileSystem& files() { return node_.environment().files(); }
  void Begin(bool is_of_older_version) {
    node_.Start();
    ASSERT_TRUE(files().CreateDirectories(kDirectory).ok());
    ASSERT_TRUE(is_of_older_version ? WriteFileDurably(files(), JoinPath(kDirectory, kInitInfoName),
                                                       EncodeInitInfo(old_))
                                          .ok()
                                    : StoreInitInfo(files(), kDirectory, old_).ok());
    node_.disk().MakeDurable();
  }
  InitInfo AfterCrash(sim::CrashMode mode) {
    node_.Crash(mode);
    node_.disk().Revive();
    node_.Start();
    const auto loaded = LoadInitInfo(files(), kDirectory);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.value_or(InitInfo{});
  }
  // `stores` once with each number of changes of the disk before it dies.
  static constexpr int kChangesMax = 8;
  void AtEachMoment(absl::FunctionRef<void(int changes)> stores) {
    for (const bool is_of_older_version : {true, false})
      for (int changes = 0; changes < kChangesMax; ++changes) {
        Begin(is_of_older_version);
        node_.disk().DieAfterChanges(changes, [] {});
        stores(changes);
        node_.Crash(sim::CrashMode::kPowerNone);
      }
  }
};

TEST_F(StoredInitInfo, ACrashAtAnyMomentLeavesTheOldContentOrTheNewOne) {
  AtEachMoment([this](int changes) {
    const bool is_stored = StoreInitInfo(files(), kDirectory, new_).ok();
    const InitInfo found = AfterCrash(sim::CrashMode::kPowerRandom);
    EXPECT_TRUE(found == new_ || (!is_stored && found == old_)) << changes;
    EXPECT_TRUE(is_stored || changes < kChangesMax - 1);
  });
}

TEST_F(StoredInitInfo, WhatAKilledProcessLeftInACacheIsDurableOnceSettled) {
  AtEachMoment([this](int changes) {
    (void)StoreInitInfo(files(), kDirectory, new_);
    const InitInfo found = AfterCrash(sim::CrashMode::kProcess);
    ASSERT_TRUE(SettleInitInfo(files(), kDirectory, found).ok());
    EXPECT_EQ(AfterCrash(sim::CrashMode::kPowerNone), found) << changes;
  });
}

TEST_F(StoredInitInfo, IsWrittenInPlaceOnceItFillsItsSector) {
  Begin(true);
  const std::string path = JoinPath(kDirectory, kInitInfoName);
  ASSERT_TRUE(StoreInitInfo(files(), kDirectory, old_).ok());
  const FileStatus before = *files().Stat(path);
  EXPECT_EQ(before.size, 512u);
  ASSERT_TRUE(StoreInitInfo(files(), kDirectory, new_).ok());
  EXPECT_EQ(files().Stat(path)->inode, before.inode);
  EXPECT_EQ(*LoadInitInfo(files(), kDirectory), new_);
}

}  // namespace
}  // namespace arion
