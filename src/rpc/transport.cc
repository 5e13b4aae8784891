// SPDX-License-Identifier: Apache-2.0
#include "rpc/transport.h"

#include "env/held_bytes.h"

namespace arion {

ReplyBody::Piece::~Piece() = default;

size_t ReplyBody::Piece::size() const { return held->size() + behind.size(); }

ReplyBody::ReplyBody(std::string before, std::unique_ptr<HeldBytes> held, std::string behind)
    : bytes(std::move(before)), piece(new Piece{std::move(held), std::move(behind)}) {}

ReplyBody::operator std::string() && {
  if (piece) bytes += piece->held->Read() + piece->behind;
  piece = nullptr;
  return std::move(bytes);
}

}  // namespace arion
