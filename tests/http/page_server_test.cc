// Pages through a real transport on loopback.
// SPDX-License-Identifier: Apache-2.0
#include "http/page_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "http/metrics_page.h"
#include "metrics/metrics_json.h"
#include "posix/event_loops.h"
#include "posix/posix_clock.h"
#include "posix/posix_disk_pool.h"
#include "rpc/asio_transport.h"

namespace arion {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kPatienceMs = 60'000;

// Opens and closes; who goes through waits until it is open.
class Gate {
 public:
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

class Browser {
 public:
  explicit Browser(Endpoint to) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{
        .sin_family = AF_INET, .sin_port = htons(to.port), .sin_addr = {htonl(to.ip)}};
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Browser() { close(fd_); }

  int fd() const { return fd_; }

  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  // How much of `bytes` is taken while the peer takes any.
  size_t SendWhileTaken(std::string_view bytes) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      pollfd ready{.fd = fd_, .events = POLLOUT};
      if (poll(&ready, 1, 300) != 1) break;
      const ssize_t n =
          send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n <= 0) break;
      sent += static_cast<size_t>(n);
    }
    return sent;
  }
  // One answer: head, and a body of the length it names unless it answers HEAD.
  std::string Answer(std::string_view method = "GET") {
    size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
      if (!More()) return std::exchange(buffer_, {});
    size_t size = end + 4;
    const size_t at = buffer_.find("Content-Length: ");
    if (method != "HEAD" && at < end) size += std::strtoul(buffer_.c_str() + at + 16, nullptr, 10);
    while (buffer_.size() < size)
      if (!More()) break;
    std::string answer = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return answer;
  }
  std::string Get(const std::string& path, const std::string& headers = "Accept: */*\r\n") {
    Send("GET " + path + " HTTP/1.1\r\n" + headers + "\r\n");
    return Answer();
  }
  // Nothing more came, and the peer closed.
  bool PeerCloses() { return buffer_.empty() && !More() && !timed_out_; }

 private:
  bool More() {
    pollfd ready{.fd = fd_, .events = POLLIN};
    if (poll(&ready, 1, kPatienceMs) != 1) {
      timed_out_ = true;
      return false;
    }
    char bytes[16 << 10];
    const ssize_t n = recv(fd_, bytes, sizeof(bytes), 0);
    if (n <= 0) return false;
    buffer_.append(bytes, static_cast<size_t>(n));
    return true;
  }

  int fd_;
  bool timed_out_ = false;
  std::string buffer_;
};

class PageServerTest : public testing::Test {
 protected:
  PageServerTest() {
    pages_.Add("/echo", "says what it was asked", [](const HttpRequest& request) {
      std::string text = request.method + " " + request.path;
      for (const auto& [name, value] : request.arguments) text += " " + name + "=" + value;
      return HttpResponse{.body = text + " " + request.body};
    });
    pages_.Add("/slow", "waits", [this](const HttpRequest&) {
      gate_.Pass();
      return HttpResponse{.body = "at last"};
    });
    pages_.Add("/large", "",
               [](const HttpRequest&) { return HttpResponse{.body = std::string(1 << 20, 'x')}; });
    registered_ = registry_.Add({.name = "things_total", .help = "Things."}, {}, things_);
    pages_.Add("/metrics", "counters", MetricsPage(registry_, {.cluster = "c"}, clock_, {}));
    pages_.SetGuard([](const HttpRequest& request) -> std::optional<HttpResponse> {
      if (request.Header("x-secret") != "wrong") return std::nullopt;
      return HttpResponse{.status = 403, .body = "not you, " + request.peer.ToString()};
    });
    transport_.SetByteSessions(pages_.Sessions());
    absl::Status status = transport_.Listen();
    EXPECT_TRUE(status.ok()) << status;
  }
  ~PageServerTest() override {
    gate_.Open();
    transport_.Stop();
    loops_.Stop();
  }

  Gate gate_;
  PosixClock clock_;
  Counter things_;
  MetricRegistry registry_;
  MetricRegistry::Registration registered_;
  EventLoops loops_{2};
  PosixDiskPool pool_{2};
  PageServer pages_{pool_};
  AsioTransport transport_{&loops_, {.listen = Endpoint{.ip = 0x7f000001, .port = 0}}};
};

TEST_F(PageServerTest, OneConnectionAsksManyThings) {
  Browser browser(transport_.local());
  for (int i = 0; i < 100; ++i) {
    const std::string answer = browser.Get("/echo?i=" + std::to_string(i));
    ASSERT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    ASSERT_THAT(answer, HasSubstr("Connection: keep-alive\r\n"));
    ASSERT_THAT(answer, HasSubstr("GET /echo i=" + std::to_string(i)));
  }
}

TEST_F(PageServerTest, AnswersKeepTheOrderOfRequestsSentAhead) {
  Browser browser(transport_.local());
  std::string ahead;
  for (int i = 0; i < 500; ++i) ahead += "GET /echo?i=" + std::to_string(i) + " HTTP/1.1\r\n\r\n";
  browser.Send(ahead);
  for (int i = 0; i < 500; ++i)
    ASSERT_THAT(browser.Answer(), HasSubstr("i=" + std::to_string(i) + " "));
}

