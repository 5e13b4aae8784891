// SPDX-License-Identifier: Apache-2.0
#include "posix/descriptor_reserve.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace arion {
namespace {

bool IsLimit(int error) { return error == EMFILE || error == ENFILE; }

// Each one by itself: what the system as a whole has open counts files, not descriptors.
int OpenNothing() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

DescriptorReserve::DescriptorReserve(size_t wanted) : wanted_(wanted) { Refill(); }

DescriptorReserve::~DescriptorReserve() {
  for (const int fd : held_) ::close(fd);
}

int DescriptorReserve::Open(const std::string& path, int flags, mode_t mode) {
  while (true) {
    const int fd = ::open(path.c_str(), flags, mode);
    if (fd >= 0 || (errno != EINTR && !IsLimit(errno))) return fd;
    const int error = errno;
    if (error == EINTR) continue;
    NoteWant();
    // Another thread may be quicker with what is given up: then the next one.
    if (!GiveUpOne()) {
      errno = error;
      return -1;
    }
  }
}

int DescriptorReserve::Close(int fd) {
  if (!is_whole()) {
    const MutexLock lock(mutex_);
    // Its number stays taken all the while.
    // dup3 puts a copy of a held descriptor in the place of the one to close, in one step. With
    // close and open another thread could take the number in between.
    if (!held_.empty() && held_.size() < wanted_ && ::dup3(held_.front(), fd, O_CLOEXEC) == fd) {
      held_.push_back(fd);
      is_whole_.store(held_.size() == wanted_, std::memory_order_release);
      return 0;
    }
  }
  // None is held that could be copied: closed, and then perhaps quicker than others.
  const int result = ::close(fd);
  if (!is_whole()) Refill();
  return result;
}

void DescriptorReserve::Refill() {
  const MutexLock lock(mutex_);
  while (held_.size() < wanted_) {
    const int fd = OpenNothing();
    if (fd < 0) break;
    held_.push_back(fd);
  }
  is_whole_.store(held_.size() == wanted_, std::memory_order_release);
}

bool DescriptorReserve::GiveUpOne() {
  const MutexLock lock(mutex_);
  if (held_.empty()) return false;
  // Before the descriptor is free: who closes one meanwhile must already see that one is lacking.
  is_whole_.store(false, std::memory_order_release);
  ::close(held_.back());
  held_.pop_back();
  return true;
}

}  // namespace arion
