// SPDX-License-Identifier: Apache-2.0
#include "http/response_parser.h"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <limits>

namespace arion {

struct HttpResponseParser::State {
  boost::beast::http::response_parser<boost::beast::http::string_body> parser;
  // What no Feed could use yet: Beast wants the head in one piece.
  std::string kept;
  std::string bad_reason;

  Result ResultOf(const boost::beast::error_code& error) {
    if (error && error != boost::beast::http::error::need_more) {
      bad_reason = error.message();
      return Result::kBad;
    }
    return parser.is_done() ? Result::kWhole : Result::kNeedMore;
  }
};

HttpResponseParser::HttpResponseParser() : state_(std::make_unique<State>()) {
  // Head and body in one go: the caller asks for nothing in between.
  state_->parser.eager(true);
  // A server's own pages: /metrics of thousands of partitions is megabytes.
  state_->parser.body_limit(std::numeric_limits<uint64_t>::max());
}

HttpResponseParser::~HttpResponseParser() = default;

HttpResponseParser::Result HttpResponseParser::Feed(std::string_view bytes) {
  State& state = *state_;
  if (!state.bad_reason.empty()) return Result::kBad;
  state.kept.append(bytes);
  boost::beast::error_code error;
  size_t taken = 0;
  while (taken < state.kept.size() && !state.parser.is_done() && !error)
    taken += state.parser.put({state.kept.data() + taken, state.kept.size() - taken}, error);
  state.kept.erase(0, taken);
  return state.ResultOf(error);
}

HttpResponseParser::Result HttpResponseParser::End() {
  State& state = *state_;
  if (!state.bad_reason.empty()) return Result::kBad;
  boost::beast::error_code error;
  // A connection that ended before a byte came is told from an answer that was cut off.
  if (!state.parser.got_some()) {
    error = boost::beast::http::error::end_of_stream;
  } else if (!state.parser.is_done()) {
    state.parser.put_eof(error);
  }
  const Result result = state.ResultOf(error);
  if (result != Result::kNeedMore) return result;
  state.bad_reason = "partial message";
  return Result::kBad;
}

int HttpResponseParser::status() const {
  return static_cast<int>(state_->parser.get().result_int());
}
const std::string& HttpResponseParser::body() const { return state_->parser.get().body(); }
const std::string& HttpResponseParser::bad_reason() const { return state_->bad_reason; }

}  // namespace arion
