// NamedList: the first of many, for a sentence: "127.0.0.1:34801, 127.0.0.1:34802 and 4 more". So a
// message stays readable, and a log line bounded, however many there are.
//
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <cstddef>
#include <string>
#include <vector>

namespace arion {

// At most `max` items are named, in the order of `items`. `to_text` makes a string of one item. ""
// where there are none.
//
//   NamedList(servers, 2, [](Endpoint server) { return server.ToString(); })
template <class Items, class ToText>
std::string NamedList(const Items& items, size_t max, ToText to_text) {
  std::vector<std::string> names;
  for (const auto& item : items) {
    if (names.size() == max) break;
    names.push_back(to_text(item));
  }
  std::string text = absl::StrJoin(names, ", ");
  if (items.size() > max) absl::StrAppend(&text, " and ", items.size() - max, " more");
  return text;
}

}  // namespace arion
