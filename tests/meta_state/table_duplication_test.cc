// SPDX-License-Identifier: Apache-2.0
#include "meta_state/table_duplication.h"

#include <gtest/gtest.h>

#include <string>

#include "meta_state/store_change.h"
#include "meta_state/table_lifecycle.h"

namespace arion {
namespace {

constexpr Endpoint kFirst{1, 34801}, kSecond{2, 34801};
constexpr int64_t kUnixMs = 1700000000123;
constexpr int32_t kDupid = 1700000000;
const Instant kMoment = Instant(0) + absl::Hours(1);
using S = DuplicationStatus;

// Table 1 "t" of two partitions, led by kFirst and kSecond.
class TableDuplicationTest : public testing::Test {
 protected:
  TableDuplicationTest() { AddTable(1, "t"); }
  void AddTable(int32_t app_id, const std::string& name) {
    Table& table = state_.tables[app_id];
    table.info = {.status = AppStatus::kAvailable,
                  .app_type = "pegasus",
                  .app_name = name,
                  .app_id = app_id,
                  .partition_count = 2,
                  .max_replica_count = 3};
    table.partitions.resize(2);
    for (int32_t i = 0; i < 2; ++i)
      table.partitions[static_cast<size_t>(i)].config = {.pid = {app_id, i},
                                                         .ballot = Ballot(5),
                                                         .max_replica_count = 3,
                                                         .primary = i == 0 ? kFirst : kSecond};
  }
  Table& table() { return state_.tables[1]; }
  KnownClusters Clusters() const { return {.own = "c1", .ids = ids_, .reachable = {"c2", "c3"}}; }
  DuplicationJudgement JudgeAdd(AddDuplicationRequest request) {
    return JudgeAddDuplication(state_, Clusters(), request, kUnixMs);
  }
  DuplicationJudgement JudgeModify(std::optional<int32_t> status,
                                   std::optional<int32_t> mode = std::nullopt) {
    return JudgeModifyDuplication(state_, {"t", kDupid, status, mode});
  }
  DuplicationJudgement JudgeStatus(S status) { return JudgeModify(static_cast<int32_t>(status)); }
  void Carry(const DuplicationJudgement& judgement) {
    ASSERT_TRUE(judgement.next) << judgement.hint;
    Store(ChangesOf(table(), judgement.change));
    Store({state_.ChangeOf(*judgement.next)});
    table().info = *judgement.next;
    InstallDuplications(table(), {judgement.change});
  }
  void Store(const std::vector<StoreChange>& changes) {
    for (const StoreChange& change : changes)
      change.value ? void(entries_[change.key] = *change.value) : void(entries_.erase(change.key));
  }
  void Add(bool with_checkpoint = false) { Carry(JudgeAdd({"t", "c2", with_checkpoint})); }
  Duplication& dup() { return table().duplications.at(kDupid); }
  // Server `node` says that of partition `index`.
  RefusedConfirms Say(Endpoint node, int32_t index, DuplicationConfirmEntry said) {
    said.dupid = kDupid;
    return NoteConfirms(state_, {.node = node, .confirm_list = {{{1, index}, {said}}}});
  }
  std::vector<ProgressChange> Due(Endpoint node, Instant now = kMoment) {
    return TakeDueProgress(state_, Sync(node), now, [this](int32_t) { return is_under_way_; });
  }
  // It has begun to send the first partition.
  static DuplicationSyncRequest Sync(Endpoint node) {
    return {.node = node, .confirm_list = {{{1, 0}, {{.dupid = kDupid}}}}};
  }
  // What a store with `entries_` makes of the table's duplications.
  std::map<int32_t, Duplication> Loaded() {
    Table loaded = table();
    loaded.duplications.clear();
    loaded.info.duplicating = false;
    LoadDuplications(entries_, &loaded);
    EXPECT_EQ(loaded.info.duplicating, !loaded.duplications.empty());
    return loaded.duplications;
  }

