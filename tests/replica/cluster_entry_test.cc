// How a server joins an older version's cluster. SPDX-License-Identifier: Apache-2.0
#include "membership/cluster_entry.h"
#include "membership/server_lease.h"
#include "rpc/older_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "membership/join_notes.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

using testing::HasSubstr;
using testing::Not;

class ClusterEntryTest : public ReplicaServerWorld {
 protected:
  ClusterEntryTest() {
    meta_.SetReplicaCount(1);
    options_.older_servers = older_;
  }
  std::string Notes(Server& server) { return server.server->join().Text(); }
  // Begins to join, and looks at why it does not.
  void ExpectWaits(Server& server, const char* why) {
    world_.RunFor(ClusterEntry::kPause * 2);
    EXPECT_EQ(meta_.beacons(), 0);
    EXPECT_THAT(Notes(server), HasSubstr(why));
  }

  std::shared_ptr<OlderServers> older_ =
      std::make_shared<OlderServers>(OlderServers::Policy::kLetIn, client_node_);
};

TEST_F(ClusterEntryTest, AServerThatMayTakesPartAndKnowsTheOthers) {
  const Endpoint other = *Endpoint::Parse("10.0.0.77:34801");
  meta_.listed().servers = {other};
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  EXPECT_THAT(Notes(server), HasSubstr("takes part"));
  EXPECT_TRUE(older_->Knows(other));
  EXPECT_TRUE(older_->Knows(server.address)) << "the configuration names it";
  meta_.listed().servers = {};
  world_.RunFor(options_.config_sync_interval * 2);
  EXPECT_FALSE(older_->Knows(other)) << "it is listed no more";
}

// A 2.5.0 meta server takes what a server says of a replica that it still loads for what that holds.
TEST_F(ClusterEntryTest, NobodyIsToldOfReplicasBeforeAllAreLoaded) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "v"), ErrorCode::kOk);
  server.Crash(sim::CrashMode::kPowerNone);
  bool was_loading = false;
  network_.on_request = [&was_loading](Endpoint, Endpoint, const OutboundRequest& request) {
    if (request.name != kRpcConfigSync) return;
    const auto sync = DecodeWrapped<ConfigSyncRequest>(request.body);
    for (const ReplicaInfo& replica : *sync->stored_replicas)
      was_loading |= replica.loading.value_or(false);
  };
  server.node.disk().SetSlowness(300);
  Restart(server);
  world_.RunFor(absl::Milliseconds(10));
  EXPECT_THAT(Notes(server), HasSubstr("waits: replicas are still loaded, 0 of 1"));
  EXPECT_TRUE(WaitFor(server, PartitionStatus::kPrimary));
  EXPECT_FALSE(was_loading);
  network_.on_request = nullptr;
}

TEST_F(ClusterEntryTest, AClusterOfAnotherNameIsNotJoined) {
  meta_.listed().cluster = "another";
  ExpectWaits(AddServer(), "is of cluster \"another\", join_pegasus_cluster names \"onebox\"");
}

TEST_F(ClusterEntryTest, AClusterWhoseTableIsDuplicatedIsJoinedOnceItIsNoMore) {
  meta_.app().duplicating = true;
  Server& server = AddServer();
  ExpectWaits(server, "waits: table \"t\" (id 2) is duplicated");
  EXPECT_EQ(server.server->join().obstacles(), 1u);
  meta_.app().duplicating = false;
  world_.RunFor(ClusterEntry::kPause * 2);
  EXPECT_GT(meta_.beacons(), 0);
  EXPECT_THAT(Notes(server), Not(HasSubstr("waits")));
  EXPECT_EQ(server.server->join().obstacles(), 0u);
}

TEST_F(ClusterEntryTest, ATableInTheMakingIsWaitedFor) {
  meta_.app().init_partition_count = 2;
  meta_.listed().partitions.partitions = {{.pid = kPid, .ballot = Ballot(-1)}};
  Server& server = AddServer();
  ExpectWaits(server, "is being split");
  meta_.listed().partitions.partitions[0].ballot = Ballot(3);
  meta_.listed().backups.backup_infos = {{{.backup_id = 1, .app_ids = {kPid.app_id}}}};
  ExpectWaits(server, "is being backed up");
  meta_.listed().backups.backup_infos[0][0].end_time_ms = 7;
  world_.RunFor(ClusterEntry::kPause * 2);
  EXPECT_GT(meta_.beacons(), 0);
}

