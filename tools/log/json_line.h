// JsonLine prints one line of JSON, keys in the order they are added.
//
// Shapes    Texts are any bytes: what is not UTF-8 is written as \u00XX of each byte. Long lists are
//           printed piece by piece: a line may be longer than what is held.
// Threads   One thread. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace arion::logtool {

using Print = std::function<void(std::string_view)>;

class JsonLine {
 public:
  explicit JsonLine(const Print& print) : print_(print), text_("{") {}

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

  void Finish();

 private:
  void Key(std::string_view key);
  const Print& print_;
  std::string text_;
};

}  // namespace arion::logtool
