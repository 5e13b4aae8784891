// Commands on splits, over a server that is meta server, and a replica server without pages.
// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/commands/split_commands.h"

#include <gtest/gtest.h>

#include <vector>

#include "messages/split_messages.h"
#include "messages/tool_messages.h"
#include "rpc/thrift_codec.h"
#include "tests/shell/scripted_meta.h"
#include "tools/shell/split_room.h"

namespace arion::shell {
namespace {

constexpr auto kSplitting = static_cast<int32_t>(SplitStatus::kSplitting);
constexpr auto kPaused = static_cast<int32_t>(SplitStatus::kPaused);

class SplitCommandsTest : public testing::Test {
 protected:
  SplitCommandsTest()
      : meta_(
            {{kRpcListApps, [this](const std::string&) { return EncodeWrapped(OneTable(count_)); }},
             {kRpcQueryConfig,
              [this](const std::string& body) {
                QueryConfigResponse answer = PartitionsOfOneTable(body, count_, meta_.address());
                for (PartitionConfiguration& partition : answer.partitions)
                  if (split_.status.contains(partition.pid.index - count_ / 2))
                    partition = {.pid = partition.pid, .ballot = kInvalidBallot};
                return EncodeWrapped(answer);
              }},
             {kRpcClusterInfo,
              [](const std::string&) { return EncodeWrapped(ClusterInfoResponse()); }},
             {kRpcListNodes,
              [this](const std::string&) {
                ListNodesResponse answer;
                if (has_server_)
                  answer.infos.push_back(
                      {.status = NodeStatus::kAlive, .node = meta_.address(), .hp_node = {}});
                return EncodeWrapped(answer);
              }},
             {kRpcControlMeta,
              [](const std::string&) { return EncodeWrapped(ControlMetaResponse()); }},
             {kRpcStartSplit,
              [this](const std::string& body) {
                started_.push_back(*DecodeWrapped<StartSplitRequest>(body));
                return EncodeWrapped(start_answer_);
              }},
             {kRpcQuerySplit,
              [this](const std::string&) {
                const QuerySplitResponse answer = split_;
                if (ends_when_asked_) split_ = kNotSplit;
                return EncodeWrapped(answer);
              }},
             {kRpcControlSplit, [this](const std::string& body) {
                controlled_.push_back(*DecodeWrapped<ControlSplitRequest>(body));
                return EncodeWrapped(control_answer_);
              }}}) {}
  std::pair<ExitCode, std::string> Say(const std::string& commands) {
    return shell::Say(meta_, commands);
  }
  using Texts = std::vector<std::string>;

