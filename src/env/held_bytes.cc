// SPDX-License-Identifier: Apache-2.0
#include "env/held_bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"

namespace arion {
namespace {

constexpr size_t kPageBytes = 4096;
// What anybody may ask of a pipe (/proc/sys/fs/pipe-max-size, as it comes).
constexpr size_t kPipeBytesMax = 1 << 20;

}  // namespace

std::unique_ptr<HeldBytes> HeldBytes::Take(int file, uint64_t offset, size_t n) {
  // A pipe counts pages; one more where the piece begins within one.
  const size_t room = n + kPageBytes;
  int ends[2];
  // A larger pipe needs a privilege, and descriptors may be short: either way the caller reads
  // instead.
  if (room > kPipeBytesMax || ::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  std::unique_ptr<HeldBytes> held(new HeldBytes(ends[0], 0));
  size_t taken = 0;
  if (::fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(room)) >= 0) {
    auto from = static_cast<loff_t>(offset);
    while (taken < n) {
      // SPLICE_F_NONBLOCK concerns the pipe, which has room for all; the file's side still waits
      // for the disk.
      const ssize_t got = ::splice(file, &from, ends[1], nullptr, n - taken, SPLICE_F_NONBLOCK);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      taken += static_cast<size_t>(got);
    }
  }
  // With the writing end closed a reader of the pipe never waits: it finds the bytes or the end.
  ::close(ends[1]);
  if (taken != n) return nullptr;
  held->size_ = n;
  return held;
}

HeldBytes::~HeldBytes() { ::close(pipe_); }

ssize_t HeldBytes::MoveTo(int socket) {
  ssize_t moved;
  do {
    moved = ::splice(pipe_, nullptr, socket, nullptr, size_, SPLICE_F_NONBLOCK | SPLICE_F_MORE);
  } while (moved < 0 && errno == EINTR);
  if (moved > 0) size_ -= static_cast<size_t>(moved);
  if (moved != 0 || size_ == 0) return moved;
  errno = EIO;  // the pipe lacks what was put into it
  return -1;
}

std::string HeldBytes::Read() {
  std::string bytes(size_, '\0');
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::read(pipe_, bytes.data() + done, bytes.size() - done);
    PCHECK(got > 0 || (got < 0 && errno == EINTR)) << "a pipe lacks what was put into it";
    if (got > 0) done += static_cast<size_t>(got);
  }
  size_ = 0;
  return bytes;
}

}  // namespace arion
