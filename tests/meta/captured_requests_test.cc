// What replica servers of 2.5.0 said to their meta server, as captured, said
// to ours: it answers by the form of the table, byte for byte what it would encode again, and lives on.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/meta/meta_fixture.h"
#include "tests/rpc/captured_requests.h"

namespace arion {
namespace {

bool IsAnswerOf(const std::string& request, const std::string& body) {
  if (request == kRpcBeacon) return IsEncoded<BeaconAck>(body);
  if (request == kRpcConfigSync) return IsEncoded<ConfigSyncResponse>(body);
  if (request == kRpcUpdateConfiguration) return IsEncoded<ConfigurationUpdateResponse>(body);
  return request == kRpcDuplicationSync && IsEncoded<DuplicationSyncResponse>(body);
}

using CapturedRequestsTest = MetaFixture;

TEST_F(CapturedRequestsTest, EachIsAnsweredByTheFormOfTheTable) {
  REQUIRE_FIXTURE(FrameFixtures() + "/captured-2.5.0/expected.jsonl");
  ASSERT_TRUE(StartMeta().ok());
  int answered = 0;
  for (const Frame& frame : CapturedRequests(AskedOf::kMetaServer)) {
    const std::string& name = frame.header.name;
    SCOPED_TRACE(name);
    const auto reply = AskBytes(name.c_str(), frame.body);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->error, ErrorCode::kOk);
    EXPECT_TRUE(IsAnswerOf(name, reply->body));
    ++answered;
  }
  EXPECT_EQ(answered, 8);
  // Its beacon lets it take part (of what it stores nothing is known here).
  EXPECT_TRUE(Beacon(1));
}

}  // namespace
}  // namespace arion
