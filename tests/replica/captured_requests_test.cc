// What servers of 2.5.0 said to each other, as captured (spec/internal-rpc.md 8.1), said to a replica
// server of ours: it answers by the form of the table, byte for byte what it would encode again, and
// lives on. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rpc/frame.h"
#include "tests/replica/server_world.h"
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
  if (request == kRpcPrepare) return Is<PrepareAck>(body);
  if (request == kRpcGroupCheck) return Is<GroupCheckResponse>(body);
  if (request == kRpcLearn) return Is<LearnResponse>(body);
  if (request == kRpcLearnCompletion) return Is<LearnNotifyResponse>(body);
  if (request == kRpcGetFileSize) return Is<GetFileSizeResponse>(body);
  return request == kRpcCopyFile && Is<CopyResponse>(body);
}

class CapturedRequestsTest : public ReplicaServerWorld {
 protected:
  // Of all that were captured and go to a replica server.
  static std::vector<Frame> Requests() {
    std::vector<Frame> requests;
    for (const auto& [name, expected] : GoodFrames()) {
      if (!name.starts_with("captured-2.5.0/") || name.ends_with("_ack.hex")) continue;
      FrameParser parser(FrameParser::Expect::kAny);
      parser.Feed(ReadFrame(name));
      Frame frame;
      EXPECT_EQ(parser.Next(&frame), FrameParser::Result::kFrame) << name;
      if (!frame.header.name.starts_with("RPC_CM_") && frame.header.name != kRpcBeacon)
        requests.push_back(std::move(frame));
    }
    return requests;
  }
  // nullopt: no answer.
  std::optional<RpcResult> Say(Server& server, const Frame& frame) {
    std::optional<RpcResult> answer;
    OutboundRequest request{.name = frame.header.name, .body = frame.body};
    request.thread_hash = frame.header.thread_hash;
    client_->Call(server.address, std::move(request), client_strand_,
                  [&answer](RpcResult result) { answer = std::move(result); });
    world_.RunUntil([&] { return answer.has_value(); }, absl::Seconds(6));
    return answer && answer->error == ErrorCode::kTimeout ? std::nullopt : answer;
  }
};

TEST_F(CapturedRequestsTest, EachIsAnsweredByTheFormOfTheTable) {
  REQUIRE_FIXTURE(FrameFixtures() + "/captured-2.5.0/expected.jsonl");
  Server& server = AddServer();
  world_.RunFor(absl::Seconds(2));  // connected
  int answered = 0, one_way = 0;
  for (const Frame& frame : Requests()) {
    const std::string& name = frame.header.name;
    SCOPED_TRACE(name);
    const std::optional<RpcResult> answer = Say(server, frame);
    if (name == kRpcAddLearner || name == kRpcConfigProposal) {
      EXPECT_FALSE(answer) << "it is one way";
      ++one_way;
      continue;
    }
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->error, ErrorCode::kOk);
    EXPECT_TRUE(IsAnswerOf(name, answer->body));
    ++answered;
  }
  EXPECT_EQ(answered, 19);
  EXPECT_EQ(one_way, 7);
  world_.RunFor(absl::Seconds(20));
  EXPECT_TRUE(server.server != nullptr);
}

}  // namespace
}  // namespace arion
