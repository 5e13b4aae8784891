// Beast's parser wants the head in one piece: what of a head has come is kept until it is whole.
// A body is taken as it comes. The first thing that is wrong decides what is answered.
// SPDX-License-Identifier: Apache-2.0
#include "http/request_parser.h"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <optional>

#include "http/http_message.h"

namespace arion {
namespace {

namespace beast = boost::beast::http;

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

enum class Plus { kIsPlus, kIsSpace };  // in arguments it is a space

// A '%' without two digits is refused rather than kept: two readers of one address must not
// understand it differently.
std::optional<std::string> Decoded(std::string_view text, Plus plus) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const int high = i + 2 < text.size() ? HexValue(text[i + 1]) : -1;
      const int low = high < 0 ? -1 : HexValue(text[i + 2]);
      if (low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i] == '+' && plus == Plus::kIsSpace ? ' ' : text[i];
    }
  }
  return out;
}

// Splits a=1&b=2; false: a broken escape.
bool ParseArguments(std::string_view query, HttpRequest* request) {
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    const auto name = Decoded(pair.substr(0, equals), Plus::kIsSpace);
    const auto value =
        Decoded(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1),
                Plus::kIsSpace);
    if (!name || !value) return false;
    request->arguments.emplace_back(*name, *value);
  }
  return true;
}

// RFC 9112 3.2: "/path?query", "*", or with scheme and host before the path, as to a proxy.
bool ParseTarget(std::string_view target, HttpRequest* request) {
  target = target.substr(0, target.find('#'));
  if (const size_t scheme = target.find("://");
      scheme != std::string_view::npos && scheme > 0 &&
      target.substr(0, scheme).find('/') == std::string_view::npos) {
    target.remove_prefix(scheme + 3);
    const size_t host_end = target.find_first_of("/?");
    if (host_end == 0) return false;
    target.remove_prefix(std::min(host_end, target.size()));
  } else if (!target.starts_with('/') && target != "*") {
    return false;
  }
  const size_t question = target.find('?');
  const auto path = Decoded(target.substr(0, question), Plus::kIsPlus);
  if (!path) return false;
  request->path = path->empty() ? "/" : *path;
  return question == std::string_view::npos || ParseArguments(target.substr(question + 1), request);
}

std::string_view ViewOf(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct HttpRequestParser::State {
  // Of the request under way.
  std::optional<beast::request_parser<beast::string_body>> parser;
  // Of it, what no Feed could use yet: a piece of the head, or of the line before a chunk.
  std::string kept;
  HttpRequest request;
  bool keep_alive = false;
  int bad_status = 0;
  std::string bad_reason;

  State() { Begin(); }

  void Begin() {
    parser.emplace();
    parser->eager(true);
    parser->header_limit(kHttpHeadBytesMax);
    parser->body_limit(kHttpBodyBytesMax);
  }

  Result Bad(int status, std::string reason) {
    bad_status = status;
    bad_reason = std::move(reason);
    return Result::kBad;
  }

  // Of a head that is too long: what of it is.
  Result HeadTooLong() {
    const bool is_target = kept.find('\n') == std::string::npos;
    return Bad(is_target ? 414 : 431, "the head is too long");
  }

  Result BadBecause(const boost::beast::error_code& error) {
    if (error == beast::error::header_limit) return HeadTooLong();
    if (error == beast::error::body_limit) return Bad(413, "the body is too long");
    return Bad(400, error.message());
  }

  Result Finish() {
    auto message = parser->release();
    const bool is_connect = message.method() == beast::verb::connect;
    request = {};
    request.method = ViewOf(message.method_string());
    // CONNECT names a host and no path. The page server answers it as any other method it does not
    // know.
    if (!is_connect && !ParseTarget(ViewOf(message.target()), &request))
      return Bad(400, "the address can't be read");
    for (const auto& field : message) {
      std::string name(ViewOf(field.name_string()));
      for (char& c : name)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
      request.headers.emplace_back(std::move(name), ViewOf(field.value()));
    }
    request.body = std::move(message.body());
    // No other protocol is spoken here: who asks for one is answered in this one, once.
    keep_alive = message.keep_alive() && !is_connect && request.Header("upgrade").empty();
    Begin();
    return Result::kRequest;
  }
};

HttpRequestParser::HttpRequestParser() : state_(std::make_unique<State>()) {}

HttpRequestParser::~HttpRequestParser() = default;

HttpRequestParser::Result HttpRequestParser::Feed(std::string_view* bytes) {
  State& state = *state_;
  if (state.bad_status != 0) return Result::kBad;
  if (bytes->empty()) return Result::kNeedMore;
  // What was kept ends no request, or it would have been one: a request ends within these bytes.
  state.kept.append(*bytes);
  size_t taken = 0;
  while (taken < state.kept.size() && !state.parser->is_done()) {
    boost::beast::error_code error;
    taken += state.parser->put({state.kept.data() + taken, state.kept.size() - taken}, error);
    if (error == beast::error::need_more) break;
    if (error) return state.BadBecause(error);
  }
  const std::string_view rest = std::string_view(state.kept).substr(taken);
  if (!state.parser->is_done()) {
    if (rest.size() > kHttpHeadBytesMax) return state.HeadTooLong();
    state.kept.erase(0, taken);
    bytes->remove_prefix(bytes->size());
    return Result::kNeedMore;
  }
  bytes->remove_prefix(bytes->size() - rest.size());
  state.kept.clear();
  return state.Finish();
}

HttpRequest HttpRequestParser::Take() { return std::exchange(state_->request, {}); }
bool HttpRequestParser::keep_alive() const { return state_->keep_alive; }
int HttpRequestParser::bad_status() const { return state_->bad_status; }
const std::string& HttpRequestParser::bad_reason() const { return state_->bad_reason; }

}  // namespace arion
