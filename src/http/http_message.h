// HttpRequest and HttpResponse: what a page is asked and what it answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace arion {

struct HttpRequest {
  std::string method;                                          // GET, HEAD, POST
  std::string path;                                            // decoded, without arguments
  std::vector<std::pair<std::string, std::string>> arguments;  // decoded, in order
  std::vector<std::pair<std::string, std::string>> headers;    // names in lower case
  std::string body;
  Endpoint peer;  // who asks

  // The first header of that (lower case) name; empty if there is none.
  std::string_view Header(std::string_view name) const {
    for (const auto& [known, value] : headers)
      if (known == name) return value;
    return {};
  }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // besides type, length, connection
};

}  // namespace arion
