// SPDX-License-Identifier: Apache-2.0
#include "messages/table_environments.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace arion {
namespace {

TEST(TableEnvironmentsTest, ThrottleTextsAreReadAsTheyAreMeant) {
  const auto both = ParseThrottleRule("2000*delay*100,5K*reject*200");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(*both, (ThrottleRule{2000, absl::Milliseconds(100), 5 << 10, absl::Milliseconds(200)}));
  EXPECT_EQ(ParseThrottleRule("3M*reject*0")->reject_above, uint64_t{3} << 20);
  EXPECT_EQ(*ParseThrottleRule("7*reject*1,9*delay*2"), *ParseThrottleRule("9*delay*2,7*reject*1"));
  for (const char* bad :
       {"", "100", "100*delay", "100*delay*", "*delay*1", "-1*delay*1", "1*delay*-1", "1k*delay*1",
        "1*stop*1", "1*delay*1,2*delay*2", "1*delay*1,", "1*delay*1*", "1.5*delay*1",
        "99999999999999999999*delay*1", "18446744073709551615M*delay*1", " 1*delay*1"})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseThrottleRule(bad).status())) << bad;
}

TEST(TableEnvironmentsTest, OfAReadSizeLimitOnlyTheRejectPartCounts) {
  EXPECT_EQ(*ParseReadBytesLimit("20M"), uint64_t{20} << 20);
  EXPECT_EQ(*ParseReadBytesLimit("1*delay*5,30*reject*5"), 30u);
  EXPECT_EQ(*ParseReadBytesLimit("30*delay*5"), 0u);
  EXPECT_FALSE(ParseReadBytesLimit("0*reject*5").ok());
  EXPECT_FALSE(ParseReadBytesLimit("20G").ok());
}

TEST(TableEnvironmentsTest, ADiskQuotaIsBytesWithAUnit) {
  EXPECT_EQ(*ParseDiskQuota("0"), 0u);
  EXPECT_EQ(*ParseDiskQuota("500M"), uint64_t{500} << 20);
  EXPECT_EQ(*ParseDiskQuota("20G"), uint64_t{20} << 30);
  EXPECT_EQ(*ParseDiskQuota("4096"), 4096u);
  for (const char* bad : {"", "G", "MG", "1KG", "-1", "1g", "9999999999G", "99999999999999999999"})
    EXPECT_FALSE(ParseDiskQuota(bad).ok()) << bad;
}

TEST(TableEnvironmentsTest, DenyRulesNameHowAndWhat) {
  EXPECT_EQ(*ParseDenyRule("timeout*all"), (DenyRule{DenyRule::How::kSilently, true, true}));
  EXPECT_EQ(*ParseDenyRule("reconfig*read"), (DenyRule{DenyRule::How::kInvalidState, true, false}));
  EXPECT_EQ(*ParseDenyRule("timeout*write"), (DenyRule{DenyRule::How::kSilently, false, true}));
  for (const char* bad : {"", "timeout", "timeout*", "all*timeout", "timeout*all*", "Timeout*all"})
    EXPECT_FALSE(ParseDenyRule(bad).ok()) << bad;
}

TEST(TableEnvironmentsTest, EachKeyHasItsOwnRule) {
  struct Row {
    const char* key;
    const char* value;
    absl::StatusCode code;
  };
  using enum absl::StatusCode;
  for (const Row& row : {
           Row{"default_ttl", "0", kOk},
           Row{"default_ttl", "2147483647", kOk},
           Row{"default_ttl", "2147483648", kInvalidArgument},
           Row{"default_ttl", "-1", kInvalidArgument},
           Row{"default_ttl", "1d", kInvalidArgument},
           Row{"replica.slow_query_threshold", "20", kOk},
           Row{"replica.slow_query_threshold", "19", kInvalidArgument},
           Row{"replica.rocksdb_iteration_threshold_time_ms", "0", kOk},
           Row{"replica.rocksdb_iteration_threshold_time_ms", "-1", kInvalidArgument},
           Row{"replica.split.validate_partition_hash", "true", kOk},
           Row{"replica.split.validate_partition_hash", "yes", kInvalidArgument},
           Row{"replica.write_throttling", "1*reject*1", kOk},
           Row{"replica.write_throttling_by_size", "1K*delay*1", kOk},
           Row{"replica.read_throttling", "1", kInvalidArgument},
           Row{"replica.read_throttling_by_size", "1", kOk},
           Row{"replica.backup_request_throttling", "1*reject*1", kOk},
           Row{"replica.disk_quota", "20G", kOk},
           Row{"replica.disk_quota", "0", kOk},
           Row{"replica.disk_quota", "1.5G", kInvalidArgument},
           Row{"replica.disk_quota", "20GB", kInvalidArgument},
           Row{"index.city", "$.customer.city", kOk},
           Row{"index.by-2_x", "bytes(0,8);generation=2;paused", kOk},
           Row{"index.city", "customer.city", kInvalidArgument},
           Row{"index.city", "", kInvalidArgument},
           Row{"index.", "value", kInvalidArgument},
           Row{"index.a.b", "value", kInvalidArgument},
           Row{"index.a b", "value", kInvalidArgument},
           Row{"index", "value", kNotFound},
           Row{"Index.a", "value", kNotFound},
           Row{"business.info", "anything at all", kOk},
           Row{"rocksdb.usage_scenario", "normal", kUnimplemented},
           Row{"user_specified_compaction", "", kUnimplemented},
           Row{"max_replica_count.update", "updating;3", kNotFound},
           Row{"default_TTL", "1", kNotFound},
           Row{"", "", kNotFound},
       })
    EXPECT_EQ(CheckTableEnvironment(row.key, row.value).code(), row.code)
        << row.key << " = " << row.value;
}

TEST(TableEnvironmentsTest, EveryKeysExampleIsAValueItTakes) {
  const auto keys = ActingTableEnvironments();
  EXPECT_EQ(keys.size(), 21u);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  for (std::string_view key : keys) {
    EXPECT_FALSE(ExampleOf(key).empty()) << key;
    EXPECT_TRUE(CheckTableEnvironment(key, ExampleOf(key)).ok()) << key;
  }
  EXPECT_EQ(ExampleOf("index.city"), ExampleOf("index.NAME")) << "any index's name";
}

}  // namespace
}  // namespace arion
