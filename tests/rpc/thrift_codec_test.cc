// SPDX-License-Identifier: Apache-2.0
#include "rpc/thrift_codec.h"
#include "messages/replication_messages.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/coding.h"
#include "messages/admin_messages.h"
#include "messages/client_messages.h"
#include "messages/duplicate_messages.h"
#include "messages/duplication_messages.h"
#include "messages/split_messages.h"
#include "messages/tool_messages.h"
#include "rpc/admin_token.h"
#include "rpc/frame.h"
#include "tests/rpc/fixtures.h"

namespace arion {
namespace {

Frame ParseFrame(const std::string& name) {
  FrameParser parser(FrameParser::Expect::kAny);
  parser.Feed(ReadFrame(name));
  Frame frame;
  EXPECT_EQ(parser.Next(&frame), FrameParser::Result::kFrame) << name << ": " << parser.error();
  return frame;
}

PeerGeneration GenerationOf(const std::string& name) {
  return name.find(".g26.") != std::string::npos ? PeerGeneration::k26 : PeerGeneration::k25;
}

template <class T>
std::string Again(std::string_view body, PeerGeneration generation) {
  absl::StatusOr<T> value = DecodeWrapped<T>(body, HostPortTwins::kKeep);
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() ? EncodeWrapped(*value, generation) : "";
}

// The fixtures' names of types.
const std::map<std::string, std::function<std::string(std::string_view, PeerGeneration)>>& Types() {
  static const std::map<std::string, std::function<std::string(std::string_view, PeerGeneration)>>
      types = {
          {"blob", Again<Blob>},
          {"string", Again<std::string>},
          {"rpc_address", Again<Endpoint>},
          {"replica_configuration", Again<ReplicaConfiguration>},
          {"prepare_ack", Again<PrepareAck>},
          {"group_check_request", Again<GroupCheckRequest>},
          {"group_check_response", Again<GroupCheckResponse>},
          {"learn_request", Again<LearnRequest>},
          {"learn_response", Again<LearnResponse>},
          {"learn_notify_response", Again<LearnNotifyResponse>},
          {"get_file_size_request", Again<GetFileSizeRequest>},
          {"get_file_size_response", Again<GetFileSizeResponse>},
          {"copy_request", Again<CopyRequest>},
          {"copy_response", Again<CopyResponse>},
          {"beacon_msg", Again<BeaconMessage>},
          {"beacon_ack", Again<BeaconAck>},
          {"configuration_update_request", Again<ConfigurationUpdateRequest>},
          {"configuration_update_response", Again<ConfigurationUpdateResponse>},
          {"configuration_query_by_node_request", Again<ConfigSyncRequest>},
          {"configuration_query_by_node_response", Again<ConfigSyncResponse>},
          {"duplication_sync_request", Again<DuplicationSyncRequest>},
          {"duplication_sync_response", Again<DuplicationSyncResponse>},
          {"query_cfg_request", Again<QueryConfigRequest>},
          {"query_cfg_response", Again<QueryConfigResponse>},
          {"command", Again<CommandRequest>},
          {"negotiation_request", Again<NegotiationRequest>},
          {"negotiation_response", Again<NegotiationResponse>},
          {"query_replica_decree_request", Again<QueryDecreeRequest>},
          {"query_replica_decree_response", Again<QueryDecreeResponse>},
          {"query_replica_info_request", Again<QueryReplicaInfoRequest>},
          {"query_replica_info_response", Again<QueryReplicaInfoResponse>},
          {"query_app_info_request", Again<QueryAppInfoRequest>},
          {"query_app_info_response", Again<QueryAppInfoResponse>},
      };
  return types;
}

TEST(ThriftCodecTest, EveryRecordedFrameIsDecodedAndEncodedToTheSameBytes) {
  REQUIRE_FIXTURE(FrameFixtures());
  int decoded = 0;
  for (const auto& [name, expected] : GoodFrames()) {
    SCOPED_TRACE(name);
    Frame frame = ParseFrame(name);
    if (expected.parts.empty()) {
      EXPECT_EQ(frame.body, "");
    } else if (frame.header.name == kRpcPrepare) {
      auto request = DecodePrepare(frame.body, HostPortTwins::kKeep);
      ASSERT_TRUE(request.ok()) << request.status();
      EXPECT_EQ(EncodePrepare(*request, GenerationOf(name)), frame.body);
    } else {
      auto type = Types().find(expected.parts[0][0].get<std::string>());
      ASSERT_NE(type, Types().end()) << expected.parts[0][0];
      EXPECT_EQ(type->second(frame.body, GenerationOf(name)), frame.body);
    }
    ++decoded;
  }
  EXPECT_EQ(decoded, 136);
}

TEST(ThriftCodecTest, ValuesOfRecordedFramesAreThoseExpected) {
  REQUIRE_FIXTURE(FrameFixtures());
  auto prepare = DecodePrepare(ParseFrame("04_prepare_to_learner.g25.hex").body);
  ASSERT_TRUE(prepare.ok());
  EXPECT_EQ(prepare->pid, (PartitionId{2, 3}));
  EXPECT_EQ(prepare->config.ballot, Ballot(7));
  EXPECT_EQ(prepare->config.primary.ToString(), "10.0.0.1:34801");
  EXPECT_EQ(prepare->config.status, PartitionStatus::kPotentialSecondary);
  EXPECT_EQ(prepare->config.learner_signature, 30064771073);
  EXPECT_TRUE(prepare->config.pop_all);
  EXPECT_EQ(prepare->mutation->decree, Decree(101));
  EXPECT_EQ(prepare->mutation->last_committed, Decree(100));
  EXPECT_EQ(prepare->mutation->timestamp_us, 1640995200000001);
  ASSERT_EQ(prepare->mutation->updates.size(), 2u);
  EXPECT_EQ(prepare->mutation->updates[1].code, WriteCode::kRemove);
  EXPECT_EQ(DecodeWrapped<UpdateRequest>(prepare->mutation->updates[0].data)->value.bytes, "v1");

  auto ack = DecodeWrapped<PrepareAck>(ParseFrame("x02_prepare_ack_with_extension.hex").body);
  EXPECT_EQ(ack->decree, Decree(101));
  EXPECT_EQ(ack->last_committed_decree_in_prepare_list, Decree(100));
  EXPECT_EQ(ack->durability, 2);
  EXPECT_EQ(ack->synced_decree, Decree(101));

  auto sync = DecodeWrapped<ConfigSyncRequest>(ParseFrame("33_config_sync.g26.hex").body);
  ASSERT_EQ(sync->stored_replicas->size(), 1u);
  EXPECT_EQ(sync->stored_replicas->at(0).disk_tag, "ssd1");
  EXPECT_EQ(sync->node.ToString(), "10.0.0.2:34801");
  EXPECT_FALSE(sync->hp_node.has_value()) << "the twin stays with the codec";

  auto learn = DecodeWrapped<LearnResponse>(ParseFrame("21_learn_response_app.g25.hex").body);
  EXPECT_EQ(learn->type, LearnType::kApp);
  EXPECT_EQ(learn->prepare_start_decree, Decree(-1));
  EXPECT_FALSE(learn->state.files.empty());
  EXPECT_FALSE(learn->state.learn_start_decree.has_value());

  auto query =
      DecodeWrapped<QueryConfigResponse>(ParseFrame("71_client_query_cfg_response.g25.hex").body);
  ASSERT_EQ(query->partitions.size(), 1u);
  EXPECT_EQ(query->partitions[0].secondaries[1].ToString(), "10.0.0.3:34801");
  EXPECT_TRUE(query->is_stateful);

  auto command = DecodeWrapped<CommandRequest>(ParseFrame("60_remote_command.hex").body);
  EXPECT_EQ(command->cmd, "server-info");
  auto forward = DecodeWrapped<Endpoint>(ParseFrame("72_forward_to_others.hex").body);
  EXPECT_EQ(forward->ToString(), "10.0.0.10:34601");
}

TEST(ThriftCodecTest, BadBodiesAreRefusedByName) {
  REQUIRE_FIXTURE(FrameFixtures());
  auto n07 = ParseFrame("n07_truncated_body_struct.hex");
  EXPECT_FALSE(DecodeWrapped<GroupCheckRequest>(n07.body).ok());
  EXPECT_EQ(DecodeWrapped<GroupCheckRequest>("").status().code(),
            absl::StatusCode::kInvalidArgument);
  auto n09 = ParseFrame("n09_address_type_3.hex");
  auto refused = DecodeWrapped<BeaconMessage>(n09.body);
  ASSERT_FALSE(refused.ok()) << n09.header.name;
  auto n10 = ParseFrame("n10_prepare_unknown_code.hex");
  EXPECT_FALSE(DecodePrepare(n10.body).ok());
  EXPECT_EQ(*PreparePid(n10.body), (PartitionId{2, 3}));
  auto n11 = DecodePrepare(ParseFrame("n11_prepare_ballot_mismatch.hex").body);
  EXPECT_NE(n11.status().message().find("ballots 6 and 7"), absl::string_view::npos)
      << n11.status();
}

// As captured.
TEST(ThriftCodecTest, ArgumentsOfRealClientsAreRead) {
  auto put = DecodeWrapped<UpdateRequest>(
      FromHex("0c0001 0c0001 00000006 000268317331 0c0002 00000002 7631 080003 147b5290 00 00"));
  EXPECT_EQ(put->key.bytes, FromHex("000268317331"));
  EXPECT_EQ(put->value.bytes, "v1");
  EXPECT_EQ(put->expire_ts_seconds, 0x147b5290);
  auto query =
      DecodeWrapped<QueryConfigRequest>(FromHex("0c0001 0b0001 00000004 74656d70 00 00"));  // Node
  EXPECT_EQ(query->app_name, "temp");
  EXPECT_TRUE(query->partition_indices.empty());
  auto create = DecodeWrapped<CreateAppRequest>(
      FromHex("0c0001 0b0001 00000005 74656d7032 0c0002 080001 00000004 080002 00000003 020003 01 "
              "0b0004 00000007 "
              "70656761737573 020005 01 0d0006 0b 0b 00000000 00 00 00"));
  EXPECT_EQ(create->app_name, "temp2");
  EXPECT_EQ(create->options.partition_count, 4);
  EXPECT_EQ(create->options.replica_count, 3);
  EXPECT_TRUE(create->options.success_if_exist);
  EXPECT_EQ(create->options.app_type, "pegasus");
  EXPECT_TRUE(create->options.is_stateful);
  auto drop = DecodeWrapped<DropAppRequest>(FromHex(
      "0c0001 0b0001 00000005 74656d7032 0c0002 020001 01 0a0002 0000000000015180 00 00 00"));
  EXPECT_EQ(drop->options.reserve_seconds, 86400);
  EXPECT_EQ(*DecodeWrapped<int64_t>(FromHex("0a0001 000000000000004d 00")), 77);
  // The form of 2.5.0's tools.
  auto split = DecodeWrapped<StartSplitRequest>(
      FromHex("0c0001 0b0001 00000005 74656d7032 080002 00000008 00 00"));
  EXPECT_EQ(*split, (StartSplitRequest{"temp2", 8}));
  auto control = DecodeWrapped<ControlSplitRequest>(FromHex(
      "0c0001 0b0001 00000005 74656d7032 080002 00000002 080003 ffffffff 080004 00000004 00 00"));
  EXPECT_EQ(*control, (ControlSplitRequest{"temp2", 2, -1, 4}));
}

TEST(ThriftCodecTest, DuplicationsAreAddedAndShownAsIn250) {
  auto add = DecodeWrapped<AddDuplicationRequest>(
      FromHex("0c0001 0b0001 00000005 74656d7032 0b0002 00000002 6332 020003 01 00 00"));
  EXPECT_EQ(*add, (AddDuplicationRequest{"temp2", "c2", true}));
  auto modify = DecodeWrapped<ModifyDuplicationRequest>(
      FromHex("0c0001 0b0001 00000005 74656d7032 080002 00000007 080003 00000004 00 00"));
  EXPECT_EQ(*modify, (ModifyDuplicationRequest{"temp2", 7, 4}));
  // Field 2 is none.
  EXPECT_EQ(EncodeWrapped(QueryDuplicationResponse{.appid = 3}),
            FromHex("0c0000 0c0001 00000006 4552525f4f4b 080003 00000003 0f0004 0c 00000000 "
                    "00 00"));
  DuplicationEntry entry{.dupid = 7, .status = 3, .remote = "c2", .create_ts = 5, .fail_mode = 1};
  entry.partition_states.emplace()[0] = {10, 15};
  entry.troubles.emplace()[0] = "no way";
  entry.unconfirmed_bytes.emplace()[0] = 100;
  entry.oldest_unconfirmed_us.emplace()[0] = 5;
  entry.trouble = "wait";
  const ListDuplicationsResponse list{.app_states = {{"t", {3, {{7, entry}}, "t", 4}}}};
  EXPECT_EQ(*DecodeWrapped<ListDuplicationsResponse>(EncodeWrapped(list)), list);
  const DuplicationSyncRequest sync{.node = {1, 2},
                                    .confirm_list = {{{3, 0},
                                                      {{.dupid = 7,
                                                        .confirmed_decree = 10,
                                                        .checkpoint_prepared = true,
                                                        .last_committed_decree = 15,
                                                        .trouble = "no way",
                                                        .oldest_unconfirmed_us = 5,
                                                        .unconfirmed_bytes = 100}}}}};
  EXPECT_EQ(DecodeWrapped<DuplicationSyncRequest>(EncodeWrapped(sync))->confirm_list,
            sync.confirm_list);
}

TEST(ThriftCodecTest, HowFarASplitIsIsToldAsIn250) {
  const QuerySplitResponse response{.new_partition_count = 8, .status = {{1, 3}}, .hint_msg = "h"};
  const std::string expected = FromHex(
      "0c0000 0c0001 00000006 4552525f4f4b 080002 00000008 0d0003 08 08 00000001 00000001 00000003 "
      "0b0004 00000001 68 00 00");
  EXPECT_EQ(EncodeWrapped(response), expected);
}

TEST(ThriftCodecTest, ResultsAreThoseThatClientsAccepted) {
  EXPECT_EQ(
      EncodeWrapped(UpdateResponse{.app_id = 2, .decree = 7, .server = "127.0.0.1:34601"}),
      FromHex("0c0000 080001 00000000 080002 00000002 080003 00000000 0a0004 0000000000000007 "
              "0b0005 0000000f 3132372e302e302e313a3334363031 00 00"));
  EXPECT_EQ(EncodeWrapped(TtlResponse{.ttl_seconds = -1, .app_id = 2, .server = "127.0.0.1:34601"}),
            FromHex("0c0000 080001 00000000 080002 ffffffff 080003 00000002 080004 00000000 "
                    "0b0006 0000000f 3132372e302e302e313a3334363031 00 00"));
  Endpoint meta2 = *Endpoint::Parse("127.0.0.1:34602");
  QueryConfigResponse forward{.err = ErrorCode::kForwardToOthers,
                              .partitions = {{.primary = meta2}}};
  EXPECT_EQ(
      EncodeWrapped(forward),
      FromHex(
          "0c0000 0c0001 00000015 4552525f464f52574152445f544f5f4f5448455253 080002 00000000 "
          "080003 00000000 "
          "020004 00 0f0005 0c 00000001 0c0001 0000000000000000 0a0002 0000000000000000 080003 "
          "00000000 "
          "0c0004 7f000001872a0001 0f0005 0c 00000000 0f0006 0c 00000000 0a0007 0000000000000000 "
          "080008 00000000 00 00 00"));
}

// As servers of 2.5.0 send it: PUT of h1:s1 in cluster 2, and its answers.
TEST(ThriftCodecTest, DuplicatesAreThoseOf250) {
  const std::string put =
      "0c0000 0c0001 00000006 000268317331 0c0002 00000001 76 080003 00000000 00 00";
  const DuplicateRequest request{{{.timestamp_us = 1'700'000'000'000'000,
                                   .task_code = Blob("RPC_RRDB_RRDB_PUT"),
                                   .raw_message = Blob(FromHex(put)),
                                   .cluster_id = int8_t{2}}}};
  const std::string bytes = FromHex(
      "0c0000 0f0001 0c 00000001 0a0001 00060a24181e4000 "
      "0c0002 00000011 5250435f525244425f525244425f505554 0c0003 00000021 " +
      put + "030004 02 00 00 00");
  EXPECT_EQ(EncodeWrapped(request), bytes);
  EXPECT_EQ(*DecodeWrapped<DuplicateRequest>(bytes), request);
  EXPECT_EQ(EncodeWrapped(DuplicateResponse{.error = 0}), FromHex("0c0000 080001 00000000 00 00"));
  EXPECT_EQ(EncodeWrapped(DuplicateResponse{.error = 4, .error_hint = "no"}),
            FromHex("0c0000 080001 00000004 0b0002 00000002 6e6f 00 00"));
}

TEST(ThriftCodecTest, WhoLeadsIsAskedAndAnswered) {
  EXPECT_EQ(EncodeWrapped(QueryLeadRequest()), FromHex("0c0000 00 00"));
  EXPECT_EQ(EncodeWrapped(HandOverLeadRequest()), FromHex("0c0000 00 00"));
  const QueryLeadResponse answer{.is_leader = true,
                                 .leader = *Endpoint::Parse("10.0.0.1:34601"),
                                 .since_unix_ms = 1'700'000'000'000};
  const std::string bytes = FromHex(
      "0c0000 0c0001 00000006 4552525f4f4b 020002 01 020003 00 0c0004 0a00000187290001 0a0005 "
      "0000018bcfe56800 00 00");
  EXPECT_EQ(EncodeWrapped(answer), bytes);
  EXPECT_EQ(*DecodeWrapped<QueryLeadResponse>(bytes), answer);
}

TEST(ThriftCodecTest, TwinsAreMadeForGeneration26AndNeverForOthers) {
  PartitionConfiguration config{.pid = {2, 1}, .primary = *Endpoint::Parse("10.0.0.1:34801")};
  config.secondaries = {*Endpoint::Parse("10.0.0.2:34801")};
  std::string plain = EncodeWrapped(config);
  std::string named = EncodeWrapped(config, PeerGeneration::k26);
  EXPECT_EQ(plain.find("10.0.0.1"), std::string::npos);
  auto back = DecodeWrapped<PartitionConfiguration>(named, HostPortTwins::kKeep);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->hp_primary, (HostPort{"10.0.0.1", 34801}));
  EXPECT_EQ(*back->hp_secondaries, std::vector<HostPort>({{"10.0.0.2", 34801}}));
  EXPECT_TRUE(back->hp_last_drops->empty());
  EXPECT_EQ(*DecodeWrapped<PartitionConfiguration>(named), config);
  EXPECT_EQ(*DecodeWrapped<PartitionConfiguration>(plain), config);
}

TEST(ThriftCodecTest, ConfigurationUpdateNamesItsNodeNotItsHost) {
  ConfigurationUpdateRequest request{.node = *Endpoint::Parse("10.0.0.3:34801"),
                                     .host_node = *Endpoint::Parse("10.0.0.9:34801")};
  auto back = DecodeWrapped<ConfigurationUpdateRequest>(EncodeWrapped(request, PeerGeneration::k26),
                                                        HostPortTwins::kKeep);
  EXPECT_EQ(back->hp_node, (HostPort{"10.0.0.3", 34801}));
}

TEST(ThriftCodecTest, MissingAddressesAreTakenFromTheirTwins) {
  BeaconMessage beacon{.time = 1, .hp_from_node = HostPort{"10.0.0.2", 34801}};
  auto back = DecodeWrapped<BeaconMessage>(EncodeWrapped(beacon, PeerGeneration::k26));
  EXPECT_EQ(back->from_node.ToString(), "10.0.0.2:34801");
  EXPECT_FALSE(back->hp_from_node.has_value());
}

TEST(ThriftCodecTest, FieldsMayComeInAnyOrderAndTwice) {
  auto put = DecodeWrapped<UpdateRequest>(FromHex(
      "0c0001 080003 00000009 0c0001 00000001 61 0c0002 00000001 62 0c0001 00000001 63 00 00"));
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->key.bytes, "c");
  EXPECT_EQ(put->value.bytes, "b");
  EXPECT_EQ(put->expire_ts_seconds, 9);
}

