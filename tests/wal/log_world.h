// LogWorld: one simulated node, its life, and one private log on it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutation.h"
#include "sim/sim_environment.h"
#include "sim/sim_world.h"
#include "tests/support/fixtures.h"
#include "tests/wal/watched_environment.h"
#include "wal/private_log.h"

namespace arion {

constexpr PartitionId kTestPid{2, 1};
inline const std::string kLogDirectory = "/data/2.1.pegasus/plog";
inline const std::string kIdentityPath = "/data/2.1.pegasus/.arion-log";

inline MutationPtr MakeMutation(int64_t decree, size_t data_bytes, int64_t ballot = 3,
                                int64_t last_committed = -1) {
  Mutation m;
  m.pid = kTestPid;
  m.ballot = Ballot(ballot);
  m.decree = Decree(decree);
  m.last_committed = Decree(last_committed >= 0 ? last_committed : decree - 1);
  m.timestamp_us = 1640995200000000 + decree;
  std::string data(data_bytes, '\0');
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<char>('a' + (i * 7 + static_cast<size_t>(decree)) % 26);
  m.updates.push_back({.code = WriteCode::kPut, .serialization = 1, .data = std::move(data)});
  return std::make_shared<Mutation>(std::move(m));
}

inline PrivateLogOptions TestLogOptions() {
  PrivateLogOptions options;
  options.directory = kLogDirectory;
  options.identity_path = kIdentityPath;
  options.pid = kTestPid;
  return options;
}

class LogWorld {
 public:
  explicit LogWorld(uint64_t seed = 1) : world_(seed), node_(world_.AddNode("r1")) { Start(); }

  void Start() {
    env_ = &node_.Start();
    watched_ = std::make_unique<WatchedEnvironment>(*env_);
    strand_ = env_->NewStrand("log");
    env_->RunInPool([&] {
      EXPECT_TRUE(env_->files().CreateDirectories("/data/2.1.pegasus").ok());
      EXPECT_TRUE(env_->files().SyncDirectory("/data").ok());
      EXPECT_TRUE(env_->files().SyncDirectory("/").ok());
    });
  }

  absl::Status Open(PrivateLogOptions options = TestLogOptions()) {
    replayed.clear();
    absl::Status status;
    env_->RunInPool([&] {
      auto opened = PrivateLog::Open(
          *watched_, strand_, options,
          [&](MutationPtr m) {
            replayed.push_back(std::move(m));
            return absl::OkStatus();
          },
          &summary);
      status = opened.status();
      if (opened.ok()) log = *std::move(opened);
    });
    return status;
  }

  // Appends and notes the answer in `answers`, in order.
  void Append(MutationPtr m) {
    env_->RunOn(strand_, [&] { AppendHere(std::move(m)); });
  }
  void AppendHere(MutationPtr m) {
    appended.push_back(m);
    log->Append(m, [this, m](const absl::Status& status) { answers.emplace_back(m, status); });
  }
  void Settle(absl::Duration duration = absl::Seconds(2)) { world_.RunFor(duration); }

  absl::Status Close() {
    bool drained = false;
    env_->RunOn(strand_, [&] { log->Drain([&] { drained = true; }); });
    EXPECT_TRUE(world_.RunUntil([&] { return drained; }, absl::Seconds(30)));
    absl::Status status;
    env_->RunInPool([&] { status = log->Close(); });
    log.reset();
    return status;
  }

  void Crash(sim::CrashMode mode) {
    node_.Crash(mode);
    log.reset();
    strand_.reset();
    Start();
  }

  FileSystem& files() { return env_->files(); }
  // What the log sees of them.
  WatchedFiles& watched() { return watched_->files(); }
  std::vector<std::string> Names() { return *files().List(kLogDirectory); }
  std::string Content(const std::string& name) {
    return *ReadFile(files(), JoinPath(kLogDirectory, name));
  }
  void Put(const std::string& name, std::string_view bytes) {
    ASSERT_TRUE(files().CreateDirectories(kLogDirectory).ok());
    auto file =
        *files().OpenForWrite(JoinPath(kLogDirectory, name), FileSystem::CreateMode::kTruncate);
    ASSERT_TRUE(file->WriteAt(0, bytes).ok());
  }
  std::vector<int64_t> ReplayedDecrees() const {
    std::vector<int64_t> decrees;
    for (const auto& m : replayed) decrees.push_back(m->decree.value());
    return decrees;
  }

  sim::SimWorld& world() { return world_; }
  sim::SimNode& node() { return node_; }
  sim::SimEnvironment& env() { return *env_; }
  const StrandPtr& strand() { return strand_; }

  std::vector<MutationPtr> appended;
  std::vector<std::pair<MutationPtr, absl::Status>> answers;
  std::vector<MutationPtr> replayed;
  ReplaySummary summary;
  std::unique_ptr<PrivateLog> log;

 private:
  sim::SimWorld world_;
  sim::SimNode& node_;
  sim::SimEnvironment* env_ = nullptr;
  std::unique_ptr<WatchedEnvironment> watched_;
  StrandPtr strand_;
};

// Equal but for where it lies.
inline bool SameMutation(Mutation a, Mutation b) {
  a.log_offset = b.log_offset = 0;
  return a == b;
}

}  // namespace arion
