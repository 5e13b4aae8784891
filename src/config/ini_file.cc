// SPDX-License-Identifier: Apache-2.0
#include "config/ini_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/status.h"

namespace arion {
namespace {

constexpr size_t kFileBytesMax =
    16 << 20;  // far beyond any configuration; a wrong path is refused before it is read

std::string_view Trim(std::string_view text) {
  // With \r: files of other systems end their lines with \r\n.
  constexpr std::string_view kSpace = " \t\r\v\f";
  size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string_view WithoutTrailingComment(std::string_view value) {
  for (size_t i = 1; i < value.size(); ++i) {
    bool marker = value[i] == ';' || value[i] == '#';
    // Only behind white space: within a word the sign is a part of the value, of a path for
    // example.
    if (marker && (value[i - 1] == ' ' || value[i - 1] == '\t')) return Trim(value.substr(0, i));
  }
  return value;
}

absl::Status LineError(std::string_view name, int line, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(Text(name), ":", line, ": ", Text(what)));
}

}  // namespace

absl::StatusOr<IniFile> IniFile::Parse(std::string_view content, std::string_view name) {
  IniFile file;
  file.name_ = name;
  // A byte order mark, which editors of other systems write.
  if (content.substr(0, 3) == "\xef\xbb\xbf") content.remove_prefix(3);
  std::string section;
  int line_number = 0;
  while (!content.empty()) {
    ++line_number;
    size_t end = content.find('\n');
    std::string_view line = Trim(content.substr(0, end));
    content = end == std::string_view::npos ? std::string_view() : content.substr(end + 1);
    if (line.find('\0') != std::string_view::npos) {
      return LineError(name, line_number, "a zero byte: this is not a text file");
    }
    if (line.empty() || line[0] == ';' || line[0] == '#') continue;
    if (line[0] == '[') {
      // Only here: in a value the bracket has no meaning.
      line = WithoutTrailingComment(line);
      if (line.back() != ']') {
        return LineError(name, line_number,
                         "a section needs a closing bracket, as in [arion.server]");
      }
      section = Trim(line.substr(1, line.size() - 2));
      if (section.empty()) return LineError(name, line_number, "a section needs a name");
      continue;
    }
    if (section.empty()) {
      return LineError(name, line_number,
                       "a key before the first section: write [arion.server] above it");
    }
    size_t equals = line.find('=');
    std::string_view key = Trim(line.substr(0, equals));
    if (key.empty()) return LineError(name, line_number, "no key in front of '='");
    std::string_view value;
    if (equals != std::string_view::npos) value = WithoutTrailingComment(line.substr(equals + 1));
    file.entries_.push_back({section, std::string(key), std::string(Trim(value)), line_number});
  }
  return file;
}

absl::StatusOr<IniFile> IniFile::Load(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    std::string text = absl::StrCat(path, ": ", strerror(errno),
                                    ": give the configuration file with --config FILE");
    return errno == ENOENT ? absl::NotFoundError(text) : absl::PermissionDeniedError(text);
  }
  std::string content;
  // In pieces, with a bound: the path may be a device or a pipe.
  char buffer[1 << 16];
  ssize_t n = 0;
  while (content.size() <= kFileBytesMax && (n = read(fd, buffer, sizeof(buffer))) > 0) {
    content.append(buffer, static_cast<size_t>(n));
  }
  // close may change errno.
  int read_errno = errno;
  close(fd);
  if (n < 0) return absl::InvalidArgumentError(absl::StrCat(path, ": ", strerror(read_errno)));
  if (content.size() > kFileBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": larger than 16 MiB: not a configuration file"));
  }
  return Parse(content, path);
}

}  // namespace arion
