// Duplications of a whole meta server's tables, by the requests of tools and servers; the other
// cluster is played by hand.
// SPDX-License-Identifier: Apache-2.0
#include "meta/duplication_requests.h"

#include <set>
#include <string>

#include "messages/split_messages.h"
#include "messages/table_environments.h"
#include "tests/meta/meta_fixture.h"

namespace arion {
namespace {

using S = DuplicationStatus;
const Endpoint kRemoteMeta{0x0b000001u, 34601};

class DuplicationRequestsTest : public MetaFixture {
 protected:
  void SetUp() override {
    options_.cluster_name = "c1";
    options_.cluster_ids = {{"c1", 1}, {"c2", 2}};
    options_.clusters = {{"c2", {{"remote", 34601}}}};
    options_.meta_servers_of = [this](const std::string& cluster) {
      EXPECT_EQ(cluster, "c2");
      return addresses_;
    };
    ASSERT_EQ(StartMeta(), absl::OkStatus());
    StartAndSync(3);
    ASSERT_EQ(Create("t", 2, 3).err, ErrorCode::kOk);
    Obey();
  }
  AddDuplicationResponse Add(AddDuplicationRequest request) {
    return *Ask<AddDuplicationResponse>(kRpcAddDuplication, request);
  }
  int32_t AddOne(bool with_checkpoint = false) {
    const AddDuplicationResponse response = Add({"t", "c2", with_checkpoint});
    EXPECT_EQ(response.err, ErrorCode::kOk);
    dupid_ = response.dupid;
    return dupid_;
  }
  ModifyDuplicationResponse Modify(S status) {
    return *Ask<ModifyDuplicationResponse>(
        kRpcModifyDuplication, ModifyDuplicationRequest{"t", dupid_, static_cast<int32_t>(status)});
  }
  QueryDuplicationResponse QueryAll() {
    return *Ask<QueryDuplicationResponse>(kRpcQueryDuplication, QueryDuplicationRequest{"t"});
  }
  DuplicationEntry Only() {
    const QueryDuplicationResponse response = QueryAll();
    EXPECT_EQ(response.entry_list.size(), 1u);
    return response.entry_list.at(0);
  }
  S Status() { return static_cast<S>(Only().status); }
  bool IsDuplicating() {
    return Ask<ListAppsResponse>(kRpcListApps, ListAppsRequest{})->infos.at(0).duplicating;
  }
  // What the primary of each partition says, in one sync a server.
  DuplicationSyncResponse SyncAll(DuplicationConfirmEntry said) {
    said.dupid = dupid_;
    std::map<Endpoint, DuplicationSyncRequest> requests;
    for (int32_t i : {0, 1}) {
      const Endpoint primary = ConfigOf("t", i).primary;
      requests[primary].node = primary;
      requests[primary].confirm_list[{1, i}] = {said};
    }
    DuplicationSyncResponse all;
    for (const auto& [node, request] : requests) {
      DuplicationSyncResponse one = *Ask<DuplicationSyncResponse>(kRpcDuplicationSync, request);
      // Each is told of the partitions that it leads.
      for (auto& [app_id, entries] : all.dup_map)
        for (auto& [dupid, entry] : entries)
          one.dup_map[app_id][dupid].progress->merge(*entry.progress);
      all = std::move(one);
    }
    return all;
  }
  // What the other cluster was asked since, but for news to our servers; answered with `answer`.
  template <class Response>
  std::vector<std::string> Answer(const Response& answer, ErrorCode error = ErrorCode::kOk) {
    std::vector<std::string> asked;
    world_.RunFor(absl::Milliseconds(20));
    std::deque<RecordingTransport::Called> calls = std::exchange(transport_.called, {});
    for (auto& call : calls) {
      if (call.to != kRemoteMeta) continue;
      asked.push_back(call.request.name);
      last_asked_ = call.request.body;
      auto shared = std::make_shared<RecordingTransport::Called>(std::move(call));
      shared->reply_on->Post([shared, error, body = EncodeWrapped(answer)] {
        shared->done({.error = error, .body = body});
      });
    }
    world_.RunFor(absl::Milliseconds(50));
    return asked;
  }
  void NextTurn() { Pass(absl::Seconds(11)); }
  using Asked = std::vector<std::string>;

