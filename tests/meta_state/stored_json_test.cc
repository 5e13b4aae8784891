// SPDX-License-Identifier: Apache-2.0
#include "meta_state/stored_json.h"

#include <gtest/gtest.h>

#include "meta_state/cluster_state.h"
#include "meta_state/store_change.h"
#include "meta_state/table_duplication.h"

namespace arion {
namespace {

constexpr char kTable[] =
    R"({"status":"app_status::AS_AVAILABLE","app_type":"pegasus","app_name":"t","app_id":1,)"
    R"("partition_count":1,"envs":{},"is_stateful":1,"max_replica_count":3,"expire_second":0,)"
    R"("create_second":1700000000,"drop_second":0,"duplicating":0,"init_partition_count":1,)"
    R"("is_bulk_loading":0,"atomic_idempotent":0)";
constexpr char kPartition[] =
    R"({"pid":"1.0","ballot":3,"max_replica_count":3,"primary":"10.0.0.1:34801",)"
    R"("secondaries":[],"last_drops":[],"last_committed_decree":0,"partition_flags":0,)"
    R"("hp_primary":"10.0.0.1:34801","hp_secondaries":[],"hp_last_drops":[])";
// Members of versions to come, with all that could mislead.
constexpr char kOthers[] =
    R"(,"later":{"pid":"9.9","a":[1,{"b":"},]"}]},"q\"u\\":"\"}\\","n":12345678901234567890.50,)"
    R"("l":[],"t":true,"z":null)";

std::string With(const char* object, const char* more) { return std::string(object) + more + "}"; }

TEST(OtherMembers, AreAllButTheKnownOnesToTheLetter) {
  EXPECT_EQ(OtherMembers("{}", {}), "");
  EXPECT_EQ(OtherMembers(R"({"a":1,"b":"x"})", {"a", "b"}), "");
  EXPECT_EQ(OtherMembers(R"({"a":1,"b":"x"})", {"a"}), R"(,"b":"x")");
  EXPECT_EQ(OtherMembers(R"({"b":{"a":{}},"a":1})", {"a"}), R"(,"b":{"a":{}})");
  EXPECT_EQ(OtherMembers("{ \"a\" : [ 1 , 2 ] }", {}), ",\"a\" : [ 1 , 2 ] ");
  EXPECT_EQ(OtherMembers(R"({"a":",","c":"\\","b":0})", {"a", "c"}), R"(,"b":0)");
}

TEST(StoredJson, WhatIsNotKnownHereIsWrittenAgainBehindWhatIs) {
  absl::StatusOr<ClusterState> state = ClusterState::Load(
      {{"/apps/1", With(kTable, kOthers)},
       {"/apps/1/0", With(kPartition, kOthers)},
       {"/apps/1/duplication/7", R"({"remote":"c","more":[1],"status":"DS_LOG",)"
                                 R"("create_timestamp_ms":5,"fail_mode":"FAIL_SLOW"})"}});
  ASSERT_TRUE(state.ok()) << state.status();
  Table& table = state->tables.at(1);
  table.info.duplicating = false;
  EXPECT_EQ(state->ChangeOf(table.info).value, With(kTable, kOthers));
  EXPECT_EQ(state->ChangeOf(table.partitions[0].config).value, With(kPartition, kOthers));

  // The next configuration, too.
  PartitionConfiguration next = table.partitions[0].config;
  next.ballot = next.ballot + 1;
  EXPECT_TRUE(state->ChangeOf(next).value->ends_with(std::string(kOthers) + "}"));
  DuplicationInfo paused = table.duplications.at(7).info;
  paused.status = DuplicationStatus::kPause;
  EXPECT_EQ(ChangesOf(table, {7, paused})[0].value,
            R"({"remote":"c","status":"DS_PAUSE","create_timestamp_ms":5,)"
            R"("fail_mode":"FAIL_SLOW","more":[1]})");
  EXPECT_EQ(ChangesOf(table, {8, paused})[0].value->find("more"), std::string::npos);
}

TEST(StoredJson, AnotherTableHasNothingOfIt) {
  absl::StatusOr<ClusterState> state = ClusterState::Load(
      {{"/apps/1", With(kTable, kOthers)}, {"/apps/1/0", With(kPartition, kOthers)}});
  ASSERT_TRUE(state.ok()) << state.status();
  AppInfo other = state->tables.at(1).info;
  other.app_id = 2;
  EXPECT_TRUE(state->ChangeOf(other).value->ends_with(R"("atomic_idempotent":0})"));
  EXPECT_TRUE(state->ChangeOf(PartitionConfiguration{.pid = {1, 1}}).value->ends_with("[]}"));
}

TEST(StoredJson, WhatALaterVersionStoredIsNotReadByThisOne) {
  const auto load = [](const std::string& version) {
    return ClusterState::Load({{"/arion/min_version", version}}).status();
  };
  EXPECT_TRUE(load(std::to_string(kStateVersion)).ok());
  const absl::Status later = load(std::to_string(kStateVersion + 1));
  EXPECT_TRUE(absl::IsFailedPrecondition(later)) << later;
  EXPECT_NE(later.message().find("/arion/min_version"), absl::string_view::npos) << later;
  for (const char* text : {"", "x", "1.5", "99999999999"})
    EXPECT_TRUE(absl::IsDataLoss(load(text))) << text;
}

}  // namespace
}  // namespace arion
