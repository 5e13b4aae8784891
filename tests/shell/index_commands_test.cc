// Commands on indexes, over one server that is meta server and primary of all partitions.
// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/commands/index_commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/error_code.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "messages/index_messages.h"
#include "rpc/thrift_codec.h"
#include "tests/shell/scripted_meta.h"

namespace arion::shell {
namespace {

class IndexCommandsTest : public testing::Test {
 protected:
  static constexpr int kPartitions = 2;

  IndexCommandsTest()
      : meta_({{kRpcListApps,
                [this](const std::string&) {
                  ListAppsResponse answer = OneTable(kPartitions);
                  answer.infos[0].envs = envs_;
                  return EncodeWrapped(answer);
                }},
               {kRpcQueryConfig,
                [this](const std::string& body) {
                  return EncodeWrapped(PartitionsOfOneTable(body, kPartitions, meta_.address()));
                }},
               {kRpcClusterInfo,
                [](const std::string&) { return EncodeWrapped(ClusterInfoResponse()); }},
               {kRpcUpdateAppEnv,
                [this](const std::string& body) {
                  updates_.push_back(*DecodeWrapped<UpdateAppEnvRequest>(body));
                  return EncodeWrapped(update_answer_);
                }},
               {kRpcFind, [this](const std::string& body) {
                  found_.push_back(*DecodeWrapped<FindRequest>(body));
                  const FindResponse answer =
                      find_answers_.empty() ? FindResponse() : find_answers_.front();
                  if (!find_answers_.empty()) find_answers_.erase(find_answers_.begin());
                  return EncodeWrapped(answer);
                }}}) {}
  std::pair<ExitCode, std::string> Say(const std::string& commands) {
    return shell::Say(meta_, commands);
  }
  using Texts = std::vector<std::string>;
  static FindResponse Failed(StorageError error, int32_t percent = 0) {
    return {.error = static_cast<int32_t>(error), .built_percent = percent};
  }

