// RocksDB over the simulator's disk: power cuts and failing calls at every place of a short life.
// Every number is printed; RocksDB's own threads make them differ a little from run to run.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/raw_key.h"
#include "base/status.h"
#include "engine/rocksdb_engine.h"
#include "sim/sim_environment.h"
#include "sim/sim_file_system.h"
#include "tests/engine/faulty_files.h"
#include "tests/engine/test_environment.h"

namespace arion {
namespace {

using sim::CrashMode;

constexpr int kKeys = 7;
constexpr int64_t kDecrees = 20;
constexpr Decree kSplitAt{10};
constexpr char kChild[] = "/d/2.8.pegasus";

std::string KeyOf(int64_t i) { return JoinRawKey("h", std::to_string(i % kKeys)); }
std::string ValueOf(int64_t decree) {
  return std::to_string(decree) + std::string(static_cast<size_t>(decree * 97 % 900), 'v');
}

// What the decrees 1..`decree` leave.
std::map<std::string, std::string> ContentAt(Decree decree) {
  std::map<std::string, std::string> content;
  for (int64_t i = 1; i <= decree.value(); ++i) {
    content[KeyOf(i)] = ValueOf(i);
    if (i % 3 == 0) content.erase(KeyOf(i + 2));
  }
  return content;
}

// One disk and the engine on it, over its lives; knows what the engine has said of itself.
class Story {
 public:
  explicit Story(uint64_t seed) : disk_(seed, [] { return int64_t{0}; }) {
    Revive();
    CHECK(disk_.CreateDirectories("/d/2.0.pegasus").ok());
    disk_.MakeDurable();
  }
  ~Story() { engine_.reset(); }

  sim::SimDisk& disk() { return disk_; }
  FaultyFiles& files() { return *files_; }
  int64_t changes() {
    return files_->calls(FaultyFiles::Call::kWrite) + files_->calls(FaultyFiles::Call::kSync) +
           files_->calls(FaultyFiles::Call::kName);
  }

  // Opens, applies decrees up to kDecrees with flushes and checkpoints between, closes. The first
  // error ends it; what finds no space is tried again once.
  absl::Status Live() {
    RETURN_IF_ERROR(Twice([&] { return Open(); }));
    while (engine_->last_applied().value() < kDecrees) {
      const int64_t i = engine_->last_applied().value() + 1;
      RETURN_IF_ERROR(Twice([&] { return Apply(); }));
      if (i % 3 == 0) RETURN_IF_ERROR(Twice([&] { return engine_->Flush(); }));
      if (i % 7 == 0) RETURN_IF_ERROR(Twice([&] { return engine_->Checkpoint().status(); }));
      Listen();
    }
    RETURN_IF_ERROR(Twice([&] { return engine_->Close(); }));
    engine_.reset();
    flushed_ = Decree(kDecrees);
    return absl::OkStatus();
  }

  absl::Status Open() {
    ASSIGN_OR_RETURN(engine_, factory_->Open("/d/2.0.pegasus/data"));
    return absl::OkStatus();
  }

  absl::Status Apply() {
    const Decree decree = engine_->last_applied() + 1;
    asked_ = std::max(asked_, decree);
    const std::string key = KeyOf(decree.value()), gone = KeyOf(decree.value() + 2),
                      value = ValueOf(decree.value());
    std::vector<WriteOp> ops = {{.kind = WriteOp::Kind::kPut, .key = key, .value = value}};
    if (decree.value() % 3 == 0) ops.push_back({.kind = WriteOp::Kind::kRemove, .key = gone});
    return engine_->Apply(decree, 1, ops);
  }

