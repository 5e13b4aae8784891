// What the engine in memory does of its own; what all engines do: engine_test.cc.
// SPDX-License-Identifier: Apache-2.0
#include "engine/memory_engine.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/coding.h"
#include "base/crc.h"
#include "base/raw_key.h"
#include "tests/engine/test_environment.h"

namespace arion {
namespace {

class MemoryEngineTest : public testing::Test {
 protected:
  using Opened = absl::StatusOr<std::unique_ptr<Engine>>;

  std::string Directory(const std::string& name) const { return environment_.root() + "/" + name; }
  std::string RecordsPath(const std::string& name) const {
    return Directory(name) + "/memory/records";
  }
  std::unique_ptr<Engine> Open(const std::string& name) {
    Opened engine = factory_.Open(Directory(name));
    EXPECT_TRUE(engine.ok()) << engine.status();
    return *std::move(engine);
  }
  static void Put(Engine& engine, const std::string& key, const std::string& value,
                  uint32_t expire_ts = 0) {
    const std::vector<WriteOp> ops = {
        {.kind = WriteOp::Kind::kPut, .key = key, .value = value, .expire_ts = expire_ts}};
    EXPECT_TRUE(engine.Apply(engine.last_applied() + 1, 1, ops).ok());
  }
  static std::string Read(const Engine& engine, const std::string& key) {
    const auto record = engine.Get(key, 0, ReadTier::kAll);
    return record.ok() ? record->value : "none";
  }
  std::string Content(const std::string& path) {
    return ReadFile(environment_.files(), path).value_or("");
  }
  void WriteRecords(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(environment_.files().CreateDirectories(Directory(name) + "/memory").ok());
    ASSERT_TRUE(WriteFileDurably(environment_.files(), RecordsPath(name), bytes).ok());
  }

