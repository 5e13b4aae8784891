// Where a request goes, and what is answered where it can't go there. What the replica does then:
// request_admission_test.cc. SPDX-License-Identifier: Apache-2.0
#include "replica_server/request_router.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "messages/replication_messages.h"
#include "messages/verification_messages.h"
#include "rpc/thrift_codec.h"
#include "stats/request_stats.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

constexpr PartitionId kAbsent{2, 3};

class RequestRouterTest : public ReplicaServerWorld {
 protected:
  // kPid's primary, alone.
  Server& Primary() {
    Server& server = AddServer();
    EXPECT_TRUE(MakePrimary(server));
    return server;
  }
  // The answer inside the answer.
  template <class Response>
  Response Said(Server& server, const char* name, const std::string& body) {
    const RpcResult result = Call(server, name, body);
    EXPECT_EQ(result.error, ErrorCode::kOk) << name;
    const auto response = DecodeWrapped<Response>(result.body);
    EXPECT_TRUE(response.ok()) << name << ": " << response.status();
    return response.value_or(Response{});
  }
  GroupCheckRequest Check(Server& server, PartitionStatus status) {
    GroupCheckRequest check{.app = meta_.app(), .node = server.address};
    check.config = {.pid = kAbsent,
                    .ballot = Ballot(3),
                    .primary = *Endpoint::Parse("10.0.0.77:34801"),
                    .status = status,
                    .learner_signature = 5};
    return check;
  }
};

TEST_F(RequestRouterTest, RequestsThatCantBeServedGetTheProtocolsErrors) {
  Server& server = Primary();
  const std::string get = EncodeWrapped(Blob(Key(1)));
  EXPECT_EQ(Call(server, kRpcGet, get, {2, 3}).error, ErrorCode::kObjectNotFound);
  EXPECT_EQ(Call(server, kRpcGet, get, {0, 0}).error, ErrorCode::kHandlerNotFound);
  for (const char* name :
       {"RPC_RRDB_RRDB_BULK_LOAD", "RPC_REPLICATION_WRITE_EMPTY", "RPC_RRDB_RRDB_MULTI"}) {
    EXPECT_EQ(Call(server, name, get).error, ErrorCode::kHandlerNotFound) << name;
  }
  EXPECT_EQ(Call(server, kRpcGet, "\x0c").error, ErrorCode::kInvalidData);
  // One member of three: too few for a write.
  EXPECT_EQ(Put(server, 1, "v"), ErrorCode::kNotEnoughMember);
  EXPECT_EQ(Put(server, 1, std::string(2 << 20, 'x')), ErrorCode::kInvalidData);
  EXPECT_EQ(server.server->requests()
                .Read(RequestBook::Level::kTable)[0]
                .counts[static_cast<size_t>(ReplicaCount::kOversizedWrites)],
            1u);
  for (const char* name : {kRpcGet, kRpcTtl}) {
    const RpcResult malformed =
        Call(server, name, EncodeWrapped(Blob(std::string("\x00\x09z", 3))));
    ASSERT_EQ(malformed.error, ErrorCode::kOk);
    EXPECT_EQ(DecodeWrapped<ReadResponse>(malformed.body)->error, 4);
  }
}

// An RPC error would count as a broken connection.
TEST_F(RequestRouterTest, OfAReplicaThatIsNotHereServersAreToldInsideTheAnswer) {
  Server& server = Primary();
  const auto count = Said<CountContentResponse>(server, kRpcCountContent,
                                                EncodeWrapped(CountContentRequest{.pid = kAbsent}));
  EXPECT_EQ(count.err, ErrorCode::kObjectNotFound);
  const auto learn =
      Said<LearnResponse>(server, kRpcLearn, EncodeWrapped(LearnRequest{.pid = kAbsent}));
  EXPECT_EQ(learn.err, ErrorCode::kObjectNotFound);
  const auto notified = Said<LearnNotifyResponse>(
      server, kRpcLearnCompletion, EncodeWrapped(GroupCheckResponse{.pid = kAbsent}));
  EXPECT_EQ(notified.err, ErrorCode::kObjectNotFound);
  EXPECT_EQ(notified.pid, kAbsent);
  const auto verified = Said<VerifyReplicasResponse>(
      server, kRpcVerifyReplicas, EncodeWrapped(VerifyReplicasRequest{.pid = kAbsent}));
  EXPECT_EQ(verified.err, ErrorCode::kObjectNotFound);
  EXPECT_EQ(verified.hint, "its replica is not open here");
}

TEST_F(RequestRouterTest, WhatDoesNotDecodeIsInvalidDataWhoeverSentIt) {
  Server& server = Primary();
  for (const char* name :
       {kRpcPrepare, kRpcGroupCheck, kRpcAddLearner, kRpcLearn, kRpcLearnCompletion,
        kRpcCountContent, kRpcVerifyReplicas, kRpcRemoveReplica, kRpcConfigProposal,
        kRpcTableChanged, kRpcQueryReplicaInfo, kRpcQueryAppInfo, kRpcGetFileSize, kRpcCopyFile})
    EXPECT_EQ(Call(server, name, "\x0c").error, ErrorCode::kInvalidData) << name;
  EXPECT_EQ(Snapshot(server).status, PartitionStatus::kPrimary) << "it is none the worse";
}

