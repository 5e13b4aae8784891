// One connection that speaks HTTP, over a stream in memory. SPDX-License-Identifier: Apache-2.0
#include "http/http_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace arion {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class MemoryStream : public ByteStream {
 public:
  void Post(Task task) override { posted.push_back(std::move(task)); }
  void Write(std::string bytes, Task when_sent) override {
    written += bytes;
    sent.push_back(std::move(when_sent));
  }
  void WriteLast(std::string bytes) override {
    written += bytes;
    has_closed = true;
  }
  void PauseReading() override { is_paused = true; }
  void ResumeReading() override { is_paused = false; }
  Endpoint peer() const override { return {0x7f000001, 5}; }
  static void RunAll(std::vector<Task>* tasks) {
    for (Task& task : std::exchange(*tasks, {})) task();
  }

  std::string written;
  std::vector<Task> posted, sent;
  bool is_paused = false, has_closed = false;
};

class HttpSessionTest : public testing::Test {
 protected:
  void Answer(HttpResponse response) {
    ASSERT_FALSE(answers_.empty());
    HttpAnswer answer = std::move(answers_.front());
    answers_.erase(answers_.begin());
    std::move(answer)(std::move(response));
    MemoryStream::RunAll(&stream_->posted);
  }
  void Sent() { MemoryStream::RunAll(&stream_->sent); }

  std::vector<HttpRequest> requests_;
  std::vector<HttpAnswer> answers_;
  std::shared_ptr<MemoryStream> stream_ = std::make_shared<MemoryStream>();
  std::shared_ptr<HttpSession> session_ =
      std::make_shared<HttpSession>(stream_, [this](HttpRequest request, HttpAnswer answer) {
        requests_.push_back(std::move(request));
        answers_.push_back(std::move(answer));
      });
};

TEST_F(HttpSessionTest, ARequestInPiecesIsOneRequestOfItsPeer) {
  for (const char c : std::string("GET /a HTTP/1.1\r\n\r\n")) session_->OnBytes({&c, 1});
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_EQ(requests_[0].path, "/a");
  EXPECT_EQ(requests_[0].peer, stream_->peer());
}

TEST_F(HttpSessionTest, WhileAPageIsMadeNothingIsReadAndTheNextRequestWaits) {
  session_->OnBytes("GET /a HTTP/1.1\r\n\r\nGET /b HTTP");
  EXPECT_TRUE(stream_->is_paused);
  session_->OnBytes("/1.1\r\n\r\n");
  EXPECT_EQ(requests_.size(), 1u);
  Answer({.body = "of a"});
  EXPECT_EQ(requests_.size(), 1u) << "the answer has not left yet";
  Sent();
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_EQ(requests_[1].path, "/b");
  EXPECT_TRUE(stream_->is_paused);
  Answer({.body = "of b"});
  Sent();
  EXPECT_FALSE(stream_->is_paused);
  EXPECT_LT(stream_->written.find("of a"), stream_->written.find("of b"));
}

TEST_F(HttpSessionTest, WhoAsksToCloseIsAnsweredAndClosed) {
  session_->OnBytes("GET /a HTTP/1.1\r\nConnection: close\r\n\r\n");
  Answer({.body = "bye"});
  EXPECT_TRUE(stream_->has_closed);
  EXPECT_THAT(stream_->written, HasSubstr("\r\nConnection: close\r\n"));
  session_->OnBytes("GET /b HTTP/1.1\r\n\r\n");
  EXPECT_EQ(requests_.size(), 1u);
}

TEST_F(HttpSessionTest, WhatCanNotBeReadIsAnsweredOnceAndTheConnectionCloses) {
  session_->OnBytes("nonsense\r\n\r\n");
  EXPECT_THAT(stream_->written, StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_TRUE(stream_->has_closed);
  const std::string once = stream_->written;
  session_->OnBytes("nonsense\r\n\r\n");
  EXPECT_EQ(stream_->written, once);
}

TEST_F(HttpSessionTest, AnAnswerThatComesAfterTheConnectionIsGoneHarmsNobody) {
  session_->OnBytes("GET /a HTTP/1.1\r\n\r\n");
  session_ = nullptr;
  Answer({.body = "late"});
  EXPECT_EQ(stream_->written, "");
  session_ = std::make_shared<HttpSession>(stream_, [](HttpRequest, HttpAnswer) { FAIL(); });
  stream_ = nullptr;
  session_->OnBytes("GET /a HTTP/1.1\r\n\r\n");
}

TEST(HttpResponseBytesTest, AnAnswerHasItsTypeLengthAndHeaders) {
  const std::string bytes = HttpResponseBytes(
      {.status = 404, .content_type = "text/x", .body = "none", .headers = {{"X-A", "b"}}},
      HttpConnection::kKeep, HttpBody::kSend);
  EXPECT_EQ(bytes,
            "HTTP/1.1 404 Not Found\r\nConnection: keep-alive\r\nContent-Type: text/x\r\n"
            "Content-Length: 4\r\nX-A: b\r\n\r\nnone");
}

TEST(HttpResponseBytesTest, AHeadHasTheLengthAndNoBody) {
  const std::string bytes =
      HttpResponseBytes({.body = "body"}, HttpConnection::kClose, HttpBody::kOnlyLength);
  EXPECT_THAT(bytes, HasSubstr("Content-Length: 4\r\n"));
  EXPECT_THAT(bytes, EndsWith("\r\n\r\n"));
}

TEST(HttpResponseBytesTest, WhatIsNotModifiedHasNoLength) {
  EXPECT_THAT(HttpResponseBytes({.status = 304}, HttpConnection::kKeep, HttpBody::kSend),
              Not(HasSubstr("Content-")));
}

TEST(HttpResponseBytesTest, AStatusWithoutAWordOfItsOwnHasOneAllTheSame) {
  const auto line = [](int status) {
    const std::string bytes =
        HttpResponseBytes({.status = status}, HttpConnection::kKeep, HttpBody::kSend);
    return bytes.substr(0, bytes.find('\r'));
  };
  EXPECT_EQ(line(418), "HTTP/1.1 418 Error");
  EXPECT_EQ(line(599), "HTTP/1.1 599 Internal Server Error");
}

}  // namespace
}  // namespace arion
