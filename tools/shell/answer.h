// Answer: what a command found out, printed as aligned text or as one line of JSON with the same
// names.
//
//   Answer answer;
//   answer.Add("servers", int64_t{3});
//   answer.AddList({.name = "nodes", .columns = {"address", "primaries"}, .rows = rows});
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

// A value: text, number, or a list of texts. An empty text or list is printed as "-"; fractions
// have two digits after the point, and up to three in JSON.
using Cell = std::variant<std::string, int64_t, std::vector<std::string>, double>;

// One command's answer: made step by step, then printed by the session.
class Answer {
 public:
  // A name and its value, on a line of its own.
  struct Field {
    std::string name;
    Cell value;
  };
  // A table. Each row has as many cells as there are columns. Columns of numbers are aligned to the
  // right.
  struct List {
    std::string name;
    // In snake_case; headers are these in capitals.
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows;
  };

  // Names are not checked: two of the same name are both printed.
  Answer& Add(std::string name, Cell value) {
    fields_.push_back({std::move(name), std::move(value)});
    return *this;
  }
  Answer& AddList(List list) {
    lists_.push_back(std::move(list));
    return *this;
  }
  // A line that a person reads instead of all the rest; JSON still has the rest.
  Answer& Say(std::string line) {
    line_ = std::move(line);
    return *this;
  }

  // Each text in fields and lists becomes what `change` makes of it.
  void Change(const std::function<std::string(const std::string& text)>& change);

  // Lines, each with a line end. Columns are as wide as their widest cell.
  std::string ToText() const;
  // One line, with a line end.
  std::string ToJson() const;

 private:
  std::string line_;
  std::vector<Field> fields_;
  std::vector<List> lists_;
};

}  // namespace arion::shell
