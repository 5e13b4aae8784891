// Real sockets on loopback: requests, answers, calls.
// SPDX-License-Identifier: Apache-2.0
#include "rpc/asio_transport.h"
#include "env/held_bytes.h"
#include "messages/replication_messages.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <map>
#include <set>

#include "base/coding.h"
#include "messages/client_messages.h"
#include "messages/tool_messages.h"
#include "posix/event_loops.h"
#include "posix/posix_file_system.h"
#include "tests/rpc/loopback.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

class AsioTransportTest : public LoopbackTest {};

TEST_F(AsioTransportTest, PipelinedThriftRequestsMayBeAnsweredOutOfOrder) {
  StartServer();
  RawClient raw(server_.local());
  raw.ExpectThriftReplies();
  std::string bytes;
  for (int i = 0; i < 50; ++i)
    bytes += ThriftGet(i, std::to_string(i), i % 2 ? Framing::kThriftV1 : Framing::kThriftV0);
  ASSERT_TRUE(raw.Write(bytes));
  std::vector<InboundRequest> requests;
  for (int i = 0; i < 50; ++i) requests.push_back(std::move(*requests_->Take()));
  EXPECT_EQ(requests[3].header.framing, Framing::kThriftV1);
  EXPECT_EQ(requests[4].header.pid, (PartitionId{2, 1}));
  for (int i = 49; i >= 0; --i) {
    auto key = DecodeWrapped<Blob>(requests[i].body);
    requests[i].responder.Reply(ErrorCode::kOk, EncodeWrapped(ReadResponse{.value = *key}));
  }
  for (int i = 49; i >= 0; --i) {
    auto frame = raw.ReadFrame();
    ASSERT_TRUE(frame.has_value());
    EXPECT_EQ(frame->id, static_cast<uint64_t>(i));
    EXPECT_EQ(frame->header.name, "RPC_RRDB_RRDB_GET_ACK");
    EXPECT_EQ(DecodeWrapped<ReadResponse>(frame->body)->value.bytes, std::to_string(i));
  }
}

TEST_F(AsioTransportTest, ThriftErrorsHaveNoBodyAndKnownNames) {
  StartServer();
  RawClient raw(server_.local());
  raw.ExpectThriftReplies();
  ASSERT_TRUE(raw.Write(ThriftGet(1, "k")));
  requests_->Take()->responder.Reply(ErrorCode::kDiskIoError, "body");
  auto frame = raw.ReadFrame();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->error, SafeForThriftClients(ErrorCode::kDiskIoError));
  EXPECT_EQ(frame->body, "");
}

TEST_F(AsioTransportTest, ClearScannerIsNeverAnswered) {
  StartServer();
  RawClient raw(server_.local());
  raw.ExpectThriftReplies();
  ASSERT_TRUE(
      raw.Write(ThriftGet(1, "k", Framing::kThriftV0, kRpcClearScanner) + ThriftGet(2, "k")));
  requests_->Take()->responder.Reply(ErrorCode::kHandlerNotFound);
  requests_->Take()->responder.Reply(ErrorCode::kOk, "x");
  EXPECT_EQ(raw.ReadFrame()->id, 2u);
}

TEST_F(AsioTransportTest, CallsAreAnsweredBothWays) {
  StartEchoServer();
  AsioTransport other(&loops_, {.listen = kLoopbackAnyPort});
  other.SetHandler([](InboundRequest request) {
    request.responder.Reply(ErrorCode::kOk, EncodeWrapped(Blob(request.header.from.ToString())));
  });
  ASSERT_TRUE(other.Listen().ok());
  for (int i = 0; i < 100; ++i) Call(server_.local(), Get(std::to_string(i)));
  std::set<std::string> values;
  for (int i = 0; i < 100; ++i) {
    auto result = results_->Take();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->error, ErrorCode::kOk);
    values.insert(DecodeWrapped<ReadResponse>(result->body)->value.bytes);
  }
  EXPECT_EQ(values.size(), 100u);
  server_.Call(other.local(), Get("k"), strand_,
               [results = results_](RpcResult r) { results->Put(std::move(r)); });
  EXPECT_EQ(DecodeWrapped<Blob>(results_->Take()->body)->bytes, server_.local().ToString())
      << "from is where it listens";
}