TEST(ThriftCodecTest, UnknownFieldsAndOtherTypesAreSkipped) {
  // 9: string, 1: i32 instead of a blob, 10: map<string, list<i16>>, 11: struct with a set, 12:
  // double, 3: right
  auto put = DecodeWrapped<UpdateRequest>(
      FromHex("0c0001 0b0009 00000002 7878 080001 00000001 0d000a 0b 0f 00000001 00000001 61 06 "
              "00000002 0001 0002 "
              "0c000b 0e0001 03 00000003 010203 00 04000c 0000000000000000 080003 00000005 00 00"));
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->key.bytes, "");
  EXPECT_EQ(put->expire_ts_seconds, 5);
  // A list of another element type is skipped as a whole.
  auto query = DecodeWrapped<QueryConfigRequest>(
      FromHex("0c0001 0f0002 0b 00000001 00000001 61 0b0001 00000001 74 00 00"));
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_TRUE(query->partition_indices.empty());
  EXPECT_EQ(query->app_name, "t");
}

TEST(ThriftCodecTest, UnknownEnumsAndNamesBecomeTheSafeValue) {
  auto config = DecodeWrapped<ReplicaConfiguration>(FromHex("0c0000 080004 00000063 00 00"));
  EXPECT_EQ(config->status, PartitionStatus::kInvalid);
  auto check =
      DecodeWrapped<GroupCheckResponse>(FromHex("0c0000 080005 ffffffff 080009 00000007 00 00"));
  EXPECT_EQ(check->learner_status, LearnerStatus::kInvalid);
  EXPECT_EQ(check->disk_status, DiskStatus::kIoError);
  auto ack = DecodeWrapped<PrepareAck>(FromHex("0c0000 0c0002 00000007 4552525f4e4557 00 00"));
  EXPECT_EQ(ack->err, ErrorCode::kUnknown);
}

