// Keys of [arion.server].
// SPDX-License-Identifier: Apache-2.0
#include "config/config_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/made_config.h"

namespace arion {
namespace {

TEST(ServerRulesTest, LogFilesAreBoundedInNumber) {
  EXPECT_EQ(MakeReplica("")->log_files_max, 16);
  EXPECT_EQ(MakeReplica("[arion.server]\ntext_log_files_max = 3\n")->log_files_max, 3);
  EXPECT_NE(
      ErrorOf(MakeReplica("[arion.server]\ntext_log_files_max = 0\n")).find("text_log_files_max"),
      std::string::npos);
}

TEST(ServerRulesTest, WhoListensEverywhereSaysByWhichAddressOthersReachIt) {
  const std::string everywhere = "[arion.server]\nlisten = 0.0.0.0:34801\n";
  const std::string error = ErrorOf(MakeReplica(everywhere));
  EXPECT_NE(error.find("write it: advertise = "), std::string::npos) << error;
  const auto config = MakeReplica(everywhere + "advertise = 10.0.0.7:34901\n");
  EXPECT_EQ(config->listen.ip, 0u);
  EXPECT_EQ(config->advertised.ToString(), "10.0.0.7:34901");
  EXPECT_EQ(MakeReplica("[arion.server]\nlisten = 127.0.0.1:5\n")->advertised.ToString(),
            "127.0.0.1:5");
}

TEST(ServerRulesTest, ThePegasusClusterThatIsJoinedIsTheOneTheServerIsOf) {
  const std::string file = "[core]\ndata_dir = /d\n[replication]\ncluster_name = prod\n";
  for (const ServerKind kind : {ServerKind::kMeta, ServerKind::kReplica}) {
    EXPECT_EQ(Make(kind, file)->join_pegasus_cluster, "");
    const auto joins = Make(kind, file + "[arion.server]\njoin_pegasus_cluster = prod\n");
    ASSERT_TRUE(joins.ok()) << joins.status();
    EXPECT_EQ(joins->join_pegasus_cluster, "prod");
    const auto other = Make(kind, file + "[arion.server]\njoin_pegasus_cluster = test\n");
    EXPECT_THAT(std::string(other.status().message()),
                testing::AllOf(testing::HasSubstr(":6: join_pegasus_cluster = test is not"),
                               testing::HasSubstr("cluster_name = prod")));
  }
}

}  // namespace
}  // namespace arion