  ClusterState state_;
  std::map<std::string, int> ids_ = {{"c1", 1}, {"c2", 2}, {"c3", 3}};
  std::map<std::string, std::string> entries_;
  bool is_under_way_ = false;
};

TEST_F(TableDuplicationTest, OneIsAddedUnderPegasusKeys) {
  const DuplicationJudgement judgement = JudgeAdd({"t", "c2"});
  ASSERT_TRUE(judgement.next);
  EXPECT_TRUE(judgement.next->duplicating);
  EXPECT_GT(judgement.next->version, table().info.version);
  Carry(judgement);
  EXPECT_EQ(entries_["/apps/1/duplication/1700000000"],
            R"({"remote":"c2","status":"DS_PREPARE","create_timestamp_ms":1700000000123,)"
            R"("fail_mode":"FAIL_SLOW","remote_app_name":"t"})");
  EXPECT_EQ(Loaded().at(kDupid).info, dup().info);
  EXPECT_EQ(Loaded().at(kDupid).partitions.size(), 2u);
  EXPECT_EQ(JudgeAdd({"t", "c3", false, "other", 1}).change.dupid, kDupid + 1);
  Carry(JudgeAdd({"t", "c3", false, "other", 1}));
  EXPECT_EQ(Loaded().at(kDupid + 1).info.status, S::kLog);
  EXPECT_EQ(Loaded().at(kDupid + 1).info.remote_replica_count, 1);
}

TEST_F(TableDuplicationTest, WhatCantBeAddedIsRefusedWithAHint) {
  const auto why = [&](AddDuplicationRequest request) {
    const DuplicationJudgement judgement = JudgeAdd(std::move(request));
    EXPECT_FALSE(judgement.next);
    return std::pair(judgement.error, judgement.hint);
  };
  using P = std::pair<ErrorCode, std::string>;
  EXPECT_EQ(why({"t", "c1"}),
            P(ErrorCode::kInvalidParameters, "illegal operation: adding duplication to itself"));
  EXPECT_EQ(why({"t", "c9"}),
            P(ErrorCode::kInvalidParameters,
              "get_duplication_cluster_id(c9) failed, error: it is not in [duplication-group]"));
  ids_["c4"] = 4;
  EXPECT_EQ(why({"t", "c4"}), P(ErrorCode::kInvalidParameters,
                                "failed to find cluster[c4] address in config [pegasus.clusters]"));
  EXPECT_EQ(why({"x", "c2"}).first, ErrorCode::kAppNotExist);
  EXPECT_EQ(why({"t", "c2", true, std::nullopt, -1}).first, ErrorCode::kInvalidParameters);
  AddTable(2, "u");
  Add();
  EXPECT_EQ(why({"u", "c2", true, "t"}).first, ErrorCode::kInvalidParameters);
  table().info.status = AppStatus::kDropping;
  EXPECT_EQ(why({"t", "c2"}).first, ErrorCode::kAppNotExist);
  state_.tables[2].split = TableSplit{.from = 1};
  EXPECT_EQ(why({"u", "c2"}).first, ErrorCode::kSplitting);
  ids_.erase("c1");
  EXPECT_EQ(why({"u", "c2"}).first, ErrorCode::kInvalidParameters);
}

TEST_F(TableDuplicationTest, OneThatIsThereIsAnsweredWithItsIds) {
  Add();
  DuplicationJudgement again = JudgeAdd({"t", "c2"});
  EXPECT_EQ(again.error, ErrorCode::kOk);
  EXPECT_FALSE(again.next);
  EXPECT_EQ(again.app_id, 1);
  EXPECT_EQ(again.change.dupid, kDupid);
  again = JudgeAdd({"t", "c2", true, "t"});
  EXPECT_EQ(again.error, ErrorCode::kDupExist);
  EXPECT_EQ(again.change.dupid, kDupid);
}

TEST_F(TableDuplicationTest, ItGoesFromStatusToStatusAsPegasusAllows) {
  Add(true);
  for (S status : {S::kInit, S::kLog, S::kPause})
    EXPECT_EQ(JudgeStatus(status).error, ErrorCode::kInvalidParameters);
  EXPECT_EQ(JudgeStatus(S::kPrepare).error, ErrorCode::kOk);
  EXPECT_FALSE(JudgeStatus(S::kPrepare).next);
  EXPECT_EQ(JudgeDuplicationStep(state_, 1, kDupid, S::kApp, S::kLog).error,
            ErrorCode::kInvalidState);
  Carry(JudgeDuplicationStep(state_, 1, kDupid, S::kPrepare, S::kApp));
  Carry(JudgeDuplicationStep(state_, 1, kDupid, S::kApp, S::kLog));
  Carry(JudgeStatus(S::kPause));
  EXPECT_EQ(Loaded().at(kDupid).info.status, S::kPause);
  Carry(JudgeStatus(S::kLog));
  Carry(JudgeModify(std::nullopt, 1));
  EXPECT_EQ(Loaded().at(kDupid).info.fail_mode, DuplicationFailMode::kSkip);
  EXPECT_EQ(Loaded().at(kDupid).info.status, S::kLog);
  for (int32_t number : {-1, 3, 1000})
    EXPECT_EQ(JudgeModify(std::nullopt, number).error, ErrorCode::kInvalidParameters);
  EXPECT_EQ(JudgeModify(77).error, ErrorCode::kInvalidParameters);
  EXPECT_EQ(JudgeModifyDuplication(state_, {"t", 5, 3}).error, ErrorCode::kObjectNotFound);
  EXPECT_EQ(JudgeModifyDuplication(state_, {"x", kDupid, 3}).error, ErrorCode::kAppNotExist);
}

TEST_F(TableDuplicationTest, WithTheLastOneTheTableIsNotDuplicatedAnyMore) {
  Add();
  Carry(JudgeAdd({"t", "c3", false}));
  Store({ChangeOf(ProgressChange{{1, 1}, kDupid, Decree(7)})});
  EXPECT_EQ(entries_.at("/apps/1/duplication/1700000000/1"), "7");
  Carry(JudgeStatus(S::kRemoved));
  EXPECT_TRUE(table().info.duplicating);
  EXPECT_FALSE(entries_.contains("/apps/1/duplication/1700000000/1"));
  EXPECT_EQ(Loaded().size(), 1u);
  Carry(JudgeModifyDuplication(state_, {"t", kDupid + 1, static_cast<int32_t>(S::kRemoved)}));
  EXPECT_FALSE(table().info.duplicating);
  EXPECT_EQ(Loaded().size(), 0u);
}

TEST_F(TableDuplicationTest, DuplicationsEndWithTheirTable) {
  Add();
  const DropJudgement drop = JudgeDrop(state_, {}, {}, {"t"}, 100);
  ASSERT_TRUE(drop.dropped);
  EXPECT_FALSE(drop.dropped->duplicating);
  ASSERT_EQ(RemovalOfAll(table()).size(), 1u);
  InstallDuplications(table(), RemovalOfAll(table()));
  EXPECT_TRUE(table().duplications.empty());
}

TEST_F(TableDuplicationTest, WhatIsNotUnderstoodIsKeptAsPaused) {
  const std::string key = "/apps/1/duplication/1700000000";
  for (const char* text :
       {"", "[]", "{}", R"({"remote":"c2","status":"DS_NEW","fail_mode":"FAIL_SLOW"})",
        R"({"remote":"c2","status":"DS_LOG","fail_mode":"FAIL_X"})",
        R"({"remote":"c2","status":3,"fail_mode":"FAIL_SLOW"})",
        R"({"remote":"c2","status":"DS_LOG","fail_mode":"FAIL_SLOW","remote_replica_count":-1})"}) {
    entries_[key] = text;
    ASSERT_EQ(Loaded().size(), 1u) << text;
    EXPECT_EQ(Loaded().at(kDupid).info.status, S::kPause) << text;
    EXPECT_NE(Loaded().at(kDupid).not_understood, "") << text;
  }
  entries_[key] = R"({"remote":"c2","status":"DS_LOG","fail_mode":"FAIL_SLOW"})";
  EXPECT_EQ(Loaded().at(kDupid).not_understood, "");
  EXPECT_EQ(Loaded().at(kDupid).info.status, S::kLog);
  for (const char* text : {"", "x", "-2", "9223372036854775807"}) {
    entries_[key + "/1"] = text;
    EXPECT_EQ(Loaded().at(kDupid).info.status, S::kPause) << text;
  }
  // Left alone: keys that are none of ours, and one whose removal was interrupted.
  entries_[key + "/1"] = "12";
  entries_["/apps/1/duplication"] = "";
  entries_["/apps/1/duplication/x"] = "{}";
  entries_["/apps/1/duplication/007"] = "{}";
  entries_["/apps/1/duplication/8"] =
      R"({"remote":"c2","status":"DS_REMOVED","fail_mode":"FAIL_SLOW"})";
  entries_["/apps/10/duplication/9"] = "{}";
  entries_[key + "/2"] = "x";
  ASSERT_EQ(Loaded().size(), 1u);
  EXPECT_EQ(Loaded().at(kDupid).partitions[1].stored, Decree(12));
  EXPECT_EQ(Loaded().at(kDupid).partitions[0].stored, kInvalidDecree);
  // A person says what it is to be, or removes it.
  entries_[key] = R"({"remote":"c2","status":"DS_NEW","fail_mode":"FAIL_SLOW"})";
  LoadDuplications(entries_, &table());
  EXPECT_EQ(JudgeModify(std::nullopt, 1).error, ErrorCode::kInvalidParameters);
  EXPECT_TRUE(JudgeStatus(S::kRemoved).next);
  Carry(JudgeStatus(S::kPause));
  EXPECT_EQ(Loaded().at(kDupid).not_understood, "");
}

TEST_F(TableDuplicationTest, ProgressNeverFalls) {
  Add();
  EXPECT_EQ(Say(kFirst, 0, {.confirmed_decree = 20}).of_others, 0);
  std::vector<ProgressChange> due = Due(kFirst);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].decree, Decree(20));
  // Being stored: not again; and not told before it is.
  Say(kFirst, 0, {.confirmed_decree = 30});
  EXPECT_TRUE(Due(kFirst, kMoment + absl::Hours(1)).empty());
  EXPECT_EQ((*AnswerDuplicationSync(state_, Sync(kFirst)).dup_map[1][kDupid].progress)[0], -1);
  NoteStored(state_, due, true);
  EXPECT_EQ((*AnswerDuplicationSync(state_, Sync(kFirst)).dup_map[1][kDupid].progress)[0], 20);
  // At most every 5 s.
  EXPECT_TRUE(Due(kFirst, kMoment + absl::Seconds(4)).empty());
  // A later primary begins before that.
  table().partitions[0].config.primary = kSecond;
  Say(kSecond, 0, {.confirmed_decree = 10});
  due = Due(kSecond, kMoment + absl::Seconds(5));
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].decree, Decree(30));
  // What could not be stored is tried again.
  NoteStored(state_, due, false);
  EXPECT_EQ(dup().partitions[0].stored, Decree(20));
  is_under_way_ = true;
  EXPECT_TRUE(Due(kSecond, kMoment + absl::Seconds(20)).empty());
  is_under_way_ = false;
  EXPECT_EQ(Due(kSecond, kMoment + absl::Seconds(20)).size(), 1u);
}

