// Our server on old directories: acceptance tests and scenarios of legacy/FORMAT.md 7 and 8, by
// their names. The collection of the shared log by itself: shared_log_collector_test.cc.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include "disks/disk_snapshot.h"
#include "legacy/shared_log_options.h"
#include "legacy/shared_log_stats.h"
#include "replica/replica_snapshot.h"
#include "tests/legacy/old_server.h"

namespace arion {
namespace {

constexpr PartitionId k10{1, 0}, k21{2, 1};
using Decrees = std::vector<int64_t>;

std::vector<Mutation> Records(PartitionId pid, int64_t ballot, int64_t first, int64_t last) {
  std::vector<Mutation> all;
  for (int64_t d = first; d <= last; ++d) all.push_back(OldMutation(pid, ballot, d));
  return all;
}

// Files of slog-three-files' kind: 2.1 has decrees 1..10 in three files, beside another replica.
SharedLogBytes ThreeFiles(PartitionId a = k21, PartitionId b = k10) {
  SharedLogBytes log(5, 7000);
  log.Register(a, 6500);
  log.Register(b);
  for (int file = 0; file < 3; ++file) {
    log.NewFile();
    for (int64_t d = file * 3 + 1; d <= file * 3 + 3; ++d)
      log.Add({OldMutation(a, 3, d), OldMutation(b, 3, 10 + d)});
  }
  log.Add(OldMutation(a, 3, 10));
  return log;
}

class TakeOverTest : public testing::Test {
 protected:
  void Store(const SharedLogBytes& log) { ASSERT_TRUE(log.Store(old_.files(), kSlog).ok()); }
  void Open() {
    old_.MakeDurable();
    const absl::Status started = old_.Start();
    ASSERT_TRUE(started.ok()) << started;
    ASSERT_TRUE(old_.WaitOpen());
  }
  ReplicaSnapshot Snapshot(PartitionId pid) {
    for (const ReplicaSnapshot& one : old_.Snapshots())
      if (one.pid == pid) return one;
    return {};
  }
  void ExpectState(PartitionId pid, int64_t applied, const Decrees& prepared, int64_t ballot) {
    const ReplicaSnapshot snapshot = Snapshot(pid);
    EXPECT_EQ(snapshot.last_applied, Decree(applied));
    EXPECT_EQ(snapshot.last_durable, Decree(applied)) << "a checkpoint is made at every start";
    EXPECT_EQ(snapshot.last_prepared,
              Decree(prepared.empty() ? std::max(applied, snapshot.last_prepared.value())
                                      : prepared.back()));
    EXPECT_EQ(snapshot.ballot, Ballot(ballot));
  }
  // What k21's private log holds of ThreeFiles after a power cut that loses all that was not durable.
  OldReplicaState OpenAndCutPower() {
    Open();
    ExpectState(k21, 9, {10}, 3);
    old_.Crash(sim::CrashMode::kPowerNone);
    return old_.StateFromPrivateLog(k21);
  }

  OldServer old_;
};

TEST_F(TakeOverTest, A09_S3_WhatThePrivateLogLacksIsDurableThereBeforeTheReplicaIsOpen) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500});
  Store(ThreeFiles());
  const OldReplicaState state = OpenAndCutPower();
  EXPECT_EQ(state.applied, 9);
  EXPECT_EQ(state.prepared, Decrees{10});
  EXPECT_EQ(state.rows.at(JoinRawKey("h", RowOf(9))), ValueOf(3, 9));
}

TEST_F(TakeOverTest, A10_S2_S8_NothingIsTakenWhereThePrivateLogHasAll) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500}, Records(k21, 3, 1, 10));
  old_.AddReplica(k10, {.ballot = Ballot(3)}, Records(k10, 3, 1, 19));
  Store(ThreeFiles());
  for (int start = 0; start < 3; ++start) {
    Open();
    ExpectState(k21, 9, {10}, 3);
    ExpectState(k10, 18, {19}, 3);
    EXPECT_EQ(old_.server().shared_log().mutations_taken, 0);
    old_.Crash(sim::CrashMode::kPowerNone);
  }
}

