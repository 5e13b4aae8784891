// SPDX-License-Identifier: Apache-2.0
#include "env/log_device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace arion {
namespace {

TEST(AlignedBufferTest, GrowsAlignedAndKeepsItsBytes) {
  AlignedBuffer buffer;
  buffer.Resize(10);
  std::memcpy(buffer.data(), "0123456789", 10);
  for (size_t n : {5000u, 100000u, 3000000u}) {
    buffer.Resize(n);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % AlignedBuffer::kAlignment, 0u);
    EXPECT_EQ(buffer.capacity() % AlignedBuffer::kAlignment, 0u);
    EXPECT_EQ(buffer.view().substr(0, 10), "0123456789");
    EXPECT_EQ(buffer.data()[n - 1], '\0');
  }
}

TEST(AlignedBufferTest, WhatIsResizedAgainIsZero) {
  AlignedBuffer buffer(4096);
  buffer.Resize(100);
  std::memset(buffer.data(), 'x', 100);
  buffer.Resize(10);
  buffer.Resize(100);
  EXPECT_EQ(buffer.view().substr(9, 3), std::string_view("x\0\0", 3));
}

TEST(AlignedBufferTest, MovesLeaveNothingBehind) {
  AlignedBuffer a;
  a.Resize(100);
  AlignedBuffer b = std::move(a);
  EXPECT_EQ(a.size(), 0u);
  EXPECT_EQ(b.size(), 100u);
  AlignedBuffer c(8192);
  c = std::move(b);
  EXPECT_EQ(c.size(), 100u);
  EXPECT_EQ(b.data(), nullptr);
}

}  // namespace
}  // namespace arion