TEST_F(AsioTransportTest, AGateJudgesRequestsAndAnswersByTheirTags) {
  constexpr uint64_t kOurs = (uint64_t{1} << 52) - 1;
  TagGate gate(kOurs), strange_gate(7);
  AsioTransport guarded(&loops_, {.listen = kLoopbackAnyPort, .gate = &gate});
  int handled = 0;
  guarded.SetHandler([&handled](InboundRequest request) {
    ++handled;
    request.responder.Reply(ErrorCode::kOk, EncodeWrapped(Blob("ours")));
  });
  ASSERT_TRUE(guarded.Listen().ok());
  AsioTransport sister(&loops_, {.gate = &gate}), stranger(&loops_, {.gate = &strange_gate});
  const auto ask = [&](AsioTransport& asker) {
    asker.Call(guarded.local(), Get("k"), strand_,
               [results = results_](RpcResult r) { results->Put(std::move(r)); });
    return results_->Take()->error;
  };
  AsioTransport client(&loops_, {});
  EXPECT_EQ(ask(client), ErrorCode::kOk) << "it tells no tag";
  EXPECT_EQ(ask(sister), ErrorCode::kOk);
  EXPECT_EQ(gate.accepted_tags, std::vector<uint64_t>{kOurs});
  EXPECT_EQ(handled, 2);
  EXPECT_EQ(ask(stranger), ErrorCode::kClusterNotFound);
  EXPECT_EQ(handled, 2);
  for (AsioTransport* transport : {&guarded, &sister, &stranger, &client}) transport->Stop();
}

TEST_F(AsioTransportTest, AServerMayCallItself) {
  StartEchoServer();
  server_.Call(server_.local(), Get("k"), strand_,
               [results = results_](RpcResult r) { results->Put(std::move(r)); });
  EXPECT_EQ(DecodeWrapped<ReadResponse>(results_->Take()->body)->value.bytes, "k");
}

TEST_F(AsioTransportTest, LargeBodiesArriveWhole) {
  StartEchoServer();
  std::string value(4 << 20, 'v');
  for (int i = 0; i < 3; ++i) Call(server_.local(), Get(value));
  for (int i = 0; i < 3; ++i) {
    auto result = results_->Take();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(DecodeWrapped<ReadResponse>(result->body)->value.bytes, value);
  }
}

// Pieces of a file between bytes, one behind the other, to a peer that takes them in its own time.
TEST_F(AsioTransportTest, PiecesOfFilesArriveInTheirPlace) {
  TempDirectory directory;
  PosixFileSystem files;
  std::string content(3 << 20, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 >> 3);
  ASSERT_TRUE(WriteFileDurably(files, directory.path() + "/file", content).ok());
  const std::shared_ptr<ReadableFile> file = *files.OpenForRead(directory.path() + "/file");
  constexpr size_t kPiece = 500'001;
  // Taken before: a loop must not wait for a disk.
  std::map<std::string, std::unique_ptr<HeldBytes>> held;
  std::vector<std::string> edges;
  std::set<std::string> expected, arrived;
  for (size_t at = 0; at + kPiece <= content.size(); at += 100'000) {
    const std::string edge = std::to_string(at);
    edges.push_back(edge);
    held[edge] = file->Hold(at, kPiece);
    expected.insert(edge + content.substr(at, kPiece) + edge);
  }
  server_.SetHandler([&held](InboundRequest request) {
    const std::string edge = DecodeWrapped<Blob>(request.body)->bytes;
    request.responder.Reply(ErrorCode::kOk, {edge, std::move(held.at(edge)), edge});
  });
  ASSERT_TRUE(server_.Listen().ok());
  for (const std::string& edge : edges) Call(server_.local(), Get(edge));
  for (size_t i = 0; i < expected.size(); ++i) {
    auto result = results_->Take();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->error, ErrorCode::kOk);
    arrived.insert(std::move(result->body));
  }
  EXPECT_TRUE(arrived == expected);
}

TEST_F(AsioTransportTest, UnansweredCallsTimeOut) {
  StartServer();
  Call(server_.local(), Get("never", absl::Milliseconds(60)));
  Call(server_.local(), Get("late"));
  auto result = results_->Take();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->error, ErrorCode::kTimeout);
  auto first = requests_->Take();
  auto second = requests_->Take();
  first->responder.Reply(ErrorCode::kOk, "x");  // too late: dropped
  second->responder.Reply(ErrorCode::kOk, "y");
  EXPECT_EQ(results_->Take()->body, "y");
  EXPECT_EQ(results_->size(), 0u);
}