TEST_F(TakeOverTest, S4_OldFilesThatThePrivateLogCoversAreNotRead) {
  old_.AddReplica(k21, {.ballot = Ballot(3)}, Records(k21, 3, 1, 8));
  old_.AddReplica(k10, {.ballot = Ballot(3)}, Records(k10, 3, 1, 19));
  SharedLogBytes log = ThreeFiles();
  Store(log);
  Open();
  EXPECT_EQ(old_.server().shared_log().bytes_read,
            static_cast<int64_t>(log.files()[2].bytes.size()));
  ExpectState(k21, 9, {10}, 3);
}

TEST_F(TakeOverTest, S5_AStaleSharedLogChangesNothing) {
  old_.AddReplica(k21, {.ballot = Ballot(4)}, Records(k21, 4, 1, 30));
  Store(ThreeFiles());
  Open();
  ExpectState(k21, 29, {30}, 4);
  EXPECT_EQ(old_.server().shared_log().mutations_taken, 0);
}

TEST_F(TakeOverTest, A11_S13_ThePrivateLogCoversTheHoleOfTheSharedOne) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500}, Records(k21, 3, 1, 9));
  SharedLogBytes log(5, 7000);
  log.Register(k21, 6500);
  log.NewFile();
  for (const Mutation& m : Records(k21, 3, 1, 3)) log.Add(m);
  log.NewFile();
  log.Add(OldMutation(k21, 5, 10));
  log.Add(OldMutation(k21, 5, 11));
  Store(log);
  Open();
  ExpectState(k21, 10, {11}, 5);
}

TEST_F(TakeOverTest, A12_R7_AHoleOfBothIsReportedAndTheReplicaOnlyLearns) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500}, [] {
    auto log = Records(k21, 3, 1, 3);
    log.push_back(OldMutation(k21, 4, 4));
    return log;
  }());
  SharedLogBytes log(5, 7000);
  log.Register(k21, 6500);
  log.NewFile();
  log.Add(OldMutation(k21, 5, 10));
  log.Add(OldMutation(k21, 5, 11));
  Store(log);
  Open();
  EXPECT_EQ(Snapshot(k21).last_applied, Decree(3)) << "decree 4 has another ballot: not applied";
  EXPECT_TRUE(old_.InfoOf(k21).is_learner);
  EXPECT_EQ(old_.InfoOf(k21).ballot, Ballot(5));
}

TEST_F(TakeOverTest, A13_S18_WhatIsVoidDoesNotComeBack) {
  SharedLogBytes log(5, 7000);
  log.Register(k21, 6500);
  log.NewFile();
  const int64_t first = log.Add(OldMutation(k21, 7, 1));
  for (const Mutation& m : Records(k21, 3, 1, 3)) log.Add(m);
  Store(log);
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = first + 1});
  Open();
  ExpectState(k21, 2, {3}, 7);
  EXPECT_EQ(old_.InfoOf(k21).ballot, Ballot(7)) << "the ballot counts";
  old_.Crash(sim::CrashMode::kProcess);
  EXPECT_EQ(old_.StateFromPrivateLog(k21).rows.at(JoinRawKey("h", RowOf(1))), ValueOf(3, 1));
}

TEST_F(TakeOverTest, A14_S15_ADamagedSharedLogRefusesAndChangesNothing) {
  SharedLogBytes log = ThreeFiles();
  std::string& bytes = log.files()[1].bytes;
  bytes[bytes.size() - 5] ^= 4;
  Store(log);
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500});
  const auto before = old_.SharedLogFiles();
  old_.MakeDurable();
  ASSERT_TRUE(old_.Start().ok());
  EXPECT_FALSE(old_.WaitOpen());
  ASSERT_TRUE(old_.refused().has_value());
  const std::string text(old_.refused()->message());
  EXPECT_NE(text.find(log.files()[1].name.ToString()), std::string::npos) << text;
  EXPECT_NE(text.find("2.1 (5 of 6)"), std::string::npos) << text;
  EXPECT_EQ(old_.SharedLogFiles(), before);
  EXPECT_TRUE(Exists(old_.files(), OldServer::DirectoryOf(k21))) << "no .err";
  old_.Crash(sim::CrashMode::kPowerNone);

  old_.options().shared_log.damaged = DamagedSharedLog::kSetAside;
  old_.options().shared_log.collection_interval = absl::Seconds(1);
  ASSERT_TRUE(old_.Start().ok());
  ASSERT_TRUE(old_.WaitOpen());
  EXPECT_EQ(Snapshot(k21).last_applied, Decree(5)) << "decree 6 is gone: a hole behind 5";
  EXPECT_TRUE(old_.InfoOf(k21).is_learner);
}

