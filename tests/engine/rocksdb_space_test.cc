// RocksDB on a disk that fills up: a small file system of its own, so only where mounting is
// allowed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/raw_key.h"
#include "engine/rocksdb_engine.h"
#include "tests/engine/test_environment.h"

namespace arion {
namespace {

class RocksdbSpaceTest : public testing::Test {
 protected:
  static constexpr size_t kBufferBytes = 2 << 20;

  void SetUp() override {
    std::filesystem::create_directories(disk_);
    if (mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=24m") != 0)
      GTEST_SKIP() << "no small file system can be mounted here: " << std::strerror(errno);
    is_mounted_ = true;
    auto engine = factory_.Open(disk_ + "/data");
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  void TearDown() override {
    engine_.reset();
    if (is_mounted_) umount2(disk_.c_str(), MNT_DETACH);
  }

  std::string Key(int64_t i) { return JoinRawKey("h", std::to_string(i)); }
  // A value that does not compress.
  std::string Value(int64_t i) {
    std::mt19937_64 random(static_cast<uint64_t>(i));
    std::string value(8 << 10, '\0');
    for (char& c : value) c = static_cast<char>(random());
    return value;
  }
  absl::Status ApplyNext(absl::Status (Engine::*apply)(absl::Span<const Engine::AppliedMutation>)) {
    const Decree decree = engine_->last_applied() + 1;
    const std::string key = Key(decree.value()), value = Value(decree.value());
    const WriteOp op{.kind = WriteOp::Kind::kPut, .key = key, .value = value};
    const Engine::AppliedMutation mutation{decree, 1, {&op, 1}};
    return (engine_.get()->*apply)({&mutation, 1});
  }
  // Leaves `free_bytes` on the disk.
  void FillUp(uintmax_t free_bytes) {
    const auto space = std::filesystem::space(disk_);
    std::ofstream ballast(disk_ + "/ballast", std::ios::binary);
    const std::string chunk(64 << 10, 'x');
    for (uintmax_t done = 0; done + free_bytes < space.available; done += chunk.size())
      ballast.write(chunk.data(), static_cast<std::streamsize>(chunk.size()));
  }
  void MakeRoom() { std::filesystem::remove(disk_ + "/ballast"); }
  // Applies until it fails; the error.
  absl::Status ApplyUntilItFails() {
    for (int i = 0; i < 5000; ++i)
      if (absl::Status status = ApplyNext(&Engine::ApplyAll); !status.ok()) return status;
    return absl::OkStatus();
  }

  TestEnvironment environment_;
  const std::string disk_ = environment_.root() + "/small";
  RocksdbEngineFactory factory_{environment_, {.write_buffer_bytes = kBufferBytes}};
  std::unique_ptr<Engine> engine_;
  bool is_mounted_ = false;
};

TEST_F(RocksdbSpaceTest, AFullDiskRefusesAppliesAndGoesOnWhenThereIsRoom) {
  FillUp(4 << 20);
  const absl::Status full = ApplyUntilItFails();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
  const Decree applied = engine_->last_applied();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ApplyNext(&Engine::ApplyAll).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ApplyNext(&Engine::TryApplyAll).code(), absl::StatusCode::kUnavailable)
      << "only the pool may try to go on";
  EXPECT_EQ(engine_->Flush().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(engine_->Checkpoint().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(engine_->last_applied(), applied);
  for (int64_t i = 1; i <= applied.value(); ++i)
    ASSERT_EQ(engine_->Get(Key(i), 1, ReadTier::kAll)->value, Value(i)) << "reads go on";

  MakeRoom();
  ASSERT_TRUE(ApplyNext(&Engine::ApplyAll).ok());
  EXPECT_EQ(engine_->last_applied(), applied + 1);
  EXPECT_TRUE(ApplyNext(&Engine::TryApplyAll).ok());
  const absl::StatusOr<Decree> checkpoint = engine_->Checkpoint();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(*checkpoint, applied + 2);

  ASSERT_TRUE(engine_->Close().ok());
  engine_ = *factory_.Open(disk_ + "/data");
  EXPECT_EQ(engine_->last_applied(), applied + 2);
  for (int64_t i = 1; i <= applied.value() + 2; ++i)
    ASSERT_EQ(engine_->Get(Key(i), 1, ReadTier::kAll)->value, Value(i)) << i;
}

TEST_F(RocksdbSpaceTest, ACheckpointWithoutSpaceFailsAloneAndIsMadeLater) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(ApplyNext(&Engine::ApplyAll).ok());
  FillUp(256 << 10);
  EXPECT_EQ(engine_->Checkpoint().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(engine_->last_durable(), Decree(0));
  MakeRoom();
  const absl::StatusOr<Decree> checkpoint = engine_->Checkpoint();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(*checkpoint, Decree(100));
}

}  // namespace
}  // namespace arion
