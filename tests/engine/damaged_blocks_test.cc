// RocksDB's own files: every block of each, damaged in five ways. What opens shows what it held at the decree it claims, or says that it can't be read.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/raw_key.h"
#include "base/status.h"
#include "engine/rocksdb_engine.h"
#include "sim/sim_environment.h"
#include "sim/sim_file_system.h"
#include "tests/engine/faulty_files.h"
#include "tests/engine/test_environment.h"
#include "tests/support/block_damage.h"

namespace arion {
namespace {

constexpr int64_t kDecrees = 120;
constexpr char kData[] = "/d/2.0.pegasus/data";

std::string KeyOf(int64_t decree) { return JoinRawKey("h", std::to_string(decree % 100)); }
std::string ValueOf(int64_t decree) {
  sim::SimRandom random(static_cast<uint64_t>(decree));
  std::string value(500, '\0');
  for (char& byte : value) byte = static_cast<char>(random.Below(256));
  return value;
}
std::map<std::string, std::string> ContentAt(Decree decree) {
  std::map<std::string, std::string> content;
  for (int64_t i = 1; i <= decree.value(); ++i) content[KeyOf(i)] = ValueOf(i);
  return content;
}

// A disk and the process that has it open.
struct Life {
  explicit Life(const Files& files) : disk(1, [] { return int64_t{0}; }) {
    life->alive = true;
    CHECK(disk.CreateDirectories("/d/2.0.pegasus").ok());
    WriteFiles(files, disk);
  }
  absl::Status Open() {
    ASSIGN_OR_RETURN(engine, factory.Open(kData));
    return absl::OkStatus();
  }

  sim::SimDisk disk;
  std::shared_ptr<sim::SimLife> life = std::make_shared<sim::SimLife>();
  sim::SimFileSystem below{disk, life};
  FaultyFiles files{below};
  TestEnvironment environment{files};
  RocksdbEngineFactory factory{environment, RocksdbEngineOptions{.block_cache_bytes = 1 << 20}};
  std::unique_ptr<Engine> engine;
};

// A table, a checkpoint of it, and a second table that is newer.
Files WholeFiles() {
  Life life({});
  CHECK(life.Open().ok());
  for (int64_t i = 1; i <= kDecrees; ++i) {
    const std::string key = KeyOf(i), value = ValueOf(i);
    const std::array ops = {WriteOp{.kind = WriteOp::Kind::kPut, .key = key, .value = value}};
    CHECK(life.engine->Apply(Decree(i), 1, ops).ok());
    if (i == 100) CHECK(life.engine->Checkpoint().ok());
  }
  CHECK(life.engine->Close().ok());
  life.engine.reset();
  return FilesOf(life.disk, kData);
}

// Nothing that is read is wrong, and nothing that is there is missing without a word.
void ExpectNoLie(const Engine& engine) {
  const auto content = ContentAt(engine.last_applied());
  for (const auto& [key, value] : content) {
    const auto record = engine.Get(key, 1, ReadTier::kAll);
    if (record.ok())
      EXPECT_EQ(record->value, value);
    else
      EXPECT_TRUE(absl::IsDataLoss(record.status())) << record.status();
  }
  std::map<std::string, std::string> walked;
  const auto view = engine.View();
  const auto walk = view->Walk({}, Direction::kForward);
  for (; walk->Valid(); walk->Next()) walked[std::string(walk->key())] = walk->value();
  if (walk->status().ok()) {
    EXPECT_EQ(walked, content);
  }
}

TEST(DamagedBlocks, WhatOpensShowsWhatItHeldOrSaysThatItCanNotBeRead) {
  const Files whole = WholeFiles();
  const std::vector<DamagedBlock> cases = EveryDamage(whole);
  EXPECT_GE(cases.size(), 100u);
  int opened = 0, older = 0;
  for (const DamagedBlock& damaged : cases) {
    SCOPED_TRACE(damaged.ToString());
    Life life(whole);
    damaged.Apply(life.disk);
    if (!life.Open().ok()) continue;
    ++opened;
    EXPECT_LE(life.engine->last_applied(), Decree(kDecrees));
    older += life.engine->last_applied() < Decree(kDecrees) ? 1 : 0;
    ExpectNoLie(*life.engine);
    if (testing::Test::HasFailure()) return;
  }
  printf("%zu cases on %zu files, %d opened, %d of them at an older decree\n", cases.size(),
         whole.size(), opened, older);
}

}  // namespace
}  // namespace arion
