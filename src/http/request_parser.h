// HttpRequestParser: bytes to requests, by Boost.Beast. With response_parser.h its one door.
//
// Shapes    HTTP/1.0 and 1.1, bodies by length or in chunks. Limits: kHttpHeadBytesMax for request
//           line and headers, kHttpBodyBytesMax for the body.
// Errors    Any bytes: a request that can't be read ends in kBad with the status to answer (400,
//           413, 414, 431); the parser yields nothing more then.
// Threads   Strand-bound (a connection's loop thread).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace arion {

struct HttpRequest;

// Bounds of what one connection may make us keep. Pages need little; who sends more is wrong here.
constexpr size_t kHttpHeadBytesMax = 16 << 10;
constexpr size_t kHttpBodyBytesMax = 64 << 10;

// One for a connection. Feed until kRequest, Take, and so on.
//
//   while (!bytes.empty() && parser.Feed(&bytes) == HttpRequestParser::Result::kRequest)
//     Handle(parser.Take());
class HttpRequestParser {
 public:
  // What Feed came to.
  enum class Result {
    // Everything was taken.
    kNeedMore,
    // One request is whole: Take it before the next Feed.
    kRequest,
    // Answer bad_status() and close.
    kBad,
  };
  HttpRequestParser();
  ~HttpRequestParser();

  // Takes bytes from the front of `bytes`, at most to the end of a request.
  Result Feed(std::string_view* bytes);
  // The request that is whole.
  HttpRequest Take();
  // Of the request that was taken last.
  bool keep_alive() const;
  // After kBad: the status to answer, and why.
  int bad_status() const;
  const std::string& bad_reason() const;

 private:
  // The library's parser and the request under way.
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace arion