// table_duplication/D3
TEST_F(TableDuplicationTest, WhoBeginsIsToldTheLargestDecreeThatWasSaidOnceItIsStored) {
  Add();
  Say(kFirst, 0, {.confirmed_decree = 20});
  NoteStored(state_, Due(kFirst), true);
  Say(kFirst, 0, {.confirmed_decree = 30});
  table().partitions[0].config.primary = kSecond;
  const DuplicationSyncRequest begins{.node = kSecond};
  const auto told = [&] {
    return (*AnswerDuplicationSync(state_, begins).dup_map[1][kDupid].progress);
  };
  EXPECT_FALSE(told().contains(0));
  EXPECT_EQ(told().at(1), -1);
  EXPECT_TRUE(Due(kSecond, kMoment + absl::Seconds(1)).empty())
      << "for one that sends there is time";
  const auto due =
      TakeDueProgress(state_, begins, kMoment + absl::Seconds(1), [](int32_t) { return false; });
  ASSERT_EQ(due.size(), 1u);
  NoteStored(state_, due, true);
  EXPECT_EQ(told()[0], 30);
}

TEST_F(TableDuplicationTest, OnlyPrimariesCountAndOnlyWhatCanBe) {
  Add();
  EXPECT_EQ(Say(kSecond, 0, {.confirmed_decree = 20}).of_others, 1);
  EXPECT_EQ(Say(kFirst, 5, {.confirmed_decree = 20}).of_others, 1);
  EXPECT_EQ(Say(kFirst, -1, {.confirmed_decree = 20}).of_others, 1);
  for (int64_t decree : {int64_t{-2}, INT64_MIN, INT64_MAX})
    EXPECT_EQ(Say(kFirst, 0, {.confirmed_decree = decree}).impossible, 1);
  EXPECT_EQ(Say(kFirst, 0, {.confirmed_decree = 9, .last_committed_decree = 8}).impossible, 1);
  EXPECT_EQ(Say(kFirst, 0, {.confirmed_decree = 9, .last_committed_decree = INT64_MIN}).impossible,
            1);
  EXPECT_TRUE(Due(kFirst).empty());
  EXPECT_EQ(Say(kFirst, 0, {.confirmed_decree = -1, .trouble = std::string(5000, 'x')}).impossible,
            0);
  EXPECT_LE(dup().partitions[0].trouble.size(), 1000u);
  EXPECT_TRUE(Due(kFirst).empty());
  EXPECT_EQ(
      NoteConfirms(state_, {.node = kFirst, .confirm_list = {{{1, 0}, {{.dupid = 5}}}}}).impossible,
      0);
}

