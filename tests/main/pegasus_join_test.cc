// SPDX-License-Identifier: Apache-2.0
#include "main/pegasus_join.h"
#include "env/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"

namespace arion {
namespace {

using testing::HasSubstr;
using testing::Not;
constexpr Endpoint kA{.ip = 0x7f000001, .port = 34801}, kB{.ip = 0x7f000001, .port = 34802};

class HandClock : public Clock {
 public:
  Instant Now() const override { return Instant(1); }
  int64_t WallMicros() const override { return 0; }
};

class PegasusJoinTest : public testing::Test {
 protected:
  HandClock clock_;
  OlderServers older_{OlderServersPolicy("prod"), clock_};
};

TEST_F(PegasusJoinTest, TheNoticeNamesTheOlderServersThatLiveAndWhatToDo) {
  ClusterOverview overview;
  overview.servers = {{.address = kA, .is_alive = true, .is_older = true},
                      {.address = kB, .is_alive = true}};
  const auto notice = OlderServersNotice(older_, overview, "prod");
  ASSERT_TRUE(notice.has_value());
  EXPECT_TRUE(notice->is_notice);
  EXPECT_EQ(notice->count, 1);
  EXPECT_THAT(notice->problem, HasSubstr("127.0.0.1:34801"));
  EXPECT_THAT(notice->problem, Not(HasSubstr("34802")));
  EXPECT_THAT(notice->way, Not(HasSubstr("configuration")));
  overview.servers[0].is_alive = false;
  const auto none = OlderServersNotice(older_, overview, "prod");
  EXPECT_EQ(none->count, 0);
  EXPECT_THAT(none->way, HasSubstr("end_join"));
  older_.SetPolicy(OlderServersPolicy(""));
  EXPECT_EQ(OlderServersNotice(older_, overview, "prod"), std::nullopt);
}

TEST_F(PegasusJoinTest, TheLogIsRemindedAtTheStartAndEveryTenMinutesWhileItLasts) {
  JoinReminder reminder(older_, "prod");
  older_.NoteHeard(kA);
  const auto lines = [&](int minutes) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < minutes; ++i) reminder.OnMinute();
    google::FlushLogFiles(google::GLOG_INFO);
    const std::string logged = testing::internal::GetCapturedStderr();
    size_t count = 0;
    for (size_t at = 0; (at = logged.find("join_pegasus_cluster = prod", at)) != std::string::npos;)
      ++count, ++at;
    return count;
  };
  EXPECT_EQ(lines(1), 1u);
  EXPECT_EQ(lines(9), 0u);
  EXPECT_EQ(lines(11), 2u);
  older_.SetPolicy(OlderServers::Policy::kRefused);
  EXPECT_EQ(lines(30), 0u);
}

TEST_F(PegasusJoinTest, MetricsSayThatTheyAreLetInAndHowManyTookPart) {
  MetricRegistry registry;
  const MetricRegistrations held = RegisterOlderServers(registry, older_);
  older_.NoteHeard(kA);
  const auto value = [&](std::string_view name) {
    for (const auto& metric : registry.Read())
      if (metric.info.name == name) return metric.samples.at(0).value;
    return -1.0;
  };
  EXPECT_EQ(value("older_servers_let_in"), 1);
  EXPECT_EQ(value("older_servers"), 1);
  older_.SetPolicy(OlderServers::Policy::kRefused);
  EXPECT_EQ(value("older_servers_let_in"), 0);
}

}  // namespace
}  // namespace arion
