// The frame parser on hostile bytes: it never reads beyond them, holds little more than it was
// given, finds the same frames however the bytes are cut, and what is built from a frame can be
// read again.
//
// Input: byte 0 chooses what the parser expects, byte 1 the size of the pieces; the rest is the
// stream. SPDX-License-Identifier: Apache-2.0
#include "base/log.h"
#include "messages/replication_messages.h"

#include "base/coding.h"
#include "messages/client_messages.h"
#include "messages/tool_messages.h"
#include "rpc/frame.h"
#include "rpc/thrift_codec.h"
#include "tests/fuzz/fuzz_target.h"

namespace arion {
namespace {

using Result = FrameParser::Result;
using Expect = FrameParser::Expect;

struct Outcome {
  std::vector<Frame> frames;
  Result last = Result::kNeedMore;
  std::string error;
};

Outcome Parse(Expect expect, std::string_view stream, size_t piece_bytes) {
  FrameParser parser(expect);
  Outcome outcome;
  size_t fed = 0;
  while (fed < stream.size() && outcome.last == Result::kNeedMore) {
    std::string_view piece = stream.substr(fed, piece_bytes);
    parser.Feed(piece);
    fed += piece.size();
    FuzzRequire(parser.capacity_bytes() <= 2 * fed + piece_bytes);
    Frame frame;
    while ((outcome.last = parser.Next(&frame)) == Result::kFrame)
      outcome.frames.push_back(std::move(frame));
  }
  outcome.error = parser.error();
  return outcome;
}

void CheckReplies(const Frame& request) {
  Frame reply;
  if (request.header.framing == Framing::kRdsn) {
    std::string bytes = RdsnReplyHeader(request, ErrorCode::kOk, {.ip = 1, .port = 2}, request.body,
                                        Checksums::kHeaderAndBody) +
                        request.body;
    FrameParser parser(Expect::kRdsn);
    parser.Feed(bytes);
    FuzzRequire(parser.Next(&reply) == Result::kFrame && reply.id == request.id &&
                reply.body == request.body);
  } else {
    std::string bytes =
        ThriftReplyHeader(request, ErrorCode::kOk, request.body.size()) + request.body;
    FrameParser parser(Expect::kThriftReply);
    parser.Feed(bytes);
    FuzzRequire(parser.Next(&reply) == Result::kFrame && reply.id == request.id &&
                reply.body == request.body);
    bytes = ThriftRequestHeader(request, request.body.size()) + request.body;
    FrameParser again(Expect::kAny);
    again.Feed(bytes);
    FuzzRequire(again.Next(&reply) == Result::kFrame && reply.header.name == request.header.name);
  }
}

std::string Thrift(Framing framing, uint32_t id, std::string name, std::string body) {
  Frame frame;
  frame.id = id;
  frame.header.framing = framing;
  frame.header.name = std::move(name);
  frame.header.pid = {2, 1};
  return ThriftRequestHeader(frame, body.size()) + body;
}

std::string Rdsn(std::string name, std::string body, Checksums checksums) {
  Frame frame;
  frame.id = 3;
  frame.context = kRdsnThriftBinary;
  frame.header.name = std::move(name);
  frame.header.from = {.ip = 0x0a000001, .port = 34801};
  return RdsnRequestHeader(frame, body, checksums) + body;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::string get = EncodeWrapped(Blob("\0\2h1s1"), PeerGeneration::kNone, 1);
  std::string v0 = Thrift(Framing::kThriftV0, 1, kRpcGet, get);
  std::string v1 = Thrift(Framing::kThriftV1, 2, kRpcPut,
                          EncodeWrapped(UpdateRequest{.key = "k", .value = "v"}));
  std::string beacon =
      Rdsn(kRpcBeacon, EncodeWrapped(BeaconMessage{.time = 1}), Checksums::kHeaderAndBody);
  std::string plain = Rdsn(kRpcGroupCheck, EncodeWrapped(GroupCheckRequest{}), Checksums::kNone);
  Frame asked;
  asked.header.name = kRpcGet;
  std::string reply = ThriftReplyHeader(asked, ErrorCode::kOk, get.size()) + get;
  std::vector<std::string> seeds = {
      std::string("\0\7", 2) + v0 + v1,
      std::string("\0\7", 2) + plain + beacon,
      std::string("\1\7", 2) + beacon + plain,
      std::string("\2\7", 2) + reply + ThriftReplyHeader(asked, ErrorCode::kBusy, 0),
      std::string("\0\1", 2) + "GET / HTTP/1.1\r\n\r\n",
      std::string("\0\1", 2) + "POST / HTTP/1.1\r\n\r\n",
  };
  for (const std::string& frame : HexFixtures("rpc"))
    seeds.push_back(std::string("\0\100", 2) + frame);
  return seeds;
}

}  // namespace arion

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace arion;
  FLAGS_minloglevel = google::GLOG_FATAL;
  if (size < 2) return 0;
  auto expect = static_cast<Expect>(data[0] % 3);
  size_t piece_bytes = 1 + data[1];
  std::string_view stream(reinterpret_cast<const char*>(data) + 2, size - 2);

  Outcome whole = Parse(expect, stream, stream.size() + 1);
  Outcome pieces = Parse(expect, stream, piece_bytes);
  FuzzRequire(whole.last == pieces.last && whole.error == pieces.error);
  FuzzRequire(whole.frames.size() == pieces.frames.size());
  for (size_t i = 0; i < whole.frames.size(); ++i) {
    const Frame& frame = whole.frames[i];
    FuzzRequire(frame.body == pieces.frames[i].body &&
                frame.header.name == pieces.frames[i].header.name);
    FuzzRequire(frame.header.name.size() <= 51);
    if (frame.is_request) CheckReplies(frame);
  }
  return 0;
}