  TestEnvironment environment_;
  MemoryEngineFactory factory_{environment_};
  const std::string a_ = JoinRawKey("h", "a"), b_ = JoinRawKey("h", "b"), c_ = JoinRawKey("h", "c");
};

TEST_F(MemoryEngineTest, EqualCallsLeaveEqualFiles) {
  for (const char* name : {"1", "2"}) {
    const auto engine = Open(name);
    Put(*engine, b_, "2", 77);
    Put(*engine, a_, "1");
    Put(*engine, b_, "3");
    ASSERT_TRUE(engine->Checkpoint().ok());
  }
  EXPECT_FALSE(Content(RecordsPath("1")).empty());
  EXPECT_EQ(Content(RecordsPath("1")), Content(RecordsPath("2")));
  EXPECT_EQ(Content(Directory("1") + "/checkpoint.3/records"), Content(RecordsPath("1")));
}

TEST_F(MemoryEngineTest, AByteThatChangedOrIsMissingIsDataLoss) {
  {
    const auto engine = Open("good");
    Put(*engine, a_, "1");
    ASSERT_TRUE(engine->Flush().ok());
  }
  const std::string good = Content(RecordsPath("good"));
  ASSERT_GT(good.size(), 20u);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    WriteRecords("bad", bad);
    EXPECT_TRUE(absl::IsDataLoss(factory_.Open(Directory("bad")).status())) << "byte " << i;
    WriteRecords("bad", good.substr(0, i));
    EXPECT_TRUE(absl::IsDataLoss(factory_.Open(Directory("bad")).status())) << i << " bytes";
  }
  WriteRecords("bad", good);
  EXPECT_TRUE(factory_.Open(Directory("bad")).ok()) << "all of it is as good as before";
}

// With a checksum that is right: what wrote them was wrong.
TEST_F(MemoryEngineTest, CountsThatDoNotFitAreDataLoss) {
  for (const uint64_t count : {uint64_t{0}, uint64_t{2}, UINT64_MAX}) {
    std::string bytes = "ARIONMEM";
    AppendLittle(int64_t{1}, &bytes);
    AppendLittle(count, &bytes);
    for (const uint32_t word : {1u, 1u, 0u}) AppendLittle(word, &bytes);
    bytes += "kv";
    AppendLittle(Crc32c(bytes), &bytes);
    WriteRecords("x", bytes);
    EXPECT_TRUE(absl::IsDataLoss(factory_.Open(Directory("x")).status())) << count;
  }
}

TEST_F(MemoryEngineTest, WhatHasExpiredForGoodIsNotWritten) {
  const auto engine = Open("1");
  Put(*engine, a_, "1", 100);
  Put(*engine, b_, "2", 1 << 20);
  environment_.set_expiry_now(101);
  ASSERT_TRUE(engine->Flush().ok());
  const uint64_t both = engine->size_bytes();
  EXPECT_EQ(both, 2 * a_.size() + 2) << "a clock may be wrong by a margin";
  environment_.set_expiry_now(1 << 19);
  ASSERT_TRUE(engine->Flush().ok());
  EXPECT_EQ(engine->size_bytes(), b_.size() + 1);
}

TEST_F(MemoryEngineTest, WhereTagsAreComparedTheExpiredStayForAnHour) {
  const auto engine = Open("1");
  Put(*engine, a_, "1", 100);
  const Engine::AppliedMutation judged{
      .decree = engine->last_applied() + 1, .timestamp_us = 1, .ops = {}, .compares_tags = true};
  ASSERT_TRUE(engine->ApplyAll({&judged, 1}).ok());
  environment_.set_expiry_now(3600);
  ASSERT_TRUE(engine->Flush().ok());
  EXPECT_EQ(engine->size_bytes(), a_.size() + 1);
  environment_.set_expiry_now(3800);
  ASSERT_TRUE(engine->Flush().ok());
  EXPECT_EQ(engine->size_bytes(), 0u);
}

TEST_F(MemoryEngineTest, KeysOfOtherPartitionsAreNotWrittenOnceItIsKnownWhichTheyAre) {
  const auto engine = Open("1");
  const std::string other = JoinRawKey("g", "a");
  Put(*engine, a_, "1");
  Put(*engine, other, "2");
  ASSERT_NE(PartitionHash(a_) % 1024, PartitionHash(other) % 1024);
  ASSERT_TRUE(engine->Flush().ok());
  EXPECT_EQ(engine->size_bytes(), a_.size() + other.size() + 2);
  const auto view = engine->View();
  engine->SetOwnership({.index = static_cast<int32_t>(PartitionHash(a_) % 1024), .count = 1024});
  ASSERT_TRUE(engine->NoteCompactedFor(1024).ok());
  EXPECT_EQ(engine->compacted_for(), 1024);
  EXPECT_EQ(engine->size_bytes(), a_.size() + 1);
  EXPECT_TRUE(view->Get(other, 0, ReadTier::kAll).ok());
}

TEST_F(MemoryEngineTest, SilentChangesTakeTheNextRecordThatStaysElseTheFirst) {
  const auto engine = Open("1");
  const std::string directory = Directory("1");
  EXPECT_EQ(factory_.ChangeSilently(directory, "", "x"), std::nullopt) << "there is no record";
  Put(*engine, a_, "1");
  Put(*engine, b_, "2", 1 << 20);
  Put(*engine, c_, "3");
  EXPECT_EQ(factory_.ChangeSilently(directory, b_, "x"), c_) << "b expires by itself";
  EXPECT_EQ(Read(*engine, c_), "x");
  EXPECT_EQ(factory_.ChangeSilently(directory, JoinRawKey("i", ""), std::nullopt), a_);
  EXPECT_EQ(Read(*engine, a_), "none");
  EXPECT_EQ(Read(*engine, b_), "2");
  EXPECT_EQ(engine->last_applied(), Decree(3)) << "nobody is told";
  EXPECT_EQ(factory_.ChangeSilently(Directory("2"), "", "x"), std::nullopt) << "not open";
}

TEST_F(MemoryEngineTest, AViewTakenBeforeASilentChangeShowsWhatWas) {
  const auto engine = Open("1");
  Put(*engine, a_, "1");
  const auto view = engine->View();
  ASSERT_EQ(factory_.ChangeSilently(Directory("1"), "", "x"), a_);
  EXPECT_EQ(view->Get(a_, 0, ReadTier::kAll)->value, "1");
  EXPECT_EQ(Read(*engine, a_), "x");
}

TEST_F(MemoryEngineTest, WhatIsOpenIsListedUnderItsPresentEngine) {
  auto first = Open("1");
  const auto other = Open("2");
  using Directories = std::vector<std::string>;
  EXPECT_EQ(factory_.OpenDirectories(), (Directories{Directory("1"), Directory("2")}));
  auto second = Open("1");
  Put(*second, a_, "1");
  first = nullptr;
  EXPECT_EQ(factory_.OpenDirectories(), (Directories{Directory("1"), Directory("2")}));
  EXPECT_EQ(factory_.ChangeSilently(Directory("1"), "", "x"), a_) << "the engine opened last";
  second = nullptr;
  EXPECT_EQ(factory_.OpenDirectories(), Directories{Directory("2")});
}

}  // namespace
}  // namespace arion
