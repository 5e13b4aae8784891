// SPDX-License-Identifier: Apache-2.0
#include "posix/thread_limit.h"

#include <sys/resource.h>

#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "env/file_system.h"

namespace arion {

absl::Status ThreadRefused(const std::system_error& error) {
  std::string limits;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    absl::StrAppend(&limits, "; all processes of this user may have ", limit.rlim_cur);
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    absl::StrAppend(&limits, "; this process may have ", limit.rlim_cur,
                    " bytes of addresses, stacks included (LimitAS=, ulimit -v)");
  return absl::ResourceExhaustedError(
      absl::StrCat(Text(kNoThread), ": ", error.code().message(), limits,
                   "; raise LimitNPROC= and TasksMax= of the service, or ulimit -u"));
}

absl::Status TryThreads(int count) {
  // All of them live at the same time: one after the other would say nothing of the limit.
  std::latch all_tried(1);
  std::vector<std::thread> threads;
  absl::Status status;
  try {
    while (static_cast<int>(threads.size()) < count)
      threads.emplace_back([&all_tried] { all_tried.wait(); });
  } catch (const std::system_error& error) {
    status = ThreadRefused(error);
  }
  all_tried.count_down();
  for (std::thread& thread : threads) thread.join();
  return status;
}

}  // namespace arion
