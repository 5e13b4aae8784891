// JsonLine builds one line of JSON, keys in the order they are added.
//
// Shapes    Texts are any bytes: what is not UTF-8 is written as \u00XX of each byte.
// Threads   One thread. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace arion::logtool {

class JsonLine {
 public:
  JsonLine() : text_("{") {}

  JsonLine& Add(std::string_view key, std::string_view value);
  JsonLine& Add(std::string_view key, const char* value) {
    return Add(key, std::string_view(value));
  }
  JsonLine& Add(std::string_view key, int64_t value);
  JsonLine& Add(std::string_view key, uint64_t value);
  JsonLine& Add(std::string_view key, int value) { return Add(key, static_cast<int64_t>(value)); }
  JsonLine& AddTrue(std::string_view key);
  // A list of objects: BeginList, then BeginItem, Add..., EndItem for each, then EndList.
  JsonLine& BeginList(std::string_view key);
  JsonLine& BeginItem();
  JsonLine& EndItem();
  JsonLine& EndList();

  std::string Take() && { return std::move(text_) + "}\n"; }

 private:
  void Key(std::string_view key);
  std::string text_;
};

}  // namespace arion::logtool