TEST_F(RequestRouterTest, ClearingAScannerIsNeverAnswered) {
  Server& server = Primary();
  const std::string scanner = EncodeWrapped(int64_t{7});
  EXPECT_EQ(Call(server, kRpcClearScanner, scanner).error, ErrorCode::kTimeout);
  EXPECT_EQ(Call(server, kRpcClearScanner, scanner, kAbsent).error, ErrorCode::kTimeout);
  EXPECT_EQ(Call(server, kRpcClearScanner, "\x0c").error, ErrorCode::kTimeout);
}

TEST_F(RequestRouterTest, AMemberThatIsNotHereSaysSoAndIsNotMade) {
  Server& server = Primary();
  for (const PartitionStatus status : {PartitionStatus::kSecondary, PartitionStatus::kInactive}) {
    const auto answer =
        Said<GroupCheckResponse>(server, kRpcGroupCheck, EncodeWrapped(Check(server, status)));
    EXPECT_EQ(answer.err, ErrorCode::kObjectNotFound);
    EXPECT_EQ(answer.pid, kAbsent);
    EXPECT_EQ(answer.node, server.address);
  }
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(CountDirectories(server, "2.3.pegasus"), 0);
}

TEST_F(RequestRouterTest, ALearnerThatIsNotHereIsMadeWhicheverWayItIsInvited) {
  Server& server = Primary();
  const auto answer = Said<GroupCheckResponse>(
      server, kRpcGroupCheck, EncodeWrapped(Check(server, PartitionStatus::kPotentialSecondary)));
  EXPECT_EQ(answer.err, ErrorCode::kOk);
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(CountDirectories(server, "2.3.pegasus"), 1);
  GroupCheckRequest other = Check(server, PartitionStatus::kPotentialSecondary);
  other.config.pid = {2, 2};
  client_->SendOneWay(server.address, {.name = kRpcAddLearner, .body = EncodeWrapped(other)});
  other.config.pid = {2, 0};
  other.config.status = PartitionStatus::kSecondary;
  client_->SendOneWay(server.address, {.name = kRpcAddLearner, .body = EncodeWrapped(other)});
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(CountDirectories(server, "2.2.pegasus"), 1);
  EXPECT_EQ(CountDirectories(server, "2.0.pegasus"), 0) << "who is to be no learner is not made";
}

TEST_F(RequestRouterTest, NoFileIsServedButWhatALearnerWasGiven) {
  Server& server = Primary();
  const std::string directory = Snapshot(server).directory;
  const auto copied = Said<CopyResponse>(
      server, kRpcCopyFile,
      EncodeWrapped(CopyRequest{.source_dir = directory, .file_name = ".init-info", .size = 10}));
  EXPECT_EQ(copied.error, ErrorCode::kObjectNotFound);
  EXPECT_TRUE(copied.file_content.bytes.empty());
  const auto sizes = Said<GetFileSizeResponse>(
      server, kRpcGetFileSize,
      EncodeWrapped(GetFileSizeRequest{.file_list = {".init-info"}, .source_dir = directory}));
  EXPECT_NE(sizes.error, 0);
}

// Only then may a dropped table be recalled.
TEST_F(RequestRouterTest, AChangedTableIsAnsweredOnceItsReplicasKnow) {
  Server& server = Primary();
  meta_.app().envs["replica.deny_client_request"] = "reconfig*all";
  const RpcResult told =
      Call(server, kRpcTableChanged, EncodeWrapped(TableChangedRequest{meta_.app()}), {0, 0});
  EXPECT_EQ(told.error, ErrorCode::kOk);
  EXPECT_EQ(Call(server, kRpcGet, EncodeWrapped(Blob(Key(1)))).error, ErrorCode::kInvalidState)
      << "the deny rule holds";
  meta_.app().app_id = 9;
  EXPECT_EQ(Call(server, kRpcTableChanged, EncodeWrapped(TableChangedRequest{meta_.app()})).error,
            ErrorCode::kOk)
      << "a table without replicas here";
}

TEST_F(RequestRouterTest, AStoppedServerSendsClientsToOthersAndAnswersNoScanner) {
  Server& server = Primary();
  bool stopped = false;
  server.server->Stop([&](const absl::Status&) { stopped = true; });
  ASSERT_TRUE(world_.RunUntil([&] { return stopped; }, absl::Seconds(60)));
  EXPECT_EQ(Call(server, kRpcGet, EncodeWrapped(Blob(Key(1)))).error, ErrorCode::kInvalidState);
  EXPECT_EQ(Call(server, "RPC_UNKNOWN", "").error, ErrorCode::kInvalidState);
  EXPECT_EQ(Call(server, kRpcClearScanner, EncodeWrapped(int64_t{7})).error, ErrorCode::kTimeout);
}

}  // namespace
}  // namespace arion
