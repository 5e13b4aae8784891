// SPDX-License-Identifier: Apache-2.0
#include "tools/log/json_line.h"

#include <absl/strings/str_format.h>

#include "base/status.h"

namespace arion::logtool {
namespace {

constexpr size_t kPieceBytes = 16 << 10;

// How many bytes of UTF-8 form the character at the front; 0: none.
size_t Utf8Length(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = at(0);
  const size_t n = lead < 0x80                   ? 1
                   : lead >= 0xc2 && lead < 0xe0 ? 2
                   : lead >= 0xe0 && lead < 0xf0 ? 3
                   : lead >= 0xf0 && lead < 0xf5 ? 4
                                                 : 0;
  if (n == 0 || n > bytes.size()) return 0;
  for (size_t i = 1; i < n; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  if ((lead == 0xe0 && at(1) < 0xa0) || (lead == 0xed && at(1) >= 0xa0) ||
      (lead == 0xf0 && at(1) < 0x90) || (lead == 0xf4 && at(1) >= 0x90))
    return 0;
  return n;
}

void AppendQuoted(std::string_view text, std::string* out) {
  *out += '"';
  while (!text.empty()) {
    const size_t n = Utf8Length(text);
    const auto c = static_cast<uint8_t>(text[0]);
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += static_cast<char>(c);
    } else if (n == 0 || c < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(out, "\\u%04x", c);
    } else {
      *out += text.substr(0, n);
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  *out += '"';
}

}  // namespace

void JsonLine::Key(std::string_view key) {
  if (text_.back() != '{') text_ += ',';
  AppendQuoted(key, &text_);
  text_ += ':';
}

JsonLine& JsonLine::Add(std::string_view key, std::string_view value) {
  Key(key);
  AppendQuoted(value, &text_);
  return *this;
}
JsonLine& JsonLine::Add(std::string_view key, int64_t value) {
  Key(key);
  absl::StrAppend(&text_, value);
  return *this;
}
JsonLine& JsonLine::Add(std::string_view key, uint64_t value) {
  Key(key);
  absl::StrAppend(&text_, value);
  return *this;
}
JsonLine& JsonLine::AddTrue(std::string_view key) {
  Key(key);
  text_ += "true";
  return *this;
}
JsonLine& JsonLine::BeginList(std::string_view key) {
  Key(key);
  text_ += '[';
  return *this;
}
JsonLine& JsonLine::BeginItem() {
  if (text_.back() != '[') text_ += ',';
  text_ += '{';
  return *this;
}
JsonLine& JsonLine::EndItem() {
  text_ += '}';
  if (text_.size() > kPieceBytes) {
    // The bracket stays: what follows looks at it.
    print_(std::string_view(text_).substr(0, text_.size() - 1));
    text_ = '}';
  }
  return *this;
}
JsonLine& JsonLine::EndList() {
  text_ += ']';
  return *this;
}

void JsonLine::Finish() {
  text_ += "}\n";
  print_(text_);
}

}  // namespace arion::logtool
