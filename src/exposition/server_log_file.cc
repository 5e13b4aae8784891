// SPDX-License-Identifier: Apache-2.0
#include "exposition/server_log_file.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace arion {
namespace {

constexpr int kOpeningsAtMost = 1000;  // in one second

// <stem>YYYYMMDD-hhmmss.<pid>, local time: names sort by the time when they were begun.
std::string NameOf(const std::string& stem, time_t time) {
  tm local;
  localtime_r(&time, &local);
  std::array<char, 32> text;
  return absl::StrCat(
      stem, std::string(text.data(), strftime(text.data(), text.size(), "%Y%m%d-%H%M%S.", &local)),
      getpid());
}

}  // namespace

ServerLogFile::ServerLogFile(std::string directory, std::string stem, std::string link,
                             int64_t bytes_max)
    : directory_(std::move(directory)),
      stem_(std::move(stem)),
      link_(std::move(link)),
      bytes_max_(bytes_max) {}

ServerLogFile::~ServerLogFile() { OpenAnew(); }

void ServerLogFile::OpenAnew() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool ServerLogFile::Write(time_t time, std::string_view line) {
  // The next line opens the next file, so a full file ends between two lines.
  if (size_ >= bytes_max_) OpenAnew();
  int error = fd_ >= 0 ? 0 : Open(time);
  if (error == 0) error = Append(line);
  if (error != 0 && !fails_) SayFailed(error);
  fails_ = error != 0;
  return !fails_;
}

int ServerLogFile::Open(time_t time) {
  std::string name;
  // A name of this second may be taken by a file that was just filled: then the next second's is
  // used.
  for (int i = 0; i < kOpeningsAtMost; ++i) {
    name = NameOf(stem_, time + i);
    path_ = absl::StrCat(directory_, "/", name);
    // O_EXCL: the lines of an earlier opening are never mixed with these.
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0664);
    if (fd_ >= 0 || errno != EEXIST) break;
  }
  if (fd_ < 0) return errno;
  size_ = 0;
  const std::string link = absl::StrCat(directory_, "/", link_);
  // The link is for people: it always leads to the newest file.
  ::unlink(link.c_str());
  [[maybe_unused]] const int is_linked = ::symlink(name.c_str(), link.c_str());  // a convenience
  return Append(absl::StrCat("Log of process ", getpid(),
                             "; lines: [IWEF]yyyymmdd hh:mm:ss.uuuuuu thread file:line] text\n"));
}

int ServerLogFile::Append(std::string_view text) {
  int64_t end = size_;
  while (!text.empty()) {
    const ssize_t put = ::write(fd_, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      // What was written of the line is cut off again, so that the file holds whole lines only.
      const int error = put == 0 ? EIO : errno;
      [[maybe_unused]] const int is_cut = ::ftruncate(fd_, size_);
      return error;
    }
    text.remove_prefix(static_cast<size_t>(put));
    end += put;
  }
  size_ = end;
  return 0;
}

// Never waits for the reader of standard error.
void ServerLogFile::SayFailed(int error) const {
  const std::string text = absl::StrCat("the log can't be written to ", path_, ": ",
                                        std::error_code(error, std::generic_category()).message(),
                                        "; its lines are dropped and counted until it can\n");
  pollfd reader{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&reader, 1, 0) != 1 || reader.revents != POLLOUT) return;
  [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace arion
