// One request is answered at a time: while busy_, bytes that were read already wait in waiting_,
// and the stream reads no more. Finish sends the answer; when it has left, GoOn takes what waits.
// SPDX-License-Identifier: Apache-2.0
#include "http/http_session.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace arion {
namespace {

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Payload Too Large";
    case 414:
      return "URI Too Long";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return status < 500 ? "Error" : "Internal Server Error";
  }
}

}  // namespace

std::string HttpResponseBytes(const HttpResponse& response, HttpConnection connection,
                              HttpBody body) {
  std::string out = absl::StrCat(
      "HTTP/1.1 ", response.status, " ", ReasonOf(response.status),
      "\r\nConnection: ", connection == HttpConnection::kKeep ? "keep-alive" : "close", "\r\n");
  constexpr int kNotModified =
      304;  // has no body, and no length but that of the page it stands for
  if (response.status != kNotModified)
    absl::StrAppend(&out, "Content-Type: ", response.content_type,
                    "\r\nContent-Length: ", response.body.size(), "\r\n");
  for (const auto& [name, value] : response.headers)
    absl::StrAppend(&out, name, ": ", value, "\r\n");
  out += "\r\n";
  if (body == HttpBody::kSend) out += response.body;
  return out;
}

void HttpSession::OnBytes(std::string_view bytes) {
  if (ended_) return;
  // What the connection had read before it was paused.
  if (busy_) {
    waiting_ += bytes;
  } else {
    Parse(bytes);
  }
}

void HttpSession::Parse(std::string_view bytes) {
  switch (parser_.Feed(&bytes)) {
    case HttpRequestParser::Result::kNeedMore:
      return;
    case HttpRequestParser::Result::kRequest:
      keep_alive_ = parser_.keep_alive();
      waiting_ = std::string(bytes);
      return Dispatch(parser_.Take());
    case HttpRequestParser::Result::kBad:
      // Where a request ends is not known any more, so nothing behind it can be read.
      keep_alive_ = head_only_ = false;
      return Finish({.status = parser_.bad_status(), .body = parser_.bad_reason() + "\n"});
  }
}

void HttpSession::Dispatch(HttpRequest request) {
  const auto stream = stream_.lock();
  if (stream == nullptr) return;
  head_only_ = request.method == "HEAD";
  busy_ = true;
  request.peer = stream->peer();
  stream->PauseReading();
  // The answer may come from any thread, and after the connection has gone: it goes back over the
  // stream's loop, and both are held weakly.
  handler_(std::move(request), [weak = weak_from_this(), to = stream_](HttpResponse response) {
    const auto open = to.lock();
    if (open == nullptr) return;
    open->Post([weak, response = std::move(response)]() mutable {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->Finish(std::move(response));
    });
  });
}

void HttpSession::Finish(HttpResponse response) {
  const auto stream = stream_.lock();
  if (stream == nullptr || ended_) return;
  std::string bytes =
      HttpResponseBytes(response, keep_alive_ ? HttpConnection::kKeep : HttpConnection::kClose,
                        head_only_ ? HttpBody::kOnlyLength : HttpBody::kSend);
  if (!keep_alive_) {
    ended_ = true;
    return stream->WriteLast(std::move(bytes));
  }
  // Whoever asks without taking the answers waits here.
  stream->Write(std::move(bytes), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->GoOn();
  });
}

void HttpSession::GoOn() {
  busy_ = false;
  // Parse may fill waiting_ again with what is behind the next request.
  const std::string next = std::exchange(waiting_, {});
  if (!next.empty()) Parse(next);
  if (busy_ || ended_) return;
  if (const auto stream = stream_.lock()) stream->ResumeReading();
}

}  // namespace arion
