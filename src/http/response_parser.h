// HttpResponseParser: the bytes of one answer to status and body, by Boost.Beast. For tools that
// read a server's pages.
//
//   HttpResponseParser parser;
//   while (parser.Feed(ReadSome()) == HttpResponseParser::Result::kNeedMore) {}
//   if (parser.status() == 200) Show(parser.body());
//
// Shapes    HTTP/1.0 and 1.1; bodies by length, in chunks, or until the connection ends.
// Errors    Any bytes: an answer that can't be read ends in kBad with the reason.
// Threads   One thread at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace arion {

// One for an answer.
class HttpResponseParser {
 public:
  // What Feed or End came to.
  enum class Result {
    // Everything was taken.
    kNeedMore,
    // The answer is whole; what came behind it is dropped.
    kWhole,
    // It can't be read: bad_reason().
    kBad,
  };
  HttpResponseParser();
  ~HttpResponseParser();

  // Takes the next bytes.
  Result Feed(std::string_view bytes);
  // The connection ended: an answer without a length is whole then, another was cut off.
  Result End();

  // After kWhole.
  int status() const;
  const std::string& body() const;
  // After kBad.
  const std::string& bad_reason() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace arion
