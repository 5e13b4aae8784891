// Answer: what a command found out, printed as aligned text or as one line of JSON with the same
// names.
//
// Shapes    Fields in order, then lists of rows. JSON: {"field": value, ..., "list": [{"column":
//           value, ...}, ...]}. Texts are already escaped where they hold a user's bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace arion::shell {

using Cell = std::variant<std::string, int64_t, std::vector<std::string>, double>;

class Answer {
 public:
  struct Field {
    std::string name;
    Cell value;
  };
  struct List {
    std::string name;
    std::vector<std::string> columns;  // snake_case; headers are these in capitals
    std::vector<std::vector<Cell>> rows;
  };

  Answer& Add(std::string name, Cell value) {
    fields_.push_back({std::move(name), std::move(value)});
    return *this;
  }
  Answer& AddList(List list) {
    lists_.push_back(std::move(list));
    return *this;
  }
  // What a person reads instead of all of it.
  Answer& Say(std::string line) {
    line_ = std::move(line);
    return *this;
  }

  // Each text in fields and lists becomes what `change` makes of it.
  void Change(const std::function<std::string(const std::string& text)>& change);

  std::string ToText() const;
  std::string ToJson() const;  // one line, ends with a line end

 private:
  std::string line_;
  std::vector<Field> fields_;
  std::vector<List> lists_;
};

}  // namespace arion::shell