TEST_F(TakeOverTest, A15_ATornTailIsNoDamage) {
  SharedLogBytes log = ThreeFiles();
  log.files()[2].bytes.resize(log.files()[2].bytes.size() - 4);
  Store(log);
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500});
  Open();
  ExpectState(k21, 8, {9}, 3);
}

TEST_F(TakeOverTest, A16_AnIndexHoleRefuses) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500});
  Store(ThreeFiles());
  SharedLogBytes log = ThreeFiles();
  ASSERT_TRUE(old_.files().Remove(JoinPath(kSlog, log.files()[1].name.ToString())).ok());
  EXPECT_TRUE(absl::IsDataLoss(old_.Start()));
  old_.Drop();
}

TEST_F(TakeOverTest, S1_AFreshServerWritesNoSharedLogAndOffsetZero) {
  old_.AddReplica(k21, {.ballot = Ballot(3)}, Records(k21, 3, 1, 4));
  Open();
  EXPECT_FALSE(Exists(old_.files(), kSlog));
  EXPECT_EQ(old_.InfoOf(k21).offset_in_shared_log, 0);
}

TEST_F(TakeOverTest, S17_ReplicasThatAreNotHereAreLeftOut) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500});
  Store(ThreeFiles());
  ASSERT_TRUE(old_.files().CreateDirectories(OldServer::DirectoryOf(k10) + ".16.gar").ok());
  old_.options().shared_log.collection_interval = absl::Seconds(1);
  Open();
  ExpectState(k21, 9, {10}, 3);
  old_.RunFor(absl::Seconds(5));
  EXPECT_EQ(old_.SharedLogFiles().size(), 1u) << "2.1 holds the last one back, 1.0 none";
}

TEST_F(TakeOverTest, E9_ThePrivateLogsGapUpToTheCheckpointIsFilled) {
  // The engine stands at 5, the private log lost its end behind 2.
  old_.AddReplica(k21, {.ballot = Ballot(3)}, Records(k21, 3, 1, 6));
  Open();
  old_.Crash(sim::CrashMode::kProcess);
  if (!old_.node().alive()) old_.node().Start();
  const std::string directory = OldServer::DirectoryOf(k21);
  ASSERT_TRUE(old_.files().RemoveAll(JoinPath(directory, "plog")).ok());
  ASSERT_TRUE(old_.files().RemoveAll(JoinPath(directory, ".arion-log")).ok());
  old_.AddReplica(k21, {.ballot = Ballot(3)}, Records(k21, 3, 1, 2));
  SharedLogBytes log(5, 7000);
  log.Register(k21);
  log.NewFile();
  for (const Mutation& m : Records(k21, 3, 1, 8)) log.Add(m);
  Store(log);
  Open();
  ExpectState(k21, 7, {8}, 3);
  EXPECT_EQ(old_.server().shared_log().mutations_taken, 6) << "3 to 8";
}

TEST_F(TakeOverTest, A31_AfterThePrivateLogWasLostNothingNewIsVoid) {
  old_.AddReplica(
      k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500, .offset_in_private_log = 5000});
  Store(ThreeFiles());
  const OldReplicaState state = OpenAndCutPower();
  EXPECT_EQ(state.applied, 9);
  EXPECT_EQ(state.prepared, Decrees{10}) << "written at offset 5000 or behind";
}

// ---- collection ----

TEST_F(TakeOverTest, AReplicaIsReadyWhenItsOwnPartIsDurableWhateverTheOthersDo) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500});
  old_.AddReplica(k10, {.ballot = Ballot(3), .offset_in_shared_log = 1 << 20});  // takes nothing
  Store(ThreeFiles());
  old_.MakeDurable();
  ASSERT_TRUE(old_.Start().ok());
  const auto is_loading = [&](PartitionId pid) { return Snapshot(pid).loading; };
  while (!old_.server().shared_log().mutations_taken) old_.RunFor(absl::Microseconds(1));
  old_.node().disk().SetSlowness(10000);  // what 2.1 takes is on its way into its private log
  old_.RunFor(absl::Microseconds(100));
  old_.node().disk().SetSlowness(1);
  for (int i = 0; i < 100 && is_loading(k10); ++i) old_.RunFor(absl::Milliseconds(1));
  EXPECT_FALSE(is_loading(k10));
  EXPECT_TRUE(is_loading(k21));
  ASSERT_TRUE(old_.WaitOpen());
  ExpectState(k21, 9, {10}, 3);
}

