// Keys of [arion.meta].
// SPDX-License-Identifier: Apache-2.0
#include "config/config_rules.h"

#include <gtest/gtest.h>

#include "tests/config/made_config.h"

namespace arion {
namespace {

// Of a key of ours, by its line in [arion.meta].
std::string MetaErrorOf(const std::string& line) {
  return ErrorOf(Make(ServerKind::kMeta, "[arion.meta]\nmeta_data_dir = /m\n" + line + "\n"));
}

TEST(MetaRulesTest, BadValuesNameLineValueAndRemedy) {
  for (const char* key :
       {"meta_disk_reserve_size", "clock_offset_max", "live_servers_min", "lost_member_wait",
        "replica_count_min", "replica_count_max", "keep_dropped_tables", "meta_level_on_start",
        "balance_only_moves_primaries", "recover_from_replica_servers"}) {
    const std::string error = MetaErrorOf(std::string(key) + " = nonsense");
    EXPECT_TRUE(
        error.starts_with(std::string("a.ini:3: [arion.meta] ") + key + " = \"nonsense\": "))
        << error;
    EXPECT_NE(error.find("write "), std::string::npos) << error;
  }
}

TEST(MetaRulesTest, TheLevelAtTheStartIsOursOrTheOlderKeys) {
  const auto level = [](const std::string& content) {
    const auto config = Make(ServerKind::kMeta, "[arion.meta]\nmeta_data_dir = /m\n" + content);
    EXPECT_TRUE(config.ok()) << config.status();
    EXPECT_TRUE(config->warnings.empty()) << config->warnings[0];
    return config->meta.function_level_on_start;
  };
  EXPECT_EQ(level(""), std::nullopt);
  EXPECT_EQ(level("meta_level_on_start = freezed\n"), FunctionLevel::kFreezed);
  EXPECT_EQ(level("[meta_server]\nmeta_function_level_on_start = lively\n"),
            FunctionLevel::kLively);
  EXPECT_NE(ErrorOf(Make(ServerKind::kMeta,
                         "[arion.meta]\nmeta_data_dir = /m\nmeta_function_level_on_start = on\n"))
                .find("write stopped, blind, freezed, steady or lively"),
            std::string::npos);
}

}  // namespace
}  // namespace arion
