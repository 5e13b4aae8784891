// What servers of 2.5.0 said to each other, as captured, said to a replica
// server of ours: it answers by the form of the table, byte for byte what it would encode again, and
// lives on. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/replica/server_world.h"
#include "tests/rpc/captured_requests.h"

namespace arion {
namespace {

bool IsAnswerOf(const std::string& request, const std::string& body) {
  if (request == kRpcPrepare) return IsEncoded<PrepareAck>(body);
  if (request == kRpcGroupCheck) return IsEncoded<GroupCheckResponse>(body);
  if (request == kRpcLearn) return IsEncoded<LearnResponse>(body);
  if (request == kRpcLearnCompletion) return IsEncoded<LearnNotifyResponse>(body);
  if (request == kRpcGetFileSize) return IsEncoded<GetFileSizeResponse>(body);
  return request == kRpcCopyFile && IsEncoded<CopyResponse>(body);
}

class CapturedRequestsTest : public ReplicaServerWorld {
 protected:
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
  for (const Frame& frame : CapturedRequests(AskedOf::kReplicaServer)) {
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