TEST_F(TakeOverTest, A18_A17_TheSharedLogGoesWhenAllIsDurableAndOffsetsAreZeroed) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500}, Records(k21, 3, 1, 12));
  old_.AddReplica(k10, {.ballot = Ballot(3), .offset_in_shared_log = 40}, Records(k10, 3, 1, 20),
                  kReps2);
  Store(ThreeFiles());
  old_.options().shared_log.collection_interval = absl::Seconds(1);
  Open();
  old_.RunFor(absl::Seconds(5));
  EXPECT_TRUE(old_.SharedLogFiles().empty());
  EXPECT_EQ(old_.server().shared_log().files, 0);
  EXPECT_EQ(old_.InfoOf(k21).offset_in_shared_log, 0);
  EXPECT_EQ(old_.InfoOf(k10, kReps2).offset_in_shared_log, 0);
  old_.Crash(sim::CrashMode::kPowerNone);
  EXPECT_EQ(old_.StateFromPrivateLog(k21).applied, 11);
}

TEST_F(TakeOverTest, A21_AnUncommittedTailHoldsItsFileBack) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500});
  old_.AddReplica(k10, {.ballot = Ballot(3)}, Records(k10, 3, 1, 20));
  Store(ThreeFiles());
  old_.options().shared_log.collection_interval = absl::Seconds(1);
  Open();
  old_.RunFor(absl::Seconds(5));
  EXPECT_EQ(old_.SharedLogFiles().size(), 1u) << "decree 10 is in no checkpoint";
  EXPECT_EQ(old_.server().shared_log().replicas_blocking, 1);
  EXPECT_EQ(old_.server().shared_log().decrees_behind, 1);
}

TEST_F(TakeOverTest, A20_G8_WithoutAnyReplicaTheLogStaysUntilTheOperatorSaysThatNoneComesBack) {
  Store(ThreeFiles());
  old_.options().shared_log.collection_interval = absl::Seconds(1);
  old_.options().layout.new_data_directories.clear();
  const absl::Status refused = old_.Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_NE(refused.message().find("is its disk mounted?"), std::string::npos) << refused;
  old_.Drop();
  old_.options().layout.new_data_directories = {"ssd1", "ssd2"};
  old_.options().shared_log.missing_wait_max = absl::Seconds(10);
  Open();
  old_.RunFor(absl::Seconds(8));
  EXPECT_EQ(old_.SharedLogFiles().size(), 3u);
  EXPECT_EQ(old_.server().shared_log().replicas_missing, 2);
  old_.RunFor(absl::Seconds(4));
  EXPECT_TRUE(old_.SharedLogFiles().empty());
}

TEST_F(TakeOverTest, A19_S16_WhileADiskIsMissingTheSharedLogWaitsForItsReplicas) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500}, Records(k21, 3, 1, 12));
  old_.AddReplica(k10, {.ballot = Ballot(3)}, Records(k10, 3, 1, 12), kReps2);
  Store(ThreeFiles());
  old_.MakeDurable();
  const std::string probe = JoinPath(kReps2, "read_write_test_file");
  ASSERT_TRUE(old_.files().CreateDirectories(probe).ok());  // the disk fails its test
  old_.options().shared_log.collection_interval = absl::Seconds(1);
  Open();
  old_.RunFor(absl::Seconds(10));
  EXPECT_EQ(old_.SharedLogFiles().size(), 3u);
  old_.Crash(sim::CrashMode::kPowerNone);  // the disk that failed is not mounted any more
  old_.node().Start();
  ASSERT_TRUE(old_.files().Rename(kReps2, absl::StrCat(kReps2, ".unmounted")).ok());
  old_.options().layout.new_data_directories.clear();
  Open();
  old_.RunFor(absl::Seconds(10));
  EXPECT_EQ(old_.SharedLogFiles().size(), 3u);
  EXPECT_FALSE(Exists(old_.files(), kReps2));
  old_.Crash(sim::CrashMode::kPowerNone);
  old_.node().Start();
  ASSERT_TRUE(old_.files().Rename(absl::StrCat(kReps2, ".unmounted"), kReps2).ok());
  ASSERT_TRUE(old_.files().RemoveAll(probe).ok());
  Open();
  EXPECT_EQ(Snapshot(k10).last_prepared, Decree(19)) << "back with its disk";
}