TEST_F(AsioTransportTest, CallsFailAtOnceWhenTheirConnectionCloses) {
  StartServer();
  for (int i = 0; i < 3; ++i) Call(server_.local(), Get("k"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(requests_->Take().has_value());
  server_.Stop();
  for (int i = 0; i < 3; ++i) {
    auto result = results_->Take();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->error, ErrorCode::kNetworkFailure);
    EXPECT_FALSE(result->was_never_sent) << "the server read it";
  }
}

TEST_F(AsioTransportTest, CallsToNobodyFailAndALaterOneConnects) {
  Endpoint nowhere;
  {
    AsioTransport gone(&loops_, {.listen = kLoopbackAnyPort});
    ASSERT_TRUE(gone.Listen().ok());
    nowhere = gone.local();
  }
  // Refused; then not even tried, so soon after; to nowhere at all.
  for (Endpoint to : {nowhere, nowhere, Endpoint()}) {
    Call(to, Get("k"));
    const RpcResult result = *results_->Take();
    EXPECT_EQ(result.error, ErrorCode::kNetworkFailure);
    EXPECT_TRUE(result.was_never_sent);
  }

  AsioTransport back(&loops_, {.listen = nowhere});
  back.SetHandler([](InboundRequest request) { request.responder.Reply(ErrorCode::kOk, "here"); });
  ASSERT_TRUE(back.Listen().ok());
  EXPECT_TRUE(Eventually([&] {
    Call(nowhere, Get("k"));
    return results_->Take()->body == "here";
  }));
}

TEST_F(AsioTransportTest, DroppedRespondersSayNothing) {
  StartServer();
  Call(server_.local(), Get("dropped", absl::Milliseconds(50)));
  requests_->Take();
  EXPECT_EQ(results_->Take()->error, ErrorCode::kTimeout);
}

// What ends a server of 2.5: another payload format, forwarding it did not ask for, a partition in
// a meta request.
TEST_F(AsioTransportTest, CallsBetweenServersSayNothingThatEndsAnOlderVersions) {
  StartServer();
  AsioTransport caller(&loops_, {.listen = kLoopbackAnyPort});
  ASSERT_TRUE(caller.Listen().ok());
  for (const char* name : {kRpcConfigSync, kRpcUpdateConfiguration, kRpcBeacon, kRpcClusterInfo,
                           kRpcPrepare, kRpcLearn, kRpcCopyFile}) {
    caller.Call(server_.local(), {.name = name, .body = std::string("\0", 1)}, strand_,
                [results = results_](RpcResult r) { results->Put(std::move(r)); });
    const auto request = requests_->Take();
    ASSERT_TRUE(request.has_value());
    EXPECT_EQ(request->header.name, name);
    EXPECT_EQ(request->header.pid, (PartitionId{0, 0})) << "a meta server ends by another";
    const bool is_for_meta = std::string_view(name).starts_with("RPC_CM_") || name == kRpcBeacon;
    EXPECT_EQ(request->header.forward_supported, !is_for_meta) << name;
  }
  caller.Stop();
}

using AsioTransportDeathTest = AsioTransportTest;
TEST_F(AsioTransportDeathTest, AnAnswerThatSaysOkSaysMore) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        StartServer();
        Call(server_.local(), Get("k"));
        requests_->Take()->responder.Reply(ErrorCode::kOk);
        results_->Take(absl::Seconds(5));
      },
      kRpcGet);
}

TEST_F(AsioTransportTest, AnswersAreAlsoTakenFromAcceptedConnections) {
  StartServer();
  AsioTransport caller(&loops_, {.listen = kLoopbackAnyPort});
  ASSERT_TRUE(caller.Listen().ok());
  // The server answers through a connection of its own, as a leader does for a relayed request.
  caller.Call(server_.local(), Get("k"), strand_,
              [results = results_](RpcResult r) { results->Put(std::move(r)); });
  auto request = requests_->Take();
  Frame relayed;
  relayed.context = kRdsnThriftBinary | kRdsnForwarded;
  relayed.header.name = kRpcGet;
  relayed.id = 1;  // the caller's first
  RawClient raw(request->header.from);
  ASSERT_TRUE(
      raw.Write(RdsnReplyHeader(relayed, ErrorCode::kOk, server_.local(), "answer") + "answer"));
  EXPECT_EQ(results_->Take()->body, "answer");
  caller.Stop();
}