TEST(ThriftCodecTest, HostileCountsAndLengthsAreRefused) {
  auto refused = [](std::string_view hex) {
    return !DecodeWrapped<QueryConfigRequest>(FromHex(hex)).ok();
  };
  EXPECT_TRUE(refused("0c0000 0b0001 ffffffff 00 00")) << "negative length";
  EXPECT_TRUE(refused("0c0000 0b0001 7fffffff 00 00")) << "length beyond the end";
  EXPECT_TRUE(refused("0c0000 0f0002 08 7fffffff 00 00")) << "count beyond the end";
  EXPECT_TRUE(refused("0c0000 0f0002 08 80000000 00 00")) << "negative count";
  EXPECT_TRUE(refused("0c0000 0f0009 01 00000001 00 00 00")) << "unknown type byte";
  EXPECT_TRUE(refused("0c0000")) << "cut";
  EXPECT_TRUE(refused("0c0000 00")) << "no last byte";
  EXPECT_TRUE(refused("080000 00000001 00")) << "another type";
  std::string deep = FromHex("0c0000");
  for (int i = 0; i < 40; ++i) deep += FromHex("0c0063");
  EXPECT_FALSE(DecodeWrapped<QueryConfigRequest>(deep + std::string(64, '\0')).ok())
      << "nested too deeply";
}

