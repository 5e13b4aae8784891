// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/words.h"

#include <cctype>
#include <cstdio>

#include "base/status.h"

namespace arion::shell {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<Words>> Run() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n' || c == ';') {
        EndCommand();
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        EndWord();
        ++at_;
        // Within a word '#' is a byte of a key like any other.
      } else if (c == '#' && !in_word_) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '"' || c == '\'') {
        RETURN_IF_ERROR(TakeQuoted(c));
      } else {
        RETURN_IF_ERROR(TakeOne());
      }
    }
    EndCommand();
    return std::move(commands_);
  }

 private:
  absl::Status TakeQuoted(char quote) {
    size_t start = at_++;
    in_word_ = true;
    while (at_ < text_.size() && text_[at_] != quote) RETURN_IF_ERROR(TakeOne());
    if (at_ == text_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("column ", start + 1, ": this quote is never closed"));
    }
    ++at_;
    return absl::OkStatus();
  }

  absl::Status TakeOne() {
    in_word_ = true;
    if (text_[at_] != '\\') {
      word_ += text_[at_++];
      return absl::OkStatus();
    }
    size_t start = at_++;
    char c = at_ < text_.size() ? text_[at_++] : '\0';
    constexpr std::string_view kNames = "nrt0";
    // With its length, because it holds a 0.
    constexpr std::string_view kMeanings("\n\r\t\0", 4);
    if (size_t i = kNames.find(c); i != std::string_view::npos && at_ > start + 1) {
      word_ += kMeanings[i];
    } else if (c != '\0' && std::string_view("\\\"'; #").find(c) != std::string_view::npos) {
      word_ += c;
    } else if (c == 'x' && at_ + 1 < text_.size() && HexDigit(text_[at_]) >= 0 &&
               HexDigit(text_[at_ + 1]) >= 0) {
      word_ += static_cast<char>(HexDigit(text_[at_]) * 16 + HexDigit(text_[at_ + 1]));
      at_ += 2;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("column ", start + 1,
                       ": unknown escape; there are \\n \\r \\t \\0 \\\\ \\\" \\' \\; \\xHH"));
    }
    return absl::OkStatus();
  }

  void EndWord() {
    if (in_word_) words_.push_back(std::move(word_));
    word_.clear();
    in_word_ = false;
  }

  void EndCommand() {
    EndWord();
    if (!words_.empty()) commands_.push_back(std::move(words_));
    words_.clear();
  }

  std::string_view text_;
  size_t at_ = 0;
  bool in_word_ = false;
  std::string word_;
  Words words_;
  std::vector<Words> commands_;
};

// Length of the valid UTF-8 sequence of two bytes or more at the front; 0 if there is none.
size_t Utf8Length(std::string_view bytes) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  size_t length = byte(0) >= 0xc2 && byte(0) < 0xe0   ? 2
                  : (byte(0) & 0xf0) == 0xe0          ? 3
                  : byte(0) >= 0xf0 && byte(0) < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || bytes.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // No characters: readers of UTF-8 refuse them, so they are shown as bytes.
  bool overlong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
  bool beyond = (byte(0) == 0xed && byte(1) >= 0xa0) || (byte(0) == 0xf4 && byte(1) >= 0x90);
  return overlong || beyond ? 0 : length;
}

std::string HexEscape(char c) {
  char hex[5];
  snprintf(hex, sizeof(hex), "\\x%02x", static_cast<unsigned char>(c));
  return hex;
}

}  // namespace

absl::StatusOr<std::vector<Words>> SplitCommands(std::string_view text) {
  return Splitter(text).Run();
}

std::string Escape(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    char c = bytes[0];
    size_t taken = 1;
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\r') {
      text += "\\r";
    } else if (c == '\t') {
      text += "\\t";
    } else if (c == '\\' || c == '"') {
      text += '\\';
      text += c;
    } else if (c >= ' ' && c < 127) {
      text += c;
    } else if (size_t length = Utf8Length(bytes); length > 0) {
      text += bytes.substr(0, length);
      taken = length;
    } else {
      text += HexEscape(c);
    }
    bytes.remove_prefix(taken);
  }
  return text;
}

std::string EscapeAll(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += HexEscape(c);
  return text;
}

}  // namespace arion::shell
