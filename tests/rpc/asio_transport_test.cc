// Real sockets on loopback; every wait is for a condition, with a deadline.
// SPDX-License-Identifier: Apache-2.0
#include "rpc/asio_transport.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "base/coding.h"
#include "messages/client_messages.h"
#include "messages/tool_messages.h"
#include "posix/event_loops.h"
#include "posix/posix_file_system.h"
#include "rpc/frame.h"
#include "rpc/thrift_codec.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

constexpr Endpoint kLoopbackAnyPort{.ip = 0x7f000001, .port = 0};
constexpr absl::Duration kPatience = absl::Seconds(60);

// A queue between threads whose Take waits for an element, but not forever.
template <class T>
class Mailbox {
 public:
  void Put(T value) {
    std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    arrived_.notify_all();
  }
  std::optional<T> Take(absl::Duration patience = kPatience) {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, absl::ToChronoNanoseconds(patience),
                           [&] { return !values_.empty(); }))
      return {};
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return values_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<T> values_;
};

bool Eventually(const std::function<bool()>& condition) {
  Mailbox<int> never;
  for (absl::Time end = absl::Now() + kPatience; absl::Now() < end;) {
    if (condition()) return true;
    never.Take(absl::Milliseconds(2));
  }
  return condition();
}

// A plain blocking socket, to be any kind of peer.
class RawClient {
 public:
  explicit RawClient(Endpoint to, int receive_buffer_bytes = 0)
      : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer_bytes > 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof(receive_buffer_bytes));
    }
    sockaddr_in address{
        .sin_family = AF_INET, .sin_port = htons(to.port), .sin_addr = {htonl(to.ip)}};
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0)
        << strerror(errno);
  }
  ~RawClient() { close(fd_); }

  bool Write(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  // Writes while the socket takes bytes within `patience`; how many it took.
  size_t WriteWhileTaken(std::string_view bytes, absl::Duration patience) {
    size_t written = 0;
    while (written < bytes.size()) {
      pollfd ready{.fd = fd_, .events = POLLOUT};
      if (poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) != 1) break;
      ssize_t n =
          send(fd_, bytes.data() + written, bytes.size() - written, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0) break;
      written += static_cast<size_t>(n);
    }
    return written;
  }
  // What arrives next; "" when the peer closed or nothing came in time.
  std::string Read(absl::Duration patience = kPatience) {
    pollfd ready{.fd = fd_, .events = POLLIN};
    if (poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) != 1) {
      timed_out_ = true;
      return "";
    }
    std::string bytes(64 << 10, '\0');
    ssize_t n = recv(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return bytes;
  }
  bool PeerCloses() {
    while (!Read().empty()) {
    }
    return !timed_out_;
  }
  std::optional<Frame> ReadFrame() {
    Frame frame;
    while (true) {
      FrameParser::Result result = parser_.Next(&frame);
      if (result == FrameParser::Result::kFrame) return frame;
      if (result != FrameParser::Result::kNeedMore) return {};
      std::string bytes = Read();
      if (bytes.empty()) return {};
      parser_.Feed(bytes);
    }
  }
  void ExpectThriftReplies() { parser_ = FrameParser(FrameParser::Expect::kThriftReply); }

 private:
  int fd_;
  bool timed_out_ = false;
  FrameParser parser_{FrameParser::Expect::kRdsn};
};

std::string ThriftGet(int32_t sequence_id, std::string_view key,
                      Framing framing = Framing::kThriftV0, std::string name = kRpcGet) {
  Frame frame;
  frame.id = static_cast<uint32_t>(sequence_id);
  frame.header.framing = framing;
  frame.header.name = std::move(name);
  frame.header.pid = {2, 1};
  std::string body = EncodeWrapped(Blob(key), PeerGeneration::kNone, 1);
  return ThriftRequestHeader(frame, body.size()) + body;
}

std::string RdsnGet(uint64_t id, std::string_view key,
                    Endpoint from = {.ip = 0x7f000001, .port = 1}) {
  Frame frame;
  frame.id = id;
  frame.context = kRdsnThriftBinary;
  frame.header.name = kRpcGet;
  frame.header.from = from;
  std::string body = EncodeWrapped(Blob(key));
  return RdsnRequestHeader(frame, body) + body;
}

class AsioTransportTest : public ::testing::Test {
 protected:
  ~AsioTransportTest() override {
    server_.Stop();
    client_.Stop();
    requests_ = {};
  }

