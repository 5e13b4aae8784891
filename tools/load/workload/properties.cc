// SPDX-License-Identifier: Apache-2.0
#include "tools/load/workload/properties.h"

#include <absl/strings/numbers.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/status.h"

namespace arion::load {
namespace {

constexpr std::string_view kBlanks = " \t\f\r";

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Whether the line goes on: it ends in an odd number of backslashes.
bool GoesOn(std::string_view line) {
  const size_t last_other = line.find_last_not_of('\\');
  const size_t kept = last_other == std::string_view::npos ? 0 : last_other + 1;
  return (line.size() - kept) % 2 == 1;
}

std::optional<std::string> Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) break;
    switch (text[i]) {
      case 't':
        out += '\t';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      // Refused rather than read wrongly (Parse says so).
      case 'u':
        return std::nullopt;
      default:
        out += text[i];
    }
  }
  return out;
}

// Where the key ends: at the first "=", ":" or blank that no backslash precedes.
size_t EndOfKey(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '=' || line[i] == ':' || kBlanks.find(line[i]) != kBlanks.npos) {
      return i;
    }
  }
  return line.size();
}

}  // namespace

absl::Status Properties::Parse(std::string_view text, std::string_view origin) {
  int number = 0;
  while (!text.empty()) {
    std::string line;
    const int first_number = number + 1;
    bool goes_on = true;
    while (goes_on && !text.empty()) {
      const size_t end = text.find('\n');
      std::string_view piece = Trim(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      ++number;
      // Only where a line begins: what it goes on with may begin with any sign.
      if (line.empty() && (piece.starts_with('#') || piece.starts_with('!'))) piece = {};
      goes_on = GoesOn(piece);
      line += goes_on ? piece.substr(0, piece.size() - 1) : piece;
    }
    if (line.empty()) continue;
    const std::string where = absl::StrCat(arion::Text(origin), ":", first_number);
    const size_t key_end = EndOfKey(line);
    std::string_view rest = Trim(std::string_view(line).substr(key_end));
    if (rest.starts_with('=') || rest.starts_with(':')) rest = Trim(rest.substr(1));
    std::optional<std::string> key = Unescape(std::string_view(line).substr(0, key_end));
    std::optional<std::string> value = Unescape(rest);
    if (!key || !value || key->empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": ", line, ": ", key && value ? "no key" : "\\u escapes are not taken"));
    }
    Set(*key, *value, where);
  }
  return absl::OkStatus();
}

absl::Status Properties::ReadFile(const std::string& path) {
  errno = 0;  // an empty file sets none
  std::ifstream file(path);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) {
    return absl::NotFoundError(absl::StrCat("can't read the property file ", path, ": ",
                                            errno == 0 ? "it is empty" : strerror(errno)));
  }
  return Parse(text.str(), path);
}

void Properties::Set(std::string_view key, std::string_view value, std::string_view origin) {
  entries_[std::string(key)] = {std::string(value), std::string(origin)};
}

std::string Properties::Text(std::string_view key, std::string_view otherwise) const {
  auto entry = entries_.find(key);
  return entry == entries_.end() ? std::string(otherwise) : entry->second.value;
}

absl::StatusOr<int64_t> Properties::Number(std::string_view key, int64_t otherwise) const {
  auto entry = entries_.find(key);
  if (entry == entries_.end()) return otherwise;
  int64_t number = 0;
  if (!absl::SimpleAtoi(entry->second.value, &number) || number < 0) {
    return absl::InvalidArgumentError(absl::StrCat(entry->second.origin, ": ", entry->first, "=",
                                                   entry->second.value,
                                                   ": write a whole number, 0 or more"));
  }
  return number;
}

absl::StatusOr<double> Properties::Real(std::string_view key, double otherwise) const {
  auto entry = entries_.find(key);
  if (entry == entries_.end()) return otherwise;
  double number = 0;
  if (!absl::SimpleAtod(entry->second.value, &number) || !std::isfinite(number) || number < 0) {
    return absl::InvalidArgumentError(absl::StrCat(entry->second.origin, ": ", entry->first, "=",
                                                   entry->second.value,
                                                   ": write a number, 0 or more"));
  }
  return number;
}

}  // namespace arion::load