TEST_F(PageServerTest, WhoTakesNoAnswersIsNotReadFrom) {
  Browser browser(transport_.local());
  std::string ahead;
  for (int i = 0; i < 2'000'000; ++i) ahead += "GET /large HTTP/1.1\r\n\r\n";
  EXPECT_LT(browser.SendWhileTaken(ahead), ahead.size());
  EXPECT_THAT(browser.Answer(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(PageServerTest, HeadHasTheLengthAndNoBody) {
  Browser browser(transport_.local());
  browser.Send("HEAD /echo HTTP/1.1\r\n\r\n");
  const std::string answer = browser.Answer("HEAD");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 11\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
  EXPECT_THAT(browser.Get("/echo"), HasSubstr("GET /echo"));
}

TEST_F(PageServerTest, PostBringsABody) {
  Browser browser(transport_.local());
  browser.Send("POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_THAT(browser.Answer(), HasSubstr("POST /echo hello"));
}

TEST_F(PageServerTest, WhatIsPostedPassesTheGuardAndQuestionsNeedNot) {
  Browser browser(transport_.local());
  browser.Send("POST /echo HTTP/1.1\r\nX-Secret: wrong\r\nContent-Length: 0\r\n\r\n");
  const std::string refused = browser.Answer();
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 403 Forbidden"));
  EXPECT_THAT(refused, HasSubstr("not you, 127.0.0.1:"));
  browser.Send("GET /echo HTTP/1.1\r\nX-Secret: wrong\r\n\r\n");
  EXPECT_THAT(browser.Answer(), HasSubstr("GET /echo"));
}

TEST_F(PageServerTest, CloseIsHonoured) {
  Browser browser(transport_.local());
  EXPECT_THAT(browser.Get("/echo", "Connection: close\r\n"), HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(browser.PeerCloses());
}

TEST_F(PageServerTest, RootListsPagesAndUnknownPathsAreNamed) {
  Browser browser(transport_.local());
  EXPECT_THAT(browser.Get("/"), HasSubstr("/echo           says what it was asked\n"));
  const std::string answer = browser.Get("/nothing");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(answer, HasSubstr("service not found for \"/nothing\""));
}

TEST_F(PageServerTest, OtherMethodsAreRefused) {
  Browser browser(transport_.local());
  browser.Send("DELETE /echo HTTP/1.1\r\n\r\n");
  EXPECT_THAT(browser.Answer(), StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(browser.Get("/echo"), StartsWith("HTTP/1.1 200"));
}

TEST_F(PageServerTest, ABadRequestIsAnsweredAndTheConnectionCloses) {
  Browser browser(transport_.local());
  browser.Send("GET / HTTP/1.1\r\nno colon here\r\n\r\n");
  EXPECT_THAT(browser.Answer(), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_TRUE(browser.PeerCloses());
}

TEST_F(PageServerTest, ALongHeadIsRefused) {
  Browser browser(transport_.local());
  browser.Send("GET / HTTP/1.1\r\nA: " + std::string(20'000, 'a') + "\r\n\r\n");
  EXPECT_THAT(browser.Answer(), StartsWith("HTTP/1.1 431 "));
  EXPECT_TRUE(browser.PeerCloses());
}

TEST_F(PageServerTest, ASlowPageHoldsUpNobodyElse) {
  Browser slow(transport_.local()), quick(transport_.local());
  slow.Send("GET /slow HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 10; ++i) EXPECT_THAT(quick.Get("/echo"), StartsWith("HTTP/1.1 200"));
  gate_.Open();
  EXPECT_THAT(slow.Answer(), HasSubstr("at last"));
}

TEST_F(PageServerTest, WhoLeavesBeforeTheAnswerHarmsNobody) {
  for (int i = 0; i < 20; ++i) Browser(transport_.local()).Send("GET /slow HTTP/1.1\r\n\r\n");
  gate_.Open();
  EXPECT_THAT(Browser(transport_.local()).Get("/echo"), StartsWith("HTTP/1.1 200"));
}

TEST_F(PageServerTest, MoreThanTheLimitAtOnceIsToldSo) {
  std::vector<std::unique_ptr<Browser>> browsers;
  for (int i = 0; i < kHttpRequestsMax + 1; ++i) {
    browsers.push_back(std::make_unique<Browser>(transport_.local()));
    browsers.back()->Send("GET /slow HTTP/1.1\r\n\r\n");
  }
  // One of them is refused; the others wait for the gate.
  std::vector<pollfd> answers;
  for (const auto& browser : browsers) answers.push_back({.fd = browser->fd(), .events = POLLIN});
  ASSERT_EQ(poll(answers.data(), answers.size(), kPatienceMs), 1);
  Browser late(transport_.local());
  EXPECT_THAT(late.Get("/echo"), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  gate_.Open();
  int refused = 0;
  for (const auto& browser : browsers)
    refused += browser->Answer().starts_with("HTTP/1.1 503") ? 1 : 0;
  EXPECT_EQ(refused, 1);
}

TEST_F(PageServerTest, MetricsAreTextForPrometheusAndJsonForOldCollectors) {
  things_.Add(3);
  Browser browser(transport_.local());
  const std::string text = browser.Get("/metrics");
  EXPECT_THAT(text, HasSubstr("Content-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(text, HasSubstr("\narion_things_total 3\n"));
  for (const char* headers : {"", "Accept: application/json\r\n"}) {
    const std::string json = browser.Get("/metrics", headers);
    EXPECT_THAT(json, HasSubstr("Content-Type: application/json"));
    EXPECT_THAT(json, HasSubstr(R"({"name":"things_total","value":3})"));
  }
  EXPECT_THAT(browser.Get("/metrics?x=1", ""), StartsWith("HTTP/1.1 400 "));
}

}  // namespace
}  // namespace arion
