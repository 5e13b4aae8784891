// HttpRequest and HttpResponse: what a page is asked and what it answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace arion {

// A request that was read as a whole. The parser makes it, the page gets it by reference, and it
// ends with the answer.
struct HttpRequest {
  // GET, HEAD, POST.
  std::string method;
  // Decoded, without arguments.
  std::string path;
  // Of the URL; decoded, in order.
  std::vector<std::pair<std::string, std::string>> arguments;
  // Names in lower case.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  // Where the request came from.
  Endpoint peer;

  // The first header of that (lower case) name; empty if there is none.
  std::string_view Header(std::string_view name) const {
    for (const auto& [known, value] : headers)
      if (known == name) return value;
    return {};
  }
};

// An answer; by default 200 with text. A page makes it and gives it away.
//
//   return HttpResponse{.status = 404, .body = "no such table\n"};
struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  // Besides type, length, connection.
  std::vector<std::pair<std::string, std::string>> headers;
};

}  // namespace arion