TEST_F(AsioTransportTest, AnAnswerWithAnotherNameIsNotTaken) {
  StartServer();
  AsioTransport caller(&loops_, {.listen = kLoopbackAnyPort});
  ASSERT_TRUE(caller.Listen().ok());
  caller.Call(server_.local(), Get("k"), strand_,
              [results = results_](RpcResult r) { results->Put(std::move(r)); });
  auto request = requests_->Take();
  Frame other;
  other.context = kRdsnThriftBinary;
  other.header.name = kRpcPut;
  other.id = 1;
  RawClient raw(request->header.from);
  ASSERT_TRUE(
      raw.Write(RdsnReplyHeader(other, ErrorCode::kOk, server_.local(), "forged") + "forged"));
  ASSERT_TRUE(raw.Write(
      RdsnGet(9, "k")));  // caller has no handler: its answer shows that the first frame was read
  EXPECT_EQ(raw.ReadFrame()->error, ErrorCode::kHandlerNotFound);
  request->responder.Reply(ErrorCode::kOk, "real");
  EXPECT_EQ(results_->Take()->body, "real");
  caller.Stop();
}

TEST_F(AsioTransportTest, WithoutHandlerThereIsNone) {
  ASSERT_TRUE(server_.Listen().ok());
  Call(server_.local(), Get("k"));
  EXPECT_EQ(results_->Take()->error, ErrorCode::kHandlerNotFound);
}

TEST_F(AsioTransportTest, BeyondTheLimitConnectionsWaitUntilOthersClose) {
  AsioTransport server(&loops_, {.listen = kLoopbackAnyPort, .connections_max = 2});
  server.SetHandler(
      [](InboundRequest request) { request.responder.Reply(ErrorCode::kOk, "here"); });
  ASSERT_TRUE(server.Listen().ok());
  auto first = std::make_unique<RawClient>(server.local());
  RawClient second(server.local());
  for (RawClient* raw : {first.get(), &second}) {
    ASSERT_TRUE(raw->Write(RdsnGet(1, "k")));
    ASSERT_TRUE(raw->ReadFrame().has_value());
  }
  RawClient third(server.local());
  ASSERT_TRUE(third.Write(RdsnGet(1, "k")));
  ASSERT_TRUE(Eventually([&] { return server.stats().accept_stops.value() > 0; }));
  first = nullptr;
  EXPECT_TRUE(third.ReadFrame().has_value());
  server.Stop();
}

TEST_F(AsioTransportTest, WithoutDescriptorsConnectionsWaitAndNothingSpins) {
  StartEchoServer();
  const int waiting = socket(AF_INET, SOCK_STREAM, 0);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(waiting) + 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  std::vector<int> fillers;
  for (int fd = dup(waiting); fd >= 0; fd = dup(waiting)) fillers.push_back(fd);
  const Endpoint to = server_.local();
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = htons(to.port), .sin_addr = {htonl(to.ip)}};
  ASSERT_EQ(connect(waiting, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const std::string request = RdsnGet(1, "k");
  ASSERT_EQ(send(waiting, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  const absl::Time begun = absl::Now();
  EXPECT_TRUE(Eventually([&] { return server_.stats().accept_stops.value() >= 3; }));
  EXPECT_LE(server_.stats().accept_stops.value(),
            3 + absl::ToDoubleSeconds(absl::Now() - begun) * 10);
  for (int fd : fillers) close(fd);
  setrlimit(RLIMIT_NOFILE, &before);
  char answer[16];
  EXPECT_GT(recv(waiting, answer, sizeof(answer), 0), 0);
  close(waiting);
}

TEST_F(AsioTransportTest, OneWayMessagesArriveAndLeaveNothingBehind) {
  StartServer();
  client_.SendOneWay(server_.local(),
                     {.name = kRpcConfigProposal, .body = "b", .thread_hash = 15841});
  auto request = requests_->Take();
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->header.name, kRpcConfigProposal);
  EXPECT_EQ(request->header.thread_hash, 15841);
  // A pure client's own name is a placeholder: its connection's address stands instead.
  EXPECT_EQ(request->header.from.ip, server_.local().ip);
  EXPECT_GT(request->header.from.port, 1023);
  EXPECT_NE(request->header.from, server_.local());
}

TEST_F(AsioTransportTest, LanesHaveConnectionsOfTheirOwn) {
  StartEchoServer();
  for (Lane lane : {Lane::kData, Lane::kBulk, Lane::kBeacon, Lane::kData}) {
    OutboundRequest request = Get("k");
    request.lane = lane;
    Call(server_.local(), std::move(request));
    EXPECT_EQ(results_->Take()->error, ErrorCode::kOk);
  }
  EXPECT_EQ(client_.stats().connections.value(), 3);
}

TEST_F(AsioTransportTest, APortInUseNamesItsHolder) {
  StartServer();
  AsioTransport second(&loops_, {.listen = server_.local()});
  absl::Status status = second.Listen();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find(absl::StrCat("pid ", getpid())), absl::string_view::npos)
      << status;
}

}  // namespace
}  // namespace arion
