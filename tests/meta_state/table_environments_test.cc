// SPDX-License-Identifier: Apache-2.0
#include "meta_state/table_environments.h"
#include "messages/index_definition.h"
#include "meta_state/cluster_state.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

class JudgeEnvironmentsTest : public testing::Test {
 protected:
  JudgeEnvironmentsTest() {
    table_.info = {.status = AppStatus::kAvailable, .app_name = "t", .app_id = 1};
    table_.info.envs = {{"a", "1"}, {"a.b", "2"}, {"a.b.c", "3"}, {"ab.c", "4"}};
  }
  using Envs = std::map<std::string, std::string>;
  EnvironmentJudgement Judge(UpdateAppEnvRequest request) {
    request.app_name = "t";
    return JudgeEnvironments(&table_, request);
  }
  EnvironmentJudgement Set(std::vector<std::string> keys, std::vector<std::string> values) {
    return Judge({.op = EnvOperation::kSet, .keys = keys, .values = values});
  }
  EnvironmentJudgement Clear(std::string prefix) {
    return Judge({.op = EnvOperation::kClear, .clear_prefix = prefix});
  }
  Table table_;
};

TEST_F(JudgeEnvironmentsTest, SettingIsAllOrNothingAndRaisesTheVersion) {
  EnvironmentJudgement judgement = Set({"default_ttl", "business.info"}, {"100", "ours"});
  EXPECT_EQ(judgement.response.err, ErrorCode::kOk);
  ASSERT_TRUE(judgement.next);
  EXPECT_EQ(judgement.next->envs.at("default_ttl"), "100");
  EXPECT_EQ(judgement.next->envs.size(), 6u);
  EXPECT_EQ(judgement.next->version, 1);

  judgement = Set({"business.info", "default_ttl"}, {"ours", "-5"});
  EXPECT_EQ(judgement.response.err, ErrorCode::kInvalidParameters);
  EXPECT_EQ(judgement.response.hint_message,
            "app_env 'default_ttl' can't be '-5': expected a whole number from 0 to 2147483647");
  EXPECT_FALSE(judgement.next);
}

TEST_F(JudgeEnvironmentsTest, UnknownKeysAndOnesThatDoNothingHereAreRefusedByName) {
  EXPECT_EQ(Set({"nonsense"}, {"1"}).response.hint_message,
            "app_env 'nonsense' is not supported: nobody knows it");
  EXPECT_EQ(Set({"rocksdb.usage_scenario"}, {"bulk_load"}).response.hint_message,
            "app_env 'rocksdb.usage_scenario' is not supported: Arion does not act on it, so it "
            "can't be set");
  for (auto& judgement : {Set({}, {}), Set({"default_ttl"}, {}), Set({"default_ttl"}, {"1", "2"}),
                          Judge({.op = EnvOperation::kSet}), Judge({})}) {
    EXPECT_EQ(judgement.response.err, ErrorCode::kInvalidParameters);
    EXPECT_FALSE(judgement.next);
  }
  EXPECT_EQ(Set({"business.info"}, {std::string(1 << 20, 'x')}).response.err,
            ErrorCode::kInvalidParameters);
}

TEST_F(JudgeEnvironmentsTest, SeveralIndexesAreSetByOneRequestOrNone) {
  const EnvironmentJudgement both = Set({"index.city", "index.all"}, {"$.city", "value"});
  ASSERT_TRUE(both.next);
  EXPECT_EQ(both.next->envs.at("index.city"), "$.city");
  EXPECT_EQ(both.next->envs.at("index.all"), "value");
  const EnvironmentJudgement bad = Set({"index.city", "index.all"}, {"$.city", "all"});
  EXPECT_EQ(bad.response.err, ErrorCode::kInvalidParameters);
  EXPECT_EQ(bad.response.hint_message.find("app_env 'index.all' can't be 'all': "), 0u)
      << bad.response.hint_message;
  EXPECT_FALSE(bad.next);
}

