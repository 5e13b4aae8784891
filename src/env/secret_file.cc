// SPDX-License-Identifier: Apache-2.0
#include "env/secret_file.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace arion {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace

absl::StatusOr<std::string> ReadSecretFile(const std::string& path) {
  const auto failed = [&] {
    return absl::FailedPreconditionError(absl::StrCat(path, ": ", std::strerror(errno)));
  };
  // O_NONBLOCK: a pipe of that name must not make a start wait. The file is opened first and judged
  // by its descriptor, so nobody can put another in its place between the look and the read.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) return failed();
  if (!S_ISREG(status.st_mode))
    return absl::FailedPreconditionError(absl::StrCat(path, " is no file"));
  // Its group may read it: the server's account usually is in the secret's group, not its owner.
  if ((status.st_mode & (S_IRWXO | S_IWGRP)) != 0)
    return absl::FailedPreconditionError(
        absl::StrCat(path, " may be read by everybody or written by its group: chmod 640 ", path));
  // One byte more than the longest line with its end: a longer line is seen as too long, and no
  // large file is read.
  std::string text(kSecretBytesMax + 2, '\0');
  const ssize_t got = read(file.get(), text.data(), text.size());
  if (got < 0) return failed();
  text.resize(static_cast<size_t>(got));
  std::string secret = text.substr(0, text.find('\n'));
  const bool is_printable =
      std::all_of(secret.begin(), secret.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (secret.size() < kSecretBytesMin || secret.size() > kSecretBytesMax || !is_printable)
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": the first line is no secret: ", kSecretBytesMin, " to ", kSecretBytesMax,
        " printable characters without blanks; `openssl rand -hex 32` makes one"));
  return secret;
}

}  // namespace arion
