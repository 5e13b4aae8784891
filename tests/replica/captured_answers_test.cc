// Conversations of servers of 2.5.0, as captured, in which a replica server
// of ours takes one side: it asks the very bytes that were asked then, is given the bytes that were
// answered, and gets as far. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rpc/older_servers.h"
#include "tests/replica/server_world.h"
#include "tests/rpc/captured_requests.h"

namespace arion {
namespace {

constexpr PartitionId kCaptured{2, 0};

Frame Captured(const std::string& name) {
  FrameParser parser(FrameParser::Expect::kAny);
  parser.Feed(ReadFrame("captured-2.5.0/" + name + ".hex"));
  Frame frame;
  EXPECT_EQ(parser.Next(&frame), FrameParser::Result::kFrame) << name;
  return frame;
}

// The other replica server of a conversation.
class Peer {
 public:
  Peer(sim::SimWorld& world, sim::SimNetwork& network, const char* address)
      : node_(world.AddNode("peer")),
        transport_((node_.Start(), network), node_, *Endpoint::Parse(address)) {
    transport_.SetHandler([this](InboundRequest request) {
      const std::string& name = request.header.name;
      asked[name].emplace_back(request.body);
      if (const auto found = answers.find(name); found != answers.end())
        request.responder.Reply(ErrorCode::kOk, found->second);
    });
  }
  void Say(Endpoint to, const Frame& frame) {
    OutboundRequest request{.name = frame.header.name, .body = frame.body};
    request.thread_hash = frame.header.thread_hash;
    transport_.SendOneWay(to, std::move(request));
  }

  std::map<std::string, std::vector<std::string>> asked;
  std::map<std::string, std::string> answers;

 private:
  sim::SimNode& node_;
  sim::SimTransport transport_;
};

class CapturedAnswersTest : public ReplicaServerWorld {
 protected:
  CapturedAnswersTest() {
    options_.older_servers = older_;
    options_.layout.data_directories = {{"default", "/d1/replica/reps"}};
  }
  Server& Connected(const char* address) {
    Server& server = AddServerAt(address);
    world_.RunFor(absl::Seconds(3));
    return server;
  }
  bool Comes(const std::vector<std::string>& bodies) {
    return world_.RunUntil([&] { return !bodies.empty(); }, absl::Seconds(20));
  }

