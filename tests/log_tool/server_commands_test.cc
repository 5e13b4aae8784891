// SPDX-License-Identifier: Apache-2.0
#include "tools/log/server_commands.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/fuzz/log_bytes.h"
#include "tests/fuzz/memory_files.h"
#include "wal/log_format.h"

namespace arion::logtool {
namespace {

// A server is about to stop: its last work is done by the time its lock can be had.
class StoppingServerFiles : public MemoryFiles {
 public:
  explicit StoppingServerFiles(std::function<void(MemoryFiles& files)> last_work)
      : last_work_(std::move(last_work)) {}
  absl::StatusOr<std::unique_ptr<WritableFile>> Lock(const std::string& path) override {
    last_work_(*this);
    return OpenForWrite(path, CreateMode::kTruncate);
  }

 private:
  const std::function<void(MemoryFiles& files)> last_work_;
};

void AddReplica(MemoryFiles& files, const std::string& directory) {
  files.Put(directory + "/.init-info", "{\"init_offset_in_shared_log\":0}");
  files.Put(directory + "/.arion-log", "");
}

absl::Status PrepareRollback(MemoryFiles& files, std::string* said) {
  return RunServerCommand(files,
                          {.kind = ServerCommand::Kind::kPrepareRollback,
                           .directories = {"/server"},
                           .doing = ServerCommand::Doing::kDoes},
                          [said](std::string_view text) { said->append(text); });
}

TEST(ServerCommandsTest, ARollbackPreparesWhatIsThereOnceItHasTheLocks) {
  StoppingServerFiles files(
      [](MemoryFiles& now) { AddReplica(now, "/server/d1/reps/2.1.pegasus"); });
  AddReplica(files, "/server/d1/reps/2.0.pegasus");
  std::string said;
  const absl::Status prepared = PrepareRollback(files, &said);
  ASSERT_TRUE(prepared.ok()) << prepared;
  EXPECT_EQ(said,
            "2.0: .arion-log removed\n2.1: .arion-log removed\n"
            "shared log: none\n2 replicas prepared\n");
}

TEST(ServerCommandsTest, ARollbackIsRefusedWhereADirectoryCameThatIsNotLocked) {
  StoppingServerFiles files(
      [](MemoryFiles& now) { AddReplica(now, "/server/d2/reps/2.1.pegasus"); });
  AddReplica(files, "/server/d1/reps/2.0.pegasus");
  std::string said;
  EXPECT_TRUE(absl::IsUnavailable(PrepareRollback(files, &said)));
  EXPECT_NE(files.all().count("/server/d1/reps/2.0.pegasus/.arion-log"), 0u) << "nothing is done";
}

// A server that works on: at the n-th look at its files it does `work`, `times` at most.
class RunningServerFiles : public MemoryFiles {
 public:
  RunningServerFiles(int n, int times, std::function<void(MemoryFiles& files)> work)
      : looks_left_(n), times_(times), work_(std::move(work)) {}
  bool has_worked() const { return looks_left_ <= 0; }

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override {
    Look();
    return MemoryFiles::OpenForRead(path);
  }
  absl::StatusOr<FileStatus> Stat(const std::string& path) override {
    Look();
    return MemoryFiles::Stat(path);
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    Look();
    return MemoryFiles::List(directory);
  }

 private:
  void Look() {
    if (--looks_left_ <= 0 && times_-- > 0) work_(*this);
  }
  int looks_left_;
  int times_;
  const std::function<void(MemoryFiles& files)> work_;
};

constexpr char kReplica[] = "/server/d1/reps/2.1.pegasus";

std::string LogPath(int64_t index, int64_t start) {
  return absl::StrCat(kReplica, "/plog/log.", index, ".", start);
}

// Decrees 1-6, 7-8.
struct TwoLogFiles {
  const std::string one = FuzzLog({.blocks = 3, .mutations_per_block = 2});
  const int64_t second_start = static_cast<int64_t>(one.size());
  const std::string two = FuzzLog({.start_offset = second_start, .first_decree = 7, .blocks = 2});