// To a receiver of 2.5.0 the later sender has set records back that it must send again.
TEST_F(TableDuplicationTest, WhatASenderOfAnEarlierTermSaidDoesNotCount) {
  Add();
  PartitionConfiguration& config = table().partitions[0].config;
  config.ballot = Ballot(5);
  Say(kFirst, 0, {.confirmed_decree = 20, .ballot = Ballot(5)});
  EXPECT_EQ(dup().partitions[0].confirmed, Decree(20));
  config.ballot = Ballot(6);
  EXPECT_EQ(Say(kFirst, 0, {.confirmed_decree = 40, .ballot = Ballot(5)}).of_others, 0);
  EXPECT_EQ(dup().partitions[0].confirmed, Decree(20));
  Say(kFirst, 0, {.confirmed_decree = 30});
  EXPECT_EQ(dup().partitions[0].confirmed, Decree(30)) << "of 2.5.0";
}

TEST_F(TableDuplicationTest, ServersHearOfTheTablesOfWhichTheyLeadSome) {
  AddTable(2, "u");
  Add();
  for (Partition& partition : state_.tables[2].partitions) partition.config.primary = kSecond;
  const DuplicationSyncResponse answer = AnswerDuplicationSync(state_, Sync(kFirst));
  ASSERT_EQ(answer.dup_map.size(), 1u);
  const DuplicationEntry& entry = answer.dup_map.at(1).at(kDupid);
  EXPECT_EQ(entry.progress, (std::map<int32_t, int64_t>{{0, -1}})) << "another leads the rest";
  EXPECT_EQ(entry.status, 3);
  EXPECT_EQ(entry.remote, "c2");
  EXPECT_EQ(entry.remote_app_name, "t");
  EXPECT_TRUE(AnswerDuplicationSync(state_, Sync(Endpoint{9, 1})).dup_map.empty());
  dup().info.status = S::kInit;
  EXPECT_TRUE(AnswerDuplicationSync(state_, Sync(kFirst)).dup_map.empty());
  dup().info.status = S::kPause;
  table().info.status = AppStatus::kDropped;
  EXPECT_TRUE(AnswerDuplicationSync(state_, Sync(kFirst)).dup_map.empty());
}

