// HttpResponseParser: lengths, chunks, answers that the connection ends, and bytes that are none.
// SPDX-License-Identifier: Apache-2.0
#include "http/response_parser.h"

#include <gtest/gtest.h>

#include <random>

namespace arion {
namespace {

using Answer = HttpResponseParser::Result;

// Feeds `bytes` in pieces of `piece` bytes until the answer is whole or bad.
Answer FeedIn(HttpResponseParser* parser, std::string_view bytes, size_t piece) {
  Answer result = Answer::kNeedMore;
  while (!bytes.empty() && result == Answer::kNeedMore) {
    result = parser->Feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return result;
}

TEST(ResponseParserTest, ALengthEndsTheAnswerWhateverComesBehind) {
  for (size_t piece : {SIZE_MAX, size_t{5}, size_t{1}}) {
    HttpResponseParser parser;
    EXPECT_EQ(FeedIn(&parser, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbodyHTTP/1.1 ", piece),
              Answer::kWhole);
    EXPECT_EQ(parser.status(), 200);
    EXPECT_EQ(parser.body(), "body");
  }
}

TEST(ResponseParserTest, ChunksAreJoined) {
  HttpResponseParser parser;
  EXPECT_EQ(FeedIn(&parser,
                   "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
                   3),
            Answer::kWhole);
  EXPECT_EQ(parser.status(), 404);
  EXPECT_EQ(parser.body(), "abcde");
}

TEST(ResponseParserTest, WithoutALengthTheConnectionEndsTheAnswer) {
  HttpResponseParser parser;
  EXPECT_EQ(FeedIn(&parser, "HTTP/1.0 200 OK\r\n\r\nbody", 7), Answer::kNeedMore);
  EXPECT_EQ(parser.End(), Answer::kWhole);
  EXPECT_EQ(parser.body(), "body");
}

TEST(ResponseParserTest, AnAnswerThatIsCutOffIsBad) {
  for (const char* text : {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab"}) {
    HttpResponseParser parser;
    EXPECT_EQ(FeedIn(&parser, text, SIZE_MAX), Answer::kNeedMore) << text;
    EXPECT_EQ(parser.End(), Answer::kBad) << text;
    EXPECT_FALSE(parser.bad_reason().empty()) << text;
  }
}

TEST(ResponseParserTest, BytesThatAreNoAnswerAreBad) {
  for (const char* text :
       {"\x01\x02\x03\x04\r\n\r\n", "SSH-2.0-OpenSSH\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"}) {
    HttpResponseParser parser;
    EXPECT_EQ(FeedIn(&parser, text, SIZE_MAX), Answer::kBad) << text;
    EXPECT_EQ(parser.Feed("HTTP/1.1 200 OK\r\n\r\n"), Answer::kBad) << text;
  }
}

TEST(ResponseParserTest, MegabytesAreTaken) {
  HttpResponseParser parser;
  const std::string body(8 << 20, 'x');
  EXPECT_EQ(FeedIn(&parser, "HTTP/1.1 200 OK\r\nContent-Length: 8388608\r\n\r\n" + body, 16384),
            Answer::kWhole);
  EXPECT_EQ(parser.body().size(), body.size());
}

}  // namespace
}  // namespace arion
