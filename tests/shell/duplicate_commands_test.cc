// A table's duplicate set up and compared, over two servers: each is its cluster's meta server, and
// leads all partitions of its table.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "base/raw_key.h"
#include "messages/client_messages.h"
#include "messages/duplication_messages.h"
#include "messages/tool_messages.h"
#include "rpc/thrift_codec.h"
#include "tests/shell/scripted_meta.h"

namespace arion::shell {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int32_t kPartitions = 2;
constexpr int32_t kLater = 1'500'000'000;  // in 2063

// Touched by the server's thread only while a command waits for its answer.
struct ClusterState {
  std::string name;
  int32_t partition_count = kPartitions;
  bool has_table = true;
  QueryDuplicationResponse duplications{.appid = 2};
  AddDuplicationResponse add_answer{.appid = 2, .dupid = 17};
  int added = 0;
  // Of each partition; the answers are those of a server that does not add up.
  std::map<std::string, KeyValue> records;

  void Put(const std::string& sort_key, const std::string& value, int32_t expires = 0) {
    const std::string key = JoinRawKey("h", sort_key);
    records[key] = {key, value, expires};
  }
};

ScanResponse Scanned(const std::map<std::string, KeyValue>& records,
                     const GetScannerRequest& request) {
  ScanResponse answer;
  for (auto at = records.lower_bound(request.start_key.bytes);
       at != records.end() && at->first < request.stop_key.bytes; ++at)
    answer.kvs.push_back(at->second);
  return answer;
}

class OneCluster {
 public:
  explicit OneCluster(const std::string& name) : state_{.name = name}, meta_(Answers()) {}
  ClusterState* operator->() { return &state_; }
  const ScriptedMeta& meta() const { return meta_; }
  std::string address() const { return meta_.address().ToString(); }

 private:
  std::map<std::string, ScriptedMeta::Answer> Answers() {
    return {
        {kRpcClusterInfo,
         [this](const std::string&) {
           return EncodeWrapped(
               ClusterInfoResponse{.keys = {"cluster_name"}, .values = {state_.name}});
         }},
        {kRpcListApps,
         [this](const std::string&) {
           return EncodeWrapped(state_.has_table ? OneTable(state_.partition_count)
                                                 : ListAppsResponse{});
         }},
        {kRpcQueryConfig,
         [this](const std::string& body) {
           return EncodeWrapped(
               PartitionsOfOneTable(body, state_.partition_count, meta_.address()));
         }},
        {kRpcQueryDuplication,
         [this](const std::string&) { return EncodeWrapped(state_.duplications); }},
        {kRpcAddDuplication,
         [this](const std::string&) {
           ++state_.added;
           if (state_.add_answer.err == ErrorCode::kOk) Begin();
           return EncodeWrapped(state_.add_answer);
         }},
        {kRpcQueryDecree,
         [](const std::string&) {
           return EncodeWrapped(QueryDecreeResponse{.last_decree = Decree(10)});
         }},
        {kRpcClearScanner, [](const std::string&) { return std::string(); }},
        {kRpcGetScanner, [this](const std::string& body) {
           return EncodeWrapped(Scanned(state_.records, *DecodeWrapped<GetScannerRequest>(body)));
         }}};
  }
  void Begin() {
    state_.duplications.entry_list = {{.dupid = 17, .status = 3, .remote = "c2"}};
    auto& states = state_.duplications.entry_list[0].partition_states.emplace();
    for (int32_t i = 0; i < kPartitions; ++i) states[i] = {10, 10};
  }

  ClusterState state_;
  ScriptedMeta meta_;
};

class DuplicateCommandsTest : public testing::Test {
 protected:
  DuplicateCommandsTest() {
    here_->duplications.clusters.emplace();
    (*here_->duplications.clusters)["c2"] = there_.address();
    for (OneCluster* cluster : {&here_, &there_}) {
      (*cluster)->Put("a", "1");
      (*cluster)->Put("b", "2", kLater);
    }
  }
  void Duplicated(DuplicationStatus status = DuplicationStatus::kLog) {
    DuplicationEntry entry{.dupid = 17, .status = static_cast<int32_t>(status), .remote = "c2"};
    entry.partition_states = {{0, {10, 10}}, {1, {10, 10}}};
    here_->duplications.entry_list = {entry};
  }
  std::pair<ExitCode, std::string> Say(const std::string& commands) {
    return shell::Say(here_.meta(), commands);
  }
  void ExpectFailure(const std::string& command, const std::string& why,
                     ExitCode code = ExitCode::kFailed) {
    const auto [got, printed] = Say(command);
    EXPECT_EQ(got, code) << command << "\n" << printed;
    EXPECT_THAT(printed, HasSubstr(why)) << command;
  }

