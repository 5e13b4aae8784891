// Clients' reads by themselves. SPDX-License-Identifier: Apache-2.0
#include "client_requests/client_reads.h"

#include <gmock/gmock.h>

#include "messages/client_messages.h"
#include "tests/client_requests/served_world.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class ClientReadsTest : public ServedWorld {
 protected:
  void Read(int number, ReadCode code, std::string body,
            Instant deadline = Instant::InfiniteFuture()) {
    Do([&] {
      reads_.Read(code, Inbound(number, std::move(body)),
                  {.arrived = env_.clock().Now(), .deadline = deadline});
    });
  }
  void Get(int number) { Read(number, ReadCode::kGet, EncodeWrapped(Blob(Key(1)))); }
  void Count(int number) { Read(number, ReadCode::kSortKeyCount, EncodeWrapped(Blob("hash"))); }

  ClientReads reads_{partition_, admission_, env_.random()};
};

TEST_F(ClientReadsTest, OneRecordIsAnsweredFromTheCache) {
  Get(1);
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
}

TEST_F(ClientReadsTest, RangesAreReadInThePool) {
  Count(1);
  EXPECT_THAT(Taken(), IsEmpty());
  Run(absl::Seconds(1));
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
}

TEST_F(ClientReadsTest, WhatWasReadCountsOnlyIfTheOfficeIsHeldStill) {
  Count(1);
  office_.holds_lease = false;
  Run(absl::Seconds(1));
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kInvalidState)));
  Get(2);
  EXPECT_THAT(Taken(), ElementsAre(Pair(2, ErrorCode::kInvalidState)));
}

TEST_F(ClientReadsTest, WhomNobodyWaitsForAnyMoreIsNotAnswered) {
  Read(1, ReadCode::kSortKeyCount, EncodeWrapped(Blob("hash")), env_.clock().Now());
  Run(absl::Seconds(1));
  EXPECT_THAT(Taken(), IsEmpty());
}

TEST_F(ClientReadsTest, WhatDoesNotDecodeIsInvalid) {
  Read(1, ReadCode::kGet, "no request");
  Read(2, ReadCode::kMultiGet, "no request");
  Read(3, ReadCode::kScan, "no request");
  EXPECT_THAT(Taken(),
              ElementsAre(Pair(1, ErrorCode::kInvalidData), Pair(2, ErrorCode::kInvalidData),
                          Pair(3, ErrorCode::kInvalidData)));
}

TEST_F(ClientReadsTest, AScanThatIsNotKnownIsSaidSo) {
  Read(1, ReadCode::kScan, EncodeWrapped(ScanRequest{.context_id = 5}));
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
}

TEST_F(ClientReadsTest, AReadWaitsForTheConfiguration) {
  office_.read_gate = ErrorCode::kInvalidState;
  office_.is_between = true;
  Get(1);
  EXPECT_THAT(Taken(), IsEmpty());
  office_.read_gate = ErrorCode::kOk;
  office_.is_between = false;
  Do([&] { admission_.ReleaseHeld(); });
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
}

TEST_F(ClientReadsTest, WhatWasReadIsSampled) {
  for (int i = 0; i < 16; ++i) Get(i);
  EXPECT_THAT(reads_.HotKeys(), ElementsAre(Key(1)));
}

}  // namespace
}  // namespace arion
