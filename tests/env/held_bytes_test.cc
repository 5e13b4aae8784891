// SPDX-License-Identifier: Apache-2.0
#include "env/held_bytes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "posix/posix_file_system.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

class HeldBytesTest : public testing::Test {
 protected:
  HeldBytesTest() {
    for (size_t i = 0; i < content_.size(); ++i) content_[i] = static_cast<char>(i * 31 >> 3);
    EXPECT_TRUE(WriteFileDurably(files_, path_, content_).ok());
    file_ = *files_.OpenForRead(path_);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets_), 0);
  }
  ~HeldBytesTest() override {
    for (int socket : sockets_) close(socket);
  }
  // Moves all of it, with whoever reads at the other end taking turns.
  std::string Move(HeldBytes& held) {
    std::string arrived;
    char room[64 << 10];
    while (true) {
      const ssize_t moved = held.size() > 0 ? held.MoveTo(sockets_[0]) : 0;
      if (moved < 0) {
        EXPECT_EQ(errno, EAGAIN);
      }
      const ssize_t got = read(sockets_[1], room, sizeof(room));
      if (got > 0) arrived.append(room, static_cast<size_t>(got));
      if (got <= 0 && held.size() == 0) return arrived;
    }
  }

  TempDirectory directory_;
  PosixFileSystem files_;
  const std::string path_ = directory_.path() + "/file";
  std::string content_ = std::string((1 << 20) + 777, '\0');
  std::shared_ptr<ReadableFile> file_;
  int sockets_[2];
};

TEST_F(HeldBytesTest, AnyPieceGoesOutAsItIsInTheFile) {
  struct {
    uint64_t offset;
    size_t n;
  } pieces[] = {{0, 512 << 10}, {1, 512 << 10}, {4095, 4098}, {1 << 20, 777}, {12345, 1}};
  for (const auto& [offset, n] : pieces) {
    const auto held = file_->Hold(offset, n);
    ASSERT_NE(held, nullptr) << n << " at " << offset;
    EXPECT_EQ(held->size(), n);
    EXPECT_EQ(Move(*held), content_.substr(offset, n)) << n << " at " << offset;
  }
}

TEST_F(HeldBytesTest, ItCanBeReadInstead) {
  const auto held = file_->Hold(3, 100'000);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(held->Read(), content_.substr(3, 100'000));
  EXPECT_EQ(held->size(), 0u);
}

TEST_F(HeldBytesTest, WhatReachesBeyondTheFileIsNotHeld) {
  EXPECT_EQ(file_->Hold((1 << 20) + 700, 78), nullptr);
  EXPECT_EQ(file_->Hold(2 << 20, 1), nullptr);
}

TEST_F(HeldBytesTest, WhatNoPipeHoldsIsNotHeld) { EXPECT_EQ(file_->Hold(0, 1 << 20), nullptr); }

TEST_F(HeldBytesTest, AFileThatBecomesShorterIsNoticedAtTheNextPiece) {
  const auto before = file_->Hold(0, 4096);
  ASSERT_EQ(truncate(path_.c_str(), 100), 0);
  EXPECT_EQ(file_->Hold(0, 4096), nullptr);
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(before->Read().size(), 4096u) << "taken before";
}

TEST_F(HeldBytesTest, APeerThatIsGoneIsAnError) {
  signal(SIGPIPE, SIG_IGN);
  const auto held = file_->Hold(0, 4096);
  close(sockets_[1]);
  EXPECT_EQ(held->MoveTo(sockets_[0]), -1);
  EXPECT_NE(errno, EAGAIN);
  sockets_[1] = dup(sockets_[0]);
}

}  // namespace
}  // namespace arion