  void PutInto(MemoryFiles& files) const {
    files.Put(absl::StrCat(kReplica, "/.init-info"), "{\"init_offset_in_shared_log\":0}");
    files.Put(absl::StrCat(kReplica, "/data/rdb/CURRENT"), "");
    files.Put(LogPath(1, 0), one);
    files.Put(LogPath(2, second_start), two);
  }
};

TEST(ServerCommandsTest, PathsInJsonAreEscaped) {
  MemoryFiles files;
  const std::string server = "/the \"server\"";
  AddReplica(files, server + "/d1/reps/2.1.pegasus");
  files.Put(server + "/slog/log.1.0", FuzzLog({}));
  std::string said;
  const absl::Status prepared =
      RunServerCommand(files,
                       {.kind = ServerCommand::Kind::kPrepareRollback,
                        .directories = {server + "/d1", server + "/slog"},
                        .form = OutputForm::kJson},
                       [&said](std::string_view text) { said.append(text); });
  ASSERT_TRUE(prepared.ok()) << prepared;
  EXPECT_EQ(said,
            "{\"step\":\"2.1: .arion-log removed\"}\n"
            "{\"shared_log\":\"/the \\\"server\\\"/slog\"}\n");
}

absl::Status CheckUpgrade(MemoryFiles& files, std::string* said) {
  return RunServerCommand(files,
                          {.kind = ServerCommand::Kind::kUpgradeCheck, .directories = {"/server"}},
                          [said](std::string_view text) { said->append(text); });
}

TEST(ServerCommandsTest, AServerInUseIsReadyWheneverItDropsAFileOfItsLog) {
  const TwoLogFiles log;
  bool has_worked = true;
  for (int n = 1; has_worked; ++n) {
    RunningServerFiles files(n, 1, [&](MemoryFiles& now) {
      now.Put(absl::StrCat(kReplica, "/data/checkpoint.6/CURRENT"), "");
      ASSERT_TRUE(now.Remove(LogPath(1, 0)).ok());
    });
    log.PutInto(files);
    std::string said;
    const absl::Status ready = CheckUpgrade(files, &said);
    has_worked = files.has_worked();
    EXPECT_TRUE(ready.ok()) << "at look " << n << ": " << ready << "\n" << said;
    EXPECT_NE(said.find("READY: 1 replicas"), std::string::npos) << said;
    ASSERT_LT(n, 1000);
  }
}

TEST(ServerCommandsTest, AServerInUseIsReadyWheneverItBeginsANewFileOrWritesOn) {
  const TwoLogFiles log;
  const std::string three =
      FuzzLog({.start_offset = log.second_start + static_cast<int64_t>(log.two.size()),
               .first_decree = 9,
               .blocks = 1});
  bool has_worked = true;
  for (int n = 1; has_worked; ++n) {
    RunningServerFiles files(n, 1, [&](MemoryFiles& now) {
      now.Put(LogPath(2, log.second_start), log.two);
      now.Put(LogPath(3, log.second_start + static_cast<int64_t>(log.two.size())),
              three.substr(0, three.size() - 3));
    });
    log.PutInto(files);
    files.Put(LogPath(2, log.second_start), log.two.substr(0, log.two.size() - 5));  // torn
    std::string said;
    const absl::Status ready = CheckUpgrade(files, &said);
    has_worked = files.has_worked();
    EXPECT_TRUE(ready.ok()) << "at look " << n << ": " << ready << "\n" << said;
    ASSERT_LT(n, 1000);
  }
}

TEST(ServerCommandsTest, WhatADropLeavesOfAReplicaIsNoDamage) {
  const TwoLogFiles log;
  bool has_worked = true;
  for (int n = 1; has_worked; ++n) {
    RunningServerFiles files(n, 1, [&](MemoryFiles& now) {
      for (const std::string& path :
           {LogPath(1, 0), LogPath(2, log.second_start), absl::StrCat(kReplica, "/.init-info")})
        ASSERT_TRUE(now.Remove(path).ok());
    });
    log.PutInto(files);
    std::string said;
    const absl::Status ready = CheckUpgrade(files, &said);
    has_worked = files.has_worked();
    EXPECT_TRUE(ready.ok()) << "at look " << n << ": " << ready << "\n" << said;
    ASSERT_LT(n, 1000);
  }
}

TEST(ServerCommandsTest, DamageIsDamageThoughTheServerWritesOn) {
  const TwoLogFiles log;
  RunningServerFiles files(1, 100000, [](MemoryFiles& now) {
    const std::string path = absl::StrCat(kReplica, "/plog/log.3.99999");
    now.Put(path, now.Content(path) + "x");
  });
  log.PutInto(files);
  std::string damaged = log.one;
  damaged[damaged.size() / 2] ^= 1;
  files.Put(LogPath(1, 0), damaged);
  std::string said;
  EXPECT_TRUE(absl::IsDataLoss(CheckUpgrade(files, &said)));
  EXPECT_NE(said.find("2.1  DAMAGED"), std::string::npos) << said;
}

}  // namespace
}  // namespace arion::logtool