TEST_F(TakeOverTest, A19_S16_AnEmptyFolderWhereADiskIsNotMountedIsNoReadableDisk) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500}, Records(k21, 3, 1, 12));
  Store(ThreeFiles());
  ASSERT_TRUE(
      old_.files().CreateDirectories(kReps2).ok());  // k10 lies on the disk that belongs here
  ASSERT_TRUE(old_.files().CreateDirectories(OldServer::DirectoryOf(k10) + ".16.gar").ok());
  old_.options().shared_log.collection_interval = absl::Seconds(1);
  old_.options().layout.new_data_directories.clear();
  Open();
  old_.RunFor(absl::Seconds(10));
  EXPECT_EQ(old_.SharedLogFiles().size(), 3u);
  EXPECT_EQ(old_.server().shared_log().replicas_missing, 1);
  const auto text = SharedLogText(old_.server().shared_log());
  EXPECT_NE(text.find("1.0 by 19 decrees (not found, perhaps on a disk that is missing)"),
            std::string::npos)
      << text;
  EXPECT_EQ(old_.server().Disks()[1].state, DiskStatus::kIoError) << "no replica goes there";
  EXPECT_TRUE(old_.files().List(kReps2)->empty()) << "nothing was written below the mount point";

  old_.Crash(sim::CrashMode::kPowerNone);  // and once more without it
  old_.node().Start();
  Open();
  old_.RunFor(absl::Seconds(10));
  EXPECT_EQ(old_.SharedLogFiles().size(), 3u);
  EXPECT_EQ(old_.server().Disks()[1].state, DiskStatus::kIoError);
  EXPECT_TRUE(old_.files().List(kReps2)->empty());

  old_.Crash(sim::CrashMode::kPowerNone);  // the disk is mounted
  old_.node().Start();
  old_.AddReplica(k10, {.ballot = Ballot(3)}, Records(k10, 3, 1, 12), kReps2);
  Open();
  EXPECT_EQ(Snapshot(k10).last_prepared, Decree(19));
}

TEST_F(TakeOverTest, ADataDirectoryThatWasInUseAndIsEmptyIsNotUsedUntilTheOperatorSaysSo) {
  old_.AddReplica(k21, {.ballot = Ballot(3)}, Records(k21, 3, 1, 4));
  Open();
  old_.Crash(sim::CrashMode::kPowerNone);
  old_.node().Start();
  ASSERT_TRUE(old_.files().RemoveAll(kReps2).ok());
  old_.options().layout.new_data_directories.clear();
  old_.options().layout.data_directories.push_back({"ssd3", "/d3/replica/reps"});
  Open();
  EXPECT_EQ(old_.server().Disks()[1].state, DiskStatus::kIoError);
  EXPECT_FALSE(Exists(old_.files(), kReps2));
  EXPECT_EQ(old_.server().Disks()[2].state, DiskStatus::kNormal) << "nobody remembers it: new";
  old_.Crash(sim::CrashMode::kProcess);
  old_.options().layout.new_data_directories = {"ssd2"};
  Open();
  EXPECT_EQ(old_.server().Disks()[1].state, DiskStatus::kNormal);
  old_.Crash(sim::CrashMode::kProcess);
  old_.options().layout.new_data_directories.clear();
  Open();
  EXPECT_EQ(old_.server().Disks()[1].state, DiskStatus::kNormal) << "it is in use by now";
}

TEST_F(TakeOverTest, AReplicaThatIsInNoDirectoryHoldsTheLogThoughAllDisksAreThere) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500}, Records(k21, 3, 1, 12));
  Store(ThreeFiles());
  old_.options().shared_log.collection_interval = absl::Seconds(1);
  Open();
  old_.RunFor(absl::Seconds(10));
  EXPECT_EQ(old_.SharedLogFiles().size(), 3u);
  const auto text = SharedLogText(old_.server().shared_log());
  EXPECT_NE(text.find("1.0 by 19 decrees (not found in any data directory)"), std::string::npos)
      << text;
}

