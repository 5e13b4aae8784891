// SPDX-License-Identifier: Apache-2.0
#include "zookeeper/server_report.h"

#include <gtest/gtest.h>

#include "env/clock.h"

namespace arion {
namespace {

// As Debian's 3.8.0 says it.
constexpr char kSrvr[] =
    "Zookeeper version: 3.8.0-11+deb12u2, built on 2024-01-01 00:00 UTC\n"
    "Latency min/avg/max: 0/0.75/12\nReceived: 10\nSent: 9\nConnections: 2\nOutstanding: 1\n"
    "Zxid: 0x1f\nMode: standalone\nNode count: 17\n";

TEST(ParseServerReport, ReadsWhatServersOfAllVersionsSay) {
  const auto report = ParseServerReport(kSrvr);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->version, "3.8.0-11+deb12u2");
  EXPECT_EQ(report->mode, "standalone");
  EXPECT_EQ(report->zxid, "0x1f");
  EXPECT_EQ(report->latency_min_ms, 0);
  EXPECT_EQ(report->latency_avg_ms, 0.75);
  EXPECT_EQ(report->latency_max_ms, 12);
  EXPECT_EQ(report->connections, 2);
  EXPECT_EQ(report->outstanding, 1);
  EXPECT_EQ(report->nodes, 17);
  const auto old = ParseServerReport("Latency min/avg/max: 1/2/3\r\nMode: follower\r\n");
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_EQ(old->mode, "follower");
  EXPECT_EQ(old->latency_max_ms, 3);
}

TEST(ParseServerReport, WhatIsNoneIsSaidInTheServersWords) {
  for (const char* text : {"srvr is not executed because it is not in the whitelist.\n",
                           "This ZooKeeper instance is not currently serving requests\n",
                           "Mode: leader\nOutstanding: many\n", ""}) {
    const auto report = ParseServerReport(text);
    EXPECT_TRUE(absl::IsFailedPrecondition(report.status())) << text;
    const std::string line = std::string(text).substr(0, std::string(text).find('\n'));
    EXPECT_NE(report.status().message().find(line), absl::string_view::npos) << report.status();
  }
  EXPECT_LT(ParseServerReport(std::string(100000, 'x')).status().message().size(), 300u);
}

class HandClock : public Clock {
 public:
  Instant Now() const override { return now; }
  int64_t WallMicros() const override { return 0; }
  Instant now{5'000'000'000};
};

TEST(ServerReports, AreAskedForWhenSomebodyLooksAndNotMoreOftenThanEveryTwoSeconds) {
  HandClock clock;
  int asked = 0;
  const Endpoint server{1, 2181};
  ServerReports reports(
      clock, [&] { return std::vector<Endpoint>{server}; },
      [&](const std::vector<Endpoint>& servers, std::string_view word) {
        ++asked;
        EXPECT_EQ(word, "srvr");
        return std::vector<absl::StatusOr<std::string>>(
            servers.size(), asked == 1
                                ? absl::StatusOr<std::string>(kSrvr)
                                : absl::StatusOr<std::string>(absl::UnavailableError("gone")));
      });
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(reports.Now().at(0).report->mode, "standalone");
  clock.now = clock.now + absl::Milliseconds(1999);
  EXPECT_TRUE(reports.Now().at(0).report.ok());
  EXPECT_EQ(asked, 1) << "server_report/W1";
  clock.now = clock.now + absl::Milliseconds(2);
  const std::vector<ServerReports::Entry> gone = reports.Now();
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(gone.at(0).server, server);
  EXPECT_TRUE(absl::IsUnavailable(gone.at(0).report.status()));
}

}  // namespace
}  // namespace arion