  void StartServer() {
    server_.SetHandler([this](InboundRequest request) { requests_->Put(std::move(request)); });
    ASSERT_TRUE(server_.Listen().ok());
  }
  // Answers GETs with their key.
  void StartEchoServer() {
    server_.SetHandler([](InboundRequest request) {
      auto key = DecodeWrapped<Blob>(request.body);
      if (!key.ok()) return request.responder.Reply(ErrorCode::kInvalidData);
      request.responder.Reply(ErrorCode::kOk, EncodeWrapped(ReadResponse{.value = *key}));
    });
    ASSERT_TRUE(server_.Listen().ok());
  }
  void Call(Endpoint to, OutboundRequest request) {
    client_.Call(to, std::move(request), strand_,
                 [results = results_](RpcResult result) { results->Put(std::move(result)); });
  }
  static OutboundRequest Get(std::string_view key, absl::Duration timeout = absl::Seconds(60)) {
    return {.name = kRpcGet, .body = EncodeWrapped(Blob(key)), .timeout = timeout};
  }

  EventLoops loops_{2};
  AsioTransport server_{&loops_, {.listen = kLoopbackAnyPort}};
  AsioTransport client_{&loops_, {}};
  StrandPtr strand_ = loops_.NewStrand("test");
  std::shared_ptr<Mailbox<InboundRequest>> requests_ = std::make_shared<Mailbox<InboundRequest>>();
  std::shared_ptr<Mailbox<RpcResult>> results_ = std::make_shared<Mailbox<RpcResult>>();
};

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

// Lets through what has its own tag or none.
class TagGate : public RpcGate {
 public:
  explicit TagGate(uint64_t tag) : tag_(tag) {}
  uint64_t OurTag() const override { return tag_; }
  ErrorCode Admit(const RequestHeader&, Endpoint peer, uint64_t tag, std::string_view) override {
    EXPECT_TRUE(peer.IsValid());
    return tag == 0 || tag == tag_ ? ErrorCode::kOk : ErrorCode::kClusterNotFound;
  }
  bool Accept(std::string_view name, Endpoint, uint64_t tag) override {
    EXPECT_TRUE(name.ends_with("_ACK")) << name;
    accepted_tags.push_back(tag);
    return tag == 0 || tag == tag_;
  }
  std::vector<uint64_t> accepted_tags;

 private:
  const uint64_t tag_;
};

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

TEST_F(AsioTransportTest, ABrokenFrameCostsOneConnection) {
  StartEchoServer();
  RawClient good(server_.local());
  ASSERT_TRUE(good.Write(RdsnGet(1, "a")));
  ASSERT_TRUE(good.ReadFrame().has_value());
  std::string huge = RdsnGet(2, "b");
  StoreLittle<uint32_t>(0xffffffffu, huge.data() + 16);
  std::string negative = ThriftGet(1, "b");
  StoreBig<uint32_t>(0x80000000u, negative.data() + 16);
  std::string crc = RdsnGet(2, "b");
  crc[20] = 1;
  for (const std::string& bad : {std::string("garbage of no kind"), huge, negative, crc}) {
    RawClient raw(server_.local());
    ASSERT_TRUE(raw.Write(bad));
    EXPECT_TRUE(raw.PeerCloses());
  }
  ASSERT_TRUE(good.Write(RdsnGet(3, "c")));
  auto frame = good.ReadFrame();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(DecodeWrapped<ReadResponse>(frame->body)->value.bytes, "c");
}

TEST_F(AsioTransportTest, UnreadablePayloadsAreAnsweredWhereFramingIsIntact) {
  StartEchoServer();
  RawClient raw(server_.local());
  Frame request;
  request.context = 0;  // payload format 0
  request.header.name = kRpcGet;
  request.id = 5;
  ASSERT_TRUE(raw.Write(RdsnRequestHeader(request, "")));
  EXPECT_EQ(raw.ReadFrame()->error, ErrorCode::kInvalidData);
  request.context = kRdsnThriftBinary;  // no body
  ASSERT_TRUE(raw.Write(RdsnRequestHeader(request, "")));
  EXPECT_EQ(raw.ReadFrame()->error, ErrorCode::kInvalidData);
}

