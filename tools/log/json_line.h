// JsonLine prints one line of JSON, keys in the order they are added.
//
//   JsonLine(print).Add("file", name).Add("bytes", size).Finish();
//
// Shapes    Texts are any bytes: each byte that is not UTF-8 is written as the character of its
//           value. Long lines are printed piece by piece: a line may be longer than what is held.
// Threads   One thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace arion::logtool {

// Takes the next piece of output.
using Print = std::function<void(std::string_view)>;

// One line. Finish is called last.
class JsonLine {
 public:
  explicit JsonLine(const Print& print);
  ~JsonLine();

  JsonLine& Add(std::string_view key, std::string_view value);
  JsonLine& Add(std::string_view key, const char* value) {
    return Add(key, std::string_view(value));
  }
  JsonLine& Add(std::string_view key, int64_t value);
  JsonLine& Add(std::string_view key, uint64_t value);
  JsonLine& Add(std::string_view key, int value) { return Add(key, static_cast<int64_t>(value)); }
  // The key with the value true.
  JsonLine& AddTrue(std::string_view key);
  // A list of objects: BeginList, then BeginItem, Add..., EndItem for each, then EndList.
  JsonLine& BeginList(std::string_view key);
  JsonLine& BeginItem();
  JsonLine& EndItem();
  JsonLine& EndList();

  // Ends the object and the line.
  void Finish();

 private:
  struct Writing;
  std::unique_ptr<Writing> writing_;
};

}  // namespace arion::logtool
