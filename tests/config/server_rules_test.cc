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

TEST(ServerRulesTest, TheDuplicationGroupIsReadFromEitherSection) {
  const std::string named = "[replication]\ncluster_name = here\n";
  EXPECT_FALSE(MakeReplica("")->replica.duplication_group.IsSet());
  for (const std::string& text :
       {named + "[duplication-group]\nhere = 3\nthere = 127\n",
        named + "[arion.server]\nduplication_group = here : 3, there:127\n",
        named + "[duplication-group]\nhere = 5\nelsewhere = 6\n"
                "[arion.server]\nduplication_group = here:3,there:127\n"}) {
    const auto config = MakeReplica(text);
    ASSERT_TRUE(config.ok()) << config.status();
    const DuplicationGroup& group = config->replica.duplication_group;
    EXPECT_EQ(group.ids, (std::map<std::string, uint8_t>{{"here", 3}, {"there", 127}}));
    EXPECT_EQ(group.own_id, 3);
    EXPECT_TRUE(group.Has(127));
    EXPECT_FALSE(group.Has(5));
    EXPECT_THAT(config->warnings, testing::IsEmpty());
  }
  EXPECT_FALSE(MakeReplica(named + "[duplication-group]\nhere = 5\n"
                                   "[arion.server]\nduplication_group =\n")
                   ->replica.duplication_group.IsSet());
}

TEST(ServerRulesTest, ADuplicationGroupThatCantBeIsRefusedAtTheStart) {
  const std::string named = "[replication]\ncluster_name = here\n";
  const auto of_section = [&](const std::string& lines) {
    return ErrorOf(MakeReplica(named + "[duplication-group]\n" + lines));
  };
  const auto of_key = [&](const std::string& value) {
    return ErrorOf(MakeReplica(named + "[arion.server]\nduplication_group = " + value + "\n"));
  };
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_THAT(of_section("here = 0\n"),
              AllOf(HasSubstr("[duplication-group] here = \"0\""),
                    HasSubstr("out of range; write a number between 1 and 127")));
  EXPECT_THAT(of_section("here = 1\nthere = 128\n"), HasSubstr("between 1 and 127"));
  EXPECT_THAT(of_section("here = one\n"), HasSubstr("not a number"));
  EXPECT_THAT(of_section("here = 1\nthere = 1\n"), HasSubstr("have the same id 1; give each"));
  EXPECT_THAT(of_section("here = 1\nhere = 2\n"), HasSubstr("cluster here stands twice"));
  EXPECT_THAT(of_section("there = 1\n"),
              AllOf(HasSubstr("cluster_name = here is not in the duplication group"),
                    HasSubstr("add it to the group")));
  EXPECT_THAT(of_key("there:1"), HasSubstr("is not in the duplication group"));
  EXPECT_THAT(of_key("here"), HasSubstr("is not cluster:id; write it as here:1,there:2"));
  EXPECT_THAT(of_key("here:1,:2"), HasSubstr("a cluster without a name"));
  EXPECT_THAT(of_key("here:1,there:-2"), HasSubstr("between 1 and 127"));
}

}  // namespace
}  // namespace arion
