// Admission by itself; with a server: tests/replica/request_admission_test.cc.
// SPDX-License-Identifier: Apache-2.0
#include "client_requests/admission.h"

#include <gmock/gmock.h>

#include "messages/table_environments.h"
#include "tests/client_requests/served_world.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class AdmissionTest : public ServedWorld {
 protected:
  Admission::Again Note(int number) {
    return [this, number](ClientRequest request) {
      gone_on_.push_back(number);
      request.responder.Reply(ErrorCode::kOk);
    };
  }
  std::vector<int> gone_on_;
};

TEST_F(AdmissionTest, SettingsFollowTheTablesDescription) {
  EXPECT_FALSE(admission_.Settings().deny);
  SetEnvironment(kEnvDenyClient, "reconfig*write");
  ASSERT_TRUE(admission_.Settings().deny);
  ClientRequest request = Request(1);
  EXPECT_TRUE(admission_.IsDenied(request, &DenyRule::writes));
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kInvalidState)));
  ClientRequest read = Request(2);
  EXPECT_FALSE(admission_.IsDenied(read, &DenyRule::reads));
  read.responder.Drop();
}

TEST_F(AdmissionTest, AThrottleDelaysAndThenRefuses) {
  SetEnvironment(kEnvWriteThrottling, "4*delay*100,8*reject*200");  // over four partitions
  int admitted = 0, refused = 0;
  Do([&] {
    for (int i = 0; i < 10; ++i) {
      ClientRequest request = Request(i);
      const auto pause = admission_.AdmitWrite(request);
      if (!pause) {
        ++refused;
      } else {
        ++admitted;
        request.responder.Drop();
      }
    }
  });
  EXPECT_GT(admitted, 0);
  EXPECT_GT(refused, 0);
  Run(absl::Seconds(1));
  for (const auto& [number, error] : Taken()) EXPECT_EQ(error, ErrorCode::kBusy);
}

TEST_F(AdmissionTest, WhatIsDelayedGoesOnAfterItsPause) {
  Do([&] { admission_.Delay(absl::Milliseconds(100), Request(1), Note(1)); });
  Run(absl::Milliseconds(50));
  EXPECT_THAT(gone_on_, IsEmpty());
  Run(absl::Milliseconds(100));
  EXPECT_THAT(gone_on_, ElementsAre(1));
}

TEST_F(AdmissionTest, WhatIsDelayedIsBoundedAndAnsweredWhenTheReplicaGoes) {
  const auto large = [&](int number) {
    return Request(number, RequestKind::kPut, std::string(40 << 20, 'x'));
  };
  Do([&] {
    admission_.Delay(absl::Seconds(1), large(1), Note(1));
    admission_.Delay(absl::Seconds(1), large(2), Note(2));
  });
  EXPECT_THAT(Taken(), ElementsAre(Pair(2, ErrorCode::kBusy)));
  owner_.reset();
  Run(absl::Seconds(2));
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kInvalidState)));
  EXPECT_THAT(gone_on_, IsEmpty());
}

TEST_F(AdmissionTest, WhatIsHeldGoesOnWhenTheConfigurationIsKnown) {
  Do([&] { admission_.Hold(Request(1), ErrorCode::kInvalidState, Note(1)); });
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kInvalidState))) << "nothing is to come";
  office_.is_between = true;
  Do([&] { admission_.Hold(Request(2), ErrorCode::kInvalidState, Note(2)); });
  EXPECT_THAT(Taken(), IsEmpty());
  office_.is_between = false;
  Do([&] { admission_.ReleaseHeld(); });
  EXPECT_THAT(gone_on_, ElementsAre(2));
}

TEST_F(AdmissionTest, WhoWasHeldLongEnoughIsAnswered) {
  office_.is_between = true;
  Do([&] { admission_.Hold(Request(1), ErrorCode::kInvalidState, Note(1)); });
  Run(HeldRequests::kAtMost + absl::Milliseconds(50));
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kInvalidState)));
  EXPECT_THAT(gone_on_, IsEmpty());
}

TEST_F(AdmissionTest, AQuotaThatIsSpentRefusesWhatTakesSpaceOnly) {
  SetEnvironment(kEnvDiskQuota, "4000");
  const auto is_over = [&](WriteCode code) {
    bool is_over = false;
    Do([&] { is_over = admission_.IsOverQuota(code, 1000); });
    return is_over;
  };
  EXPECT_FALSE(is_over(WriteCode::kPut)) << "the engine is asked first";
  Run(absl::Milliseconds(100));
  for (int i = 0; i < 5; ++i) is_over(WriteCode::kPut);
  EXPECT_TRUE(is_over(WriteCode::kPut));
  EXPECT_FALSE(is_over(WriteCode::kRemove));
  EXPECT_FALSE(is_over(WriteCode::kMultiRemove));
}

}  // namespace
}  // namespace arion