  // A life in which the replica's partition is split, as recovery/replica_opener.h makes a child:
  // its parent's checkpoint, by hard links, gets its name once it is whole.
  absl::Status LiveAndSplit() {
    RETURN_IF_ERROR(Open());
    while (engine_->last_applied() < kSplitAt) {
      RETURN_IF_ERROR(Apply());
      if (engine_->last_applied().value() % 4 == 0) RETURN_IF_ERROR(engine_->Flush());
      Listen();
    }
    RETURN_IF_ERROR(engine_->Checkpoint().status());
    Listen();
    std::shared_ptr<void> hold;
    ASSIGN_OR_RETURN(const Engine::CheckpointFiles made, engine_->NewestCheckpoint(&hold));
    const std::string temporary = absl::StrCat(kChild, ".tmp");
    RETURN_IF_ERROR(files_->CreateDirectories(temporary));
    RETURN_IF_ERROR(factory_->InstallCheckpoint(made.directory, made.decree, temporary + "/data"));
    // As storing .init-info there does.
    RETURN_IF_ERROR(files_->SyncDirectory(temporary));
    RETURN_IF_ERROR(files_->Rename(temporary, kChild));
    RETURN_IF_ERROR(files_->SyncDirectory("/d"));
    // Both go on. What one of them removes or writes the other does not see.
    ASSIGN_OR_RETURN(const auto child, factory_->Open(absl::StrCat(kChild, "/data")));
    RETURN_IF_ERROR(child->Close());
    RETURN_IF_ERROR(Apply());
    return engine_->Checkpoint().status();
  }
  bool HasChild() { return files_->Stat(kChild).ok(); }
  void ExpectChildIsWhole(const std::string& when) {
    const auto child = factory_->Open(absl::StrCat(kChild, "/data"));
    ASSERT_TRUE(child.ok()) << when << ": " << child.status();
    EXPECT_EQ((*child)->last_applied(), kSplitAt) << when;
    EXPECT_EQ(ContentOf(**child), ContentAt(kSplitAt)) << when;
  }

  // The process ends; with `mode` kPower... the power too.
  void End(CrashMode mode) {
    if (engine_ != nullptr) Listen();
    engine_.reset();
    factory_.reset();
    life_->alive = false;
    disk_.Crash(mode);
    Revive();
  }

  // engine/E1: the engine opens and holds whole decrees, none of those lost that it had called
  // flushed.
  void ExpectWhole(const std::string& when) {
    const absl::Status opened = Open();
    ASSERT_TRUE(opened.ok()) << when << ": " << opened;
    const Decree decree = engine_->last_applied();
    EXPECT_GE(decree, flushed_) << when;
    EXPECT_LE(decree, asked_) << when;
    EXPECT_EQ(engine_->last_flushed(), decree) << when;
    EXPECT_EQ(engine_->last_durable(), decree) << when;
    EXPECT_EQ(ContentOf(*engine_), ContentAt(decree)) << when << ", decree " << decree.value();
    asked_ = flushed_ = decree;
  }
  // An append whose size became durable before its bytes: RocksDB calls that damage, and so do we.
  // No file system orders it so where RocksDB is at home (ext4 ordered, XFS); this disk does.
  bool HasTornManifest() {
    const absl::Status opened = Open();
    engine_.reset();
    return absl::IsDataLoss(opened) &&
           absl::StrContains(opened.message(), "checksum mismatch in file") &&
           absl::StrContains(opened.message(), "MANIFEST");
  }
  // And goes on.
  void ExpectGoesOn(const std::string& when) {
    ASSERT_TRUE(Apply().ok()) << when;
    ASSERT_TRUE(engine_->Checkpoint().ok()) << when;
    Listen();
    const absl::Status closed = engine_->Close();
    ASSERT_TRUE(closed.ok()) << when << ": " << closed;
    engine_.reset();
  }

 private:
  static std::map<std::string, std::string> ContentOf(const Engine& engine) {
    std::map<std::string, std::string> content;
    const auto view = engine.View();
    const auto walk = view->Walk({}, Direction::kForward);
    for (; walk->Valid(); walk->Next()) content[std::string(walk->key())] = walk->value();
    EXPECT_TRUE(walk->status().ok()) << walk->status();
    return content;
  }
  template <class Step>
  static absl::Status Twice(Step step) {
    absl::Status status = step();
    return IsRefusal(status) ? step() : status;
  }
  void Listen() {
    flushed_ = std::max(flushed_, engine_->last_flushed());
    EXPECT_LE(engine_->last_durable(), engine_->last_flushed());
    EXPECT_LE(engine_->last_flushed(), engine_->last_applied());
  }
  void Revive() {
    disk_.Revive();
    life_ = std::make_shared<sim::SimLife>();
    life_->number = ++lives_;
    life_->alive = true;
    below_ = std::make_unique<sim::SimFileSystem>(disk_, life_);
    files_ = std::make_unique<FaultyFiles>(*below_);
    environment_ = std::make_unique<TestEnvironment>(*files_);
    factory_ = std::make_unique<RocksdbEngineFactory>(
        *environment_, RocksdbEngineOptions{.block_cache_bytes = 1 << 20});
  }

