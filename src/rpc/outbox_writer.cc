// SPDX-License-Identifier: Apache-2.0
#include "rpc/outbox_writer.h"

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <cerrno>
#include <string_view>

#include "base/log.h"
#include "base/status.h"

namespace arion {
namespace {

// Enough to make one system call of many small answers; the array of them lies on the stack.
constexpr size_t kPiecesPerWrite = 64;

}  // namespace

size_t OutboxWriter::WriteSome(asio::ip::tcp::socket& socket, std::error_code* error) {
  CHECK(!done()) << "a write of nothing";
  // A piece that the kernel holds moves into the socket by a call of its own (env/held_bytes.h).
  if (HeldBytes* held = pieces_[first_].held.get(); held != nullptr) {
    const ssize_t moved = held->MoveTo(socket.native_handle());
    if (moved < 0) *error = std::error_code(errno, asio::error::get_system_category());
    // A piece of a file knows itself what is left of it.
    if (moved >= 0 && held->size() == 0) pieces_[first_++] = {};
    return moved < 0 ? 0 : static_cast<size_t>(moved);
  }
  std::array<asio::const_buffer, kPiecesPerWrite> buffers;
  size_t count = 0;
  for (size_t i = first_; i < pieces_.size() && count < buffers.size(); ++i) {
    // It has to go by itself, behind these.
    if (pieces_[i].held != nullptr) break;
    std::string_view bytes = pieces_[i].bytes;
    if (count == 0) bytes.remove_prefix(offset_);
    buffers[count++] = asio::const_buffer(bytes.data(), bytes.size());
  }
  const size_t n = socket.write_some(absl::MakeConstSpan(buffers).subspan(0, count), *error);
  if (!*error) Advance(n);
  return n;
}

void OutboxWriter::Advance(size_t n) {
  n += offset_;
  while (first_ < pieces_.size() && pieces_[first_].held == nullptr &&
         n >= pieces_[first_].size()) {
    n -= pieces_[first_].size();
    pieces_[first_++] = {};
  }
  offset_ = n;
}

}  // namespace arion
