// SPDX-License-Identifier: Apache-2.0
#include "http/request_parser.h"
#include "http/http_message.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace arion {
namespace {

using Result = HttpRequestParser::Result;

struct Outcome {
  std::vector<HttpRequest> requests;
  int bad_status = 0;
};

// Feeds `bytes` in pieces of `piece` bytes.
Outcome Parse(std::string_view bytes, size_t piece = SIZE_MAX) {
  HttpRequestParser parser;
  Outcome outcome;
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    while (!part.empty()) {
      const Result result = parser.Feed(&part);
      if (result == Result::kRequest) {
        outcome.requests.push_back(parser.Take());
      } else if (result == Result::kBad) {
        outcome.bad_status = parser.bad_status();
        return outcome;
      } else {
        EXPECT_TRUE(part.empty());
      }
    }
  }
  return outcome;
}

TEST(RequestParserTest, ReadsPathArgumentsHeadersAndBody) {
  const std::string text =
      "POST /a%20b?x=1&y=%41+%2b&flag HTTP/1.1\r\nHost: h\r\nACCEPT: a/b\r\n"
      "Content-Length: 4\r\n\r\nbody";
  for (size_t piece : {SIZE_MAX, size_t{7}, size_t{1}}) {
    const Outcome outcome = Parse(text, piece);
    ASSERT_EQ(outcome.requests.size(), 1);
    const HttpRequest& request = outcome.requests[0];
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/a b");
    const std::vector<std::pair<std::string, std::string>> arguments = {
        {"x", "1"}, {"y", "A +"}, {"flag", ""}};
    EXPECT_EQ(request.arguments, arguments);
    EXPECT_EQ(request.Header("accept"), "a/b");
    EXPECT_EQ(request.Header("absent"), "");
    EXPECT_EQ(request.body, "body");
  }
}

TEST(RequestParserTest, ChunkedBodiesAreJoined) {
  const Outcome outcome = Parse(
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  ASSERT_EQ(outcome.requests.size(), 1);
  EXPECT_EQ(outcome.requests[0].body, "abcde");
}

TEST(RequestParserTest, RequestsMayFollowEachOther) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "GET /" + std::to_string(i) + " HTTP/1.1\r\n\r\n";
  for (size_t piece : {SIZE_MAX, size_t{5}}) {
    const Outcome outcome = Parse(text, piece);
    ASSERT_EQ(outcome.requests.size(), 20);
    EXPECT_EQ(outcome.requests[19].path, "/19");
  }
}

TEST(RequestParserTest, WhatIsTooLongIsRefusedBeforeItIsHeld) {
  EXPECT_EQ(Parse("GET /" + std::string(kHttpHeadBytesMax, 'a')).bad_status, 414);
  EXPECT_EQ(Parse("GET / HTTP/1.1\r\nA: " + std::string(kHttpHeadBytesMax, 'a')).bad_status, 431);
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 5000; ++i) many += "a:b\r\n";
  EXPECT_EQ(Parse(many).bad_status, 431);
  EXPECT_EQ(Parse("POST / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n").bad_status, 413);
  EXPECT_EQ(Parse("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n").bad_status,
            400);
  std::string chunks = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 70; ++i) chunks += "400\r\n" + std::string(1024, 'x') + "\r\n";
  EXPECT_EQ(Parse(chunks).bad_status, 413);
}

TEST(RequestParserTest, NonsenseIsABadRequest) {
  for (const char* text : {"GET\r\n\r\n", "GET / SMTP/1.1\r\n\r\n", "\x01\x02\x03\x04",
                           "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET /%zz HTTP/1.1\r\n\r\n",
                           "GET /?a=%4 HTTP/1.1\r\n\r\n",
                           "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
    const Outcome outcome = Parse(text);
    EXPECT_EQ(outcome.bad_status, 400) << text;
    EXPECT_TRUE(outcome.requests.empty()) << text;
  }
}

TEST(RequestParserTest, AnotherProtocolIsNotTakenUp) {
  for (const char* text : {"CONNECT a:1 HTTP/1.1\r\n\r\nbytes",
                           "GET / HTTP/1.1\r\nConnection: upgrade\r\n"
                           "Upgrade: websocket\r\n\r\nbytes"}) {
    HttpRequestParser parser;
    std::string_view rest = text;
    EXPECT_EQ(parser.Feed(&rest), Result::kRequest) << text;
    EXPECT_FALSE(parser.keep_alive()) << text;
  }
}

TEST(RequestParserTest, SaysWhetherTheConnectionStays) {
  auto keeps = [](std::string_view text) {
    HttpRequestParser parser;
    EXPECT_EQ(parser.Feed(&text), Result::kRequest);
    return parser.keep_alive();
  };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(RequestParserTest, MutatedBytesEndInRequestsOrRefusal) {
  const std::string seed =
      "POST /metrics?types=disk HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\nAccept: */*\r\n\r\n";
  std::mt19937 random(1);
  size_t whole = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string text = seed;
    for (unsigned i = 0; i <= round % 4u; ++i) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 8);
          break;
        default:
          text.insert(at, std::string(random() % 8, static_cast<char>(random())));
      }
    }
    whole += Parse(text, 1 + random() % 64).requests.size();
  }
  EXPECT_GT(whole, 1000);
}

}  // namespace
}  // namespace arion
