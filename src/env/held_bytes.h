// HeldBytes: a piece of a file that the kernel holds in memory (in a pipe), ready to go out over a
// socket without being copied to the process and without any further wait for the disk.
//
// Units     Bytes.
// Threads   One at a time. MoveTo never waits, Read neither: everything is there. The process
//           ignores SIGPIPE.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace arion {

class HeldBytes {
 public:
  // Fills a pipe from `file`, waiting for the disk. nullptr: not all `n` bytes could be taken that
  // way; reading them tells why, or does it.
  static std::unique_ptr<HeldBytes> Take(int file, uint64_t offset, size_t n);
  ~HeldBytes();
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  size_t size() const { return size_; }  // what has not gone yet
  // Some of it goes to a non-blocking socket; returns how many bytes, or -1 and errno as write does.
  ssize_t MoveTo(int socket);
  // The rest, for whoever has no socket.
  std::string Read();

 private:
  HeldBytes(int pipe, size_t size) : pipe_(pipe), size_(size) {}

  const int pipe_;  // its reading end
  size_t size_;
};

}  // namespace arion