TEST_F(TakeOverTest, AReplicaWhoseDirectoryCantBeUnderstoodHoldsTheLog) {
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500}, Records(k21, 3, 1, 12));
  ASSERT_TRUE(old_.files().CreateDirectories(OldServer::DirectoryOf(k10)).ok());  // no .app-info
  Store(ThreeFiles());
  old_.options().shared_log.collection_interval = absl::Seconds(1);
  Open();
  old_.RunFor(absl::Seconds(10));
  EXPECT_EQ(old_.SharedLogFiles().size(), 3u);
  EXPECT_EQ(old_.server().shared_log().Blocking(),
            std::vector<std::string>{"1.0 by 19 decrees (not open)"});
}

TEST_F(TakeOverTest, AnotherClustersFilesAreKept) {
  old_.AddReplica({7, 3}, {.ballot = Ballot(3)}, Records({7, 3}, 3, 1, 5));
  Store(ThreeFiles());
  old_.options().shared_log.collection_interval = absl::Seconds(1);
  Open();
  old_.RunFor(absl::Seconds(5));
  EXPECT_EQ(old_.SharedLogFiles().size(), 3u);
  EXPECT_EQ(old_.server().shared_log().mutations_taken, 0);
  ExpectState({7, 3}, 4, {5}, 3);
}

// Same numbers, decrees that join, other records: a committed one of the private log is another there.
TEST_F(TakeOverTest, ALogWithOtherRecordsThanThePrivateOneRefusesAndChangesNothing) {
  std::vector<Mutation> records = Records(k21, 3, 1, 6);
  for (Mutation& m : records) m.timestamp_us += 1000;
  old_.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500}, records);
  Store(ThreeFiles());
  old_.MakeDurable();
  ASSERT_TRUE(old_.Start().ok());
  EXPECT_FALSE(old_.WaitOpen());
  ASSERT_TRUE(old_.refused().has_value());
  const std::string text(old_.refused()->message());
  EXPECT_NE(text.find("log.6.7879 at "), std::string::npos) << text;
  EXPECT_NE(text.find("decree 4 of replica 2.1 under ballot 3"), std::string::npos) << text;
  EXPECT_EQ(old_.SharedLogFiles().size(), 3u);
  EXPECT_TRUE(Exists(old_.files(), OldServer::DirectoryOf(k21))) << "no .err";
  old_.Crash(sim::CrashMode::kPowerNone);
  const OldReplicaState state = old_.StateFromPrivateLog(k21);
  EXPECT_EQ(std::make_pair(state.applied, state.prepared), std::make_pair(int64_t{5}, Decrees{6}));
}

TEST_F(TakeOverTest, ANewerLogOfAnotherServerChangesNothingThatIsHere) {
  old_.AddReplica(k21, {.ballot = Ballot(3)}, Records(k21, 3, 1, 6));
  SharedLogBytes log(5, 7000);
  log.Register(k21);
  log.NewFile();
  for (const Mutation& m : Records(k21, 6, 50, 60)) log.Add(m);
  Store(log);
  old_.options().shared_log.collection_interval = absl::Seconds(1);
  Open();
  EXPECT_TRUE(old_.InfoOf(k21).is_learner) << "there is a hole: it can't be served from here";
  old_.RunFor(absl::Seconds(5));
  EXPECT_EQ(old_.SharedLogFiles().size(), 1u);
  old_.Crash(sim::CrashMode::kPowerNone);
  EXPECT_EQ(old_.StateFromPrivateLog(k21).rows.at(JoinRawKey("h", RowOf(5))), ValueOf(3, 5));
}

TEST_F(TakeOverTest, BothSharedLogDirectoriesAreNamedWhenThereAreTwo) {
  Store(ThreeFiles());
  ASSERT_TRUE(ThreeFiles().Store(old_.files(), "/d2/replica/slog").ok());
  old_.options().layout.shared_log_directories.push_back("/d2/replica/slog");
  const absl::Status started = old_.Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(started)) << started;
  old_.Drop();
}

// ---- crashes ----

