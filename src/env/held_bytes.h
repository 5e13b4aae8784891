// HeldBytes: a piece of a file that the kernel holds in memory (in a pipe), ready to go out over a
// socket without being copied to the process and without any further wait for the disk.
//
// Units     Bytes.
// Threads   One at a time. MoveTo and Read never wait: everything is there. The process ignores
//           SIGPIPE.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace arion {

// Made by ReadableFile::Hold in a disk's pool, then handed to a connection, which moves it out as
// the socket takes it. It owns a pipe, so each one costs a descriptor, and up to 1 MiB of kernel
// memory.
class HeldBytes {
 public:
  // Fills a pipe from the open `file`; waits for the disk. nullptr: not all `n` bytes could be
  // taken in that way; reading them tells why, or works.
  static std::unique_ptr<HeldBytes> Take(int file, uint64_t offset, size_t n);
  ~HeldBytes();
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  // What has not gone yet.
  size_t size() const { return size_; }
  // Moves some of it to a non-blocking socket; returns how many bytes, or -1 and errno as write
  // does.
  ssize_t MoveTo(int socket);
  // Takes the rest, for whoever has no socket.
  std::string Read();

 private:
  HeldBytes(int pipe, size_t size) : pipe_(pipe), size_(size) {}

  // The pipe's reading end.
  const int pipe_;
  size_t size_;
};

}  // namespace arion
