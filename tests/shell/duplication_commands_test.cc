// Commands on duplications, over a server that is meta server.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "messages/duplication_messages.h"
#include "rpc/thrift_codec.h"
#include "tests/shell/scripted_meta.h"

namespace arion::shell {
namespace {

class DuplicationCommandsTest : public testing::Test {
 protected:
  DuplicationCommandsTest()
      : meta_({{kRpcAddDuplication,
                [this](const std::string& body) {
                  added_.push_back(*DecodeWrapped<AddDuplicationRequest>(body));
                  return EncodeWrapped(add_answer_);
                }},
               {kRpcModifyDuplication,
                [this](const std::string& body) {
                  modified_.push_back(*DecodeWrapped<ModifyDuplicationRequest>(body));
                  return EncodeWrapped(modify_answer_);
                }},
               {kRpcQueryDuplication,
                [this](const std::string&) { return EncodeWrapped(query_answer_); }}}) {}
  std::pair<ExitCode, std::string> Say(const std::string& commands) {
    return shell::Say(meta_, commands);
  }

  // Touched by the server's thread only while a command waits for its answer.
  std::vector<AddDuplicationRequest> added_;
  std::vector<ModifyDuplicationRequest> modified_;
  AddDuplicationResponse add_answer_{.appid = 3, .dupid = 17};
  ModifyDuplicationResponse modify_answer_{.appid = 3};
  QueryDuplicationResponse query_answer_{.appid = 3};
  ScriptedMeta meta_;
};

TEST_F(DuplicationCommandsTest, OneIsAddedWithOrWithoutWhatIsThere) {
  const auto [code, printed] = Say("add_dup t c2");
  EXPECT_EQ(code, ExitCode::kOk) << printed;
  EXPECT_EQ(printed, R"({"table":"t","remote_cluster":"c2","app_id":3,"dup_id":17,"hint":""})"
                     "\n");
  EXPECT_EQ(Say("add_dup t c2 -s").first, ExitCode::kOk);
  EXPECT_EQ(Say("add_dup t c2 --sst -a other -r 1").first, ExitCode::kOk);
  EXPECT_EQ(added_, (std::vector<AddDuplicationRequest>{
                        {"t", "c2", false}, {"t", "c2", true}, {"t", "c2", true, "other", 1}}));
  for (const char* wrong : {"add_dup", "add_dup t", "add_dup t c2 x", "add_dup t c2 -r 0"})
    EXPECT_EQ(Say(wrong).first, ExitCode::kUsage) << wrong;
  add_answer_ = {.err = ErrorCode::kInvalidParameters, .hint = "to itself"};
  const auto [failed, why] = Say("add_dup t c2");
  EXPECT_EQ(failed, ExitCode::kUsage);
  EXPECT_NE(why.find("to itself"), std::string::npos) << why;
}

TEST_F(DuplicationCommandsTest, OneIsChangedByItsId) {
  for (const char* command : {"start_dup t 17", "pause_dup t 17", "remove_dup t 17",
                              "set_dup_fail_mode t 17 skip", "set_dup_fail_mode t 17 slow"})
    EXPECT_EQ(Say(command).first, ExitCode::kOk) << command;
  EXPECT_EQ(modified_, (std::vector<ModifyDuplicationRequest>{{"t", 17, 3},
                                                              {"t", 17, 4},
                                                              {"t", 17, 5},
                                                              {"t", 17, std::nullopt, 1},
                                                              {"t", 17, std::nullopt, 0}}));
  for (const char* wrong : {"start_dup t", "pause_dup t x", "remove_dup", "set_dup_fail_mode t 17",
                            "set_dup_fail_mode t 17 fast", "set_dup_fail_mode t slow"})
    EXPECT_EQ(Say(wrong).first, ExitCode::kUsage) << wrong;
  modify_answer_ = {.err = ErrorCode::kObjectNotFound};
  EXPECT_EQ(Say("start_dup t 18").first, ExitCode::kFailed);
}

TEST_F(DuplicationCommandsTest, ItIsShownHowFarTheyLag) {
  DuplicationEntry entry{.dupid = 17, .status = 3, .remote = "c2", .fail_mode = 1};
  entry.partition_states = {{0, {10, 15}}, {1, {-1, 4}}};
  entry.troubles = {{1, "no\nway"}};
  entry.unconfirmed_bytes = {{0, 100}, {1, 20}};
  query_answer_.entry_list = {entry};
  auto [code, printed] = Say("query_dup t");
  EXPECT_EQ(code, ExitCode::kOk) << printed;
  EXPECT_NE(printed.find(R"("status":"DS_LOG","remote_cluster":"c2","remote_table":"t",)"
                         R"("fail_mode":"FAIL_SKIP")"),
            std::string::npos)
      << printed;
  EXPECT_NE(printed.find(R"("lag_mutations":9,"lag_bytes":120,"lag_seconds":0,)"
                         R"("trouble":"partition 1: no\\nway")"),
            std::string::npos)
      << printed;
  EXPECT_EQ(printed.find("partitions"), std::string::npos);
  std::tie(code, printed) = Say("query_dup t -d");
  EXPECT_NE(printed.find(R"("dup_id":17,"partition":0,"confirmed_decree":10,)"
                         R"("committed_decree":15,"lag_mutations":5,"lag_bytes":100)"),
            std::string::npos)
      << printed;
  // A primary that has not said yet; and what 2.5.0's meta server answers.
  query_answer_.entry_list[0].partition_states->at(0).last_committed_decree = -1;
  EXPECT_NE(Say("query_dup t").second.find(R"("lag_mutations":-1)"), std::string::npos);
  query_answer_.entry_list = {{.dupid = 1, .status = 77, .remote = "c2"}};
  EXPECT_NE(Say("query_dup t -d").second.find(R"("status":"DS_UNKNOWN")"), std::string::npos);
  EXPECT_EQ(Say("query_dup").first, ExitCode::kUsage);
}

}  // namespace
}  // namespace arion::shell
