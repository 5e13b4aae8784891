// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/saved_tables.h"

#include <absl/strings/str_replace.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion::shell {
namespace {

using testing::HasSubstr;

SavedTables Saved() {
  AppInfo kept{.status = AppStatus::kAvailable,
               .app_type = "pegasus",
               .app_name = "t",
               .app_id = 1,
               .partition_count = 8,
               .envs = {{"default_ttl", "60"}, {"k \"\n", "\xc3\xa4"}},
               .is_stateful = true,
               .max_replica_count = 3,
               .create_second = 1'700'000'000,
               .init_partition_count = 4};
  AppInfo dropped = kept;
  dropped.app_id = 2;
  dropped.status = AppStatus::kDropped;
  dropped.drop_second = 1'800'000'000;
  dropped.expire_second = 1'800'604'800;
  dropped.duplicating = true;
  dropped.is_bulk_loading = true;
  dropped.atomic_idempotent = true;
  dropped.version = int64_t{1} << 40;
  dropped.envs.clear();
  return {.saved_second = 1'800'000'001,
          .cluster_name = "c",
          .meta_servers = {{.ip = 0x7f000001, .port = 34601}},
          .function_level = "lively",
          .tables = {kept, dropped}};
}

TEST(SavedTablesTest, WhatIsWrittenIsReadAgain) {
  const auto json = Saved().ToJson();
  ASSERT_TRUE(json.ok()) << json.status();
  const auto read = ParseSavedTables(*json);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->saved_second, Saved().saved_second);
  EXPECT_EQ(read->cluster_name, "c");
  EXPECT_EQ(read->meta_servers, Saved().meta_servers);
  EXPECT_EQ(read->function_level, "lively");
  EXPECT_EQ(read->tables, Saved().tables);
}

TEST(SavedTablesTest, WhatJsonCantHoldIsNotWritten) {
  SavedTables saved = Saved();
  saved.tables[0].envs["a"] = "\xff";
  const auto json = saved.ToJson();
  EXPECT_TRUE(absl::IsFailedPrecondition(json.status()));
  EXPECT_THAT(std::string(json.status().message()), HasSubstr("table 1 "));
}

TEST(SavedTablesTest, WhatIsNoSuchFileIsRefusedWithWhatIsWrong) {
  const std::string json = *Saved().ToJson();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "byte 0"},
      {"[]", "not what save_tables writes"},
      {"{}", "not what save_tables writes"},
      {json.substr(0, json.size() / 2), "byte "},
      {absl::StrReplaceAll(json, {{"\"saved_tables\": 1", "\"saved_tables\": 2"}}),
       "another version"},
      {absl::StrReplaceAll(json, {{"\"app_id\": 2", "\"app_id\": 1"}}), "table 1 is there twice"},
      {absl::StrReplaceAll(json, {{"\"app_id\": 2", "\"app_id\": 0"}}), "tables[1]: app_id"},
      {absl::StrReplaceAll(json, {{"\"app_id\": 2", "\"app_id\": \"2\""}}),
       "tables[1]: app_id is no number"},
      {absl::StrReplaceAll(json, {{"AS_DROPPED", "AS_GONE"}}), "tables[1]: status"},
      {absl::StrReplaceAll(json, {{"\"60\"", "60"}}), "tables[0]: envs"},
      {absl::StrReplaceAll(json, {{"127.0.0.1:34601", "nowhere"}}), "meta_servers"},
      {absl::StrReplaceAll(json, {{"expire_second", "expires"}}), "tables[0]: expire_second"}};
  for (const auto& [text, why] : cases) {
    const auto read = ParseSavedTables(text);
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << text;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(why));
  }
}

}  // namespace
}  // namespace arion::shell