  std::shared_ptr<OlderServers> older_ =
      std::make_shared<OlderServers>(OlderServers::Policy::kLetIn, client_node_);
};

// Frames 32, 24, 25, 35, 40.
TEST_F(CapturedAnswersTest, APrimaryIsMadeAndInvitesALearner) {
  REQUIRE_FIXTURE(FrameFixtures() + "/captured-2.5.0/expected.jsonl");
  Peer learner(world_, network_, "127.0.0.1:34803"), meta(world_, network_, "127.0.0.1:34601");
  Server& server = Connected("127.0.0.1:34802");
  meta_.AnswerAs(kRpcUpdateConfiguration, Captured("25_update_assign_primary_ack").body);
  meta.Say(server.address, Captured("32_proposal_assign_primary"));
  ASSERT_TRUE(Comes(meta_.Asked(kRpcUpdateConfiguration)));
  EXPECT_EQ(meta_.Asked(kRpcUpdateConfiguration)[0], Captured("24_update_assign_primary").body);
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(Snapshot(server, kCaptured).status, PartitionStatus::kPrimary);
  EXPECT_EQ(Snapshot(server, kCaptured).ballot, Ballot(1));

  meta.Say(server.address, Captured("35_proposal_add_secondary"));
  ASSERT_TRUE(Comes(learner.asked[kRpcAddLearner]));
  auto invitation = DecodeWrapped<GroupCheckRequest>(learner.asked[kRpcAddLearner][0]);
  const auto captured = DecodeWrapped<GroupCheckRequest>(Captured("40_add_learner").body);
  ASSERT_TRUE(invitation.ok() && captured.ok());
  EXPECT_GT(invitation->config.learner_signature, 0);
  invitation->config.learner_signature = captured->config.learner_signature;
  EXPECT_EQ(EncodeWrapped(*invitation), Captured("40_add_learner").body);
}

// Frames 40, 42, 43 and what follows them.
TEST_F(CapturedAnswersTest, ALearnerLearnsFromAnEmptyList) {
  REQUIRE_FIXTURE(FrameFixtures() + "/captured-2.5.0/expected.jsonl");
  Peer primary(world_, network_, "127.0.0.1:34802");
  primary.answers[kRpcLearn] = Captured("43_learn_cache_empty_ack").body;
  Server& server = Connected("127.0.0.1:34803");
  primary.Say(server.address, Captured("40_add_learner"));
  ASSERT_TRUE(Comes(primary.asked[kRpcLearn]));
  EXPECT_EQ(primary.asked[kRpcLearn][0], Captured("42_learn_cache_empty").body);
  ASSERT_TRUE(Comes(primary.asked[kRpcLearnCompletion]));
  const auto completion = DecodeWrapped<GroupCheckResponse>(primary.asked[kRpcLearnCompletion][0]);
  ASSERT_TRUE(completion.ok());
  EXPECT_EQ(completion->learner_signature, 4294967298);
  EXPECT_EQ(EncodeWrapped(*completion), primary.asked[kRpcLearnCompletion][0]);
}

// Frames 46, 47, 60, 61: the request for the files' sizes, but for where they go to.
TEST_F(CapturedAnswersTest, ALearnerAsksForACheckpointsFiles) {
  REQUIRE_FIXTURE(FrameFixtures() + "/captured-2.5.0/expected.jsonl");
  Peer primary(world_, network_, "127.0.0.1:34801");
  primary.answers[kRpcLearn] = Captured("47_learn_app_ack").body;
  primary.answers[kRpcGetFileSize] = Captured("61_nfs_get_file_size_app_ack").body;
  Server& server = Connected("127.0.0.1:34802");
  const auto asked = DecodeWrapped<LearnRequest>(Captured("46_learn_app").body);
  auto invitation = DecodeWrapped<GroupCheckRequest>(Captured("40_add_learner").body);
  ASSERT_TRUE(asked.ok() && invitation.ok());
  invitation->node = server.address;
  invitation->config.primary = *Endpoint::Parse("127.0.0.1:34801");
  invitation->config.ballot = Ballot(19);
  invitation->config.learner_signature = asked->signature;
  Frame frame = Captured("40_add_learner");
  frame.body = EncodeWrapped(*invitation);
  primary.Say(server.address, frame);
  ASSERT_TRUE(Comes(primary.asked[kRpcLearn]));
  EXPECT_EQ(primary.asked[kRpcLearn][0], Captured("46_learn_app").body);
  ASSERT_TRUE(Comes(primary.asked[kRpcGetFileSize]));
  auto sizes = DecodeWrapped<GetFileSizeRequest>(primary.asked[kRpcGetFileSize][0]);
  const auto captured =
      DecodeWrapped<GetFileSizeRequest>(Captured("60_nfs_get_file_size_app").body);
  ASSERT_TRUE(sizes.ok() && captured.ok());
  EXPECT_TRUE(Comes(primary.asked[kRpcCopyFile]));
  sizes->dst_dir = captured->dst_dir;
  EXPECT_EQ(EncodeWrapped(*sizes), Captured("60_nfs_get_file_size_app").body);
}

// Frames 20, 21.
TEST_F(CapturedAnswersTest, AnEmptyServerSaysWhatItHas) {
  REQUIRE_FIXTURE(FrameFixtures() + "/captured-2.5.0/expected.jsonl");
  meta_.AnswerAs(kRpcConfigSync, Captured("21_config_sync_empty_ack").body);
  Connected("127.0.0.1:34801");
  ASSERT_TRUE(Comes(meta_.Asked(kRpcConfigSync)));
  auto sync = DecodeWrapped<ConfigSyncRequest>(meta_.Asked(kRpcConfigSync)[0]);
  ASSERT_TRUE(sync.ok());
  sync->number = {};  // ours, under ids that 2.5.0 passes over
  sync->disks = {};
  EXPECT_EQ(EncodeWrapped(*sync), Captured("20_config_sync_empty").body);
}

// The others are read whole: they are encoded to the same bytes again.
TEST_F(CapturedAnswersTest, EachIsReadWhole) {
  REQUIRE_FIXTURE(FrameFixtures() + "/captured-2.5.0/expected.jsonl");
  int read = 0;
  for (const auto& [file, expected] : GoodFrames()) {
    if (!file.starts_with("captured-2.5.0/") || !file.ends_with("_ack.hex")) continue;
    SCOPED_TRACE(file);
    FrameParser parser(FrameParser::Expect::kAny);
    parser.Feed(ReadFrame(file));
    Frame frame;
    ASSERT_EQ(parser.Next(&frame), FrameParser::Result::kFrame);
    const std::string& name = frame.header.name;
    const auto is = [&](const char* request) { return name == std::string(request) + "_ACK"; };
    EXPECT_TRUE(
        (is(kRpcPrepare) && IsEncoded<PrepareAck>(frame.body)) ||
        (is(kRpcGroupCheck) && IsEncoded<GroupCheckResponse>(frame.body)) ||
        (is(kRpcLearn) && IsEncoded<LearnResponse>(frame.body)) ||
        (is(kRpcLearnCompletion) && IsEncoded<LearnNotifyResponse>(frame.body)) ||
        (is(kRpcGetFileSize) && IsEncoded<GetFileSizeResponse>(frame.body)) ||
        (is(kRpcCopyFile) && IsEncoded<CopyResponse>(frame.body)) ||
        (is(kRpcConfigSync) && IsEncoded<ConfigSyncResponse>(frame.body)) ||
        (is(kRpcUpdateConfiguration) && IsEncoded<ConfigurationUpdateResponse>(frame.body)) ||
        (is(kRpcBeacon) && IsEncoded<BeaconAck>(frame.body)) ||
        (is(kRpcDuplicationSync) && IsEncoded<DuplicationSyncResponse>(frame.body)))
        << name;
    ++read;
  }
  EXPECT_EQ(read, 22);
}

}  // namespace
}  // namespace arion
