// To be preloaded (LD_PRELOAD): io_uring as of a kernel that lacks an operation. Whatever is
// submitted of it answers EINVAL. ARION_LACKS is the operation's number in linux/io_uring.h.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <liburing.h>

#include <cstdlib>

namespace {

constexpr unsigned char kNoOperation = 255;

unsigned char Lacked() {
  static const char* const number = std::getenv("ARION_LACKS");
  return number == nullptr ? kNoOperation : static_cast<unsigned char>(std::atoi(number));
}

// What is about to be submitted.
io_uring* WithoutTheOperation(io_uring* ring) {
  const io_uring_sq& queue = ring->sq;
  for (unsigned at = queue.sqe_head; at != queue.sqe_tail; ++at) {
    io_uring_sqe& entry = queue.sqes[at & *queue.kring_mask];
    if (entry.opcode == Lacked()) entry.opcode = kNoOperation;
  }
  return ring;
}

template <typename Function>
Function Real(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int io_uring_submit(io_uring* ring) {
  static const auto real = Real(&io_uring_submit, "io_uring_submit");
  return real(WithoutTheOperation(ring));
}

int io_uring_submit_and_wait(io_uring* ring, unsigned wait_for) {
  static const auto real = Real(&io_uring_submit_and_wait, "io_uring_submit_and_wait");
  return real(WithoutTheOperation(ring), wait_for);
}

int io_uring_submit_and_get_events(io_uring* ring) {
  static const auto real = Real(&io_uring_submit_and_get_events, "io_uring_submit_and_get_events");
  return real(WithoutTheOperation(ring));
}

}  // extern "C"