TEST_F(TableDuplicationTest, TheOtherClusterMakesTheTableOnceAllCheckpointsArePrepared) {
  Add(true);
  table().info.envs = {{"k", "v"}};
  Say(kFirst, 0, {.confirmed_decree = 1, .checkpoint_prepared = true});
  EXPECT_FALSE(IsCheckpointPrepared(dup()));
  Say(kSecond, 1, {.confirmed_decree = 1, .checkpoint_prepared = true});
  EXPECT_TRUE(IsCheckpointPrepared(dup()));
  CreateAppRequest wanted = RemoteTableOf(table(), dup().info, "c1", "1.2.3.4:34601");
  EXPECT_EQ(wanted.app_name, "t");
  EXPECT_EQ(wanted.options.partition_count, 2);
  EXPECT_EQ(wanted.options.replica_count, 3);
  EXPECT_FALSE(wanted.options.success_if_exist);
  EXPECT_EQ(wanted.options.envs,
            (std::map<std::string, std::string>{{"duplication.master_cluster", "c1"},
                                                {"duplication.master_metas", "1.2.3.4:34601"},
                                                {"k", "v"}}));
  AppInfo there{.app_name = "t", .partition_count = 2, .envs = wanted.options.envs};
  there.create_second = kUnixMs / 1000;
  EXPECT_EQ(WhyNotOurTable(there, wanted, dup().info), "");
  --there.create_second;
  EXPECT_NE(WhyNotOurTable(there, wanted, dup().info), "");
  there.create_second += 5;
  there.partition_count = 4;
  EXPECT_NE(WhyNotOurTable(there, wanted, dup().info), "");
  there.partition_count = 2;
  there.envs["duplication.master_cluster"] = "c3";
  EXPECT_NE(WhyNotOurTable(there, wanted, dup().info), "");
  dup().info.remote_app_name = "other";
  dup().info.remote_replica_count = 1;
  wanted = RemoteTableOf(table(), dup().info, "c1", "1.2.3.4:34601");
  EXPECT_EQ(wanted.app_name, "other");
  EXPECT_EQ(wanted.options.replica_count, 1);
  EXPECT_EQ(wanted.options.envs.at("duplication.master_app_name"), "t");
}

TEST_F(TableDuplicationTest, ItIsReadyOnceEachPartitionHasAPrimaryAndASecondary) {
  QueryConfigResponse there{.partition_count = 2};
  for (int32_t i = 0; i < 2; ++i)
    there.partitions.push_back(
        {.pid = {7, i}, .max_replica_count = 3, .primary = kFirst, .secondaries = {kSecond}});
  EXPECT_EQ(WhyNotReady(there, table()), "");
  there.partitions[1].secondaries.clear();
  EXPECT_NE(WhyNotReady(there, table()), "");
  there.partitions[1].max_replica_count = 1;  // #2025
  EXPECT_EQ(WhyNotReady(there, table()), "");
  there.partitions[0].primary = {};
  EXPECT_NE(WhyNotReady(there, table()), "");
  there.partitions[0].primary = kFirst;
  there.partitions[0].pid.index = 1;
  EXPECT_NE(WhyNotReady(there, table()), "");
  there.partitions.pop_back();
  EXPECT_NE(WhyNotReady(there, table()), "");
  EXPECT_NE(WhyNotReady({.err = ErrorCode::kBusyCreating}, table()), "");
}

}  // namespace
}  // namespace arion
