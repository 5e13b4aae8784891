// One connection: its frames, and how much a peer may make it hold.
// SPDX-License-Identifier: Apache-2.0
#include "rpc/asio_connection.h"
#include "messages/replication_messages.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <latch>

#include "base/coding.h"
#include "env/loop_thread.h"
#include "messages/client_messages.h"
#include "tests/rpc/loopback.h"

namespace arion {
namespace {

class AsioConnectionTest : public LoopbackTest {};

TEST_F(AsioConnectionTest, ABrokenFrameCostsOneConnection) {
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

TEST_F(AsioConnectionTest, UnreadablePayloadsAreAnsweredWhereFramingIsIntact) {
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

TEST_F(AsioConnectionTest, NegotiationIsDeclined) {
  StartEchoServer();
  Call(server_.local(),
       {.name = kRpcNegotiation,
        .body = EncodeWrapped(NegotiationRequest{.status = NegotiationStatus::kListMechanisms})});
  auto result = results_->Take();
  EXPECT_EQ(DecodeWrapped<NegotiationResponse>(result->body)->status,
            NegotiationStatus::kAuthDisabled);
}

TEST_F(AsioConnectionTest, HttpIsToldPolitelyAndTheConnectionCloses) {
  StartEchoServer();
  RawClient raw(server_.local());
  ASSERT_TRUE(raw.Write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_TRUE(raw.Read().starts_with("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_TRUE(raw.PeerCloses());
}

TEST_F(AsioConnectionTest, AClientThatStopsReadingIsBounded) {
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

TEST_F(AsioConnectionTest, AClientThatReadsGetsManyLargeAnswersAtOnce) {
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
TEST_F(AsioConnectionTest, AClientThatReadsGetsAnAnswerMuchLargerThanTheLimit) {
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

TEST_F(AsioConnectionTest, AClientFarBehindThatTakesNothingIsClosedSooner) {
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

TEST_F(AsioConnectionTest, RequestsWaitWhereThoseBeforeThemWillHaveLargeAnswers) {
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
TEST_F(AsioConnectionTest, BeforeTheFirstAnswerAFewHundredRequestsAreTaken) {
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
TEST_F(AsioConnectionTest, FarBeyondTheSumConnectionsAreClosedUntilItFits) {
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

TEST_F(AsioConnectionTest, HalfAFrameThatRestsIsNotKeptAndOneBetweenFramesIs) {
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

TEST_F(AsioConnectionTest, WhereHalfFramesAreTooMuchTheFirstOfThemGo) {
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

TEST_F(AsioConnectionTest, OnlyServersThatTheGateLetThroughMaySendLongFrames) {
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

TEST_F(AsioConnectionTest, UnansweredRequestsAreBoundedAndGoOnWhenAnswered) {
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

TEST_F(AsioConnectionTest, NoMoreRequestsOfOneClientAreTakenInThanMayBeUnanswered) {
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
TEST_F(AsioConnectionTest, AClientWithThousandsOfRequestsLetsOthersHaveTheirTurn) {
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

// A stopped loop's queue is emptied on the thread that stops it, which handles nobody's requests.
TEST_F(AsioConnectionTest, WhatWaitsForItsTurnWhenTheLoopsStopIsLeft) {
  EventLoops loops(1);
  AsioTransport server(&loops, {.listen = kLoopbackAnyPort});
  std::latch all_sent(1);
  std::atomic<int> handled = 0;
  server.SetHandler([&](InboundRequest request) {
    if (handled++ == 0) return all_sent.wait();
    loops.context(0).stop();  // the last turn of the loop, which has more requests than it may take
    EXPECT_TRUE(OnLoopThread());
  });
  ASSERT_TRUE(server.Listen().ok());
  RawClient greedy(server.local());
  ASSERT_TRUE(greedy.Write(ThriftGet(0, "k")));
  std::string bytes;
  for (int i = 1; i < 3000; ++i) bytes += ThriftGet(i, "k");
  greedy.WriteWhileTaken(bytes, absl::Milliseconds(200));
  all_sent.count_down();
  ASSERT_TRUE(Eventually([&] { return handled > 1; }));
  loops.Stop();
  EXPECT_LT(handled, 300);
  server.Stop();
}

TEST_F(AsioConnectionTest, WhatSlowClientsHaveQueuedIsBoundedInSum) {
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

}  // namespace
}  // namespace arion