  OneCluster here_{"c1"}, there_{"c2"};
};

TEST_F(DuplicateCommandsTest, WordsThatAreWrong) {
  for (const char* wrong : {"duplicate", "duplicate t c2", "duplicate t to", "duplicate t to c2 x",
                            "duplicate t to c2 -r 0", "duplicate t to c2 -n x", "duplication",
                            "duplication verify", "duplication t", "duplication verify t c2 x",
                            "duplication verify t c2 -n 0", "duplication verify t"})
    EXPECT_EQ(Say(wrong).first, ExitCode::kUsage) << wrong;
  EXPECT_EQ(here_->added, 0);
}

TEST_F(DuplicateCommandsTest, WhatIsInTheWayIsSaidBeforeAnythingIsSetUp) {
  there_->has_table = false;
  ExpectFailure("duplicate t to c9", "name its meta servers in [pegasus.clusters]");
  ExpectFailure("duplicate t to c1", "is this one");
  ExpectFailure("duplicate u to c2", "there is no table u; ls lists them");
  ExpectFailure("duplicate t to c2 --from-now", "create it there with 2 partitions");
  there_->has_table = true;
  ExpectFailure("duplicate t to c2", "is there already: drop or rename it there");
  there_->partition_count = 8;
  ExpectFailure("duplicate t to c2", "has 8 partitions, not 2");
  ExpectFailure("duplicate t to c2 --from-now", "has 8 partitions, not 2");
  (*here_->duplications.clusters)["c2"] = "";
  ExpectFailure("duplicate t to c2", "can't be looked up");
  (*here_->duplications.clusters)["c2"] = "127.0.0.1:1";
  ExpectFailure("timeout 300; duplicate t to c2", "no meta server of cluster c2 answers");
  EXPECT_EQ(here_->added, 0);
}

TEST_F(DuplicateCommandsTest, AClusterWithoutAnIdIsExplained) {
  there_->has_table = false;
  here_->add_answer = {.err = ErrorCode::kInvalidParameters,
                       .hint =
                           "get_duplication_cluster_id(c2) failed, error: it is not in "
                           "[duplication-group]"};
  ExpectFailure("duplicate t to c2", "name both clusters in [duplication-group] of every server");
}

TEST_F(DuplicateCommandsTest, ItIsSetUpWaitedForAndCompared) {
  const auto [code, printed] = Say("duplicate t to c2 --from-now");
  EXPECT_EQ(code, ExitCode::kOk) << printed;
  EXPECT_EQ(here_->added, 1);
  EXPECT_THAT(printed, HasSubstr(R"("verdict":"equal","partitions":2,"records":4,"different":0)"));
  // Given again, it goes on with what is there.
  EXPECT_EQ(Say("duplicate t to c2").first, ExitCode::kOk);
  EXPECT_EQ(here_->added, 1);
  ExpectFailure("duplicate t to c2 -a other", "it is duplicated there already");
  there_->Put("a", "other");
  EXPECT_EQ(Say("duplicate t to c2").first, ExitCode::kUnhealthy);
  here_->duplications.entry_list[0].status = static_cast<int32_t>(DuplicationStatus::kPause);
  ExpectFailure("duplicate t to c2", "start_dup t 17");
}

TEST_F(DuplicateCommandsTest, RecordsThatDifferAreNamedWithWhatEachSideHas) {
  Duplicated();
  const auto [equal, no_difference] = Say("duplication verify t");
  EXPECT_EQ(equal, ExitCode::kOk) << no_difference;
  EXPECT_THAT(no_difference, Not(HasSubstr("differences")));
  here_->Put("only here", "1");
  there_->Put(std::string("\x01", 1), "1");
  there_->Put("b", "2", kLater + 1);
  there_->Put("a", "other");
  const auto [code, printed] = Say("duplication verify t c2");
  EXPECT_EQ(code, ExitCode::kUnhealthy) << printed;
  EXPECT_THAT(printed, HasSubstr(R"("verdict":"different")"));
  EXPECT_THAT(printed, HasSubstr(R"("different":8,"changing":0)"));  // four in each partition
  EXPECT_THAT(printed,
              HasSubstr(R"({"partition":1,"hash_key":"h","sort_key":"\\x01",)"
                        R"("difference":"missing here","here":"missing","there":"1 bytes)"));
  EXPECT_THAT(printed, HasSubstr(R"("sort_key":"only here","difference":"missing there")"));
  EXPECT_THAT(printed, HasSubstr(R"("sort_key":"a","difference":"other value")"));
  EXPECT_THAT(printed, HasSubstr(R"("sort_key":"b","difference":"other expiry")"));
  EXPECT_THAT(printed, HasSubstr("expires 2063-"));
  const std::string values = Say("duplication verify t --without-expiry").second;
  EXPECT_THAT(values, HasSubstr(R"("different":6,)"));
  EXPECT_THAT(values, HasSubstr(R"("expiries":"not compared")"));
  EXPECT_THAT(values, Not(HasSubstr("expires")));
  const std::string few = Say("duplication verify t -n 1").second;
  EXPECT_EQ(std::count(few.begin(), few.end(), '{'), 2) << few;
}

TEST_F(DuplicateCommandsTest, WhatCanNotBeComparedIsSaid) {
  ExpectFailure("duplication verify t", "the table has no duplication", ExitCode::kUsage);
  ExpectFailure("duplication verify t c9", "[pegasus.clusters]");
  ExpectFailure("duplication verify t --to-meta " + here_.address(), "compared with itself",
                ExitCode::kUsage);
  ExpectFailure("timeout 300; duplication verify t --to-meta 127.0.0.1:1", "answers");
  Duplicated(DuplicationStatus::kPause);
  ExpectFailure("duplication verify t", "start_dup t 17 lets it go on");
  Duplicated();
  there_->partition_count = 4;
  ExpectFailure("duplication verify t", "has 4 partitions, and t here has 2");
  there_->has_table = false;
  ExpectFailure("duplication verify t", "there is no table t of cluster c2");
  here_->duplications.clusters.reset();  // a meta server of 2.5.0
  ExpectFailure("duplication verify t", "name the meta servers themselves");
}

}  // namespace
}  // namespace arion::shell
