// SPDX-License-Identifier: Apache-2.0
#include "client_requests/owned_keys.h"

#include "client_requests/client_reads.h"
#include "tests/client_requests/served_world.h"

namespace arion {
namespace {

class OwnedKeysTest : public ServedWorld {
 protected:
  void Consider() {
    Do([&] { owned_.Consider(); });
  }
  int32_t Due() {
    int32_t count = 0;
    Do([&] { count = owned_.DueCompaction(); });
    return count;
  }
  bool AreOthersThere() { return partition_.figures().Read(env_.clock().Now()).others_there; }
  void BeginScan() {
    Do([&] {
      reads_.Read(ReadCode::kGetScanner,
                  Inbound(1, EncodeWrapped(GetScannerRequest{.start_key = std::string(2, '\0'),
                                                             .stop_key = "\xff\xff",
                                                             .start_inclusive = true,
                                                             .batch_size = 1})),
                  {.arrived = env_.clock().Now()});
    });
    Run(absl::Seconds(1));
  }

  int told_ = 0;
  ClientReads reads_{partition_, admission_, env_.random()};
  OwnedKeys owned_{partition_, admission_, reads_, [this] { ++told_; }};
};

TEST_F(OwnedKeysTest, TheEngineHearsOfASplitAndACompactionIsDueOnce) {
  Consider();
  EXPECT_EQ(Due(), 0);
  EXPECT_EQ(told_, 0);
  Split(8);
  Consider();
  EXPECT_EQ(engine_->ownership(), (KeyOwnership{.index = 1, .count = 8}));
  EXPECT_EQ(told_, 1);
  EXPECT_EQ(Due(), 8);
  EXPECT_TRUE(AreOthersThere());
  ASSERT_TRUE(engine_->NoteCompactedFor(8).ok());
  EXPECT_EQ(Due(), 0);
  EXPECT_FALSE(AreOthersThere());
  Consider();
  EXPECT_EQ(told_, 1);
}

TEST_F(OwnedKeysTest, WhatNoMetaServerOfOursHasToldDropsNothing) {
  Split(8);
  office_.table.version.reset();
  ++office_.serial;
  Consider();
  EXPECT_EQ(engine_->ownership(), KeyOwnership());
  EXPECT_EQ(Due(), 0);
}

TEST_F(OwnedKeysTest, ATableThatNeverWasSplitIsNotCompacted) {
  office_.table.version = 1;
  SetEnvironment(kEnvValidatePartitionHash, "true");
  Consider();
  EXPECT_EQ(engine_->ownership(), (KeyOwnership{.index = 1, .count = 4}));
  EXPECT_EQ(Due(), 0);
  EXPECT_FALSE(AreOthersThere());
}

TEST_F(OwnedKeysTest, ScansBegunBeforeTheSplitEndFirst) {
  Apply(JoinRawKey(kStays, "s"), "v");
  Apply(JoinRawKey(kMoves, "s"), "v");
  BeginScan();
  Split(8);
  Consider();
  EXPECT_EQ(engine_->ownership(), KeyOwnership());
  EXPECT_EQ(Due(), 0) << "nothing would go";
  EXPECT_TRUE(AreOthersThere());
  Run(ScannerTable::kLifetime + OwnedKeys::kLookAgain + absl::Seconds(1));
  EXPECT_EQ(engine_->ownership(), (KeyOwnership{.index = 1, .count = 8}));
  EXPECT_EQ(told_, 1);
}

TEST_F(OwnedKeysTest, WhereItIsNotWantedAnyMoreAllKeysStayAtOnce) {
  Split(8);
  Consider();
  Apply(JoinRawKey(kStays, "s"), "v");
  Apply(JoinRawKey(kStays, "t"), "v");
  BeginScan();
  SetEnvironment(kEnvValidatePartitionHash, "false");
  Consider();
  EXPECT_EQ(engine_->ownership(), (KeyOwnership{.index = 1}));
}

TEST_F(OwnedKeysTest, AnOperatorsBrakeStopsTheCompaction) {
  Split(8);
  SetEnvironment(kEnvCompactDisabled, "true");
  Consider();
  EXPECT_EQ(Due(), 0);
  EXPECT_TRUE(AreOthersThere());
}

TEST_F(OwnedKeysTest, AnotherEngineIsToldAnew) {
  Split(8);
  Consider();
  const std::shared_ptr<Engine> former = std::exchange(engine_, nullptr);
  Consider();
  EXPECT_EQ(Due(), 0);
  auto other = engines_.Open("/d1/other");
  ASSERT_TRUE(other.ok()) << other.status();
  engine_ = *std::move(other);
  Consider();
  EXPECT_EQ(engine_->ownership(), (KeyOwnership{.index = 1, .count = 8}));
}

}  // namespace
}  // namespace arion
