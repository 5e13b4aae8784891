// arion_log prepare-rollback, killed at every change of the disk and begun again.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/legacy/old_server.h"
#include "tools/log/prepare_rollback.h"

namespace arion {
namespace {

using logtool::RollbackTarget;

constexpr PartitionId k21{2, 1}, k22{2, 2};
constexpr sim::CrashMode kModes[] = {sim::CrashMode::kProcess, sim::CrashMode::kPowerNone,
                                     sim::CrashMode::kPowerPrefix, sim::CrashMode::kPowerRandom};

// Our server took a shared log over and was killed: spares, zeros behind the logs, .arion-log.
void LeaveByOurs(OldServer& old) {
  old.options().log_preallocate = true;
  SharedLogBytes log(5, 7000);
  for (const PartitionId pid : {k21, k22}) log.Register(pid);
  log.NewFile();
  for (int64_t d = 1; d <= 9; ++d) log.Add({OldMutation(k21, 3, d), OldMutation(k22, 2, d)});
  ASSERT_TRUE(log.Store(old.files(), kSlog).ok());
  old.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500},
                 {OldMutation(k21, 3, 1), OldMutation(k21, 3, 2)});
  old.AddReplica(k22, {.ballot = Ballot(2), .offset_in_shared_log = 6500});
  old.MakeDurable();
  ASSERT_TRUE(old.Start().ok());
  ASSERT_TRUE(old.WaitOpen());
  old.Crash(sim::CrashMode::kPowerRandom);
  old.node().Start();
}

absl::Status Prepare(OldServer& old, RollbackTarget target) {
  absl::Status status;
  old.node().environment().RunInPool([&] {
    const auto data = logtool::FindServerData(old.files(), {"/d1"});
    std::vector<std::string> report;
    status = data.ok() ? logtool::PrepareRollback(old.files(), *data, {.target = target}, &report)
                       : data.status();
  });
  return status;
}

std::vector<std::string> LogNames(OldServer& old, PartitionId pid) {
  auto names = old.files().List(JoinPath(OldServer::DirectoryOf(pid), "plog"));
  return std::move(names).value_or(std::vector<std::string>());
}

void CheckPrepared(OldServer& old, RollbackTarget target,
                   const std::map<PartitionId, OldReplicaState>& expected) {
  for (const auto& [pid, state] : expected) {
    EXPECT_FALSE(Exists(old.files(), JoinPath(OldServer::DirectoryOf(pid), ".arion-log")));
    for (const std::string& name : LogNames(old, pid))
      EXPECT_FALSE(name.starts_with("spare")) << name;
    if (target == RollbackTarget::k23) {
      EXPECT_EQ(old.InfoOf(pid).offset_in_shared_log, 0);
    }
  }
  for (const std::string& name : old.SharedLogFiles())
    EXPECT_EQ(target == RollbackTarget::k23, name.ends_with(".set-aside")) << name;
  // Without .arion-log the rules for logs of other origin hold: those of older versions.
  for (const auto& [pid, state] : expected)
    EXPECT_EQ(old.StateFromPrivateLog(pid), state) << pid.ToString();
}

// The simulated disk's files as real ones, for rollback_crash_test.py.
void Export(OldServer& old, const std::string& from, const std::string& to) {
  std::filesystem::create_directories(to);
  const auto names = old.files().List(from);
  ASSERT_TRUE(names.ok()) << names.status();
  for (const std::string& name : *names) {
    const std::string path = JoinPath(from, name);
    const auto status = old.files().Stat(path);
    ASSERT_TRUE(status.ok()) << status.status();
    if (status->is_directory) {
      Export(old, path, JoinPath(to, name));
      continue;
    }
    const auto content = ReadFile(old.files(), path);
    ASSERT_TRUE(content.ok()) << content.status();
    std::ofstream(JoinPath(to, name), std::ios::binary) << *content;
  }
}

TEST(PrepareRollbackCrash, A23_S9_S10_S11_KilledAtAnyChangeTheEndIsTheSame) {
  std::map<PartitionId, OldReplicaState> expected;
  {
    OldServer old;
    LeaveByOurs(old);
    EXPECT_TRUE(Exists(old.files(), JoinPath(OldServer::DirectoryOf(k21), ".arion-log")));
    for (const PartitionId pid : {k21, k22}) expected[pid] = old.StateFromPrivateLog(pid);
  }
  ASSERT_EQ(expected[k21].applied, 8);
  const char* configured = std::getenv("ARION_LEGACY_CRASH_SEEDS");
  const char* out = std::getenv("ARION_LEGACY_CRASH_OUT");  // a directory for Export
  const uint64_t seeds = configured == nullptr ? 1 : std::stoul(configured);
  int points = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    for (const RollbackTarget target : {RollbackTarget::k24, RollbackTarget::k23})
      for (const sim::CrashMode mode : kModes) {
        // CI's minutes: the two that differ most.
        if (configured == nullptr && mode != sim::CrashMode::kPowerNone &&
            mode != sim::CrashMode::kPowerRandom)
          continue;
        bool was_killed = true;
        for (int64_t changes = 0; was_killed; ++changes) {
          SCOPED_TRACE(absl::StrCat("after ", changes, " changes, mode ", static_cast<int>(mode),
                                    ", seed ", seed));
          OldServer old(seed);
          LeaveByOurs(old);
          was_killed = false;
          for (const int64_t after : {changes, changes / 2}) {
            old.node().CrashAfterChanges(after, mode, [&was_killed] { was_killed = true; });
            (void)Prepare(old, target);  // killed, as a rule
            old.RunFor(absl::Milliseconds(1));
            old.Crash(mode);
            old.node().disk().Revive();
            old.node().Start();
          }
          const absl::Status done = Prepare(old, target);
          ASSERT_TRUE(done.ok()) << done;
          if (out != nullptr) Export(old, "/d1", JoinPath(out, std::to_string(points)) + "/d1");
          CheckPrepared(old, target, expected);
          points += 2;
          if (testing::Test::HasFailure()) return;
        }
      }
  printf("%d crash points\n", points);
  EXPECT_GT(points, 100);
}

}  // namespace
}  // namespace arion
