// Outbox: the bytes one connection has still to send, in few pieces, so that one system call takes
// many messages. Small messages are put together; large bodies, and pieces of files, stay where
// they are.
//
// Threads   Strand-bound or guarded by its owner's mutex.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "env/held_bytes.h"

namespace arion {

// Each connection has one. Append at its end; Take when the connection can write. It has no bound
// of its own: the connection counts what is queued.
class Outbox {
 public:
  // Bytes, or a piece of a file: one or the other.
  struct Piece {
    std::string bytes;
    std::unique_ptr<HeldBytes> held = nullptr;
    size_t size() const { return held ? held->size() : bytes.size(); }
  };

  // One message: its header, and its body unless that is empty.
  void Append(std::string header, std::string body) {
    Append(std::move(header));
    if (!body.empty()) Append(std::move(body));
  }
  // Goes to the last piece where both are small.
  void Append(std::string bytes) {
    if (bytes.size() >= kLargeBytes || pieces_.empty() || pieces_.back().held != nullptr ||
        pieces_.back().bytes.size() + bytes.size() > kPieceBytesMax) {
      pieces_.push_back({std::move(bytes)});
      std::string& last = pieces_.back().bytes;
      if (last.size() < kLargeBytes) last.reserve(kRoomBytes);
    } else {
      pieces_.back().bytes += bytes;
    }
  }
  // A piece of a file; its bytes are never copied.
  void Append(std::unique_ptr<HeldBytes> held) {
    if (held->size() > 0) pieces_.push_back({.bytes = {}, .held = std::move(held)});
  }
  // Everything, in order; the outbox is empty afterwards.
  std::vector<Piece> Take() { return std::exchange(pieces_, {}); }
  bool empty() const { return pieces_.empty(); }

 private:
  // From this size on bytes are a piece of their own.
  static constexpr size_t kLargeBytes = 16 << 10;
  // A piece grows no larger than this.
  static constexpr size_t kPieceBytesMax = 64 << 10;
  // At first, for what is put together.
  static constexpr size_t kRoomBytes = 4 << 10;

  std::vector<Piece> pieces_;
};

}  // namespace arion
