// SPDX-License-Identifier: Apache-2.0
#include "rpc/frame.h"
#include "messages/meta_messages.h"
#include "messages/replication_messages.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "base/crc.h"
#include "messages/client_messages.h"
#include "rpc/thrift_codec.h"
#include "tests/rpc/fixtures.h"

namespace arion {
namespace {

using Result = FrameParser::Result;
using Expect = FrameParser::Expect;

Frame ParseOne(std::string_view bytes, Expect expect = Expect::kAny) {
  FrameParser parser(expect);
  parser.Feed(bytes);
  Frame frame;
  EXPECT_EQ(parser.Next(&frame), Result::kFrame) << parser.error();
  EXPECT_EQ(parser.buffered_bytes(), 0u);
  return frame;
}

Result FirstResult(std::string_view bytes, std::string* error = nullptr) {
  FrameParser parser(Expect::kAny);
  parser.Feed(bytes);
  Frame frame;
  Result result = parser.Next(&frame);
  if (error != nullptr) *error = parser.error();
  return result;
}

// Captured from real clients; the last is the one of rpc/PROTOCOL.md 2.5.
const std::string kGetV0 = FromHex(
    "54484654 00000000 00000030 00000000 0000002b 00000000 00000002 00000002 00000bb6 00003de0 "
    "aae1fd17e635e4da"
    "80010001 00000011 5250435f525244425f525244425f474554 00000001 0c0001 00000006 000268317331 "
    "00");
const std::string kGetReply = FromHex(
    "0000006b 00000006 4552525f4f4b 80010002 00000015 5250435f525244425f525244425f4745545f41434b "
    "00000001"
    "0c0000 080001 00000000 0c0002 00000005 76616c7565 080003 00000002 080004 00000002"
    "0b0006 0000000f 3132372e302e302e313a3334363031 00 00");
const std::string kGetV1 = FromHex(
    "54484654 00000001 00000025 0000002b 080001 00000002 080002 00000002 080003 000005dc 0a0004 "
    "aae1fd17e635e4da"
    "020005 00 00 80010001 00000011 5250435f525244425f525244425f474554 00000001 0c0001 00000006 "
    "000268317331 00");
const std::string kErrorReply = FromHex(
    "0000003d 00000014 4552525f4f424a4543545f4e4f545f464f554e44 80010002 00000015"
    "5250435f525244425f525244425f4745545f41434b 00000007");
const std::string kQueryConfig = FromHex(
    "54484654 00000000 00000030 00000000 0000004a 00000000 00000000 00000000 000002bf 00000000 "
    "0000000000000000"
    "80010001 00000026 "
    "5250435f434d5f51554552595f504152544954494f4e5f434f4e4649475f42595f494e444558 00000001"
    "0c0001 0b0001 00000004 74656d70 0f0002 08 00000000 00 00");
const std::string kGetRdsn =
    FromHex(
        "5244534e 00000000 c0000000 00000000 0e000000 00000000 0100000000000000 8877665544332211"
        "5250435f525244425f525244425f474554") +
    std::string(48 - 17 + 8, '\0') +
    FromHex(
        "02000000 02000000 4104000000000000 010001000500000a 88130000 e03d0000 dae435e617fde1aa") +
    std::string(56, '\0') + FromHex("0c0000 00000006 000268317331 00");

TEST(FrameTest, ThriftV0RequestOfTheGoClientIsRead) {
  Frame frame = ParseOne(kGetV0);
  EXPECT_TRUE(frame.is_request);
  EXPECT_EQ(frame.header.framing, Framing::kThriftV0);
  EXPECT_EQ(frame.header.name, "RPC_RRDB_RRDB_GET");
  EXPECT_EQ(frame.header.pid, (PartitionId{2, 2}));
  EXPECT_EQ(frame.header.timeout_ms, 2998);
  EXPECT_FALSE(frame.header.timeout_is_real);
  EXPECT_EQ(frame.header.thread_hash, 15840);
  EXPECT_EQ(frame.header.partition_hash, 0xaae1fd17e635e4dau);
  EXPECT_EQ(frame.id, 1u);
  EXPECT_EQ(DecodeWrapped<Blob>(frame.body)->bytes, FromHex("000268317331"));
}

TEST(FrameTest, ThriftV1RequestOfTheJavaClientIsRead) {
  Frame frame = ParseOne(kGetV1);
  EXPECT_EQ(frame.header.framing, Framing::kThriftV1);
  EXPECT_EQ(frame.header.pid, (PartitionId{2, 2}));
  EXPECT_EQ(frame.header.timeout_ms, 1500);
  EXPECT_TRUE(frame.header.timeout_is_real);
  EXPECT_EQ(frame.header.partition_hash, 0xaae1fd17e635e4dau);
  EXPECT_FALSE(frame.header.is_backup_request);
  EXPECT_EQ(DecodeWrapped<Blob>(frame.body)->bytes, FromHex("000268317331"));
}

TEST(FrameTest, ThriftRequestsAreBuiltAsTheClientsDo) {
  for (const std::string& bytes : {kGetV0, kGetV1, kQueryConfig}) {
    Frame frame = ParseOne(bytes);
    EXPECT_EQ(ThriftRequestHeader(frame, frame.body.size()) + frame.body, bytes);
  }
}

TEST(FrameTest, ThriftRepliesAreThoseThatClientsAccepted) {
  Frame get = ParseOne(kGetV0);
  ReadResponse response{
      .value = "value", .app_id = 2, .partition_index = 2, .server = "127.0.0.1:34601"};
  std::string body = EncodeWrapped(response);
  EXPECT_EQ(ThriftReplyHeader(get, ErrorCode::kOk, body.size()) + body, kGetReply);
  get.id = 7;
  EXPECT_EQ(ThriftReplyHeader(get, ErrorCode::kObjectNotFound, 0), kErrorReply);
}

TEST(FrameTest, ThriftRepliesAreRead) {
  Frame ok = ParseOne(kGetReply, Expect::kThriftReply);
  EXPECT_FALSE(ok.is_request);
  EXPECT_EQ(ok.header.name, "RPC_RRDB_RRDB_GET_ACK");
  EXPECT_EQ(ok.error, ErrorCode::kOk);
  EXPECT_EQ(DecodeWrapped<ReadResponse>(ok.body)->value.bytes, "value");
  Frame failed = ParseOne(kErrorReply, Expect::kThriftReply);
  EXPECT_EQ(failed.error, ErrorCode::kObjectNotFound);
  EXPECT_EQ(failed.id, 7u);
  EXPECT_TRUE(failed.body.empty());
}

TEST(FrameTest, ErrorNamesUnknownToThriftClientsAreMapped) {
  Frame get = ParseOne(kGetV0);
  for (int code = 0; code < kErrorCodeCount; ++code) {
    std::string bytes = ThriftReplyHeader(get, static_cast<ErrorCode>(code), 0);
    ErrorCode sent = ParseOne(bytes, Expect::kThriftReply).error;
    EXPECT_EQ(sent, SafeForThriftClients(static_cast<ErrorCode>(code)));
  }
}

TEST(FrameTest, NonStrictMessageBeginIsRead) {
  std::string body =
      FromHex("00000011 5250435f525244425f525244425f474554 01 00000009 0c0001 00000000 00");
  std::string bytes = kGetV0.substr(0, 48) + body;
  StoreBig(static_cast<uint32_t>(body.size()), bytes.data() + 16);
  Frame frame = ParseOne(bytes);
  EXPECT_EQ(frame.header.name, "RPC_RRDB_RRDB_GET");
  EXPECT_EQ(frame.id, 9u);
}

TEST(FrameTest, RdsnRequestOfTheCppClientIsReadAndRebuilt) {
  Frame frame = ParseOne(kGetRdsn);
  EXPECT_EQ(frame.header.framing, Framing::kRdsn);
  EXPECT_EQ(frame.header.name, "RPC_RRDB_RRDB_GET");
  EXPECT_EQ(frame.header.pid, (PartitionId{2, 2}));
  EXPECT_EQ(frame.header.from.ToString(), "10.0.0.5:1");
  EXPECT_TRUE(frame.header.forward_supported);
  EXPECT_EQ(frame.header.timeout_ms, 5000);
  EXPECT_EQ(RdsnRequestHeader(frame, frame.body) + frame.body, kGetRdsn);
}

TEST(FrameTest, FramesMayArriveByteByByte) {
  for (const std::string& bytes : {kGetV0 + kGetV1 + kQueryConfig, kGetRdsn + kGetRdsn}) {
    FrameParser parser(Expect::kAny);
    Frame frame;
    int frames = 0;
    for (char byte : bytes) {
      parser.Feed({&byte, 1});
      Result result = parser.Next(&frame);
      ASSERT_TRUE(result == Result::kFrame || result == Result::kNeedMore) << parser.error();
      if (result == Result::kFrame) ++frames;
    }
    EXPECT_EQ(frames, bytes.starts_with("RDSN") ? 2 : 3);
    EXPECT_EQ(parser.Next(&frame), Result::kNeedMore);
  }
}

TEST(FrameTest, AConnectionKeepsItsFraming) {
  EXPECT_EQ(FirstResult(kGetV0.substr(0, 3)), Result::kNeedMore);
  FrameParser parser(Expect::kAny);
  parser.Feed(kGetV0 + kGetRdsn);
  Frame frame;
  EXPECT_EQ(parser.Next(&frame), Result::kFrame);
  EXPECT_EQ(parser.Next(&frame), Result::kBroken);
  EXPECT_EQ(parser.Next(&frame), Result::kBroken);
}

TEST(FrameTest, HttpIsRecognised) {
  EXPECT_EQ(FirstResult("GET /metrics HTTP/1.1\r\n\r\n"), Result::kHttp);
  EXPECT_EQ(FirstResult("POST /x HTTP/1.1\r\n\r\n"), Result::kHttp);
  EXPECT_EQ(FirstResult("HEAD / HTTP/1.1\r\n\r\n"), Result::kHttp);
  EXPECT_EQ(FirstResult("DELETE / HTTP/1.1\r\n\r\n"), Result::kHttp);
  EXPECT_EQ(FirstResult("GETS / HTTP/1.1\r\n\r\n"), Result::kBroken);
  EXPECT_EQ(FirstResult("SSH-2.0-OpenSSH"), Result::kBroken);
}

TEST(FrameTest, AnotherProtocolTakesWhatHasArrived) {
  FrameParser parser(FrameParser::Expect::kAny);
  parser.Feed("GET / HT");
  Frame frame;
  EXPECT_EQ(parser.Next(&frame), Result::kHttp);
  EXPECT_EQ(parser.TakeBuffered(), "GET / HT");
  parser.Feed("TP/1.1");
  EXPECT_EQ(parser.TakeBuffered(), "TP/1.1");
  EXPECT_EQ(parser.TakeBuffered(), "");
}

TEST(FrameTest, BrokenThriftHeadersEndTheConnection) {
  auto with = [](size_t offset, uint32_t value, std::string bytes = kGetV0) {
    StoreBig(value, bytes.data() + offset);
    return bytes;
  };
  EXPECT_EQ(FirstResult(with(4, 2)), Result::kBroken) << "header version";
  EXPECT_EQ(FirstResult(with(8, 49)), Result::kBroken) << "header length";
  EXPECT_EQ(FirstResult(with(16, 0)), Result::kBroken) << "no body at all";
  EXPECT_EQ(FirstResult(with(16, 0x80000000u)), Result::kBroken);
  EXPECT_EQ(FirstResult(with(16, 0xffffffffu)), Result::kBroken);
  EXPECT_EQ(FirstResult(with(48, 0x80010002u)), Result::kBroken) << "type REPLY";
  EXPECT_EQ(FirstResult(with(48, 0x80010003u)), Result::kBroken) << "type EXCEPTION";
  EXPECT_EQ(FirstResult(with(48, 0x80020001u)), Result::kBroken) << "message version";
  EXPECT_EQ(FirstResult(with(52, 0xfffffff0u)), Result::kBroken) << "name length";
  EXPECT_EQ(FirstResult(with(52, 48)), Result::kBroken) << "name too long";
  EXPECT_EQ(FirstResult(with(8, 0xffffffffu, kGetV1)), Result::kBroken) << "meta length";
  EXPECT_EQ(FirstResult(with(12, 0xffffffffu, kGetV1)), Result::kBroken);
}

TEST(FrameTest, UndecodableMetaLeavesTheFramingIntact) {
  std::string bytes = kGetV1;
  bytes[kThriftV1HeaderBytes] = 0x77;  // no such type
  Frame frame = ParseOne(bytes);
  EXPECT_FALSE(frame.payload_readable);
  EXPECT_EQ(frame.id, 1u);
}

TEST(FrameTest, LongFramesAreRefusedBeforeTheyArriveAndNothingIsAllocated) {
  std::string bytes = kGetRdsn;
  StoreLittle<uint32_t>((64u << 20) - 192 + 1, bytes.data() + 16);
  FrameParser parser(Expect::kAny);
  parser.Feed(bytes.substr(0, 192));
  Frame frame;
  EXPECT_EQ(parser.Next(&frame), Result::kBroken);

  StoreLittle<uint32_t>(60u << 20, bytes.data() + 16);
  FrameParser patient(Expect::kAny);
  patient.Feed(bytes);
  EXPECT_EQ(patient.Next(&frame), Result::kNeedMore);
  patient.Reserve(16 << 10);
  EXPECT_LT(patient.capacity_bytes(), 64u << 10);
}

TEST(FrameTest, ServersMaySendLongerFramesOnceTheyAreAllowedTo) {
  Frame prepare;
  prepare.context = kRdsnThriftBinary;
  prepare.header.name = kRpcPrepare;
  prepare.header.from = *Endpoint::Parse("10.0.0.1:34801");
  std::string introduction = RdsnRequestHeader(prepare, "");
  std::string large = introduction;
  StoreLittle<uint32_t>(100u << 20, large.data() + 16);
  std::string too_large = introduction;
  StoreLittle<uint32_t>(512u << 20, too_large.data() + 16);

  Frame frame;
  EXPECT_EQ(FirstResult(large), Result::kBroken);
  FrameParser parser(Expect::kAny);
  parser.Feed(introduction);
  EXPECT_EQ(parser.Next(&frame), Result::kFrame);
  EXPECT_TRUE(NamesServer(frame));
  parser.AllowServerFrames();
  parser.Feed(large);
  EXPECT_EQ(parser.Next(&frame), Result::kNeedMore);
  FrameParser strict(Expect::kAny);
  strict.Feed(introduction + too_large);
  EXPECT_EQ(strict.Next(&frame), Result::kFrame);
  strict.AllowServerFrames();
  EXPECT_EQ(strict.Next(&frame), Result::kBroken);

  prepare.header.from.port = 1;  // a client says it is none
  FrameParser client(Expect::kAny);
  client.Feed(RdsnRequestHeader(prepare, "") + large);
  EXPECT_EQ(client.Next(&frame), Result::kFrame);
  EXPECT_FALSE(NamesServer(frame));
  EXPECT_EQ(client.Next(&frame), Result::kBroken);
}

TEST(FrameTest, ALargeFrameArrivesInPieces) {
  Frame request;
  request.context = kRdsnThriftBinary;
  request.header.name = "RPC_RRDB_RRDB_PUT";
  std::string body(3 << 20, 'x');
  std::string bytes = RdsnRequestHeader(request, body) + body;
  FrameParser parser(Expect::kAny);
  Frame frame;
  Result result = Result::kNeedMore;
  for (size_t at = 0; at < bytes.size();) {
    FrameParser::Room room = parser.Reserve(16 << 10);
    size_t n = std::min(room.size, bytes.size() - at);
    std::memcpy(room.data, bytes.data() + at, n);
    parser.Commit(n);
    at += n;
    ASSERT_LE(parser.capacity_bytes(), 2 * at + (32 << 10));
    result = parser.Next(&frame);
  }
  EXPECT_EQ(result, Result::kFrame);
  EXPECT_EQ(frame.body, body);
  parser.Reserve(1);
  EXPECT_LT(parser.capacity_bytes(), 1u << 20) << "the large buffer is given back";
}

TEST(FrameTest, ARestingParserLendsItsBufferAndKeepsWhatLiesThere) {
  std::string spare(128 << 10, '\0');
  FrameParser parser(Expect::kAny);
  const FrameParser::Room room = parser.Reserve(100 << 10, &spare);
  EXPECT_EQ(spare.size(), 0u) << "lent";
  const std::string bytes = kGetRdsn + kGetRdsn.substr(0, 50);
  std::memcpy(room.data, bytes.data(), bytes.size());
  parser.Commit(bytes.size());
  Frame frame;
  EXPECT_EQ(parser.Next(&frame), Result::kFrame);
  EXPECT_EQ(parser.Next(&frame), Result::kNeedMore);
  parser.Rest(&spare);
  EXPECT_EQ(spare.size(), 128u << 10) << "given back";
  EXPECT_LE(parser.capacity_bytes(), 4u << 10);
  parser.Feed(kGetRdsn.substr(50));
  EXPECT_EQ(parser.Next(&frame), Result::kFrame);
  EXPECT_EQ(parser.buffered_bytes(), 0u);
}

TEST(FrameTest, ChecksumsCoverHeaderAndBody) {
  Frame beacon;
  beacon.context = kRdsnThriftBinary;
  beacon.header.name = kRpcBeacon;
  beacon.id = 5;
  std::string body = EncodeWrapped(BeaconMessage{.time = 7});
  std::string bytes = RdsnRequestHeader(beacon, body, Checksums::kHeaderAndBody) + body;
  ASSERT_NE(LoadLittle<uint32_t>(bytes.data() + 12), 0u);
  ASSERT_NE(LoadLittle<uint32_t>(bytes.data() + 20), 0u);
  EXPECT_EQ(FirstResult(bytes), Result::kFrame);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i >= 12 && i < 24) continue;  // lengths and checksums themselves: below
    std::string flipped = bytes;
    flipped[i] ^= 1;
    EXPECT_EQ(FirstResult(flipped), Result::kBroken) << i;
  }
}

