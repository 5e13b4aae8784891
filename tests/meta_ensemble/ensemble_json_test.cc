// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/ensemble_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace arion {
namespace {

constexpr Endpoint kOne{0x0a000001, 34601};

TEST(EnsembleJson, SaysWhatTheOverviewKnows) {
  EnsembleOverview overview{.self = kOne,
                            .root = "/c",
                            .lock_directory = "/c/lock",
                            .is_connected = true,
                            .session = 0x1f,
                            .session_timeout = absl::Seconds(4),
                            .leadership = {.is_one_of_several = true,
                                           .is_leader = true,
                                           .leader = kOne,
                                           .since_unix_ms = 9000},
                            .leads_for = absl::Seconds(2),
                            .last_write = CarriedOut{Instant(0), absl::Milliseconds(7)},
                            .now = Instant(3'000'000'000),
                            .unix_ms = 10000,
                            .candidates_at = Instant(2'000'000'000)};
  overview.candidates = {{"LOCKNODE0000000001", "10.0.0.1:34601", 8000, 0x1f},
                         {"LOCKNODE0000000002", "stranger\xff", 0, 0}};
  const nlohmann::json json = nlohmann::json::parse(EnsembleJson(
      overview, {{kOne, ServerReport{.mode = "leader", .outstanding = 3, .latency_avg_ms = 0.75}},
                 {kOne, absl::UnavailableError("refused")}}));
  EXPECT_EQ(json["self"], "10.0.0.1:34601");
  EXPECT_EQ(json["is_leader"], true);
  EXPECT_EQ(json["session"], "0x1f");
  EXPECT_EQ(json["session_timeout_ms"], 4000);
  EXPECT_EQ(json["leads_for_ms"], 2000);
  EXPECT_TRUE(json["last_proof_ago_ms"].is_null());
  EXPECT_EQ(json["last_write_ago_ms"], 3000);
  EXPECT_EQ(json["last_write_took_ms"], 7);
  EXPECT_EQ(json["candidates_ago_ms"], 1000);
  EXPECT_EQ(json["candidates"][0]["leads"], true);
  EXPECT_EQ(json["candidates"][0]["age_ms"], 2000);
  EXPECT_EQ(json["candidates"][1]["leads"], false);
  EXPECT_EQ(json["candidates"][1]["address"], "stranger\\xff");
  EXPECT_TRUE(json["candidates"][1]["age_ms"].is_null());
  EXPECT_EQ(json["zookeeper"][0]["outstanding"], 3);
  EXPECT_EQ(json["zookeeper"][0]["latency_avg_ms"], 0.75);
  EXPECT_EQ(json["zookeeper"][0]["trouble"], "");
  EXPECT_EQ(json["zookeeper"][1]["trouble"], "refused");
  EXPECT_FALSE(json["zookeeper"][1].contains("mode"));
}

TEST(EnsembleJson, WhatIsNotKnownIsNull) {
  const nlohmann::json json = nlohmann::json::parse(EnsembleJson({}, {}));
  EXPECT_EQ(json["leader"], "");
  EXPECT_TRUE(json["leads_for_ms"].is_null());
  EXPECT_TRUE(json["candidates_ago_ms"].is_null());
  EXPECT_TRUE(json["candidates"].empty());
}

}  // namespace
}  // namespace arion
