// SPDX-License-Identifier: Apache-2.0
#include "meta/store_guard.h"

#include <gtest/gtest.h>

#include "env/file_system.h"
#include "tests/meta/part_fixture.h"

namespace arion {
namespace {

class StoreGuardTest : public PartFixture {
 protected:
  // What `done` heard, or nullopt.
  std::optional<absl::Status> Commit(absl::Status stored, StoreNeed need = StoreNeed::kToServe) {
    std::optional<absl::Status> heard;
    OnStrand([&] {
      store_.Commit({{"/a", "1"}}, need, [&](const absl::Status& status) {
        heard = status;
        was_failed_when_heard_ = store_.is_failed();
      });
    });
    AnswerStore(std::move(stored));
    return heard;
  }
  bool was_failed_when_heard_ = false;
};

TEST_F(StoreGuardTest, WhatCanNotBeWrittenNowIsNoFailure) {
  EXPECT_TRUE(Commit(absl::OkStatus())->ok());
  EXPECT_TRUE(absl::IsUnavailable(*Commit(absl::UnavailableError("no"))));
  EXPECT_FALSE(store_.is_failed());
  EXPECT_TRUE(absl::IsUnavailable(store_.failure()));
  EXPECT_TRUE(store_.CanStore(env_.clock().Now())) << "nobody asked to wait";
  EXPECT_EQ(store_.WhyNoTableChange(), ErrorCode::kOk);
  EXPECT_TRUE(Commit(absl::OkStatus())->ok());
  EXPECT_TRUE(store_.failure().ok());
}

TEST_F(StoreGuardTest, WhoGaveAChangeUpLetsTheGuardianWait) {
  OnStrand([&] { store_.RetryLater(); });
  EXPECT_FALSE(store_.CanStore(env_.clock().Now()));
  EXPECT_TRUE(store_.CanStore(store_.retry_at()));
  world_.RunFor(StoreGuard::kRetryDelay);
  EXPECT_TRUE(store_.CanStore(env_.clock().Now()));
}

TEST_F(StoreGuardTest, AFailedSyncIsForGoodAndKnownBeforeItIsHeard) {
  EXPECT_TRUE(absl::IsDataLoss(*Commit(absl::DataLossError("sync"), StoreNeed::kWhileRoom)));
  EXPECT_TRUE(was_failed_when_heard_);
  EXPECT_TRUE(absl::IsDataLoss(store_.failure()));
  EXPECT_EQ(store_.WhyNoTableChange(), ErrorCode::kFileOperationFailed);
  Commit(absl::OkStatus());
  EXPECT_TRUE(store_.is_failed());
  EXPECT_FALSE(store_.CanStore(env_.clock().Now() + absl::Hours(1)));
}

TEST_F(StoreGuardTest, AFullDiskRefusesTablesUntilALookFindsRoom) {
  const absl::Status full = absl::ResourceExhaustedError("full");
  ASSERT_TRUE(LacksSpace(full));
  Commit(full, StoreNeed::kWhileRoom);
  EXPECT_EQ(StoreGuard::ErrorOf(full), ErrorCode::kDiskInsufficient);
  EXPECT_EQ(store_.WhyNoTableChange(), ErrorCode::kDiskInsufficient);
  EXPECT_TRUE(store_.failure().ok()) << "what serves was stored";
  OnStrand([&] { store_.RetryLater(); });
  OnStrand([&] { store_.Look(); });
  world_.RunFor(absl::Milliseconds(10));
  EXPECT_EQ(has_room_, 1);
  EXPECT_EQ(store_.WhyNoTableChange(), ErrorCode::kOk);
  EXPECT_TRUE(store_.CanStore(env_.clock().Now())) << "tried at once";
}

// It may be stored: the answer is for the one that leads now to give.
TEST_F(StoreGuardTest, WhatALeaderLeavesBehindIsAnsweredByNobody) {
  EXPECT_EQ(Commit(absl::CancelledError("another one leads")), std::nullopt);
  EXPECT_TRUE(store_.is_failed());
}

TEST_F(StoreGuardTest, WhatIsTooMuchIsRefusedAlone) {
  EXPECT_TRUE(absl::IsInvalidArgument(*Commit(absl::InvalidArgumentError("1 MiB"))));
  EXPECT_FALSE(store_.is_failed());
  EXPECT_TRUE(store_.failure().ok());
  EXPECT_EQ(StoreGuard::ErrorOf(absl::InvalidArgumentError("1 MiB")),
            ErrorCode::kInvalidParameters);
}

TEST_F(StoreGuardTest, LooksEachSecondUntilItIsStopped) {
  OnStrand([&] { store_.Look(); });
  world_.RunFor(3 * StoreGuard::kLookInterval + absl::Milliseconds(10));
  EXPECT_EQ(played_.looks, 4);
  EXPECT_EQ(has_room_, 0);
  OnStrand([&] { store_.Stop(); });
  world_.RunFor(absl::Seconds(10));
  EXPECT_EQ(played_.looks, 5) << "the one that was due";
}

TEST_F(StoreGuardTest, NothingIsHeardOnceTheOwnerIsGone) {
  bool is_heard = false;
  OnStrand([&] {
    store_.Commit({}, StoreNeed::kToServe, [&](const absl::Status&) { is_heard = true; });
  });
  owner_.reset();
  AnswerStore();
  EXPECT_FALSE(is_heard);
}

}  // namespace
}  // namespace arion