  const QuerySplitResponse kNotSplit{
      .err = ErrorCode::kInvalidState, .status = {}, .hint_msg = "app(t) is not splitting"};
  // Touched by the server's thread only while a command waits for its answer.
  int32_t count_ = 4;
  bool has_server_ = false;
  bool ends_when_asked_ = false;
  std::vector<StartSplitRequest> started_;
  std::vector<ControlSplitRequest> controlled_;
  StartSplitResponse start_answer_;
  QuerySplitResponse split_ = kNotSplit;
  ControlSplitResponse control_answer_;
  ScriptedMeta meta_;
};

TEST_F(SplitCommandsTest, ASplitIsStartedByEitherName) {
  start_answer_.hint_msg = "mind\nthis";
  const auto [code, printed] = Say("split start t 8");
  EXPECT_EQ(code, ExitCode::kOk) << printed;
  EXPECT_EQ(printed,
            R"({"table":"t","partition_count":4,"new_partition_count":8,"no_answer_from":[],)"
            R"("hint":"mind\\nthis","lacking_room":[]})"
            "\n");
  EXPECT_EQ(Say("partition-split start -a t -p 8").first, ExitCode::kOk);
  EXPECT_EQ(Say("partition-split start --tableName t --newPartitionCount 8").first, ExitCode::kOk);
  EXPECT_EQ(Say("split start t 8 --dry-run").first, ExitCode::kOk);
  EXPECT_EQ(started_,
            std::vector<StartSplitRequest>(3, {.app_name = "t", .new_partition_count = 8}));
}

TEST_F(SplitCommandsTest, AServerThatDoesNotTellItsRoomIsNamed) {
  has_server_ = true;
  const auto [code, printed] = Say("split start t 8");
  EXPECT_EQ(code, ExitCode::kOk) << printed;
  EXPECT_NE(printed.find(absl::StrCat("\"no_answer_from\":[\"", meta_.address().ToString(), "\"]")),
            std::string::npos)
      << printed;
  EXPECT_EQ(started_.size(), 1u);
}

TEST_F(SplitCommandsTest, RoomIsWhatTheTablesReplicasTakeOnEachDisk) {
  const Endpoint server{1, 34801};
  QueryDiskInfoResponse disks;
  disks.disk_infos = {{.tag = "a", .disk_capacity_mb = 1000, .disk_available_mb = 149},
                      {.tag = "b", .disk_capacity_mb = 1000, .disk_available_mb = 150},
                      {.tag = "others", .disk_capacity_mb = 1000, .disk_available_mb = 0}};
  disks.disk_infos[0].holding_primary_replicas[2] = {{2, 0}};
  disks.disk_infos[0].holding_secondary_replicas[2] = {{2, 1}, {2, 3}};
  disks.disk_infos[1].holding_secondary_replicas[2] = {{2, 2}};
  disks.disk_infos[2].holding_primary_replicas[3] = {{3, 0}};
  const auto of = [](const char* id, double size) {
    return MetricEntity{.type = "replica", .id = id, .values = {{"rdb_total_sst_size_mb", size}}};
  };
  const MetricReading sizes{.entities = {of("replica@2.0", 100), of("replica@2.1", 49.6),
                                         of("replica@2.2", 150), of("replica@3.0", 9)}};
  const std::vector<DiskRoom> rooms = RoomOn(server, disks, sizes, 2);
  ASSERT_EQ(rooms.size(), 2u);
  EXPECT_EQ(rooms[0].disk, "a");
  EXPECT_EQ(rooms[0].table_mb, 150) << "of one replica nothing is known yet";
  EXPECT_TRUE(rooms[0].lacks());
  EXPECT_EQ(rooms[1].available_mb, 150);
  EXPECT_FALSE(rooms[1].lacks());
}

TEST_F(SplitCommandsTest, TheEndIsAwaited) {
  count_ = 8;
  split_ = {.new_partition_count = 8, .status = {{3, kSplitting}}};
  ends_when_asked_ = true;
  EXPECT_EQ(Say("split start t 8 --wait").first, ExitCode::kOk);
  count_ = 4;
  const auto [code, printed] = Say("split start t 8 --wait");
  EXPECT_EQ(code, ExitCode::kFailed);
  EXPECT_NE(printed.find("was taken back: it has 4 partitions"), std::string::npos) << printed;
}

TEST_F(SplitCommandsTest, AQueryShowsEachPartitionAndWhatItWaitsFor) {
  count_ = 8;
  split_ = {.new_partition_count = 8,
            .status = {{1, kSplitting}, {3, kPaused}},
            .progress = std::map<int32_t, std::string>{{1, "10.0.0.3:1 is a learner"}},
            .seconds_left = 12};
  const auto [code, printed] = Say("split query t");
  EXPECT_EQ(code, ExitCode::kOk);
  EXPECT_EQ(printed,
            R"({"table":"t","state":"splitting","partition_count":8,"completed":2,"splitting":1,)"
            R"("paused":1,"seconds_left":12,"partitions":[)"
            R"({"partition":0,"child":4,"state":"completed","progress":""},)"
            R"({"partition":1,"child":5,"state":"splitting","progress":"10.0.0.3:1 is a learner"},)"
            R"({"partition":2,"child":6,"state":"completed","progress":""},)"
            R"({"partition":3,"child":7,"state":"paused","progress":""}]})"
            "\n");
  split_.status = {{3, kPaused}};
  split_.seconds_left.reset();
  const std::string paused = Say("partition-split query -a t").second;
  EXPECT_NE(paused.find(R"("state":"paused","partition_count":8,"completed":3)"), std::string::npos)
      << paused;
  EXPECT_NE(paused.find(R"("seconds_left":-1)"), std::string::npos) << paused;
}

TEST_F(SplitCommandsTest, ATableThatIsNotBeingSplitIsNoFailure) {
  const auto [code, printed] = Say("split query t");
  EXPECT_EQ(code, ExitCode::kOk);
  EXPECT_EQ(printed, R"({"table":"t","state":"not being split","partition_count":4,"completed":0,)"
                     R"("splitting":0,"paused":0,"seconds_left":0,"partitions":[]})"
                     "\n");
  split_ = {.err = ErrorCode::kAppNotExist, .status = {}, .hint_msg = "app(x) not existed"};
  const auto [failed, why] = Say("split query x");
  EXPECT_EQ(failed, ExitCode::kFailed);
  EXPECT_NE(why.find("ERR_APP_NOT_EXIST: app(x) not existed"), std::string::npos) << why;
}

TEST_F(SplitCommandsTest, ItIsPausedAndGoneOnWithAndTakenBack) {
  for (const char* command :
       {"split pause t", "split pause t 3", "split restart t", "partition-split restart -a t -i 0",
        "split cancel t 4", "partition-split cancel -a t --oldPartitionCount 4"}) {
    const auto [code, printed] = Say(command);
    EXPECT_EQ(code, ExitCode::kOk) << command << ": " << printed;
    EXPECT_NE(printed.find(R"("result":"done")"), std::string::npos) << printed;
  }
  const ControlSplitRequest cancel{
      .app_name = "t", .control_type = 2, .parent_pidx = -1, .old_partition_count = 4};
  EXPECT_EQ(controlled_, (std::vector<ControlSplitRequest>{
                             {.app_name = "t", .control_type = 0, .parent_pidx = -1},
                             {.app_name = "t", .control_type = 0, .parent_pidx = 3},
                             {.app_name = "t", .control_type = 1, .parent_pidx = -1},
                             {.app_name = "t", .control_type = 1, .parent_pidx = 0},
                             cancel,
                             cancel}));
}

TEST_F(SplitCommandsTest, WhatTheMetaServerRefusesIsAFailureWithItsReason) {
  start_answer_ = {ErrorCode::kInvalidParameters, "wrong partition_count, should be 8"};
  control_answer_ = {ErrorCode::kChildRegistered, "partition[3] is not splitting"};
  const auto fails = [this](const char* command) {
    const auto [code, printed] = Say(command);
    EXPECT_EQ(code, ExitCode::kFailed) << printed;
    return printed;
  };
  EXPECT_NE(fails("split start t 9").find("wrong partition_count, should be 8"), std::string::npos);
  EXPECT_NE(fails("split pause t 3").find("ERR_CHILD_REGISTERED: partition[3] is not splitting"),
            std::string::npos);
  EXPECT_NE(fails("split start nobody 8").find("there is no table nobody"), std::string::npos);
  EXPECT_EQ(started_.size(), 1u);
}

TEST_F(SplitCommandsTest, WrongWordsAreUsageAndChangeNothing) {
  for (const char* bad :
       {"split", "split t 8", "split start", "split start t", "split start t many",
        "split start t -8", "split start t 8 9", "split start t 8 -i 3", "split query",
        "split query t 8", "split query t --wait", "split pause t x", "split pause t 1 2",
        "split pause t -p 1", "split restart -a '' -i 1", "split cancel t", "split cancel t ''",
        "split stop t"}) {
    const auto [code, printed] = Say(bad);
    EXPECT_EQ(code, ExitCode::kUsage) << bad << ": " << printed;
    EXPECT_NE(printed.find("usage: split "), std::string::npos) << printed;
  }
  EXPECT_TRUE(started_.empty());
  EXPECT_TRUE(controlled_.empty());
  EXPECT_EQ(Say("local_partition_split").first, ExitCode::kFailed);
}

TEST_F(SplitCommandsTest, WordsAreCompleted) {
  count_ = 8;
  split_ = {.new_partition_count = 8, .status = {{1, kSplitting}, {2, kSplitting}, {3, kPaused}}};
  Cluster cluster({meta_.address()});
  Session session(&cluster, OutputForm::kText, [](const std::string&) { return false; });
  EXPECT_EQ(session.Complete("split "), (Texts{"cancel", "pause", "query", "restart", "start"}));
  EXPECT_EQ(session.Complete("split q"), (Texts{"query"}));
  EXPECT_EQ(session.Complete("split start "), (Texts{"t"}));
  EXPECT_EQ(session.Complete("split start t "), (Texts{"16"}));
  EXPECT_EQ(session.Complete("split cancel t "), (Texts{"4"}));
  EXPECT_EQ(session.Complete("split pause t "), (Texts{"1", "2"}));
  EXPECT_EQ(session.Complete("split restart t "), (Texts{"3"}));
  EXPECT_EQ(session.Complete("split query t "), Texts{});
  EXPECT_EQ(session.Complete("split start t 16 --w"), (Texts{"--wait"}));
}

// What a split has not made yet is no trouble: its parent answers.
TEST_F(SplitCommandsTest, AwaitedPartitionsAreHealthyAndAJob) {
  count_ = 8;
  split_ = {.new_partition_count = 8, .status = {{1, kSplitting}, {3, kPaused}}};
  const auto [code, printed] = Say("app t");
  EXPECT_EQ(code, ExitCode::kOk) << printed;
  EXPECT_NE(printed.find(R"("healthy":8)"), std::string::npos) << printed;
  EXPECT_NE(Say("jobs").second.find(R"({"job":"split","of":"t","progress":"2/4 partitions"})"),
            std::string::npos);
  Cluster cluster({meta_.address()});
  const auto table = cluster.FindTable("t");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->PartitionFor(5).pid.index, 1) << "awaited";
  EXPECT_EQ(table->PartitionFor(12).pid.index, 4);
}

}  // namespace
}  // namespace arion::shell
