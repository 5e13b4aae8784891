// PageServer: pages on the RPC port. A connection whose first bytes are HTTP becomes a session of
// it; each path has one page.
//
//   PageServer pages(pool);
//   pages.Add("/version", "which build this is", [](const HttpRequest&) {
//     return HttpResponse{.body = "0.1.0\n"};
//   });
//   transport.SetByteSessions(pages.Sessions());
//
// Shapes    `/` lists the pages. An unknown path is answered 404, a method other than GET, HEAD and
//           POST 405, more requests at once than kHttpRequestsMax 503. A page changes something
//           only when it is posted to; GET and HEAD are questions.
// Threads   Pages run in the pool given, several at a time, and may wait; never on a loop. Add
//           before the first request; Sessions is thread-safe.
// Lifetime  The pool outlives the last request: stop the transport, then destroy the pool (which
//           runs what waits there), then what the pages refer to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/http_message.h"
#include "rpc/byte_stream.h"

namespace arion {

class DiskPool;

// Requests that are being answered, or wait for it, on all connections.
constexpr int kHttpRequestsMax = 64;

// Answers a request; it may wait.
using Page = std::function<HttpResponse(const HttpRequest&)>;

// One for a server program; main/ makes it and adds its pages before the transport listens.
// Sessions share its book, so a late answer finds it.
class PageServer {
 public:
  explicit PageServer(DiskPool& pool);

  // kAlways: a GET changes something too (older tools ask so), and passes the guard.
  enum class Changes { kWhenPosted, kAlways };
  // Adds the page of `path`, once. `help`: one line for the list; empty: it is not listed.
  void Add(std::string path, std::string help, Page page, Changes changes = Changes::kWhenPosted);
  // `refuse` is asked before a page answers anything but GET and HEAD; what it returns is the
  // answer then. To be set before the first request.
  void SetGuard(std::function<std::optional<HttpResponse>(const HttpRequest&)> refuse);
  // For AsioTransport::SetByteSessions.
  ByteSessionFactory Sessions();

 private:
  // The pages and the guard. Sessions and answers under way hold it.
  class Book;
  std::shared_ptr<Book> book_;
};

}  // namespace arion