TEST_F(AsioTransportTest, NegotiationIsDeclined) {
  StartEchoServer();
  Call(server_.local(),
       {.name = kRpcNegotiation,
        .body = EncodeWrapped(NegotiationRequest{.status = NegotiationStatus::kListMechanisms})});
  auto result = results_->Take();
  EXPECT_EQ(DecodeWrapped<NegotiationResponse>(result->body)->status,
            NegotiationStatus::kAuthDisabled);
}

TEST_F(AsioTransportTest, WithoutHandlerThereIsNone) {
  ASSERT_TRUE(server_.Listen().ok());
  Call(server_.local(), Get("k"));
  EXPECT_EQ(results_->Take()->error, ErrorCode::kHandlerNotFound);
}

TEST_F(AsioTransportTest, HttpIsToldPolitelyAndTheConnectionCloses) {
  StartEchoServer();
  RawClient raw(server_.local());
  ASSERT_TRUE(raw.Write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_TRUE(raw.Read().starts_with("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_TRUE(raw.PeerCloses());
}

TEST_F(AsioTransportTest, AClientThatStopsReadingIsBounded) {
  AsioTransport server(&loops_, {.listen = kLoopbackAnyPort,
                                 .queued_bytes_max = 4 << 20,
                                 .stall_timeout = absl::Milliseconds(300)});
  std::atomic<int> handled = 0;
  server.SetHandler([&](InboundRequest request) {
    ++handled;
    request.responder.Reply(ErrorCode::kOk, std::string(100 << 10, 'x'));
  });
  ASSERT_TRUE(server.Listen().ok());
  RawClient raw(server.local(), 4096);
  std::string requests;
  for (int i = 0; i < 4000; ++i) requests += RdsnGet(i, "k");  // answers: 400 MB
  raw.WriteWhileTaken(requests, absl::Milliseconds(100));
  EXPECT_TRUE(Eventually([&] { return server.stats().connections.value() == 0; }))
      << "stalled: closed";
  EXPECT_LT(handled, 400) << "not much more was taken in than may be queued";
  server.Stop();
}

TEST_F(AsioTransportTest, AClientThatReadsGetsManyLargeAnswersAtOnce) {
  AsioTransport server(&loops_, {.listen = kLoopbackAnyPort, .queued_bytes_max = 4 << 20});
  server.SetHandler([&](InboundRequest request) { requests_->Put(std::move(request)); });
  ASSERT_TRUE(server.Listen().ok());
  RawClient raw(server.local(), 64 << 10);
  constexpr int kRequests = 10;
  for (int i = 0; i < kRequests; ++i) ASSERT_TRUE(raw.Write(RdsnGet(i, "k")));
  std::vector<InboundRequest> requests;
  for (int i = 0; i < kRequests; ++i) requests.push_back(std::move(*requests_->Take()));
  for (InboundRequest& request : requests)
    request.responder.Reply(ErrorCode::kOk, std::string(2 << 20, 'x'));
  for (int i = 0; i < kRequests; ++i) {
    auto frame = raw.ReadFrame();
    ASSERT_TRUE(frame.has_value()) << i;
    EXPECT_EQ(frame->body.size(), 2u << 20);
  }
  EXPECT_EQ(server.stats().closed_slow.value(), 0);
  server.Stop();
}

// Over several ticks, as one over a network does.
TEST_F(AsioTransportTest, AClientThatReadsGetsAnAnswerMuchLargerThanTheLimit) {
  constexpr size_t kAnswerBytes = 12 << 20;
  AsioTransport server(&loops_, {.listen = kLoopbackAnyPort, .queued_bytes_max = 4 << 20});
  server.SetHandler([&](InboundRequest request) {
    request.responder.Reply(ErrorCode::kOk, std::string(kAnswerBytes, 'x'));
  });
  ASSERT_TRUE(server.Listen().ok());
  RawClient raw(server.local(), 64 << 10);
  ASSERT_TRUE(raw.Write(RdsnGet(1, "k")));
  Mailbox<int> never;
  size_t received = 0;
  while (received < kAnswerBytes) {
    const size_t n = raw.Read().size();
    ASSERT_GT(n, 0u) << "after " << received;
    received += n;
    if (received < kAnswerBytes / 4) never.Take(absl::Milliseconds(20));
  }
  EXPECT_EQ(server.stats().closed_slow.value(), 0);
  server.Stop();
}

TEST_F(AsioTransportTest, AClientFarBehindThatTakesNothingIsClosedSooner) {
  AsioTransport server(&loops_, {.listen = kLoopbackAnyPort,
                                 .queued_bytes_max = 4 << 20,
                                 .behind_timeout = absl::Milliseconds(300)});
  server.SetHandler([&](InboundRequest request) {
    request.responder.Reply(ErrorCode::kOk, std::string(16 << 20, 'x'));
  });
  ASSERT_TRUE(server.Listen().ok());
  RawClient raw(server.local(), 4096);
  const absl::Time begun = absl::Now();
  ASSERT_TRUE(raw.Write(RdsnGet(1, "k")));
  EXPECT_TRUE(Eventually([&] { return server.stats().closed_slow.value() == 1; }));
  EXPECT_GE(absl::Now() - begun, absl::Milliseconds(300));
  EXPECT_LT(absl::Now() - begun, absl::Seconds(20)) << "before stall_timeout";
  server.Stop();
}

TEST_F(AsioTransportTest, RequestsWaitWhereThoseBeforeThemWillHaveLargeAnswers) {
  AsioTransport server(&loops_, {.listen = kLoopbackAnyPort, .queued_bytes_max = 4 << 20});
  server.SetHandler([&](InboundRequest request) { requests_->Put(std::move(request)); });
  ASSERT_TRUE(server.Listen().ok());
  RawClient raw(server.local());
  ASSERT_TRUE(raw.Write(RdsnGet(0, "k")));
  requests_->Take()->responder.Reply(ErrorCode::kOk, std::string(16 << 20, 'x'));
  ASSERT_TRUE(raw.ReadFrame().has_value());
  const int64_t pauses = server.stats().pauses.value();
  constexpr int kRequests = 20;
  std::string bytes;
  for (int i = 1; i <= kRequests; ++i) bytes += RdsnGet(i, "k");
  ASSERT_TRUE(raw.Write(bytes));
  ASSERT_TRUE(Eventually([&] { return server.stats().pauses.value() > pauses; }));
  EXPECT_EQ(requests_->size(), 1u) << "the mean rose by half, to 8 MiB";
  for (int i = 0; i < kRequests; ++i) requests_->Take()->responder.Reply(ErrorCode::kOk, "x");
  for (int i = 0; i < kRequests; ++i) ASSERT_TRUE(raw.ReadFrame().has_value()) << i;
  server.Stop();
}

// What is admitted before anything is known of the answers is owed all the same.
TEST_F(AsioTransportTest, BeforeTheFirstAnswerAFewHundredRequestsAreTaken) {
  AsioTransport server(&loops_, {.listen = kLoopbackAnyPort});
  server.SetHandler([&](InboundRequest request) { requests_->Put(std::move(request)); });
  ASSERT_TRUE(server.Listen().ok());
  RawClient raw(server.local());
  constexpr int kRequests = 600;
  std::string bytes;
  for (int i = 0; i < kRequests; ++i) bytes += RdsnGet(i, "k");
  ASSERT_TRUE(raw.Write(bytes));
  ASSERT_TRUE(Eventually([&] { return server.stats().pauses.value() > 0; }));
  EXPECT_EQ(requests_->size(), 257u);
  for (int i = 0; i < kRequests; ++i) requests_->Take()->responder.Reply(ErrorCode::kOk, "x");
  for (int i = 0; i < kRequests; ++i) ASSERT_TRUE(raw.ReadFrame().has_value()) << i;
  server.Stop();
}

// However fast they may be: memory is bounded.
TEST_F(AsioTransportTest, FarBeyondTheSumConnectionsAreClosedUntilItFits) {
  constexpr int64_t kBytesMax = 4 << 20;
  AsioTransport server(&loops_, {.listen = kLoopbackAnyPort, .backlog_bytes_max = kBytesMax});
  server.SetHandler([&](InboundRequest request) { requests_->Put(std::move(request)); });
  ASSERT_TRUE(server.Listen().ok());
  constexpr int kClients = 12;
  std::vector<std::unique_ptr<RawClient>> clients;
  std::vector<InboundRequest> requests;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.local(), 4096));
    ASSERT_TRUE(clients.back()->Write(RdsnGet(1, "k")));
    requests.push_back(std::move(*requests_->Take()));
  }
  const auto fits = [&] { return server.stats().backlog_bytes.value() <= 4 * kBytesMax; };
  for (InboundRequest& request : requests)
    request.responder.Reply(ErrorCode::kOk, std::string(4 << 20, 'x'));
  EXPECT_FALSE(fits());
  EXPECT_TRUE(Eventually(fits));
  EXPECT_GT(server.stats().closed_slow.value(), 0);
  EXPECT_GE(server.stats().connections.value(), 3) << "no more than need be";
  server.Stop();
}