  std::vector<Endpoint> addresses_ = {kRemoteMeta};
  int32_t dupid_ = 0;
  std::string last_asked_;
};

TEST_F(DuplicationRequestsTest, OneIsAddedPausedStartedAndRemoved) {
  const AddDuplicationResponse added = Add({"t", "c2", false});
  EXPECT_EQ(added.err, ErrorCode::kOk);
  EXPECT_EQ(added.appid, 1);
  EXPECT_GT(added.dupid, 0);
  dupid_ = added.dupid;
  EXPECT_TRUE(IsDuplicating());
  EXPECT_EQ(Status(), S::kLog);
  using Clusters = std::map<std::string, std::string>;
  EXPECT_EQ(QueryAll().clusters, (Clusters{{"c2", "11.0.0.1:34601"}}));
  addresses_.clear();
  EXPECT_EQ(QueryAll().clusters, (Clusters{{"c2", ""}}));
  addresses_ = {kRemoteMeta};
  EXPECT_EQ(Add({"t", "c2"}).dupid, dupid_);
  EXPECT_EQ(Add({"t", "c2"}).err, ErrorCode::kOk);
  EXPECT_EQ(Add({"t", "c2", true, "t"}).err, ErrorCode::kDupExist);
  EXPECT_EQ(Add({"t", "c1"}).hint, "illegal operation: adding duplication to itself");
  // Servers are told of it, and a split waits.
  bool was_told = false;
  for (auto& call : transport_.called)
    if (call.request.name == kRpcTableChanged)
      was_told |= DecodeWrapped<TableChangedRequest>(call.request.body)->info.duplicating;
  EXPECT_TRUE(was_told);
  EXPECT_EQ((Ask<StartSplitResponse>(kRpcStartSplit, StartSplitRequest{"t", 4})->err),
            ErrorCode::kBusy);
  EXPECT_EQ(Modify(S::kPause).err, ErrorCode::kOk);
  StopMeta(sim::CrashMode::kProcess);
  ASSERT_EQ(StartMeta(), absl::OkStatus());
  EXPECT_EQ(Status(), S::kPause);
  EXPECT_TRUE(IsDuplicating());
  EXPECT_EQ(Modify(S::kLog).err, ErrorCode::kOk);
  EXPECT_EQ(Modify(S::kPrepare).err, ErrorCode::kInvalidParameters);
  EXPECT_EQ(Modify(S::kRemoved).err, ErrorCode::kOk);
  EXPECT_EQ(Modify(S::kRemoved).err, ErrorCode::kObjectNotFound);
  EXPECT_FALSE(IsDuplicating());
  EXPECT_TRUE(QueryAll().entry_list.empty());
}

TEST_F(DuplicationRequestsTest, ProgressIsStoredBeforeItIsAnswered) {
  AddOne();
  DuplicationSyncResponse answer = SyncAll({.confirmed_decree = 10});
  EXPECT_EQ(answer.err, ErrorCode::kOk);
  const auto progress = [&] { return *answer.dup_map.at(1).at(dupid_).progress; };
  EXPECT_EQ(progress(), (std::map<int32_t, int64_t>{{0, 10}, {1, 10}}));
  // Not so soon again.
  answer = SyncAll({.confirmed_decree = 20, .last_committed_decree = 25, .trouble = "no way"});
  EXPECT_EQ(progress().at(0), 10);
  const DuplicationEntry shown = Only();
  EXPECT_EQ(shown.partition_states->at(0), (DuplicationPartitionState{10, 25}));
  EXPECT_EQ(shown.troubles->at(1), "no way");
  EXPECT_FALSE(shown.progress);
  Pass(absl::Seconds(6));
  answer = SyncAll({.confirmed_decree = 5});
  EXPECT_EQ(progress().at(0), 20);
  StopMeta(sim::CrashMode::kProcess);
  ASSERT_EQ(StartMeta(), absl::OkStatus());
  answer = SyncAll({.confirmed_decree = -1});
  EXPECT_EQ(progress().at(1), 20);
  const auto list = Ask<ListDuplicationsResponse>(kRpcListDuplication, ListDuplicationsRequest{});
  EXPECT_EQ(
      list->app_states.at("t").duplications.at(dupid_).partition_states->at(1).confirmed_decree,
      20);
}

TEST_F(DuplicationRequestsTest, WhatCantBeStoredIsNotAnswered) {
  AddOne();
  node_.disk().FailCalls("/meta", sim::DiskTrouble::kReadOnly, 100);
  EXPECT_EQ(SyncAll({.confirmed_decree = 10}).dup_map.at(1).at(dupid_).progress->at(0), -1);
  EXPECT_EQ(Modify(S::kPause).err, ErrorCode::kFileOperationFailed);
  EXPECT_EQ(Status(), S::kLog);
  node_.disk().FailCalls("/meta", sim::DiskTrouble::kReadOnly, 0);
  Pass(absl::Seconds(6));
  EXPECT_EQ(SyncAll({.confirmed_decree = 10}).dup_map.at(1).at(dupid_).progress->at(0), 10);
}

TEST_F(DuplicationRequestsTest, StrangersAreToldSoAndSwitchedOffNothingIsDone) {
  EXPECT_EQ((Ask<DuplicationSyncResponse>(kRpcDuplicationSync,
                                          DuplicationSyncRequest{.node = ServerAt(77)})
                 ->err),
            ErrorCode::kObjectNotFound);
  const DuplicationSyncRequest sync{.node = ServerAt(1)};
  EXPECT_EQ((Ask<DuplicationSyncResponse>(kRpcDuplicationSync, sync)->err), ErrorCode::kOk);
  options_.duplication_enabled = false;
  StopMeta(sim::CrashMode::kProcess);
  ASSERT_EQ(StartMeta(), absl::OkStatus());
  EXPECT_EQ(Add({"t", "c2"}).err, ErrorCode::kServiceNotActive);
  EXPECT_EQ(Modify(S::kLog).err, ErrorCode::kServiceNotActive);
  EXPECT_EQ(QueryAll().err, ErrorCode::kServiceNotActive);
  EXPECT_EQ((Ask<DuplicationSyncResponse>(kRpcDuplicationSync, sync)->err),
            ErrorCode::kServiceNotActive);
}

TEST_F(DuplicationRequestsTest, TheOtherClusterMakesTheTableAndThenWritesAreSent) {
  AddOne(true);
  EXPECT_EQ(Status(), S::kPrepare);
  SyncAll({.confirmed_decree = 1});
  EXPECT_EQ(Answer(CreateAppResponse{}), Asked{});
  SyncAll({.confirmed_decree = 1, .checkpoint_prepared = true});
  // One question, whoever says it.
  EXPECT_EQ(Answer(CreateAppResponse{.err = ErrorCode::kStateFreezed}), Asked{kRpcCreateApp});
  EXPECT_EQ(Only().trouble, "cluster c2 does not make the table: ERR_STATE_FREEZED");
  SyncAll({.confirmed_decree = 1, .checkpoint_prepared = true});
  EXPECT_EQ(Answer(CreateAppResponse{}), Asked{});
  NextTurn();
  SyncAll({.confirmed_decree = 1, .checkpoint_prepared = true});
  EXPECT_EQ(Answer(CreateAppResponse{}), Asked{kRpcCreateApp});
  const auto created = DecodeWrapped<CreateAppRequest>(last_asked_);
  EXPECT_EQ(created->options.envs.at(kEnvMasterCluster), "c1");
  EXPECT_EQ(created->options.envs.at(kEnvMasterMetas), transport_.local().ToString());
  EXPECT_EQ(Status(), S::kApp);
  EXPECT_FALSE(Only().trouble);
  QueryConfigResponse there{.partition_count = 2};
  for (int32_t i : {0, 1}) there.partitions.push_back({.pid = {5, i}, .max_replica_count = 1});
  NextTurn();
  SyncAll({.confirmed_decree = 1});
  EXPECT_EQ(Answer(there), Asked{kRpcQueryConfig});
  EXPECT_EQ(Only().trouble, "partition 0 there has no primary yet");
  for (auto& partition : there.partitions) partition.primary = ServerAt(50);
  NextTurn();
  SyncAll({.confirmed_decree = 1});
  EXPECT_EQ(Answer(there), Asked{kRpcQueryConfig});
  EXPECT_EQ(Status(), S::kLog);
  NextTurn();
  SyncAll({.confirmed_decree = 2});
  EXPECT_EQ(Answer(there), Asked{});
}

TEST_F(DuplicationRequestsTest, ATableOfALostAnswerIsOurs) {
  AddOne(true);
  const DuplicationConfirmEntry prepared{.confirmed_decree = 1, .checkpoint_prepared = true};
  SyncAll(prepared);
  EXPECT_EQ(Answer(CreateAppResponse{.err = ErrorCode::kAppExist}), Asked{kRpcCreateApp});
  ListAppsResponse list;
  list.infos.push_back({.app_name = "t", .app_id = 9, .partition_count = 2});
  EXPECT_EQ(Answer(list), Asked{kRpcListApps});
  EXPECT_EQ(Status(), S::kPrepare);
  EXPECT_TRUE(Only().trouble->starts_with("a table of that name is there"));
  list.infos[0].envs[kEnvMasterCluster] = "c1";
  list.infos[0].create_second = INT32_MAX;
  NextTurn();
  SyncAll(prepared);
  EXPECT_EQ(Answer(CreateAppResponse{.err = ErrorCode::kAppExist}), Asked{kRpcCreateApp});
  EXPECT_EQ(Answer(list), Asked{kRpcListApps});
  EXPECT_EQ(Status(), S::kApp);
}

TEST_F(DuplicationRequestsTest, WhatIsRemovedWhileTheOtherClusterIsAskedIsGone) {
  AddOne(true);
  addresses_.clear();
  SyncAll({.confirmed_decree = 1, .checkpoint_prepared = true});
  EXPECT_TRUE(Only().trouble->starts_with("no address"));
  addresses_ = {kRemoteMeta};
  NextTurn();
  SyncAll({.confirmed_decree = 1, .checkpoint_prepared = true});
  EXPECT_EQ(Modify(S::kRemoved).err, ErrorCode::kOk);
  EXPECT_EQ(Answer(CreateAppResponse{}), Asked{kRpcCreateApp});
  EXPECT_TRUE(QueryAll().entry_list.empty());
  // The same with the whole table.
  AddOne(true);
  EXPECT_EQ((Ask<DropAppResponse>(kRpcDropApp, DropAppRequest{"t"})->err), ErrorCode::kOk);
  EXPECT_FALSE(IsDuplicating());
  EXPECT_EQ(QueryAll().err, ErrorCode::kAppNotExist);
}

}  // namespace
}  // namespace arion
