// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_office.h"

#include "tests/replica/part_world.h"

namespace arion {
namespace {

using ReplicaOfficeTest = PartWorld;

TEST_F(ReplicaOfficeTest, TheLeaseCountsInTheTermThatWasTold) {
  EXPECT_FALSE(office_->HoldsLease()) << "nobody has told it of one";
  office_->Connect(host_->lease->term());
  EXPECT_TRUE(office_->HoldsLease());
  EXPECT_TRUE(office_->MayServe());
  host_->lease->Lose();
  host_->lease->Extend(Instant::InfiniteFuture());
  EXPECT_FALSE(office_->HoldsLease()) << "that is another term";
  office_->Connect(host_->lease->term());
  EXPECT_TRUE(office_->HoldsLease());
  office_->LoseLease();
  EXPECT_FALSE(office_->MayServe());
}

TEST_F(ReplicaOfficeTest, NothingIsServedWithoutAnEngineOrAfterTheEnd) {
  MakePrimary();
  EXPECT_EQ(office_->ReadGate(ReadKind::kPrimaryOnly), core_->ReadGate(ReadKind::kPrimaryOnly));
  const std::shared_ptr<Engine> kept = std::exchange(engine_, nullptr);
  EXPECT_EQ(office_->ReadGate(ReadKind::kPrimaryOnly), ErrorCode::kInvalidState);
  engine_ = kept;
  office_->Close();
  EXPECT_EQ(office_->ReadGate(ReadKind::kPrimaryOnly), ErrorCode::kInvalidState);
  EXPECT_FALSE(office_->IsBetweenConfigurations());
  EXPECT_FALSE(office_->IsHeld());
}

TEST_F(ReplicaOfficeTest, APrimaryMayBeOneAgainWhileItHoldsTheLease) {
  EXPECT_FALSE(office_->MayBePrimaryAgain());
  MakePrimary();
  EXPECT_TRUE(office_->MayBePrimaryAgain());
  EXPECT_TRUE(office_->IsMember());
  EXPECT_FALSE(office_->IsPrimaryOfOthers()) << "it is alone";
  office_->LoseLease();
  EXPECT_FALSE(office_->MayBePrimaryAgain());
}

TEST_F(ReplicaOfficeTest, AFullDiskIsNoticedBeforeAnythingIsLogged) {
  EXPECT_EQ(office_->SpaceGate(), ErrorCode::kOk);
  Do([&] { work_->OnNoSpace("a test", absl::ResourceExhaustedError("full")); });
  EXPECT_EQ(office_->SpaceGate(), ErrorCode::kDiskInsufficient);
}

TEST_F(ReplicaOfficeTest, WhoIsNoMemberMayLackSpace) {
  MakePrimary();
  office_->NoteSpaceOf(*Endpoint::Parse("10.0.0.7:34801"), DiskStatus::kSpaceInsufficient);
  EXPECT_EQ(office_->SpaceGate(), ErrorCode::kOk);
}

}  // namespace
}  // namespace arion