TEST(FrameTest, RepliesKeepWhatTheCallerNeeds) {
  Frame request = ParseOne(kGetRdsn);
  request.context |= kRdsnForwarded;
  std::string bytes =
      RdsnReplyHeader(request, ErrorCode::kBusy, *Endpoint::Parse("10.0.0.1:34801"), "");
  Frame reply = ParseOne(bytes);
  EXPECT_FALSE(reply.is_request);
  EXPECT_EQ(reply.id, request.id);
  EXPECT_EQ(reply.trace_id, request.trace_id);
  EXPECT_EQ(reply.context, request.context & ~kRdsnRequest);
  EXPECT_EQ(reply.error, ErrorCode::kBusy);
  EXPECT_EQ(reply.header.name, "RPC_RRDB_RRDB_GET_ACK");
  EXPECT_EQ(reply.header.from.ToString(), "10.0.0.1:34801");
}

TEST(FrameTest, AckOfALongNameIsCutAt47Characters) {
  Frame request;
  request.header.name = std::string(46, 'N');
  Frame reply = ParseOne(RdsnReplyHeader(request, ErrorCode::kHandlerNotFound, {}, ""));
  EXPECT_EQ(reply.header.name, std::string(46, 'N') + "_");
}

// The fixtures.

uint64_t Hex64(const nlohmann::json& text) {
  return std::stoull(text.get<std::string>(), nullptr, 16);
}

