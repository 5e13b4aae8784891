// SPDX-License-Identifier: Apache-2.0
#include "posix/background_thread.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace arion {
namespace {

constexpr int kNice = 5;  // behind the process: a third of what its others get

}  // namespace

void ComeLast(const char* name) {
  ::pthread_setname_np(::pthread_self(), name);
  // Of this thread alone, as Linux has it. One that stays as it was is no worse than before.
  // Relative to the process, which an operator may have given a rank of its own.
  const int process = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::getpid()));
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), process + kNice);
}

}  // namespace arion
