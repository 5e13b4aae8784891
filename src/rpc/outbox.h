// Outbox: the bytes one connection has still to send, in few pieces, so that one system call takes
// many messages. Small messages are put together; large bodies stay where they are. Strand-bound or
// guarded by its owner's mutex. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace arion {

class Outbox {
 public:
  void Append(std::string header, std::string body) {
    AppendPiece(std::move(header));
    if (!body.empty()) AppendPiece(std::move(body));
  }
  // Everything, in order; the outbox is empty afterwards.
  std::vector<std::string> Take() { return std::exchange(pieces_, {}); }
  bool empty() const { return pieces_.empty(); }

 private:
  static constexpr size_t kLargeBytes = 16 << 10;
  static constexpr size_t kPieceBytesMax = 64 << 10;
  static constexpr size_t kRoomBytes = 4 << 10;  // at first, for what is put together

  void AppendPiece(std::string bytes) {
    if (bytes.size() >= kLargeBytes || pieces_.empty() ||
        pieces_.back().size() + bytes.size() > kPieceBytesMax) {
      pieces_.push_back(std::move(bytes));
      if (pieces_.back().size() < kLargeBytes) pieces_.back().reserve(kRoomBytes);
    } else {
      pieces_.back() += bytes;
    }
  }

  std::vector<std::string> pieces_;
};

}  // namespace arion