TEST_F(ClusterEntryTest, AnArionMetaServerIsAskedForServersOnly) {
  const Endpoint other = *Endpoint::Parse("10.0.0.77:34801");
  meta_.listed().cluster = "another";
  meta_.listed().arion_caps = 0;
  meta_.listed().servers = {other};
  meta_.app().duplicating = true;
  Server& server = AddServer();
  world_.RunFor(absl::Seconds(5));
  EXPECT_GT(meta_.beacons(), 0) << "its messages say of which cluster it is";
  EXPECT_TRUE(older_->Knows(other)) << "it may be an older one";
  EXPECT_THAT(Notes(server), Not(HasSubstr("duplicated")));
  const Endpoint later = *Endpoint::Parse("10.0.0.78:34801");
  meta_.listed().servers = {later};
  world_.RunFor(options_.config_sync_interval);
  EXPECT_TRUE(older_->Knows(later));
}

TEST_F(ClusterEntryTest, WhoeverIsToLearnHereIsKnown) {
  meta_.SetReplicaCount(2);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  const Endpoint learner = *Endpoint::Parse("10.0.0.77:34801");
  meta_.Propose(server.address, ConfigType::kAddSecondary, learner);
  world_.RunFor(absl::Milliseconds(100));
  EXPECT_TRUE(older_->Knows(learner));
}

TEST_F(ClusterEntryTest, WithoutBeingToldNobodyJoinsAnOlderVersionsCluster) {
  older_->SetPolicy(OlderServers::Policy::kRefused);
  Server& server = AddServer();
  world_.RunFor(absl::Seconds(30));
  EXPECT_EQ(server.server->lease().Left(server.node.Now()), absl::ZeroDuration());
}

// replica/README.md A13: a meta server of 2.5 ends where a report names a partition that it does not
// know.
TEST_F(ClusterEntryTest, AMetaServerIsNotToldOfPartitionsThatItDoesNotKnow) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_TRUE(MakePrimary(server, {2, 0}));
  world_.RunFor(options_.config_sync_interval * 2);
  ASSERT_EQ(meta_.reports().at(server.address).size(), 2u);
  meta_.app().partition_count = 1;  // as if it were another table: 2.1 is not of it
  world_.RunFor(options_.config_sync_interval * 2);
  ASSERT_EQ(meta_.reports().at(server.address).size(), 1u);
  EXPECT_EQ(meta_.reports().at(server.address)[0].pid, (PartitionId{2, 0}));
  EXPECT_THAT(Notes(server), HasSubstr("not reported: 2.1"));
  EXPECT_EQ(CountDirectories(server, ".gar"), 0);
  EXPECT_EQ(Snapshot(server).status, PartitionStatus::kPrimary) << "nothing is taken away";
}

TEST_F(ClusterEntryTest, OfATableThatIsDuplicatedMeanwhileNoCopyIsTakenAndNoneLeads) {
  meta_.SetReplicaCount(2);
  Server& one = AddServer();
  Server& two = AddServer();
  ASSERT_TRUE(MakePrimary(one));
  meta_.app().duplicating = true;
  world_.RunFor(options_.config_sync_interval * 2);
  EXPECT_THAT(Notes(two), HasSubstr("takes no new copy: table \"t\" (id 2) is duplicated"));
  for (int i = 0; i < 5; ++i) {
    meta_.Propose(one.address, ConfigType::kAddSecondary, two.address);
    meta_.Propose(two.address, ConfigType::kAssignPrimary, two.address, {2, 0});
    world_.RunFor(absl::Seconds(2));
  }
  EXPECT_FALSE(meta_.configuration().IsMember(two.address));
  EXPECT_EQ(Snapshot(two, {2, 0}).directory, "");
  EXPECT_EQ(Snapshot(one).status, PartitionStatus::kPrimary) << "who serves goes on";
}

TEST_F(ClusterEntryTest, APartitionThatIsToBeRestoredIsNotMadeEmpty) {
  Server& server = AddServer();
  world_.RunFor(absl::Seconds(2));
  meta_.app().envs[kEnvRestorePolicy] = "";
  meta_.Propose(server.address, ConfigType::kAssignPrimary, server.address);
  world_.RunFor(absl::Seconds(5));
  EXPECT_EQ(Snapshot(server).directory, "");
}

}  // namespace
}  // namespace arion