TEST_F(JudgeEnvironmentsTest, ATableHasABoundedNumberOfIndexes) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < kIndexesMax; ++i) keys.push_back(IndexEnvKey(std::to_string(i)));
  const std::vector<std::string> values(keys.size(), "value");
  const EnvironmentJudgement most = Set(keys, values);
  ASSERT_TRUE(most.next) << most.response.hint_message;
  table_.info = *most.next;
  EXPECT_TRUE(Set({keys.front()}, {"$.other"}).next) << "one that is there is replaced";
  EXPECT_TRUE(Set({"business.info"}, {"ours"}).next) << "other settings are as free as before";
  const EnvironmentJudgement more = Set({"index.more"}, {"value"});
  EXPECT_FALSE(more.next);
  EXPECT_EQ(more.response.err, ErrorCode::kInvalidParameters);
  EXPECT_EQ(more.response.hint_message,
            "the table would have 65 indexes; at most 64. drop_index removes one");
}

TEST_F(JudgeEnvironmentsTest, TenThousandIndexesAreRefusedBeforeTheyAreRead) {
  std::vector<std::string> keys;
  for (int i = 0; i < 10'000; ++i) keys.push_back(IndexEnvKey(std::to_string(i)));
  const EnvironmentJudgement judgement =
      Set(keys, std::vector<std::string>(keys.size(), "not even a definition"));
  EXPECT_FALSE(judgement.next);
  EXPECT_EQ(judgement.response.hint_message,
            "the table would have 10000 indexes; at most 64. drop_index removes one");
}

TEST_F(JudgeEnvironmentsTest, DeletingNamesWhatItDeletedAndPassesOverTheRest) {
  EnvironmentJudgement judgement =
      Judge({.op = EnvOperation::kDelete, .keys = std::vector<std::string>{"ab.c", "z", "a"}});
  EXPECT_EQ(judgement.response.hint_message, "deleted keys:\n    ab.c\n    a");
  ASSERT_TRUE(judgement.next);
  EXPECT_EQ(judgement.next->envs, (Envs{{"a.b", "2"}, {"a.b.c", "3"}}));
  judgement = Judge({.op = EnvOperation::kDelete, .keys = std::vector<std::string>{"z"}});
  EXPECT_EQ(judgement.response.err, ErrorCode::kOk);
  EXPECT_EQ(judgement.response.hint_message, "no key needs to be deleted");
  EXPECT_FALSE(judgement.next);
}

TEST_F(JudgeEnvironmentsTest, ClearingGoesByPrefixAndADot) {
  EXPECT_EQ(Clear("a").next->envs, (Envs{{"a", "1"}, {"ab.c", "4"}}));
  EXPECT_EQ(Clear("a.b").next->envs, (Envs{{"a", "1"}, {"a.b", "2"}, {"ab.c", "4"}}));
  EXPECT_EQ(Clear("").next->envs, Envs{});
  EXPECT_FALSE(Clear("b").next);
}

TEST_F(JudgeEnvironmentsTest, ATableThatIsGoneOrGoingIsNotChanged) {
  EXPECT_EQ(JudgeEnvironments(nullptr, {}).response.err, ErrorCode::kAppNotExist);
  EXPECT_EQ(JudgeEnvironments(nullptr, {}).response.hint_message, "app cannot be found");
  for (auto [status, error] : {std::pair(AppStatus::kDropping, ErrorCode::kBusyDropping),
                               std::pair(AppStatus::kRecalling, ErrorCode::kBusyCreating),
                               std::pair(AppStatus::kCreating, ErrorCode::kBusyCreating),
                               std::pair(AppStatus::kDropped, ErrorCode::kAppDropped)}) {
    table_.info.status = status;
    EXPECT_EQ(Clear("").response.err, error);
    EXPECT_FALSE(Clear("").next);
  }
}

}  // namespace
}  // namespace arion
