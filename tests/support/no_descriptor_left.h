// A process at its limit of open files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "base/log.h"

namespace arion {

// Leaves the process no descriptor, until Free or its end.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    CHECK_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit few = before_;
    few.rlim_cur = 200;
    CHECK_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    Take();
  }
  ~NoDescriptorLeft() {
    Free(taken_.size());
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  void Take() {
    for (int fd; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken_.push_back(fd);
  }
  void Free(size_t n) {
    for (; n > 0; --n) {
      ::close(taken_.back());
      taken_.pop_back();
    }
  }

 private:
  rlimit before_;
  std::vector<int> taken_;
};

}  // namespace arion