TEST_F(AsioTransportTest, HalfAFrameThatRestsIsNotKeptAndOneBetweenFramesIs) {
  AsioTransport server(&loops_,
                       {.listen = kLoopbackAnyPort, .stall_timeout = absl::Milliseconds(700)});
  server.SetHandler(
      [](InboundRequest request) { request.responder.Reply(ErrorCode::kOk, "here"); });
  ASSERT_TRUE(server.Listen().ok());
  RawClient resting(server.local()), half(server.local()), slow(server.local());
  ASSERT_TRUE(resting.Write(RdsnGet(1, "k")));
  ASSERT_TRUE(resting.ReadFrame().has_value());
  const std::string frame = RdsnGet(1, std::string(1 << 20, 'k'));
  ASSERT_TRUE(half.Write(frame.substr(0, frame.size() / 2)));
  ASSERT_TRUE(slow.Write(frame.substr(0, frame.size() / 2)));
  size_t sent = frame.size() / 2;
  ASSERT_TRUE(Eventually([&] {
    EXPECT_TRUE(slow.Write(frame.substr(sent++, 1)));
    return server.stats().broken_frames.value() == 1;
  }));
  EXPECT_TRUE(half.PeerCloses());
  ASSERT_TRUE(slow.Write(frame.substr(sent)));
  EXPECT_TRUE(slow.ReadFrame().has_value()) << "something came all the time";
  ASSERT_TRUE(resting.Write(RdsnGet(2, "k")));
  EXPECT_TRUE(resting.ReadFrame().has_value());
  server.Stop();
}

