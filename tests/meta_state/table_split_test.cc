// SPDX-License-Identifier: Apache-2.0
#include "meta_state/table_split.h"

#include <gtest/gtest.h>

#include <string>

#include "messages/table_environments.h"
#include "meta_state/configuration_change.h"
#include "meta_state/replica_reports.h"
#include "meta_state/store_change.h"
#include "meta_state/table_lifecycle.h"

namespace arion {
namespace {

constexpr Endpoint kOne{1, 34801}, kTwo{2, 34801}, kThree{3, 34801};
const Instant kBegan = Instant(0) + absl::Hours(1);

// Table 1 "t" of two partitions, led by kOne, with two secondaries.
class TableSplitTest : public testing::Test {
 protected:
  TableSplitTest() {
    Table& table = state_.tables[1];
    table.info = {.status = AppStatus::kAvailable,
                  .app_type = "pegasus",
                  .app_name = "t",
                  .app_id = 1,
                  .partition_count = 2,
                  .max_replica_count = 3};
    table.partitions.resize(2);
    for (int32_t i = 0; i < 2; ++i) {
      Partition& partition = table.partitions[static_cast<size_t>(i)];
      partition.config = {.pid = {1, i},
                          .ballot = Ballot(5),
                          .max_replica_count = 3,
                          .primary = kOne,
                          .secondaries = {kTwo, kThree}};
      partition.serving = {kOne, kTwo, kThree};
    }
    for (Endpoint node : {kOne, kTwo, kThree})
      state_.nodes[node] = {.alive = true, .collected = true};
  }
  Table& table() { return state_.tables[1]; }
  SplitJudgement JudgeStart(int32_t count = 4, FunctionLevel level = FunctionLevel::kSteady,
                            const char* name = "t") {
    return JudgeStartSplit(state_, level, {name, count});
  }
  void Carry(SplitJudgement judgement) {
    ASSERT_TRUE(judgement.next) << judgement.hint;
    table().info = *judgement.next;
    InstallSplit(table(), judgement.split, kBegan);
  }
  SplitJudgement Control(SplitControl type, int32_t parent,
                         std::optional<int32_t> count = std::nullopt) {
    return JudgeControlSplit(state_, {"t", static_cast<int32_t>(type), parent, count});
  }
  ConfigurationUpdateRequest Registration(int32_t parent, int64_t decree = 10) {
    ConfigurationUpdateRequest request{.info = InfoFor(table(), parent),
                                       .config = state_.FindPartition({1, parent})->config,
                                       .type = ConfigType::kRegisterChild,
                                       .node = kOne,
                                       .child_decree = Decree(decree)};
    ++request.config.ballot;
    return request;
  }
  UpdateJudgement Judge(const ConfigurationUpdateRequest& request,
                        FunctionLevel level = FunctionLevel::kSteady) {
    return JudgeUpdate(state_, level, request);
  }
  // As the meta server does when it is stored.
  bool Register(int32_t parent, Instant now = kBegan) {
    UpdateJudgement judgement = Judge(Registration(parent));
    EXPECT_EQ(judgement.verdict, UpdateVerdict::kApply) << judgement.reason;
    Install(*state_.FindPartition({1, parent}), judgement.next, ConfigType::kRegisterChild, now);
    return InstallChild(table(), *judgement.child, 7, now);
  }
  // What is stored of it all.
  std::map<std::string, std::string> Stored() const {
    std::map<std::string, std::string> entries;
    const auto add = [&](const StoreChange& change) {
      if (change.value) entries[change.key] = *change.value;
    };
    const Table& table = *state_.FindTable(1);
    add(state_.ChangeOf(table.info));
    for (const Partition& partition : table.partitions)
      if (!partition.IsUnregistered()) add(state_.ChangeOf(partition.config));
    add(ChangeOfSplit(1, table.split));
    add(ClusterState::ChangeOfCommitted(table));
    return entries;
  }