  // Touched by the server's thread only while a command waits for its answer.
  std::map<std::string, std::string> envs_;
  std::vector<UpdateAppEnvRequest> updates_;
  HintResponse update_answer_;
  std::vector<FindRequest> found_;
  std::vector<FindResponse> find_answers_;
  ScriptedMeta meta_;
};

TEST_F(IndexCommandsTest, AllIndexesOfACommandAreMadeByOneRequest) {
  const auto [code, printed] =
      Say("create_index t city on $.customer.city, head on bytes(0, 8), all on value");
  EXPECT_EQ(code, ExitCode::kOk) << printed;
  ASSERT_EQ(updates_.size(), 1u);
  EXPECT_EQ(updates_[0].app_name, "t");
  EXPECT_EQ(updates_[0].op, EnvOperation::kSet);
  EXPECT_EQ(*updates_[0].keys, (Texts{"index.city", "index.head", "index.all"}));
  EXPECT_EQ(*updates_[0].values, (Texts{"$.customer.city", "bytes(0,8)", "value"}));
  EXPECT_NE(printed.find("\"created\":[\"city\",\"head\",\"all\"],\"existed\":[]"),
            std::string::npos)
      << printed;
}

TEST_F(IndexCommandsTest, OneThatExistsIsLeftAloneAndAnotherOfItsNameRefused) {
  envs_ = {{"index.city", "$.city;generation=3;paused"}, {"index.odd", "from the future"}};
  EXPECT_EQ(Say("create_index t city on $.city").first, ExitCode::kOk);
  EXPECT_TRUE(updates_.empty()) << "it is there";
  EXPECT_EQ(Say("create_index t city on $.city, b on value").first, ExitCode::kOk);
  ASSERT_EQ(updates_.size(), 1u);
  EXPECT_EQ(*updates_[0].keys, (Texts{"index.b"}));
  for (const char* other : {"city on $.town", "c on value, city on $.town", "odd on value"}) {
    const auto [code, printed] = Say(absl::StrCat("create_index t ", other));
    EXPECT_EQ(code, ExitCode::kFailed) << other;
    EXPECT_NE(printed.find("nothing was done: there is an index "), std::string::npos) << printed;
  }
  EXPECT_EQ(updates_.size(), 1u);
}

TEST_F(IndexCommandsTest, WrongWordsAreUsageAndChangeNothing) {
  for (const char* bad : {"create_index",
                          "create_index t",
                          "create_index t a on",
                          "create_index t a on city",
                          "create_index t a.b on value",
                          "create_index t a on value, a on value",
                          "drop_index t",
                          "drop_index t a b",
                          "rebuild_index t",
                          "pause_index",
                          "resume_index t",
                          "indexes",
                          "indexes a b",
                          "find t",
                          "find",
                          "find t city =",
                          "find t city is 5",
                          "find t city -n 0",
                          "find t city -n many",
                          "find t city --after ''",
                          "find t city --backwards"}) {
    const auto [code, printed] = Say(bad);
    EXPECT_EQ(code, ExitCode::kUsage) << bad << ": " << printed;
    EXPECT_NE(printed.find("usage: "), std::string::npos) << printed;
  }
  EXPECT_TRUE(updates_.empty());
  EXPECT_TRUE(found_.empty());
  EXPECT_EQ(Say("drop_index t a").first, ExitCode::kFailed) << "there is none of that name";
  EXPECT_EQ(Say("create_index nobody a on value").first, ExitCode::kFailed);
}

TEST_F(IndexCommandsTest, WhatTheMetaServerRefusesIsAFailureWithItsReason) {
  update_answer_ = {ErrorCode::kInvalidParameters, "the table would have 65 indexes; at most 64"};
  const auto [code, printed] = Say("create_index t a on value");
  EXPECT_EQ(code, ExitCode::kFailed);
  EXPECT_NE(printed.find("the table would have 65 indexes"), std::string::npos) << printed;
}

TEST_F(IndexCommandsTest, AnIndexIsRebuiltPausedResumedAndDropped) {
  const auto set = [this](const std::string& command, const std::string& before) {
    envs_ = {{"index.city", before}};
    updates_.clear();
    const auto [code, printed] = Say(command + " t city");
    EXPECT_EQ(code, ExitCode::kOk) << printed;
    return updates_.empty() ? std::string("unchanged") : updates_[0].values->at(0);
  };
  EXPECT_EQ(set("rebuild_index", "$.city"), "$.city;generation=1");
  EXPECT_EQ(set("rebuild_index", "$.city;generation=1;paused"), "$.city;generation=2;paused");
  EXPECT_EQ(set("pause_index", "$.city"), "$.city;paused");
  EXPECT_EQ(set("pause_index", "$.city;paused"), "unchanged");
  EXPECT_EQ(set("resume_index", "$.city;generation=4;paused"), "$.city;generation=4");
  EXPECT_EQ(set("resume_index", "$.city"), "unchanged");
  updates_.clear();
  EXPECT_EQ(Say("drop_index t city").first, ExitCode::kOk);
  ASSERT_EQ(updates_.size(), 1u);
  EXPECT_EQ(updates_[0].op, EnvOperation::kDelete);
  EXPECT_EQ(*updates_[0].keys, (Texts{"index.city"}));
}

TEST_F(IndexCommandsTest, TheListTellsHowFarTheyAre) {
  envs_ = {{"default_ttl", "5"},      {"index.a", "value"}, {"index.b", "$.b"},
           {"index.c", "$.c;paused"}, {"index.d", "$.d"},   {"index.e", "from the future"}};
  find_answers_ = {{.built_percent = 100, .entries = 7, .left_out = 1},
                   {.built_percent = 100, .entries = 8},
                   {.built_percent = 100},
                   {.error = static_cast<int32_t>(StorageError::kTryAgain),
                    .built_percent = 25,
                    .server = "10.0.0.1:1",
                    .left_bytes = 7500,
                    .bytes_per_second = 2500},
                   {.built_percent = 10},
                   {.built_percent = 20},
                   {.built_percent = 100,
                    .server = "10.0.0.1:1",
                    .is_renewed = true,
                    .left_bytes = 9000,
                    .bytes_per_second = 2500},
                   Failed(StorageError::kNotFound)};
  const auto [code, printed] = Say("indexes t");
  EXPECT_EQ(code, ExitCode::kOk) << printed;
  for (const char* row :
       {R"({"name":"a","definition":"value","state":"whole","percent":100,"mean_percent":100.0,)"
        R"("entries":15,"left_out":1,"seconds_left":0})",
        R"("name":"b","definition":"$.b","state":"building","percent":25,"mean_percent":62.5,)"
        R"("entries":0,"left_out":0,"seconds_left":4})",
        R"("name":"c","definition":"$.c;paused","state":"paused","percent":10,)",
        R"("name":"d","definition":"$.d","state":"spreading","percent":0,"mean_percent":50.0,)"
        R"("entries":0,"left_out":0,"seconds_left":-1})",
        R"("building":[{"server":"","left_bytes":0,"bytes_per_second":0,"seconds_left":0},)"
        R"({"server":"10.0.0.1:1","left_bytes":9000,"bytes_per_second":2500,"seconds_left":4}])",
        R"("name":"e","definition":"from the future","state":"unreadable")"})
    EXPECT_NE(printed.find(row), std::string::npos) << row << "\n" << printed;
  EXPECT_EQ(found_.size(), 8u);
  EXPECT_TRUE(std::all_of(found_.begin(), found_.end(), [](const FindRequest& request) {
    return request.limit == 0 && request.may_scan;
  }));
}

TEST_F(IndexCommandsTest, FoundRowsAreShownWithTheirFieldsAndWhereToGoOn) {
  const auto row = [](const std::string& key, FieldValue field) {
    return FoundRow{.key = JoinRawKey("h", key),
                    .field = std::move(field),
                    .position = key,
                    .value = Blob("v\n")};
  };
  find_answers_ = {{.rows = {row("a", FieldValue::Of(int64_t{5})), row("c", FieldValue::Of(5.5))},
                    .next = Blob("c")},
                   {.rows = {row("b", FieldValue::Of(true))}}};
  const auto [code, printed] = Say("find t city between 5 6 -n 2 --values --scan --after \\x00a");
  EXPECT_EQ(code, ExitCode::kOk);
  EXPECT_EQ(printed,
            R"({"count":2,"complete":"no","next":"\\x62","rows":[)"
            R"({"field":"5","type":"integer","hash_key":"h","sort_key":"a","value":"v\\n"},)"
            R"({"field":"true","type":"bool","hash_key":"h","sort_key":"b","value":"v\\n"}]})"
            "\n");
  ASSERT_EQ(found_.size(), 2u);
  EXPECT_EQ(found_[0], (FindRequest{.index = "city",
                                    .lower = FieldValue::Of(int64_t{5}),
                                    .upper = FieldValue::Of(int64_t{6}),
                                    .limit = 2,
                                    .with_value = true,
                                    .after = Blob(std::string("\0a", 2)),
                                    .may_scan = true}));
  found_.clear();
  EXPECT_EQ(Say("find t city prefix Be --descending").second,
            "{\"count\":0,\"complete\":\"yes\",\"next\":\"\",\"rows\":[]}\n");
  ASSERT_EQ(found_.size(), 2u);
  EXPECT_EQ(found_[0], (FindRequest{.index = "city", .prefix = Blob("Be"), .descending = true}));
}

TEST_F(IndexCommandsTest, WhatCantBeFoundIsAFailureThatSaysWhy) {
  const auto fails = [this](const FindResponse& answer) {
    find_answers_ = {answer, answer};
    const auto [code, printed] = Say("find t city = 5");
    EXPECT_EQ(code, ExitCode::kFailed) << printed;
    return printed;
  };
  EXPECT_NE(fails(Failed(StorageError::kNotFound)).find("no such index"), std::string::npos);
  EXPECT_NE(fails(Failed(StorageError::kTryAgain, 62)).find("index is being built, 62 %"),
            std::string::npos);
  EXPECT_NE(fails(Failed(StorageError::kInvalidArgument)).find("do not fit the index"),
            std::string::npos);
  EXPECT_EQ(Say("find nobody city = 5").first, ExitCode::kFailed);
}

TEST_F(IndexCommandsTest, NamesAreCompleted) {
  envs_ = {{"index.city", "$.city"}, {"index.country", "value"}, {"default_ttl", "5"}};
  Cluster cluster({meta_.address()});
  Session session(&cluster, OutputForm::kText, [](const std::string&) { return false; });
  EXPECT_EQ(session.Complete("find "), (Texts{"t"}));
  EXPECT_EQ(session.Complete("drop_index t c"), (Texts{"city", "country"}));
  EXPECT_EQ(session.Complete("create_index "), (Texts{"t"}));
  EXPECT_EQ(session.Complete("find t city = "), Texts{});
  EXPECT_EQ(session.Complete("find t city --s"), (Texts{"--scan"}));
  EXPECT_EQ(session.Complete("set_app_envs index."), (Texts{"index.NAME"}));
  EXPECT_EQ(session.Complete("set_app_envs index.city "), (Texts{"$.customer.city"}));
}

}  // namespace
}  // namespace arion::shell
