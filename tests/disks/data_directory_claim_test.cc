// SPDX-License-Identifier: Apache-2.0
#include "disks/data_directory_claim.h"

#include <gtest/gtest.h>

#include "sim/sim_environment.h"

namespace arion {
namespace {

constexpr char kPath[] = "/d/reps";
constexpr char kOwner[] = "/d/reps/.arion-server";
const Endpoint kServer = *Endpoint::Parse("10.0.0.1:34801");
const Endpoint kOther = *Endpoint::Parse("10.0.0.2:34801");

class DataDirectoryClaimTest : public testing::Test {
 protected:
  using Claimed = absl::StatusOr<std::unique_ptr<DataDirectoryClaim>>;

  FileSystem& files() { return node_.environment().files(); }
  Claimed Claim(Endpoint server = kServer) {
    return DataDirectoryClaim::Claim(files(), kPath, server);
  }
  void Write(const std::string& path, const std::string& content) {
    ASSERT_TRUE(CreateDirectoryDurably(files(), kPath).ok());
    ASSERT_TRUE(WriteFileDurably(files(), path, content).ok());
  }
  std::string Content(const std::string& path) {
    return ReadFile(files(), path).value_or("not there");
  }
  // What the first claim writes.
  std::string OwnersLines() {
    EXPECT_TRUE(Claim().ok());
    return Content(kOwner);
  }

  sim::SimWorld world_{1};
  sim::SimNode& node_ = world_.AddNode("r1");
  sim::SimEnvironment& env_ = node_.Start();
};

TEST_F(DataDirectoryClaimTest, TheFirstMakesTheDirectoryAndSaysWhoseItIs) {
  const Claimed claim = Claim();
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(Content(kOwner).substr(0, 15), "10.0.0.1:34801\n");
  EXPECT_EQ(files().List(kPath)->size(), 2u) << "the lock and the owner: the probe is gone";
}

TEST_F(DataDirectoryClaimTest, WhatItWroteOutlivesAPowerCut) {
  const std::string lines = OwnersLines();
  node_.Crash(sim::CrashMode::kPowerNone);
  node_.Start();
  EXPECT_EQ(Content(kOwner), lines);
  EXPECT_TRUE(Claim().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Claim(kOther).status()));
}

TEST_F(DataDirectoryClaimTest, OneAtATimeHoldsIt) {
  Claimed first = Claim();
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Claim().status()));
  first->reset();
  EXPECT_TRUE(Claim().ok());
}

TEST_F(DataDirectoryClaimTest, AnotherServersIsRefusedAndStaysItsOwn) {
  const std::string lines = OwnersLines();
  const absl::Status refused = Claim(kOther).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  for (const char* told : {kPath, "10.0.0.1:34801", "10.0.0.2:34801", "then remove /d/reps/"})
    EXPECT_NE(refused.message().find(told), absl::string_view::npos) << refused << ": " << told;
  EXPECT_EQ(Content(kOwner), lines);
  EXPECT_TRUE(Claim().ok()) << "a refused claim holds no lock";
}

TEST_F(DataDirectoryClaimTest, TheOwnersFirstLineAloneIsEnough) {
  Write(kOwner, "10.0.0.2:34801\n");
  EXPECT_TRUE(absl::IsFailedPrecondition(Claim().status()));
  EXPECT_TRUE(Claim(kOther).ok());
}

TEST_F(DataDirectoryClaimTest, ADamagedOwnerIsKeptAsideAndWrittenAnew) {
  const std::string good = OwnersLines();
  std::string flipped = good;
  flipped[7] = '3';  // 10.0.0.3, which the checksum does not bear out
  for (const std::string& bad : {flipped, std::string("nobody\n"), std::string()}) {
    Write(kOwner, bad);
    const Claimed claim = Claim();
    ASSERT_TRUE(claim.ok()) << claim.status();
    EXPECT_EQ(Content(kOwner), good);
    EXPECT_EQ(Content(std::string(kOwner) + ".damaged"), bad);
  }
}

TEST_F(DataDirectoryClaimTest, WhatAnOlderVersionEncryptedIsRefusedUntouched) {
  Write("/d/reps/.kms-info", "{}");
  const absl::Status refused = Claim().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_NE(refused.message().find(".kms-info"), absl::string_view::npos);
  EXPECT_FALSE(Exists(files(), kOwner));
}

TEST_F(DataDirectoryClaimTest, AFullDiskStillServesWhatItHolds) {
  const std::string lines = OwnersLines();
  node_.disk().SetFreeBytes(0);
  EXPECT_TRUE(Claim().ok());
  EXPECT_EQ(Content(kOwner), lines);
}

TEST_F(DataDirectoryClaimTest, OnAFullDiskTheOwnerIsWrittenByALaterStart) {
  Write("/d/reps/.arion-lock", "");
  node_.disk().SetFreeBytes(0);
  EXPECT_TRUE(Claim().ok());
  EXPECT_FALSE(Exists(files(), kOwner));
  node_.disk().SetFreeBytes(UINT64_MAX);
  EXPECT_TRUE(Claim().ok());
  EXPECT_TRUE(Exists(files(), kOwner));
}

TEST_F(DataDirectoryClaimTest, ADiskThatTakesNoWriteIsNotClaimed) {
  OwnersLines();
  node_.disk().FailWrites(1);
  const absl::Status failed = Claim().status();
  EXPECT_FALSE(failed.ok());
  EXPECT_NE(failed.message().find(kPath), absl::string_view::npos) << failed;
  EXPECT_TRUE(Claim().ok()) << "a failed claim holds no lock";
}

TEST_F(DataDirectoryClaimTest, AnotherUsersDirectoryIsPermissionDenied) {
  OwnersLines();
  node_.disk().FailCalls(kPath, sim::DiskTrouble::kNotPermitted, 100);
  EXPECT_TRUE(absl::IsPermissionDenied(Claim().status())) << Claim().status();
}

}  // namespace
}  // namespace arion
