// meta_leader, over meta servers that answer by functions.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "messages/admin_messages.h"
#include "tests/shell/scripted_meta.h"

namespace arion::shell {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kSince = 1700000000000;

// Three of them, of which the one of that number leads; -1: nobody.
class MetaCommandsTest : public testing::Test {
 protected:
  MetaCommandsTest() {
    for (int n = 0; n < 3; ++n)
      servers_.push_back(std::make_unique<ScriptedMeta>(std::map<std::string, ScriptedMeta::Answer>{
          {kRpcQueryLead,
           [this, n](const std::string&) {
             QueryLeadResponse answer{.is_leader = n == leader_};
             if (leader_ >= 0) answer.leader = servers_[static_cast<size_t>(leader_)]->address();
             if (answer.is_leader) answer.since_unix_ms = kSince;
             return EncodeWrapped(answer);
           }},
          {kRpcHandOverLead, [this](const std::string&) {
             ++asked_;
             if (answer_.err == ErrorCode::kOk) leader_ = next_.load();
             return EncodeWrapped(answer_);
           }}}));
  }
  std::pair<ExitCode, std::string> Say(const std::string& commands, size_t servers = 3) {
    std::vector<Endpoint> addresses;
    for (size_t i = 0; i < servers; ++i) addresses.push_back(servers_[i]->address());
    Cluster cluster(addresses);
    Session session(&cluster, OutputForm::kJson, [](const std::string&) { return false; });
    testing::internal::CaptureStdout();
    const ExitCode code = session.Run(commands);
    return {code, testing::internal::GetCapturedStdout()};
  }
  std::string Address(size_t n) const { return servers_[n]->address().ToString(); }

  std::atomic<int> leader_{1}, next_{2}, asked_{0};
  HandOverLeadResponse answer_;
  std::vector<std::unique_ptr<ScriptedMeta>> servers_;
};

TEST_F(MetaCommandsTest, ShowsWhoLeadsAndWhatTheOthersSay) {
  auto [code, said] = Say("meta_leader");
  EXPECT_EQ(code, ExitCode::kOk) << said;
  EXPECT_THAT(said, AllOf(HasSubstr("\"leader\":\"" + Address(1) + "\""), HasSubstr("2023-11-1"),
                          HasSubstr("follows " + Address(1))));
  // The leader is shown also where the shell was not given its address.
  std::tie(code, said) = Say("meta_leader", 1);
  EXPECT_EQ(code, ExitCode::kOk) << said;
  EXPECT_THAT(said, HasSubstr("\"address\":\"" + Address(1) + "\""));
  leader_ = -1;
  std::tie(code, said) = Say("meta_leader");
  EXPECT_EQ(code, ExitCode::kUnhealthy);
  EXPECT_THAT(said, HasSubstr("knows no leader"));
}

TEST_F(MetaCommandsTest, OneThatIsAwayIsNotPassedOver) {
  const std::string away = Address(2);
  servers_.pop_back();
  std::vector<Endpoint> addresses = {servers_[0]->address(), servers_[1]->address(),
                                     *Endpoint::Parse(away)};
  Cluster cluster(addresses);
  Session session(&cluster, OutputForm::kJson, [](const std::string&) { return false; });
  testing::internal::CaptureStdout();
  const ExitCode code = session.Run("meta_leader");
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, ExitCode::kUnhealthy) << said;
  EXPECT_THAT(said, HasSubstr("does not answer: " + away));
}

TEST_F(MetaCommandsTest, HandsOverAndSaysWhoLeadsNow) {
  const auto [code, said] = Say("meta_leader hand-over");
  EXPECT_EQ(code, ExitCode::kOk) << said;
  EXPECT_EQ(asked_, 1);
  EXPECT_THAT(said, AllOf(HasSubstr("\"leader\":\"" + Address(2) + "\""),
                          HasSubstr("\"former_leader\":\"" + Address(1) + "\""),
                          HasSubstr("\"took_ms\":")));
}

TEST_F(MetaCommandsTest, ARefusalIsToldWithItsReason) {
  answer_ = {ErrorCode::kInvalidState, "nobody else stands"};
  const auto [code, said] = Say("meta_leader hand-over");
  EXPECT_EQ(code, ExitCode::kFailed);
  EXPECT_THAT(said, HasSubstr("nobody else stands"));
  EXPECT_EQ(leader_, 1);
}

TEST_F(MetaCommandsTest, IsNotRepeatedForAWatcher) {
  EXPECT_EQ(Say("meta_leader hand-over --watch").first, ExitCode::kUsage);
  EXPECT_EQ(Say("meta_leader over").first, ExitCode::kUsage);
  EXPECT_EQ(asked_, 0);
}

// Before the question was there, one of ours that knew no leader answered so to anything.
TEST(OlderMetaServers, OfOursThatKnowNoLeaderAreFollowers) {
  ScriptedMeta follower(
      {{kRpcQueryLead, [](const std::string&) { return EncodeWrapped(ForwardResponse()); }}});
  const auto [code, said] = Say(follower, "meta_leader");
  EXPECT_EQ(code, ExitCode::kUnhealthy);
  EXPECT_THAT(said, HasSubstr("follows, knows no leader"));
}

// Pegasus' know neither question, and say who leads where they are asked for routes.
TEST(OlderMetaServers, SayItIfAskedForRoutes) {
  const Endpoint leader{0x7f000001, 1};
  ScriptedMeta follower({{kRpcQueryConfig, [&](const std::string&) {
                            QueryConfigResponse answer{.err = ErrorCode::kForwardToOthers};
                            answer.partitions.push_back({.primary = leader});
                            return EncodeWrapped(answer);
                          }}});
  auto [code, said] = Say(follower, "meta_leader");
  EXPECT_EQ(code, ExitCode::kUnhealthy) << "its leader does not answer: " << said;
  EXPECT_THAT(said, HasSubstr("follows 127.0.0.1:1"));
  ScriptedMeta leads({{kRpcQueryConfig, [&](const std::string&) {
                         return EncodeWrapped(
                             QueryConfigResponse{.err = ErrorCode::kObjectNotFound});
                       }}});
  std::tie(code, said) = Say(leads, "meta_leader");
  EXPECT_EQ(code, ExitCode::kOk) << said;
  EXPECT_THAT(said, HasSubstr("\"leader\":\"" + leads.address().ToString() + "\""));
  std::tie(code, said) = Say(leads, "meta_leader hand-over");
  EXPECT_EQ(code, ExitCode::kFailed);
  EXPECT_THAT(said, HasSubstr("SIGTERM"));
}

}  // namespace
}  // namespace arion::shell
