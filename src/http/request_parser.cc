// libhttp-parser calls back as it meets the parts of a request, in pieces of any size; State
// gathers them. The first thing that is wrong decides what is answered: a callback that returns
// other than 0 ends the parse.
// SPDX-License-Identifier: Apache-2.0
#include "http/request_parser.h"

#include <http_parser.h>

#include <optional>

namespace arion {
namespace {

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

bool ParseTarget(const std::string& target, HttpRequest* request) {
  http_parser_url url;
  http_parser_url_init(&url);
  if (http_parser_parse_url(target.data(), target.size(), 0, &url) != 0) return false;
  auto field = [&](http_parser_url_fields which) {
    if ((url.field_set & (1 << which)) == 0) return std::string_view();
    return std::string_view(target).substr(url.field_data[which].off, url.field_data[which].len);
  };
  const auto path = Decoded(field(UF_PATH), Plus::kIsPlus);
  if (!path) return false;
  request->path = path->empty() ? "/" : *path;
  return ParseArguments(field(UF_QUERY), request);
}

}  // namespace

struct HttpRequestParser::State {
  http_parser parser;
  http_parser_settings settings;
  HttpRequest request;
  std::string target;
  size_t head_bytes = 0;
  bool last_was_value = true;  // a header's name begins
  bool complete = false;
  bool keep_alive = false;
  int bad_status = 0;
  std::string bad_reason;

  static State* Of(http_parser* parser) { return static_cast<State*>(parser->data); }

  int Bad(int status, std::string reason) {
    // The first reason counts: errors that follow are only its consequence.
    if (bad_status == 0) {
      bad_status = status;
      bad_reason = std::move(reason);
    }
    return -1;
  }
  int CountHead(size_t bytes, int status) {
    head_bytes += bytes;
    return head_bytes > kHttpHeadBytesMax ? Bad(status, "the head is too long") : 0;
  }

  static int OnBegin(http_parser* parser) {
    State* state = Of(parser);
    state->request = {};
    state->target.clear();
    state->head_bytes = 0;
    state->last_was_value = true;
    return 0;
  }
  static int OnUrl(http_parser* parser, const char* data, size_t size) {
    Of(parser)->target.append(data, size);
    return Of(parser)->CountHead(size, 414);
  }
  static int OnHeaderName(http_parser* parser, const char* data, size_t size) {
    State* state = Of(parser);
    // The library hands out names and values in pieces: a name after a value begins the next
    // header.
    if (std::exchange(state->last_was_value, false)) state->request.headers.emplace_back();
    for (size_t i = 0; i < size; ++i) {
      const char c = data[i];
      state->request.headers.back().first += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
    // Colon, blank and line end count as well: a thousand empty headers are no small head.
    return state->CountHead(size + 4, 431);
  }
  static int OnHeaderValue(http_parser* parser, const char* data, size_t size) {
    State* state = Of(parser);
    state->last_was_value = true;
    if (state->request.headers.empty()) return state->Bad(400, "a value without a name");
    state->request.headers.back().second.append(data, size);
    return state->CountHead(size, 431);
  }
  static int OnHeadersComplete(http_parser* parser) {
    State* state = Of(parser);
    // Without a length, or in chunks, the body is bounded as it comes (OnBody).
    const bool has_length = parser->content_length != UINT64_MAX;
    if (has_length && parser->content_length > kHttpBodyBytesMax)
      return state->Bad(413, "the body is too long");
    state->request.method = http_method_str(static_cast<http_method>(parser->method));
    // CONNECT names a host and no path. The page server answers it as any other method it does not
    // know.
    if (parser->method != HTTP_CONNECT && !ParseTarget(state->target, &state->request))
      return state->Bad(400, "the address can't be read");
    return 0;
  }
  static int OnBody(http_parser* parser, const char* data, size_t size) {
    State* state = Of(parser);
    if (state->request.body.size() + size > kHttpBodyBytesMax)
      return state->Bad(413, "the body is too long");
    state->request.body.append(data, size);
    return 0;
  }
  static int OnComplete(http_parser* parser) {
    State* state = Of(parser);
    state->complete = true;
    state->keep_alive = http_should_keep_alive(parser) != 0 && parser->upgrade == 0;
    // Stops behind this request: what follows is parsed when its answer has gone.
    http_parser_pause(parser, 1);
    return 0;
  }
};

HttpRequestParser::HttpRequestParser() : state_(std::make_unique<State>()) {
  http_parser_init(&state_->parser, HTTP_REQUEST);
  state_->parser.data = state_.get();
  http_parser_settings_init(&state_->settings);
  state_->settings.on_message_begin = State::OnBegin;
  state_->settings.on_url = State::OnUrl;
  state_->settings.on_header_field = State::OnHeaderName;
  state_->settings.on_header_value = State::OnHeaderValue;
  state_->settings.on_headers_complete = State::OnHeadersComplete;
  state_->settings.on_body = State::OnBody;
  state_->settings.on_message_complete = State::OnComplete;
}

HttpRequestParser::~HttpRequestParser() = default;

HttpRequestParser::Result HttpRequestParser::Feed(std::string_view* bytes) {
  State& state = *state_;
  if (state.bad_status != 0) return Result::kBad;
  if (bytes->empty()) return Result::kNeedMore;
  if (HTTP_PARSER_ERRNO(&state.parser) == HPE_PAUSED) http_parser_pause(&state.parser, 0);
  const size_t taken =
      http_parser_execute(&state.parser, &state.settings, bytes->data(), bytes->size());
  bytes->remove_prefix(taken < bytes->size() ? taken : bytes->size());
  // Before the errors: a paused parser reports its pause as one.
  if (state.complete) {
    state.complete = false;
    return Result::kRequest;
  }
  const http_errno error = HTTP_PARSER_ERRNO(&state.parser);
  if (state.bad_status == 0 && error != HPE_OK) {
    state.Bad(error == HPE_HEADER_OVERFLOW ? 431 : 400, http_errno_description(error));
  }
  if (state.bad_status == 0 && state.parser.upgrade != 0) state.Bad(400, "no other protocol here");
  return state.bad_status != 0 ? Result::kBad : Result::kNeedMore;
}

HttpRequest HttpRequestParser::Take() { return std::exchange(state_->request, {}); }
bool HttpRequestParser::keep_alive() const { return state_->keep_alive; }
int HttpRequestParser::bad_status() const { return state_->bad_status; }
const std::string& HttpRequestParser::bad_reason() const { return state_->bad_reason; }

}  // namespace arion
