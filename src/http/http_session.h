// HttpSession: one connection that speaks HTTP: requests one after the other, answers in their
// order.
//
// Shapes    While a page is made nothing is read: what a client sends ahead stays bounded. A
//           request that can't be read is answered once, and the connection closes.
// Threads   Strand-bound (the connection's loop thread).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/http_message.h"
#include "http/request_parser.h"
#include "rpc/byte_stream.h"

namespace arion {

// Answers one request, once, from any thread.
using HttpAnswer = absl::AnyInvocable<void(HttpResponse) &&>;
// Takes a request; it may answer it later. Called on the connection's loop, so it must not block.
using HttpHandler = std::function<void(HttpRequest, HttpAnswer)>;

// Made by PageServer::Sessions for each connection, which holds it; it holds the stream weakly. It
// ends with the connection.
class HttpSession : public ByteSession, public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(std::weak_ptr<ByteStream> stream, HttpHandler handler)
      : stream_(std::move(stream)), handler_(std::move(handler)) {}

  void OnBytes(std::string_view bytes) override;

 private:
  void Parse(std::string_view bytes);
  void Dispatch(HttpRequest request);
  void Finish(HttpResponse response);
  void GoOn();

  const std::weak_ptr<ByteStream> stream_;
  const HttpHandler handler_;
  HttpRequestParser parser_;
  // Bytes behind the request that is being answered.
  std::string waiting_;
  // Until the answer has left.
  bool busy_ = false;
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool ended_ = false;
};

// Whether the connection stays open after the answer.
enum class HttpConnection { kKeep, kClose };
// kOnlyLength: the answer to a HEAD.
enum class HttpBody { kSend, kOnlyLength };
// The bytes of an answer.
std::string HttpResponseBytes(const HttpResponse& response, HttpConnection connection,
                              HttpBody body);

}  // namespace arion
