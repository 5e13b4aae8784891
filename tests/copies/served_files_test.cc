// SPDX-License-Identifier: Apache-2.0
#include "copies/served_files.h"
#include "rpc/transport.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/crc.h"
#include "posix/posix_file_system.h"
#include "rpc/thrift_codec.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

// One file of 700,000 bytes on a real file system.
class ServedFilesTest : public testing::Test {
 protected:
  ServedFilesTest() {
    for (size_t i = 0; i < content_.size(); ++i) content_[i] = static_cast<char>(i * 17 >> 2);
    EXPECT_TRUE(WriteFileDurably(files_, Path(), content_).ok());
    share_ = served_->Share(directory_.path(), {{"file", content_.size()}}, nullptr);
  }
  std::string Path() const { return directory_.path() + "/file"; }
  CopyRequest Ask(int64_t offset, int32_t size) const {
    return {.source_dir = directory_.path(), .file_name = "file", .offset = offset, .size = size};
  }

  TempDirectory directory_;
  PosixFileSystem files_;
  std::shared_ptr<ServedFiles> served_ = std::make_shared<ServedFiles>(files_);
  std::shared_ptr<void> share_;
  std::string content_ = std::string(700'000, '\0');
};

TEST_F(ServedFilesTest, AnAnswerWhoseBytesTheKernelHoldsReadsLikeOneThatWasCopied) {
  for (int64_t offset : {0, 1, 4096, 12'345}) {
    CopyResponse copied = served_->Read(Ask(offset, 512 << 10));
    EXPECT_EQ(static_cast<uint32_t>(*copied.crc32c), Crc32c(copied.file_content.bytes));
    copied.crc32c.reset();
    ReplyBody answer = served_->Answer(Ask(offset, 512 << 10));
    ASSERT_NE(answer.piece, nullptr);
    const std::string expected = EncodeWrapped(copied);
    EXPECT_EQ(answer.size(), expected.size());
    EXPECT_TRUE(std::string(std::move(answer)) == expected) << "at " << offset;
  }
}

TEST_F(ServedFilesTest, WhatCanNotBeHeldIsReadOrRefused) {
  const auto answer = [this](int64_t offset, int32_t size) {
    ReplyBody body = served_->Answer(Ask(offset, size));
    EXPECT_EQ(body.piece, nullptr);
    return *DecodeWrapped<CopyResponse>(body.bytes);
  };
  EXPECT_EQ(answer(0, 0).error, ErrorCode::kOk);
  EXPECT_EQ(answer(-1, 10).error, ErrorCode::kHandleEof);
  EXPECT_EQ(answer(700'000, 1).error, ErrorCode::kHandleEof);
  ASSERT_EQ(truncate(Path().c_str(), 600'000), 0);
  EXPECT_EQ(answer(600'000, 50'000).error, ErrorCode::kHandleEof) << "never a short block";
  share_.reset();
  EXPECT_EQ(answer(0, 10).error, ErrorCode::kObjectNotFound);
}

TEST_F(ServedFilesTest, LearnersOfOneShareUseOneOpenFile) {
  ASSERT_EQ(served_->Read(Ask(0, 10)).error, ErrorCode::kOk);
  ASSERT_TRUE(files_.Remove(Path()).ok());
  EXPECT_EQ(served_->Read(Ask(10, 10)).file_content.bytes, content_.substr(10, 10));
  EXPECT_NE(served_->Answer(Ask(20, 10)).piece, nullptr);
}

}  // namespace
}  // namespace arion