TEST(FrameTest, EveryRecordedFrameIsReadAndRebuilt) {
  REQUIRE_FIXTURE(FrameFixtures());
  auto frames = GoodFrames();
  EXPECT_EQ(frames.size(), 80u + 56u);
  for (const auto& [name, expected] : frames) {
    SCOPED_TRACE(name);
    std::string bytes = ReadFrame(name);
    Frame frame = ParseOne(bytes);
    const auto& header = expected.header;
    EXPECT_EQ(frame.id, header["id"].get<uint64_t>());
    EXPECT_EQ(frame.trace_id, Hex64(header["trace_id"]));
    EXPECT_EQ(frame.header.name, header["rpc_name"].get<std::string>());
    EXPECT_EQ(frame.header.pid.app_id, header["app_id"].get<int32_t>());
    EXPECT_EQ(frame.header.pid.index, header["partition_index"].get<int32_t>());
    EXPECT_EQ(frame.context, header["context"].get<uint64_t>());
    EXPECT_EQ(frame.header.from.packed(), Hex64(header["from"]));
    EXPECT_EQ(frame.header.timeout_ms, header["timeout_ms"].get<int32_t>());
    EXPECT_EQ(frame.header.thread_hash, header["thread_hash"].get<int32_t>());
    EXPECT_EQ(frame.header.partition_hash, Hex64(header["partition_hash"]));
    EXPECT_EQ(frame.body.size(), header["body_length"].get<size_t>());
    if (!frame.is_request) {
      EXPECT_EQ(ErrorCodeName(frame.error), header["error_name"].get<std::string>());
    }

    bool checksums = header["header_crc"].get<uint32_t>() != 0;
    Frame asked = frame;
    if (!frame.is_request) asked.header.name.resize(asked.header.name.size() - 4);  // _ACK
    Checksums how = checksums ? Checksums::kHeaderAndBody : Checksums::kNone;
    std::string rebuilt =
        frame.is_request ? RdsnRequestHeader(frame, frame.body, how)
                         : RdsnReplyHeader(asked, frame.error, frame.header.from, frame.body, how);
    // The local code is private to a process, and covered by the header's checksum.
    if (LoadLittle<uint32_t>(bytes.data() + 88) != 0) {
      bytes.replace(88, 4, 4, '\0');
      bytes.replace(12, 4, rebuilt, 12, 4);
    }
    EXPECT_EQ(rebuilt + frame.body, bytes);
  }
}

TEST(FrameTest, BadFramesDoWhatTheManifestSays) {
  REQUIRE_FIXTURE(FrameFixtures());
  std::string error;
  EXPECT_EQ(FirstResult(ReadFrame("n01_body_crc_wrong.hex"), &error), Result::kBroken);
  EXPECT_EQ(error, "body checksum mismatch");
  EXPECT_EQ(FirstResult(ReadFrame("n02_header_crc_wrong.hex"), &error), Result::kBroken);
  EXPECT_EQ(error, "header checksum mismatch");
  EXPECT_EQ(FirstResult(ReadFrame("n03_body_length_ffffffff.hex"), &error), Result::kBroken);
  EXPECT_EQ(FirstResult(ReadFrame("n04_wrong_magic.hex"), &error), Result::kBroken);
  EXPECT_EQ(error, "unknown protocol");
  EXPECT_EQ(ParseOne(ReadFrame("n05_name_without_nul.hex")).header.name.size(), 48u);
  EXPECT_FALSE(ParseOne(ReadFrame("n06_payload_format_0.hex")).payload_readable);
  EXPECT_EQ(ParseOne(ReadFrame("n08_empty_body.hex")).body, "");
}

}  // namespace
}  // namespace arion
