// A request comes on a connection's loop, is counted, and goes to the pool, where its page makes
// the answer. The book of pages is written before the first request and only read afterwards, so it
// needs no lock.
// SPDX-License-Identifier: Apache-2.0
#include "http/page_server.h"

#include <absl/strings/str_cat.h>

#include <atomic>
#include <map>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "env/environment.h"
#include "http/http_session.h"

namespace arion {

class PageServer::Book : public std::enable_shared_from_this<PageServer::Book> {
 public:
  using Guard = std::function<std::optional<HttpResponse>(const HttpRequest&)>;
  explicit Book(DiskPool& pool) : pool_(pool) {}

  void Add(std::string path, std::string help, Page page, Changes changes) {
    CHECK(pages_.emplace(path, Entry{std::move(help), std::move(page), changes}).second) << path;
  }

  void SetGuard(Guard refuse) { refuse_ = std::move(refuse); }

  // On a loop's thread.
  void Handle(HttpRequest request, HttpAnswer answer) {
    // Counted before the pool takes it, so that a burst can't queue without bound.
    if (in_pool_.fetch_add(1) >= kHttpRequestsMax) {
      in_pool_.fetch_sub(1);
      return std::move(answer)({.status = 503, .body = "too many requests at once\n"});
    }
    pool_.Submit([self = shared_from_this(), request = std::move(request),
                  answer = std::move(answer)]() mutable {
      HttpResponse response = self->Respond(request);
      // Before the answer: whoever gets it may ask again at once.
      self->in_pool_.fetch_sub(1);
      std::move(answer)(std::move(response));
    });
  }

 private:
  struct Entry {
    std::string help;
    Page page;
    Changes changes;
  };

  HttpResponse Respond(const HttpRequest& request) const {
    if (request.method != "GET" && request.method != "HEAD" && request.method != "POST") {
      return {.status = 405,
              .body = "only GET, HEAD and POST\n",
              .headers = {{"Allow", "GET, HEAD, POST"}}};
    }
    const auto found = pages_.find(request.path);
    // Also of a path that is not there: a stranger learns nothing by the difference.
    const bool changes = request.method == "POST" ||
                         (found != pages_.end() && found->second.changes == Changes::kAlways);
    if (changes && refuse_) {
      if (auto refusal = refuse_(request)) return *std::move(refusal);
    }
    // A page of our own may be called "/", too; else the list is.
    if (found != pages_.end()) return found->second.page(request);
    if (request.path == "/") return {.body = List()};
    constexpr size_t kShownBytesMax = 200;
    return {.status = 404,
            .body = absl::StrCat("service not found for \"", request.path.substr(0, kShownBytesMax),
                                 "\"\n")};
  }

  std::string List() const {
    std::string text;
    for (const auto& [path, entry] : pages_) {
      if (entry.help.empty()) continue;
      absl::StrAppend(&text, path, std::string(path.size() < 16 ? 16 - path.size() : 1, ' '),
                      entry.help, "\n");
    }
    return text;
  }

  DiskPool& pool_;
  std::map<std::string, Entry> pages_;
  Guard refuse_;
  std::atomic<int> in_pool_ = 0;
};

PageServer::PageServer(DiskPool& pool) : book_(std::make_shared<Book>(pool)) {}

void PageServer::Add(std::string path, std::string help, Page page, Changes changes) {
  book_->Add(std::move(path), std::move(help), std::move(page), changes);
}

void PageServer::SetGuard(Book::Guard refuse) { book_->SetGuard(std::move(refuse)); }

ByteSessionFactory PageServer::Sessions() {
  return [book = book_](std::weak_ptr<ByteStream> stream) -> std::shared_ptr<ByteSession> {
    return std::make_shared<HttpSession>(std::move(stream),
                                         [book](HttpRequest request, HttpAnswer answer) {
                                           book->Handle(std::move(request), std::move(answer));
                                         });
  };
}

}  // namespace arion