// Every record that either log has, once the server was killed at a change and started again until
// it is open and the shared log is gone.
struct CrashRun {
  std::map<PartitionId, OldReplicaState> states;
  int64_t changes = 0;
};

void SetScene(OldServer& old) {
  old.AddReplica(k21, {.ballot = Ballot(3), .offset_in_shared_log = 6500}, Records(k21, 3, 1, 4));
  std::vector<Mutation> full = Records(k10, 3, 1, 19);
  full.push_back(OldMutation(k10, 4, 20));
  old.AddReplica(k10, {.ballot = Ballot(4)}, full, kReps2);
  old.AddReplica({2, 2}, {.ballot = Ballot(2)});
  SharedLogBytes log(5, 7000);
  for (const PartitionId pid : {k21, PartitionId{2, 2}, k10}) log.Register(pid);
  for (int file = 0; file < 3; ++file) {
    log.NewFile();
    for (int64_t d = file * 3 + 1; d <= file * 3 + 3; ++d)
      log.Add({OldMutation(k21, 3, d), OldMutation({2, 2}, 2, d), OldMutation(k10, 3, 10 + d)});
  }
  log.Add(OldMutation(k21, 5, 10));
  ASSERT_TRUE(log.Store(old.files(), kSlog).ok());
  old.options().shared_log.collection_interval = absl::Seconds(1);
  old.MakeDurable();
}

std::map<PartitionId, OldReplicaState> StatesOf(OldServer& old) {
  return {{k21, old.StateFromPrivateLog(k21)},
          {{2, 2}, old.StateFromPrivateLog({2, 2})},
          {k10, old.StateFromPrivateLog(k10, kReps2)}};
}

// Killed after `changes` changes of the disk, in each mode; then `again` more starts killed a little
// later; then left alone.
std::map<PartitionId, OldReplicaState> CrashAndRestart(int64_t changes, sim::CrashMode mode,
                                                       uint64_t seed, bool* was_killed) {
  OldServer old(seed);
  SetScene(old);
  *was_killed = false;
  for (const int64_t after : {changes, changes / 2}) {
    old.node().CrashAfterChanges(after, mode, [was_killed] { *was_killed = true; });
    if (old.Start().ok() && old.WaitOpen()) old.RunFor(absl::Seconds(4));
    old.Crash(mode);
    old.node().disk().Revive();
  }
  const absl::Status started = old.Start();
  EXPECT_TRUE(started.ok()) << started;
  EXPECT_TRUE(old.WaitOpen());
  old.Crash(sim::CrashMode::kPowerNone);
  return StatesOf(old);
}

TEST(TakeOverCrash, A23_S14_A22_KilledAtAnyChangeTheEndIsTheSame) {
  std::map<PartitionId, OldReplicaState> expected;
  {
    OldServer old;
    SetScene(old);
    ASSERT_TRUE(old.Start().ok());
    ASSERT_TRUE(old.WaitOpen());
    old.RunFor(absl::Seconds(4));
    EXPECT_EQ(old.SharedLogFiles().size(), 1u);
    old.Crash(sim::CrashMode::kPowerNone);
    expected = StatesOf(old);
  }
  EXPECT_EQ(expected[k21].applied, 9);
  EXPECT_EQ(expected[k21].prepared, Decrees{10});
  // ARION_LEGACY_CRASH_SEEDS=n: n times as many points.
  const char* configured = std::getenv("ARION_LEGACY_CRASH_SEEDS");
  const int seeds = configured == nullptr ? 1 : atoi(configured);
  int points = 0;
  for (int seed = 1; seed <= seeds; ++seed)
    for (const sim::CrashMode mode : {sim::CrashMode::kProcess, sim::CrashMode::kPowerNone,
                                      sim::CrashMode::kPowerPrefix, sim::CrashMode::kPowerRandom}) {
      bool was_killed = true;
      for (int64_t changes = 0; was_killed; ++changes) {
        const auto states =
            CrashAndRestart(changes, mode, static_cast<uint64_t>(seed), &was_killed);
        points += 2;
        ASSERT_EQ(states, expected) << "after " << changes << " changes, mode "
                                    << static_cast<int>(mode) << ", seed " << seed;
      }
    }
  printf("%d crash points\n", points);
  EXPECT_GT(points, 100);
}

}  // namespace
}  // namespace arion
