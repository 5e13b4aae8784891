// What replica servers of 2.5.0 said to their meta server, as captured (spec/internal-rpc.md 8.1), said
// to ours: it answers by the form of the table, byte for byte what it would encode again, and lives on.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rpc/frame.h"
#include "tests/meta/meta_fixture.h"
#include "tests/rpc/fixtures.h"

namespace arion {
namespace {

// Whether the bytes are a T as it is encoded.
template <class T>
bool Is(const std::string& body) {
  const absl::StatusOr<T> value = DecodeWrapped<T>(body);
  return value.ok() && EncodeWrapped(*value) == body;
}

bool IsAnswerOf(const std::string& request, const std::string& body) {
  if (request == kRpcBeacon) return Is<BeaconAck>(body);
  if (request == kRpcConfigSync) return Is<ConfigSyncResponse>(body);
  if (request == kRpcUpdateConfiguration) return Is<ConfigurationUpdateResponse>(body);
  return request == kRpcDuplicationSync && Is<DuplicationSyncResponse>(body);
}

using CapturedRequestsTest = MetaFixture;

TEST_F(CapturedRequestsTest, EachIsAnsweredByTheFormOfTheTable) {
  REQUIRE_FIXTURE(FrameFixtures() + "/captured-2.5.0/expected.jsonl");
  ASSERT_TRUE(StartMeta().ok());
  int answered = 0;
  for (const auto& [file, expected] : GoodFrames()) {
    if (!file.starts_with("captured-2.5.0/") || file.ends_with("_ack.hex")) continue;
    SCOPED_TRACE(file);
    FrameParser parser(FrameParser::Expect::kAny);
    parser.Feed(ReadFrame(file));
    Frame frame;
    ASSERT_EQ(parser.Next(&frame), FrameParser::Result::kFrame);
    const std::string& name = frame.header.name;
    if (!name.starts_with("RPC_CM_") && name != kRpcBeacon) continue;
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