  sim::SimDisk disk_;
  uint32_t lives_ = 0;
  std::shared_ptr<sim::SimLife> life_;
  std::unique_ptr<sim::SimFileSystem> below_;
  std::unique_ptr<FaultyFiles> files_;
  std::unique_ptr<TestEnvironment> environment_;
  std::unique_ptr<RocksdbEngineFactory> factory_;
  std::unique_ptr<Engine> engine_;
  Decree asked_{0};    // the last that was to be applied
  Decree flushed_{0};  // the most that the engine called flushed
};

// Runs `story_of(0)` to `story_of(count - 1)`, many at once: RocksDB sleeps for a second, in its
// pool's thread, after each failed flush.
void ForAll(int64_t count, const std::function<void(int64_t)>& story_of) {
  constexpr int kThreads = 32;
  rocksdb::Env::Default()->SetBackgroundThreads(kThreads, rocksdb::Env::HIGH);
  rocksdb::Env::Default()->SetBackgroundThreads(kThreads, rocksdb::Env::LOW);
  std::atomic<int64_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int64_t n; (n = next.fetch_add(1)) < count && !testing::Test::HasFailure();) story_of(n);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RocksdbFaults, EveryPowerCutLeavesWholeDecreesAndNoneOfTheFlushedMissing) {
  Story all(1);
  ASSERT_TRUE(all.Live().ok());
  const int64_t changes = all.changes();
  constexpr std::array kModes = {CrashMode::kPowerRandom, CrashMode::kPowerNone,
                                 CrashMode::kPowerRandom, CrashMode::kPowerPrefix,
                                 CrashMode::kPowerRandom, CrashMode::kProcess};
  std::atomic<int> deaths{0}, torn{0};
  ForAll(changes, [&](int64_t n) {
    const CrashMode mode = kModes[static_cast<size_t>(n) % kModes.size()];
    const std::string when = "cut after " + std::to_string(n) + " changes, mode " +
                             std::to_string(static_cast<int>(mode));
    Story story(static_cast<uint64_t>(n));
    story.disk().DieAfterChanges(n, [] {});
    if (!story.Live().ok()) ++deaths;
    story.End(mode);
    if (n / 2 % 2 == 1) {  // and once more while it recovers
      story.disk().DieAfterChanges(n * 7 % 40, [] {});
      story.Open().IgnoreError();
      story.End(mode);
    }
    if (mode != CrashMode::kProcess && story.HasTornManifest()) {
      ++torn;
      return;
    }
    story.ExpectWhole(when);
    if (!testing::Test::HasFailure()) story.ExpectGoesOn(when);
  });
  std::printf("power cuts: %lld states, %d cut short, %d with a torn manifest\n",
              static_cast<long long>(changes), deaths.load(), torn.load());
  EXPECT_LT(torn, changes / 20);
  EXPECT_GT(deaths, changes * 3 / 4);
}

TEST(RocksdbFaults, EveryPowerCutLeavesAChildWholeOrNotThereAndItsParentWhole) {
  Story all(1);
  ASSERT_TRUE(all.LiveAndSplit().ok());
  const int64_t changes = all.changes();
  constexpr std::array kModes = {CrashMode::kPowerRandom, CrashMode::kPowerNone,
                                 CrashMode::kPowerPrefix, CrashMode::kProcess};
  // Two of them for each change.
  const int64_t states = 2 * changes;
  std::atomic<int> children{0}, torn{0};
  ForAll(states, [&](int64_t n) {
    const CrashMode mode = kModes[static_cast<size_t>(n) % kModes.size()];
    const std::string when =
        absl::StrCat("cut after ", n / 2, " changes, mode ", static_cast<int>(mode));
    Story story(static_cast<uint64_t>(n));
    story.disk().DieAfterChanges(n / 2, [] {});
    const absl::Status lived = story.LiveAndSplit();
    story.End(mode);
    if (story.HasChild()) {
      ++children;
      story.ExpectChildIsWhole(when);
    } else {
      EXPECT_FALSE(lived.ok()) << when;
    }
    if (mode != CrashMode::kProcess && story.HasTornManifest()) {
      ++torn;
      return;
    }
    story.ExpectWhole(when);
  });
  std::printf("power cuts amid a split: %lld states, %d with a child, %d with a torn manifest\n",
              static_cast<long long>(states), children.load(), torn.load());
  EXPECT_LT(torn, states / 20);
  EXPECT_GT(children, states / 10);
}

// Each call of a kind fails once, in a life of its own; Debian's RocksDB has assertions, and this is
// where they are met. Afterwards the engine is opened again over the same cache, then after a power
// cut, which takes what a failed sync was to make durable.
class RocksdbFailedCalls : public testing::TestWithParam<FaultyFiles::Call> {
 protected:
  // The fault of the call on `path`.
  using Fault = std::function<absl::Status(Story&, const std::string& path)>;
  using Judge = std::function<void(const absl::Status& lived, const std::string& path)>;
  void FailEach(const std::string& name, const Fault& fault, const Judge& judge) {
    Story all(1);
    ASSERT_TRUE(all.Live().ok());
    // They cost a few milliseconds each: of reads and names, of which there are more, every other.
    const bool is_rare =
        GetParam() == FaultyFiles::Call::kWrite || GetParam() == FaultyFiles::Call::kSync;
    const int64_t calls = all.files().calls(GetParam()) / (is_rare ? 1 : 2);
    std::atomic<int> errors{0};
    ForAll(calls, [&](int64_t n) {
      Story story(static_cast<uint64_t>(n));
      std::string failed_path;
      story.files().FailOnce(GetParam(), is_rare ? n : 2 * n, [&](const std::string& path) {
        failed_path = path;
        return fault(story, path);
      });
      const absl::Status lived = story.Live();
      story.End(CrashMode::kProcess);
      const std::string when = name + " at call " + std::to_string(n) + ", " + failed_path;
      if (!lived.ok()) ++errors;
      judge(lived, failed_path);
      story.ExpectWhole(when);
      story.End(CrashMode::kPowerNone);
      if (!testing::Test::HasFailure()) story.ExpectWhole(when + ", power cut");
      if (!testing::Test::HasFailure()) story.ExpectGoesOn(when);
    });
    std::printf("%s: %lld calls failed, %d times the engine said so\n", name.c_str(),
                static_cast<long long>(calls), errors.load());
  }
};

TEST_P(RocksdbFailedCalls, LoseNothingThatWasFlushed) {
  const auto fault = [](Story& story, const std::string& path) -> absl::Status {
    if (GetParam() != FaultyFiles::Call::kSync)
      return absl::DataLossError(path + ": Input/output error");
    story.disk().FailSyncs(1);
    return absl::OkStatus();
  };
  FailEach("EIO", fault, [](const absl::Status& lived, const std::string& path) {
    EXPECT_TRUE(lived.ok() || absl::IsDataLoss(lived)) << path << ": " << lived;
  });
}

// But for one: RocksDB 7.8.3 can't go on when a compaction finds no space in the manifest.
TEST_P(RocksdbFailedCalls, ThatFindNoSpaceMayBeAskedAgain) {
  if (GetParam() != FaultyFiles::Call::kWrite && GetParam() != FaultyFiles::Call::kName) return;
  const auto fault = [](Story&, const std::string& path) {
    return absl::ResourceExhaustedError(path + ": No space left on device");
  };
  FailEach("ENOSPC", fault, [](const absl::Status& lived, const std::string& path) {
    EXPECT_TRUE(lived.ok() || absl::StrContains(path, "MANIFEST")) << path << ": " << lived;
  });
}

TEST_P(RocksdbFailedCalls, ThatLackMemoryToOpenAFileMayBeAskedAgain) {
  if (GetParam() != FaultyFiles::Call::kOpen) return;
  const auto fault = [](Story&, const std::string& path) {
    return absl::ResourceExhaustedError(path + ": Cannot allocate memory");
  };
  FailEach("ENOMEM", fault, [](const absl::Status& lived, const std::string& path) {
    EXPECT_TRUE(lived.ok()) << path << ": " << lived;
  });
}

// Files that were given to another user while it runs.
TEST_P(RocksdbFailedCalls, ThatAreNotPermittedMayBeAskedAgain) {
  if (GetParam() != FaultyFiles::Call::kOpen && GetParam() != FaultyFiles::Call::kName) return;
  const auto fault = [](Story&, const std::string& path) {
    return absl::PermissionDeniedError(path + ": Permission denied");
  };
  FailEach("EACCES", fault, [](const absl::Status& lived, const std::string& path) {
    EXPECT_TRUE(lived.ok() || absl::StrContains(path, "MANIFEST")) << path << ": " << lived;
  });
}

std::string NameOfCall(const testing::TestParamInfo<FaultyFiles::Call>& call) {
  constexpr std::array kNames = {"Open", "Read", "Write", "Sync", "Name"};
  return kNames[static_cast<size_t>(call.param)];
}
INSTANTIATE_TEST_SUITE_P(Calls, RocksdbFailedCalls, testing::ValuesIn(FaultyFiles::kCalls),
                         NameOfCall);

}  // namespace
}  // namespace arion
