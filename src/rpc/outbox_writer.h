// OutboxWriter: moves the pieces that an outbox gave up into a socket, and remembers how far it came.
//
//   writer.Load(outbox.Take());
//   while (!writer.done()) {
//     const size_t n = writer.WriteSome(socket, &error);  // would_block: go on when it is writable
//     if (error) break;
//   }
//
// Threads   Guarded by its owner's mutex.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <asio/ip/tcp.hpp>
#include <cstddef>
#include <system_error>
#include <utility>
#include <vector>

#include "rpc/outbox.h"

namespace arion {

// Each connection has one.
class OutboxWriter {
 public:
  // Everything loaded before is written.
  bool done() const { return first_ == pieces_.size(); }
  // Once done(), or to forget what is left.
  void Load(std::vector<Outbox::Piece> pieces) {
    pieces_ = std::move(pieces);
    first_ = offset_ = 0;
  }
  // One system call, for as many pieces as it takes. Returns how many bytes the socket took; a piece
  // is freed as soon as it has gone. Not done().
  size_t WriteSome(asio::ip::tcp::socket& socket, std::error_code* error);

 private:
  // `n` bytes of the front have gone.
  void Advance(size_t n);

  std::vector<Outbox::Piece> pieces_;
  // Of pieces_: those before it have gone.
  size_t first_ = 0;
  // Of the first piece, if that is bytes, so many have gone.
  size_t offset_ = 0;
};

}  // namespace arion