TEST_F(AsioTransportTest, WhereHalfFramesAreTooMuchTheFirstOfThemGo) {
  constexpr size_t kBytesMax = 512 << 10;
  EventLoops one_loop{1};  // each loop closes what it has
  AsioTransport server(&one_loop, {.listen = kLoopbackAnyPort, .backlog_bytes_max = kBytesMax});
  server.SetHandler(
      [](InboundRequest request) { request.responder.Reply(ErrorCode::kOk, "here"); });
  ASSERT_TRUE(server.Listen().ok());
  const std::string frame = RdsnGet(1, std::string(1 << 20, 'k'));
  const size_t half = frame.size() / 2;
  const auto held = [&] { return static_cast<size_t>(server.stats().half_frame_bytes.value()); };
  std::vector<std::unique_ptr<RawClient>> clients;
  for (size_t i = 1; held() <= 4 * kBytesMax && i < 10; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.local()));
    ASSERT_TRUE(clients.back()->Write(frame.substr(0, half)));
    ASSERT_TRUE(
        Eventually([&] { return held() >= std::min(i * (half - (64 << 10)), 4 * kBytesMax); }));
  }
  EXPECT_TRUE(clients.front()->PeerCloses());
  EXPECT_EQ(server.stats().broken_frames.value(), 1) << "no more than need be";
  EXPECT_TRUE(Eventually([&] { return held() <= 4 * kBytesMax; }));
  ASSERT_TRUE(clients.back()->Write(frame.substr(half)));
  EXPECT_TRUE(clients.back()->ReadFrame().has_value());
  server.Stop();
  EXPECT_EQ(held(), 0u);
}