  ClusterState state_;
};

TEST_F(TableSplitTest, AStartDoublesTheCountAndMakesEmptyPlaces) {
  Carry(JudgeStart());
  EXPECT_EQ(table().info.partition_count, 4);
  EXPECT_EQ(table().info.init_partition_count, 2);
  EXPECT_EQ(table().info.envs.at(kEnvValidatePartitionHash), "true");
  ASSERT_EQ(table().partitions.size(), 4u);
  EXPECT_EQ(table().split->from, 2);
  for (int32_t child : {2, 3}) {
    const Partition& partition = table().partitions[static_cast<size_t>(child)];
    EXPECT_TRUE(partition.IsUnregistered());
    EXPECT_EQ(partition.config.pid, (PartitionId{1, child}));
    EXPECT_EQ(partition.config.max_replica_count, 3);
    EXPECT_TRUE(IsAwaitedChild(table(), child));
  }
  EXPECT_EQ(SplitStatusOf(table(), 1), SplitStatus::kSplitting);
  EXPECT_EQ(SplitStatusOf(table(), 2), SplitStatus::kNotSplit);
  EXPECT_EQ(SplitStatusOf(table(), 99), SplitStatus::kNotSplit);
  EXPECT_FALSE(IsAwaitedChild(table(), 1));
  EXPECT_FALSE(IsAwaitedChild(table(), 4));
  // A parent owns keys by the former count until its child is there.
  EXPECT_EQ(InfoFor(table(), 0).partition_count, 2);
  EXPECT_EQ(InfoForAll(table()).partition_count, 2);
}

TEST_F(TableSplitTest, WhatMayNotBeSplit) {
  const auto expect = [&](ErrorCode error, const std::string& hint, SplitJudgement judgement) {
    EXPECT_EQ(judgement.error, error) << hint;
    EXPECT_EQ(judgement.hint, hint);
    EXPECT_FALSE(judgement.next);
  };
  expect(ErrorCode::kAppNotExist, "app not existed",
         JudgeStart(4, FunctionLevel::kSteady, "other"));
  table().info.status = AppStatus::kDropping;
  expect(ErrorCode::kAppDropped, "app dropped", JudgeStart());
  table().info.status = AppStatus::kAvailable;
  for (int32_t count : {0, 2, 3, 8, -4})
    expect(ErrorCode::kInvalidParameters, "wrong partition_count, should be 4", JudgeStart(count));
  table().info.is_bulk_loading = true;
  expect(ErrorCode::kBusy, "it is being bulk loaded", JudgeStart());
  table().info.is_bulk_loading = false;
  table().info.duplicating = true;
  expect(ErrorCode::kBusy, "it is being duplicated", JudgeStart());
  table().info.duplicating = false;
  expect(ErrorCode::kStateFreezed, "the cluster is freezed",
         JudgeStart(4, FunctionLevel::kFreezed));
  state_.nodes[kTwo].is_older = true;
  expect(ErrorCode::kInvalidState,
         "0.0.0.2:34801 is of an older version, whose servers take no part in splits: upgrade all "
         "servers first",
         JudgeStart());
  state_.nodes[kTwo] = {.alive = true};
  table().info.partition_count = kPartitionCountMax;
  expect(ErrorCode::kInvalidParameters, "a table has at most 65536 partitions",
         JudgeStart(2 * kPartitionCountMax));
  table().info.partition_count = 2;
  Carry(JudgeStart());
  expect(ErrorCode::kInvalidParameters, "wrong partition_count, should be 8", JudgeStart(4));
  expect(ErrorCode::kBusy, "app(t) is already executing partition split", JudgeStart(8));
}

TEST_F(TableSplitTest, ATableThatIsBeingSplitIsNotDroppedNorGivenOtherCopies) {
  Carry(JudgeStart());
  EXPECT_EQ(JudgeDrop(state_, {}, {}, {.app_name = "t"}, 1).error, ErrorCode::kSplitting);
  const TableJudgement judgement = JudgeReplicaCount(state_, FunctionLevel::kSteady, {}, {"t", 1});
  EXPECT_EQ(judgement.error, ErrorCode::kBusy);
  EXPECT_EQ(judgement.hint, "it is being split");
  EXPECT_TRUE(JudgeRename(state_, {}, {"t", "u"}).next);
}

TEST_F(TableSplitTest, ARegistrationMakesTheChildWithItsParentsNextBallot) {
  Carry(JudgeStart());
  // Of a process that began since it is not known whether it has the child.
  NoteRestart(table().partitions[0], kThree, kBegan);
  EXPECT_FALSE(Register(0));
  const Partition& parent = table().partitions[0];
  const Partition& child = table().partitions[2];
  EXPECT_EQ(parent.config.ballot, Ballot(6));
  EXPECT_EQ(child.config.pid, (PartitionId{1, 2}));
  EXPECT_EQ(child.config.ballot, Ballot(6));
  EXPECT_EQ(child.config.primary, kOne);
  EXPECT_EQ(child.config.secondaries, parent.config.secondaries);
  EXPECT_EQ(child.config.max_replica_count, 3);
  EXPECT_EQ(child.config.last_committed_decree, Decree(10));
  EXPECT_EQ(child.KnownCommitted(), Decree(10));
  EXPECT_EQ(child.serving, (std::set{kOne, kTwo}));
  EXPECT_EQ(child.older_reports, 7);
  EXPECT_TRUE(child.dropped.empty());
  EXPECT_FALSE(child.primary_deadline);
  EXPECT_FALSE(child.headless_since);
  // Both own keys by the new count; the other parent does not yet.
  EXPECT_EQ(InfoFor(table(), 0).partition_count, 4);
  EXPECT_EQ(InfoFor(table(), 2).partition_count, 4);
  EXPECT_EQ(InfoFor(table(), 1).partition_count, 2);
  EXPECT_EQ(InfoForAll(table()).partition_count, 2);
  EXPECT_EQ(RegisteredChildren(table()), 1);
  EXPECT_FALSE(IsAwaitedChild(table(), 2));
  EXPECT_TRUE(Register(1));
  EXPECT_FALSE(table().split);
  EXPECT_EQ(InfoForAll(table()).partition_count, 4);
  // It can be split again.
  EXPECT_TRUE(JudgeStart(8).next);
}

TEST_F(TableSplitTest, TheRepeatOfARegistrationIsOneAndATooLateOneIsNone) {
  Carry(JudgeStart());
  const ConfigurationUpdateRequest request = Registration(0);
  Register(0);
  EXPECT_EQ(Judge(request).verdict, UpdateVerdict::kRepeat);
  // The parent's ballot went on for another reason: the child was made under an earlier one.
  const ConfigurationUpdateRequest late = Registration(1);
  ++table().partitions[1].config.ballot;
  EXPECT_EQ(Judge(late).verdict, UpdateVerdict::kOutdated);
}

TEST_F(TableSplitTest, WhichRegistrationsAreRefused) {
  ConfigurationUpdateRequest request = Registration(0);
  EXPECT_EQ(Judge(request).verdict, UpdateVerdict::kOutdated) << "it is not being split";
  Carry(JudgeStart());
  EXPECT_EQ(Judge(request, FunctionLevel::kFreezed).verdict, UpdateVerdict::kFreezed);
  const auto refused = [&] {
    const UpdateJudgement judgement = Judge(request);
    EXPECT_EQ(judgement.verdict, UpdateVerdict::kOutdated);
    EXPECT_FALSE(judgement.child);
    return std::string(judgement.reason);
  };
  ++request.config.ballot;
  EXPECT_EQ(refused(), "ballot");
  request = Registration(0);
  request.node = kTwo;
  EXPECT_EQ(refused(), "not applicable to the current configuration");
  request = Registration(0);
  request.config.secondaries = {kTwo};
  EXPECT_EQ(refused(), "members are not those of this change");
  request = Registration(0);
  request.child_decree.reset();
  EXPECT_EQ(refused(), "the child ends before what is known to be committed");
  request = Registration(0, 10);
  table().partitions[0].committed.decree = Decree(11);
  EXPECT_EQ(refused(), "the child ends before what is known to be committed");
  table().partitions[0].committed.decree = Decree(0);
  state_.nodes[kTwo].is_older = true;
  EXPECT_EQ(refused(), "a member is of an older version, and makes no child");
  state_.nodes[kTwo].is_older = false;
  table().partitions[0].primary_deadline = kBegan;
  EXPECT_EQ(refused(), "sent by a process of the primary that has ended");
  table().partitions[0].primary_deadline.reset();
  table().partitions[0].config.secondaries = {kTwo};
  request = Registration(0);
  EXPECT_EQ(refused(), "a member is missing, and would be missing of the child");
  table().partitions[0].config.secondaries = {kTwo, kThree};
  request = Registration(0);
  Carry(Control(SplitControl::kPause, 0));
  EXPECT_EQ(refused(), "its split is paused");
  Carry(Control(SplitControl::kCancel, -1, 2));
  EXPECT_EQ(refused(), "it is not being split");
}

TEST_F(TableSplitTest, NobodyChangesAChildThatIsNotRegistered) {
  Carry(JudgeStart());
  for (ConfigType type : {ConfigType::kAssignPrimary, ConfigType::kPrimaryForceUpdateBallot}) {
    ConfigurationUpdateRequest request{.type = type, .node = kOne};
    request.config = {.pid = {1, 2}, .ballot = Ballot(0), .max_replica_count = 3, .primary = kOne};
    EXPECT_EQ(Judge(request).verdict, UpdateVerdict::kUnknown);
  }
}

TEST_F(TableSplitTest, PausesAndRestarts) {
  const auto expect = [&](ErrorCode error, const std::string& hint, SplitJudgement judgement) {
    EXPECT_EQ(judgement.error, error) << hint;
    EXPECT_EQ(judgement.hint, hint);
    EXPECT_FALSE(judgement.next);
  };
  using enum SplitControl;
  for (SplitControl type : {kPause, kRestart, kCancel})
    expect(ErrorCode::kInvalidState, "app(t) is not splitting", Control(type, 0, 2));
  Carry(JudgeStart());
  for (SplitControl type : {kPause, kRestart})
    expect(ErrorCode::kInvalidParameters, "invalid parent partition index(2)", Control(type, 2));
  expect(ErrorCode::kInvalidParameters, "unknown kind of control",
         Control(static_cast<SplitControl>(3), 0));
  expect(ErrorCode::kInvalidState, "partition[0] wrong split_status(split_status::SPLITTING)",
         Control(kRestart, 0));
  Carry(Control(kPause, 0));
  expect(ErrorCode::kInvalidState, "partition[0] wrong split_status(split_status::PAUSED)",
         Control(kPause, 0));
  EXPECT_EQ(SplitStatusOf(table(), 0), SplitStatus::kPaused);
  EXPECT_FALSE(IsAwaitedChild(table(), 2));
  EXPECT_EQ(InfoFor(table(), 0).partition_count, 2);
  EXPECT_TRUE(table().partitions[2].IsUnregistered());
  Register(1);
  expect(ErrorCode::kChildRegistered, "partition[1] is not splitting", Control(kPause, 1));
  expect(ErrorCode::kInvalidState, "partition[1] is not splitting", Control(kRestart, 1));
  // Nothing to do is fine.
  expect(ErrorCode::kOk, "", Control(kPause, -1));
  Carry(Control(kRestart, -1));
  EXPECT_EQ(SplitStatusOf(table(), 0), SplitStatus::kSplitting);
  expect(ErrorCode::kOk, "", Control(kRestart, -1));
  Carry(Control(kPause, -1));
  EXPECT_EQ(table().split->paused, std::set<int32_t>{0});
  table().info.status = AppStatus::kDropping;
  expect(ErrorCode::kAppDropped, "app dropped", Control(kPause, 0));
  table().info.app_name = "other";
  expect(ErrorCode::kAppNotExist, "app not existed", Control(kPause, 0));
}

TEST_F(TableSplitTest, IsTakenBackUntilAChildIsThere) {
  Carry(JudgeStart());
  Carry(Control(SplitControl::kPause, 1));
  for (std::optional<int32_t> count : {std::optional<int32_t>(), std::optional(4)}) {
    const SplitJudgement judgement = Control(SplitControl::kCancel, -1, count);
    EXPECT_EQ(judgement.error, ErrorCode::kInvalidParameters);
    EXPECT_EQ(judgement.hint, "wrong partition_count, should be 2");
  }
  Carry(Control(SplitControl::kCancel, 0, 2));
  EXPECT_FALSE(table().split);
  EXPECT_EQ(table().info.partition_count, 2);
  EXPECT_EQ(table().info.init_partition_count, 2);
  EXPECT_EQ(table().partitions.size(), 2u);
  EXPECT_EQ(SplitStatusOf(table(), 0), SplitStatus::kNotSplit);
  EXPECT_FALSE(IsAwaitedChild(table(), 2));
  Carry(JudgeStart());
  Register(0);
  const SplitJudgement judgement = Control(SplitControl::kCancel, -1, 2);
  EXPECT_EQ(judgement.error, ErrorCode::kChildRegistered);
  EXPECT_EQ(judgement.hint, "some partitions have already finished split");
}

TEST_F(TableSplitTest, SurvivesStoringAndLoading) {
  Carry(JudgeStart());
  Register(0);
  Carry(Control(SplitControl::kPause, 1));
  absl::StatusOr<ClusterState> loaded = ClusterState::Load(Stored());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Table* read = loaded->FindTable(1);
  EXPECT_EQ(read->info, table().info);
  ASSERT_TRUE(read->split);
  EXPECT_EQ(read->split->from, 2);
  EXPECT_EQ(read->split->paused, std::set<int32_t>{1});
  ASSERT_EQ(read->partitions.size(), 4u);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(read->partitions[i].config, table().partitions[i].config) << i;
  EXPECT_TRUE(read->partitions[3].IsUnregistered());
  EXPECT_EQ(read->partitions[2].committed.decree, Decree(10));
}

TEST_F(TableSplitTest, ARecordThatIsOverOrMissingIsUnderstood) {
  Carry(JudgeStart());
  std::map<std::string, std::string> entries = Stored();
  // As an older version leaves it.
  entries.erase("/arion/split/1");
  absl::StatusOr<ClusterState> loaded = ClusterState::Load(entries);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->FindTable(1)->split->from, 2);
  EXPECT_TRUE(loaded->FindTable(1)->split->paused.empty());
  // What was known to be committed is of before the start, or of before it was taken back.
  entries["/arion/committed/1"] = "3,4";
  loaded = ClusterState::Load(entries);
  EXPECT_EQ(loaded->FindTable(1)->partitions[1].committed.decree, Decree(4));
  Carry(Control(SplitControl::kCancel, -1, 2));
  std::map<std::string, std::string> back = Stored();
  back["/arion/committed/1"] = "3,4,0,0";
  EXPECT_EQ(ClusterState::Load(back)->FindTable(1)->partitions[1].committed.decree, Decree(4));
  back["/arion/committed/1"] = "3,4,5,0";
  EXPECT_TRUE(absl::IsDataLoss(ClusterState::Load(back).status()));
  // All children are there.
  Carry(JudgeStart());
  entries = Stored();
  Register(0);
  Register(1);
  std::map<std::string, std::string> whole = Stored();
  EXPECT_FALSE(whole.contains("/arion/split/1"));
  whole["/arion/split/1"] = entries["/arion/split/1"];
  EXPECT_FALSE(ClusterState::Load(whole)->FindTable(1)->split);
}

TEST_F(TableSplitTest, AStateThatCannotBeUnderstoodIsNotGuessed) {
  Carry(JudgeStart());
  std::map<std::string, std::string> entries = Stored();
  const auto is_refused = [&] { return absl::IsDataLoss(ClusterState::Load(entries).status()); };
  for (const char* record : {"", "{}", "[]", R"({"from":2})", R"({"from":"2","paused":[]})",
                             R"({"from":2,"paused":["1"]})", R"({"from":1,"paused":[]})"}) {
    entries["/arion/split/1"] = record;
    EXPECT_TRUE(is_refused()) << record;
  }
  entries = Stored();
  // A parent is missing.
  entries.erase("/apps/1/1");
  EXPECT_TRUE(is_refused());
  // Without a record and without the environment that each start sets, nothing was split.
  table().info.envs.clear();
  entries = Stored();
  entries.erase("/arion/split/1");
  EXPECT_TRUE(is_refused());
}

TEST_F(TableSplitTest, TheLastChildIsKnownBeforeItIsStored) {
  Carry(JudgeStart());
  EXPECT_FALSE(IsLastChild(table(), 2));
  table().partitions[3].pending = ChildOf(*table().split, table().partitions[1].config, Decree(1));
  EXPECT_TRUE(IsLastChild(table(), 2));
}

TEST_F(TableSplitTest, ReportsOfUnregisteredChildrenCountForNothing) {
  Carry(JudgeStart());
  const auto report = [&](PartitionStatus status) {
    NoteReports(state_,
                {.node = kTwo,
                 .stored_replicas = {{{.pid = {1, 2}, .ballot = Ballot(5), .status = status}}}},
                0, absl::Seconds(10), kBegan);
  };
  report(PartitionStatus::kInactive);
  EXPECT_FALSE(table().partitions[2].IsBehind());
  EXPECT_FALSE(state_.FindNode(kTwo)->replicas.contains({1, 2}));
  EXPECT_TRUE(state_.FindNode(kTwo)->unknown_tables.empty());
  EXPECT_TRUE(state_.went_back.servers.empty());
  // Somebody takes part in it: what is stored is older than that.
  report(PartitionStatus::kSecondary);
  EXPECT_TRUE(state_.went_back.servers.contains(kTwo));
}

TEST_F(TableSplitTest, TheRestIsEstimatedByWhatWasDone) {
  Carry(JudgeStart());
  EXPECT_FALSE(SplitTimeLeft(table(), kBegan + absl::Seconds(5)));
  Register(0, kBegan + absl::Seconds(30));
  EXPECT_EQ(SplitTimeLeft(table(), kBegan + absl::Seconds(40)), absl::Seconds(20));
  EXPECT_EQ(SplitTimeLeft(table(), kBegan + absl::Seconds(90)), absl::ZeroDuration());
  Carry(Control(SplitControl::kPause, -1));
  EXPECT_FALSE(SplitTimeLeft(table(), kBegan + absl::Seconds(40)));
}

}  // namespace
}  // namespace arion
