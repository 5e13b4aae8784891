// OutboxWriter: what a socket takes in pieces arrives whole and in order.
// SPDX-License-Identifier: Apache-2.0
#include "rpc/outbox_writer.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/read.hpp>
#include <string>

namespace arion {
namespace {

using asio::ip::tcp;

class OutboxWriterTest : public testing::Test {
 protected:
  OutboxWriterTest() {
    tcp::acceptor acceptor(context_, {asio::ip::address_v4::loopback(), 0});
    near_.connect(acceptor.local_endpoint());
    far_ = acceptor.accept();
    near_.non_blocking(true);
    near_.set_option(asio::socket_base::send_buffer_size(16 << 10));
  }

  // Reads exactly so many bytes at the other end.
  std::string Read(size_t bytes) {
    std::string read(bytes, 0);
    asio::read(far_, asio::buffer(read));
    return read;
  }

  asio::io_context context_;
  tcp::socket near_{context_};
  tcp::socket far_{context_};
  OutboxWriter writer_;
};

TEST_F(OutboxWriterTest, MorePiecesThanGoIntoOneCallArriveInOrder) {
  std::vector<Outbox::Piece> pieces;
  std::string all;
  for (int i = 0; i < 200; ++i) {
    pieces.push_back(
        {.bytes = std::string(static_cast<size_t>(i % 7 + 1), static_cast<char>('a' + i % 26))});
    all += pieces.back().bytes;
  }
  writer_.Load(std::move(pieces));
  size_t written = 0;
  while (!writer_.done()) {
    std::error_code error;
    written += writer_.WriteSome(near_, &error);
    ASSERT_FALSE(error) << error.message();
  }
  EXPECT_EQ(written, all.size());
  EXPECT_EQ(Read(all.size()), all);
}

TEST_F(OutboxWriterTest, GoesOnInTheMiddleOfAPieceThatTheSocketTookInPart) {
  const std::string large(4 << 20, 'x');
  writer_.Load({});
  EXPECT_TRUE(writer_.done());
  std::vector<Outbox::Piece> pieces;
  pieces.push_back({.bytes = "head"});
  pieces.push_back({.bytes = large});
  pieces.push_back({.bytes = "tail"});
  writer_.Load(std::move(pieces));
  std::string read;
  while (!writer_.done()) {
    std::error_code error;
    const size_t n = writer_.WriteSome(near_, &error);
    ASSERT_TRUE(!error || error == asio::error::would_block) << error.message();
    read += Read(n);
  }
  EXPECT_TRUE(read == "head" + large + "tail");
  EXPECT_EQ(read.size(), large.size() + 8);
}

TEST_F(OutboxWriterTest, WhatIsForgottenIsNotSent) {
  std::vector<Outbox::Piece> pieces;
  pieces.push_back({.bytes = "forgotten"});
  writer_.Load(std::move(pieces));
  writer_.Load({});
  EXPECT_TRUE(writer_.done());
  near_.close();
  std::error_code error;
  char byte;
  EXPECT_EQ(far_.read_some(asio::buffer(&byte, 1), error), 0u);
  EXPECT_EQ(error, asio::error::eof);
}

}  // namespace
}  // namespace arion