TEST_F(AsioTransportTest, OnlyServersThatTheGateLetThroughMaySendLongFrames) {
  TagGate gate(7);
  AsioTransport server(&loops_, {.listen = kLoopbackAnyPort, .gate = &gate});
  server.SetHandler([](InboundRequest request) { request.responder.Reply(ErrorCode::kOk, "ok"); });
  ASSERT_TRUE(server.Listen().ok());
  const auto introduced = [&](uint64_t tag, std::string_view from, RawClient& raw) {
    Frame prepare;
    prepare.context = kRdsnThriftBinary;
    prepare.SetClusterTag(tag);
    prepare.header.name = kRpcPrepare;
    prepare.header.from = *Endpoint::Parse(from);
    EXPECT_TRUE(raw.Write(RdsnRequestHeader(prepare, "")));
    const auto answer = raw.ReadFrame();
    std::string large = RdsnRequestHeader(prepare, "");
    StoreLittle<uint32_t>(100u << 20, large.data() + 16);
    EXPECT_TRUE(raw.Write(large));
    return answer.has_value() ? answer->error : ErrorCode::kTimeout;
  };
  RawClient ours(server.local()), strange(server.local()), client(server.local());
  EXPECT_EQ(introduced(7, "10.0.0.1:34801", ours), ErrorCode::kOk);
  EXPECT_EQ(introduced(8, "10.0.0.1:34801", strange), ErrorCode::kClusterNotFound);
  EXPECT_EQ(introduced(7, "127.0.0.1:1", client), ErrorCode::kOk);
  EXPECT_TRUE(strange.PeerCloses());
  EXPECT_TRUE(client.PeerCloses());
  EXPECT_TRUE(Eventually([&] { return server.stats().connections.value() <= 1; }));
  EXPECT_EQ(server.stats().connections.value(), 1) << "ours waits for the rest of its frame";
  server.Stop();
}

TEST_F(AsioTransportTest, UnansweredRequestsAreBoundedAndGoOnWhenAnswered) {
  AsioTransport server(&loops_, {.listen = kLoopbackAnyPort, .unanswered_bytes_max = 1 << 20});
  server.SetHandler([&](InboundRequest request) { requests_->Put(std::move(request)); });
  ASSERT_TRUE(server.Listen().ok());
  RawClient raw(server.local());
  constexpr int kRequests = 64;
  std::string key(64 << 10, 'k');
  std::string bytes;
  for (int i = 0; i < kRequests; ++i) bytes += RdsnGet(i, key);
  std::thread writer([&] { EXPECT_TRUE(raw.Write(bytes)); });
  ASSERT_TRUE(Eventually([&] { return requests_->size() >= 16; }));
  EXPECT_LE(requests_->size(), 18u);
  for (int i = 0; i < kRequests; ++i) {
    auto request = requests_->Take();
    ASSERT_TRUE(request.has_value()) << i;
    request->responder.Reply(ErrorCode::kOk, "x");
  }
  for (int i = 0; i < kRequests; ++i) EXPECT_TRUE(raw.ReadFrame().has_value());
  writer.join();
  server.Stop();
}

TEST_F(AsioTransportTest, NoMoreRequestsOfOneClientAreTakenInThanMayBeUnanswered) {
  AsioTransport server(&loops_, {.listen = kLoopbackAnyPort, .unanswered_requests_max = 8});
  server.SetHandler([&](InboundRequest request) { requests_->Put(std::move(request)); });
  ASSERT_TRUE(server.Listen().ok());
  RawClient raw(server.local());
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += RdsnGet(i, "k");
  ASSERT_TRUE(raw.Write(bytes));
  ASSERT_TRUE(Eventually([&] { return server.stats().pauses.value() > 0; }));
  EXPECT_EQ(requests_->size(), 9u);
  for (int i = 0; i < 100; ++i) requests_->Take()->responder.Reply(ErrorCode::kOk, "x");
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(raw.ReadFrame().has_value());
  server.Stop();
}

// One loop; a client's thousands of requests lie there when another client's only one arrives.
TEST_F(AsioTransportTest, AClientWithThousandsOfRequestsLetsOthersHaveTheirTurn) {
  EventLoops loops(1);
  AsioTransport server(&loops, {.listen = kLoopbackAnyPort});
  std::latch all_sent(1);
  int handled = 0;
  std::atomic<int> handled_before = -1;
  server.SetHandler([&](InboundRequest request) {
    if (handled++ == 0) all_sent.wait();
    if (request.header.name == kRpcTtl) handled_before = handled;
    request.responder.Reply(ErrorCode::kOk, "x");
  });
  ASSERT_TRUE(server.Listen().ok());
  RawClient modest(server.local());
  modest.ExpectThriftReplies();
  ASSERT_TRUE(Eventually([&] { return server.stats().connections.value() == 1; }));
  RawClient greedy(server.local());
  std::string bytes;
  for (int i = 0; i < 3000; ++i) bytes += ThriftGet(i, "k");
  greedy.WriteWhileTaken(bytes, absl::Milliseconds(200));
  ASSERT_TRUE(modest.Write(ThriftGet(1, "k", Framing::kThriftV0, kRpcTtl)));
  all_sent.count_down();
  EXPECT_TRUE(modest.ReadFrame().has_value());
  EXPECT_LT(handled_before, 300);
  server.Stop();
}

