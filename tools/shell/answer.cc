// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/answer.h"

#include <absl/strings/str_format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cctype>

namespace arion::shell {
namespace {

constexpr int kDecimals = 3;

std::string TextOf(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return text->empty() ? "-" : *text;
  if (const auto* number = std::get_if<int64_t>(&cell)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&cell)) return absl::StrFormat("%.2f", *number);
  std::string joined;
  for (const std::string& part : std::get<std::vector<std::string>>(cell)) {
    joined += (joined.empty() ? "" : ",") + part;
  }
  return joined.empty() ? "-" : joined;
}

// How many columns of a terminal `text` takes, near enough: a UTF-8 sequence counts as one.
size_t WidthOf(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void AppendList(const Answer::List& list, std::string* out) {
  std::vector<std::vector<std::string>> lines(1);
  // Those whose cells are numbers, or not known.
  std::vector<bool> numeric(list.columns.size(), false), has_text(list.columns.size(), false);
  for (const std::string& column : list.columns) {
    std::string header = column;
    for (char& c : header) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    lines[0].push_back(header);
  }
  for (const auto& row : list.rows) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < row.size(); ++i) {
      cells.push_back(TextOf(row[i]));
      const auto* text = std::get_if<std::string>(&row[i]);
      const bool is_list = std::holds_alternative<std::vector<std::string>>(row[i]);
      if (is_list || (text != nullptr && !text->empty())) has_text[i] = true;
      if (!is_list && text == nullptr) numeric[i] = true;
    }
    lines.push_back(std::move(cells));
  }
  std::vector<size_t> widths(list.columns.size(), 0);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], WidthOf(line[i]));
  }
  for (const auto& line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) {
      // Numbers to the right, all else to the left.
      std::string pad(widths[i] - WidthOf(line[i]), ' ');
      text += (i == 0 ? "" : "  ") + (numeric[i] && !has_text[i] ? pad + line[i] : line[i] + pad);
    }
    // No blanks at a line's end: scripts compare lines.
    text.erase(text.find_last_not_of(' ') + 1);
    *out += text + "\n";
  }
}

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void Write(const std::string& text, Writer* json) {
  json->String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void Write(const Cell& cell, Writer* json) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    Write(*text, json);
  } else if (const auto* number = std::get_if<int64_t>(&cell)) {
    json->Int64(*number);
  } else if (const auto* fraction = std::get_if<double>(&cell)) {
    json->Double(*fraction);
  } else {
    json->StartArray();
    for (const std::string& part : std::get<std::vector<std::string>>(cell)) Write(part, json);
    json->EndArray();
  }
}

}  // namespace

void Answer::Change(const std::function<std::string(const std::string& text)>& change) {
  const auto change_cell = [&](Cell& cell) {
    if (auto* text = std::get_if<std::string>(&cell)) *text = change(*text);
    if (auto* texts = std::get_if<std::vector<std::string>>(&cell))
      for (std::string& text : *texts) text = change(text);
  };
  for (Field& field : fields_) change_cell(field.value);
  for (List& list : lists_)
    for (auto& row : list.rows)
      for (Cell& cell : row) change_cell(cell);
}

std::string Answer::ToText() const {
  std::string out;
  if (!line_.empty()) return line_ + "\n";
  size_t width = 0;
  for (const Field& field : fields_) width = std::max(width, field.name.size());
  for (const Field& field : fields_)
    out +=
        field.name + std::string(width - field.name.size() + 2, ' ') + TextOf(field.value) + "\n";
  for (const List& list : lists_) AppendList(list, &out);
  return out;
}

std::string Answer::ToJson() const {
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  json.SetMaxDecimalPlaces(kDecimals);
  json.StartObject();
  for (const Field& field : fields_) {
    json.Key(field.name.c_str());
    Write(field.value, &json);
  }
  for (const List& list : lists_) {
    json.Key(list.name.c_str());
    json.StartArray();
    for (const auto& row : list.rows) {
      json.StartObject();
      for (size_t i = 0; i < row.size(); ++i) {
        json.Key(list.columns[i].c_str());
        Write(row[i], &json);
      }
      json.EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace arion::shell
