// RefuseCalls: this process and what it starts is refused system calls from now on, as a container's
// filter (seccomp) refuses them. Nothing takes it back: call it in a process of the test's own
// (EXPECT_EXIT). tests/support/without_io_uring.py does the same to a command;
// tests/support/lacking_io_uring.cc takes one operation of io_uring only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cstddef>
#include <vector>

namespace arion {

// A system call, SYS_...; of one whose first arguments are numbers, those with one of them only.
struct RefusedCall {
  RefusedCall(long number) : call(static_cast<unsigned>(number)) {}  // a number is one
  RefusedCall(long number, unsigned at, unsigned of)
      : call(static_cast<unsigned>(number)), argument(static_cast<int>(at)), value(of) {}
  unsigned call;
  int argument = -1;
  unsigned value = 0;
};

// `error` is an errno. False: the kernel has no filters.
inline bool RefuseCalls(const std::vector<RefusedCall>& calls, unsigned error) {
  std::vector<sock_filter> program;
  for (const RefusedCall& refused : calls) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    if (refused.argument < 0) {
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused.call, 0, 1));
    } else {
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused.call, 0, 3));
      program.push_back(
          BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                   static_cast<unsigned>(offsetof(seccomp_data, args) + 8 * refused.argument)));
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused.value, 0, 1));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

}  // namespace arion