TEST(ThriftCodecTest, ListsOfEmptyStructsDoNotMultiplyMemory) {
  // One byte an element on the wire, hundreds in memory.
  std::string bytes = FromHex("0c0000 0f0002 0c");
  AppendBig<uint32_t>(4 << 20, &bytes);
  bytes += std::string(4 << 20, '\0') + std::string(2, '\0');
  auto response = DecodeWrapped<ConfigSyncResponse>(bytes);
  ASSERT_FALSE(response.ok());
  EXPECT_NE(response.status().message().find("tiny elements"), absl::string_view::npos);
}

TEST(ThriftCodecTest, BytesBehindTheWrapperAreIgnored) {
  EXPECT_EQ(DecodeWrapped<Blob>(FromHex("0c0001 00000001 61 00 ffff"))->bytes, "a");
}

TEST(ThriftCodecTest, EveryPrefixOfAMessageIsRefused) {
  ConfigSyncResponse response;
  response.partitions.resize(2);
  response.partitions[0].info.envs = {{"a", "b"}};
  response.gc_replicas.emplace().resize(1);
  std::string whole = EncodeWrapped(response, PeerGeneration::k26);
  ASSERT_TRUE(DecodeWrapped<ConfigSyncResponse>(whole).ok());
  for (size_t n = 0; n < whole.size(); ++n) {
    EXPECT_FALSE(DecodeWrapped<ConfigSyncResponse>(whole.substr(0, n)).ok()) << n;
  }
}