TEST_F(AsioTransportTest, WhatSlowClientsHaveQueuedIsBoundedInSum) {
  constexpr size_t kBytesMax = 8 << 20;
  AsioTransport server(&loops_, {.listen = kLoopbackAnyPort, .backlog_bytes_max = kBytesMax});
  server.SetHandler([&](InboundRequest request) {
    request.responder.Reply(ErrorCode::kOk, std::string(100 << 10, 'x'));
  });
  ASSERT_TRUE(server.Listen().ok());
  constexpr int kRequests = 40;
  std::string bytes;
  for (int i = 0; i < kRequests; ++i) bytes += RdsnGet(i, "k");
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 12; ++i) {
    slow.push_back(std::make_unique<RawClient>(server.local(), 4096));
    ASSERT_TRUE(slow.back()->Write(bytes));
  }
  ASSERT_TRUE(Eventually([&] { return server.stats().pauses.value() >= 4; }));
  // Others are served meanwhile, and the sum stays where it is.
  RawClient good(server.local());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(good.Write(RdsnGet(i, "k")));
    ASSERT_TRUE(good.ReadFrame().has_value());
  }
  EXPECT_LT(server.stats().backlog_bytes.value(), kBytesMax + 13 * (100 << 10));
  // Paused is not lost: who reads gets everything.
  for (int i = 0; i < kRequests; ++i) ASSERT_TRUE(slow.back()->ReadFrame().has_value()) << i;
  slow.clear();
  EXPECT_TRUE(Eventually([&] { return server.stats().connections.value() == 1; }));
  EXPECT_TRUE(Eventually([&] { return server.stats().backlog_bytes.value() == 0; }));
  server.Stop();
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

TEST_F(AsioTransportTest, BeaconsByUdpAreAnsweredToTheirFromAddress) {
  StartServer();
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in own{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof(own)), 0);
  socklen_t size = sizeof(own);
  getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size);
  Frame beacon;
  beacon.id = 77;
  beacon.context = kRdsnThriftBinary;
  beacon.header.name = kRpcBeacon;
  beacon.header.from = {.ip = INADDR_LOOPBACK, .port = ntohs(own.sin_port)};
  std::string body = EncodeWrapped(BeaconMessage{.time = 5});
  std::string datagram = RdsnRequestHeader(beacon, body, Checksums::kHeaderAndBody) + body;
  std::string broken = datagram;
  broken.back() ^= 1;

  int sender = socket(AF_INET, SOCK_DGRAM, 0);  // another port than `from`
  sockaddr_in to{.sin_family = AF_INET,
                 .sin_port = htons(server_.local().port),
                 .sin_addr = {htonl(INADDR_LOOPBACK)}};
  for (const std::string& bytes : {broken, std::string("short"), datagram}) {
    sendto(sender, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof(to));
  }
  auto request = requests_->Take();
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(DecodeWrapped<BeaconMessage>(request->body)->time, 5);
  request->responder.Reply(ErrorCode::kOk, EncodeWrapped(BeaconAck{.time = 5, .allowed = true}));
  pollfd ready{.fd = fd, .events = POLLIN};
  ASSERT_EQ(poll(&ready, 1, 20000), 1);
  char buffer[2000];
  ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
  FrameParser parser(FrameParser::Expect::kRdsn);
  parser.Feed({buffer, static_cast<size_t>(n)});
  Frame ack;
  ASSERT_EQ(parser.Next(&ack), FrameParser::Result::kFrame) << parser.error();
  EXPECT_EQ(ack.id, 77u);
  EXPECT_TRUE(DecodeWrapped<BeaconAck>(ack.body)->allowed);
  EXPECT_NE(LoadLittle<uint32_t>(buffer + 12), 0u) << "the answer carries checksums too";
  EXPECT_EQ(requests_->size(), 0u);
  close(fd);
  close(sender);
}

TEST_F(AsioTransportTest, APortInUseNamesItsHolder) {
  StartServer();
  AsioTransport second(&loops_, {.listen = server_.local()});
  absl::Status status = second.Listen();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find(absl::StrCat("pid ", getpid())), absl::string_view::npos)
      << status;
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

}  // namespace
}  // namespace arion
