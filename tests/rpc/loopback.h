// Real sockets on loopback, between a transport and peers of any kind; every wait is for a condition, with a
// deadline.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "messages/client_messages.h"
#include "messages/tool_messages.h"
#include "posix/event_loops.h"
#include "rpc/asio_transport.h"
#include "rpc/frame.h"
#include "rpc/rpc_gate.h"
#include "rpc/thrift_codec.h"

namespace arion {

inline constexpr Endpoint kLoopbackAnyPort{.ip = 0x7f000001, .port = 0};
inline constexpr absl::Duration kPatience = absl::Seconds(60);

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

inline bool Eventually(const std::function<bool()>& condition) {
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

inline std::string ThriftGet(int32_t sequence_id, std::string_view key,
                             Framing framing = Framing::kThriftV0, std::string name = kRpcGet) {
  Frame frame;
  frame.id = static_cast<uint32_t>(sequence_id);
  frame.header.framing = framing;
  frame.header.name = std::move(name);
  frame.header.pid = {2, 1};
  std::string body = EncodeWrapped(Blob(key), PeerGeneration::kNone, 1);
  return ThriftRequestHeader(frame, body.size()) + body;
}

inline std::string RdsnGet(uint64_t id, std::string_view key,
                           Endpoint from = {.ip = 0x7f000001, .port = 1}) {
  Frame frame;
  frame.id = id;
  frame.context = kRdsnThriftBinary;
  frame.header.name = kRpcGet;
  frame.header.from = from;
  std::string body = EncodeWrapped(Blob(key));
  return RdsnRequestHeader(frame, body) + body;
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

class LoopbackTest : public ::testing::Test {
 protected:
  ~LoopbackTest() override {
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

}  // namespace arion