TEST(ThriftCodecTest, AMessageMakesRoomOnceAlsoForWhatIsNested) {
  LearnResponse response;
  response.state.meta.bytes.assign(128 << 10, 'm');
  const std::string encoded = EncodeWrapped(response);
  EXPECT_LT(encoded.capacity(), encoded.size() + 1024) << "grown twice: each time all is copied";
}

TEST(ThriftCodecTest, PrepareMustAgreeWithItself) {
  auto mutation = std::make_shared<Mutation>();
  mutation->pid = {2, 3};
  mutation->ballot = Ballot(7);
  mutation->decree = Decree(9);
  mutation->updates = {{.code = WriteCode::kPut, .serialization = 1, .data = "x"}};
  PrepareRequest request{
      .pid = {2, 3}, .config = {.pid = {2, 3}, .ballot = Ballot(7)}, .mutation = mutation};
  auto good = DecodePrepare(EncodePrepare(request));
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(*good->mutation, *mutation);
  request.config.pid = {2, 4};
  EXPECT_FALSE(DecodePrepare(EncodePrepare(request)).ok());
  request.config.pid = {2, 3};
  request.config.ballot = Ballot(8);
  EXPECT_FALSE(DecodePrepare(EncodePrepare(request)).ok());
}

TEST(AdminTokenTest, TravelsBesideTheArgumentAndIsPassedOver) {
  const DropAppRequest drop{.app_name = "t"};
  std::string body = EncodeWrapped(drop);
  EXPECT_EQ(AdminTokenOf(body), "");
  AddAdminToken("secret", &body);
  EXPECT_EQ(AdminTokenOf(body), "secret");
  EXPECT_EQ(*DecodeWrapped<DropAppRequest>(body), drop);
  for (size_t cut = 0; cut < body.size(); ++cut)
    EXPECT_EQ(AdminTokenOf(std::string_view(body).substr(0, cut)), "") << cut;
}

}  // namespace
}  // namespace arion
