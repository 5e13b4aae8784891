// Every block of every file of a replica, damaged in five ways, while its server is down and
// while it runs. Never a wrong answer, the server lives, a peer repairs the copy, and no peer takes
// the damage over.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "disks/disk_snapshot.h"
#include "tests/replica/server_world.h"
#include "tests/support/block_damage.h"

namespace arion {
namespace {

constexpr int kKeys = 60;
constexpr char kReplicas[] = "/d1/replica/reps";

class DamagedBlocksTest : public ReplicaServerWorld {
 protected:
  DamagedBlocksTest() {
    options_.layout.data_directories = {{"ssd1", kReplicas}};
    options_.log_segment_bytes = 32 << 10;
    options_.layout.failed_directory_rest_max =
        absl::ZeroDuration();  // the next case begins at once
    options_.prepare_timeout = absl::Milliseconds(500);
  }

  static std::string Value(int i, int round) {
    return std::to_string(i) + "." + std::to_string(round) + std::string(300, 'v');
  }
  // Two members that hold all keys, in checkpoints and in the log behind them.
  void Fill() {
    meta_.SetReplicaCount(2);
    AddServer();
    AddServer();
    ASSERT_TRUE(MakePrimary(first()));
    ASSERT_TRUE(AddSecondary(first(), second()));
    for (int i = 0; i < kKeys; ++i) {
      if (i == kKeys - 10) world_.RunFor(absl::Seconds(10));  // a checkpoint
      ASSERT_EQ(Put(first(), i, Value(i, 0)), ErrorCode::kOk);
    }
    world_.RunFor(absl::Milliseconds(100));
  }
  Server& first() { return *servers_[0]; }
  Server& second() { return *servers_[1]; }

  void ExpectAll(Server& server, int round, const DamagedBlock& c) {
    for (int i = 0; i < kKeys; ++i) {
      const RpcResult read = Backup(server, i);
      ASSERT_EQ(read.error, ErrorCode::kOk) << c.ToString();
      const auto response = DecodeWrapped<ReadResponse>(read.body);
      ASSERT_TRUE(response.ok() && response->error == 0) << c.ToString() << ", key " << i;
      ASSERT_EQ(response->value.bytes, Value(i, i == 0 ? round : 0)) << c.ToString();
    }
  }
  RpcResult Backup(Server& server, int i) {
    std::optional<RpcResult> result;
    client_->Call(server.address,
                  {.name = kRpcGet,
                   .body = EncodeWrapped(Blob(Key(i))),
                   .pid = kPid,
                   .timeout = absl::Seconds(20),
                   .is_backup_request = true},
                  client_strand_, [&](RpcResult r) { result = std::move(r); });
    EXPECT_TRUE(world_.RunUntil([&] { return result.has_value(); }, absl::Seconds(30)));
    return result.value_or(RpcResult{.error = ErrorCode::kTimeout});
  }
  void PutUntilAccepted(Server& server, int round) {
    const Instant end = world_.now() + absl::Seconds(30);
    ErrorCode error = ErrorCode::kUnknown;
    while (error != ErrorCode::kOk && world_.now() < end) {
      error = Put(server, 0, Value(0, round));
      if (error != ErrorCode::kOk) world_.RunFor(absl::Milliseconds(200));
    }
    ASSERT_EQ(error, ErrorCode::kOk);
  }
  // As if `server`, which is down, had stood still since then.
  static void PutBack(const Files& files, sim::SimDisk& disk) {
    ASSERT_TRUE(disk.RemoveAll(kReplicas).ok());
    WriteFiles(files, disk);
  }
};

TEST_F(DamagedBlocksTest, AServerThatComesBackDamagedIsRepairedByItsPeer) {
  Fill();
  meta_.app().max_replica_count = 1;  // one is enough to write on
  second().Crash(sim::CrashMode::kProcess);
  const Files files = FilesOf(second().node.disk(), kReplicas);
  const std::vector<DamagedBlock> cases = EveryDamage(files);
  EXPECT_GE(cases.size(), 100u);
  int round = 0;
  for (const DamagedBlock& c : cases) {
    SCOPED_TRACE(c.ToString());
    ++round;
    PutUntilAccepted(first(), round);  // it is missed, and removed
    PutBack(files, second().node.disk());
    c.Apply(second().node.disk());
    ASSERT_NO_FATAL_FAILURE(Restart(second()));
    const RpcResult early = Backup(second(), 1);
    ASSERT_NE(early.error, ErrorCode::kOk) << "it is no member";
    ASSERT_TRUE(AddSecondary(first(), second()));
    ExpectAll(second(), round, c);
    ExpectAll(first(), round, c);
    if (HasFatalFailure()) return;
    second().Crash(sim::CrashMode::kProcess);
  }
  RecordProperty("cases", round);
  printf("%d cases on %zu files\n", round, files.size());
}

// A third server learns from a primary whose files were damaged beneath it.
class DamagedSource : public DamagedBlocksTest {
 public:
  Files Begin() {
    options_.prepare_list_capacity = options_.max_mutations_in_flight;  // learners need files
    Fill();
    return FilesOf(first().node.disk(), kReplicas);
  }
  void Try(const DamagedBlock& c) {
    SCOPED_TRACE(c.ToString());
    c.Apply(first().node.disk());
    meta_.SetReplicaCount(3);
    Server& learner = AddServer();
    world_.RunFor(absl::Seconds(2));
    const Instant end = world_.now() + absl::Seconds(15);
    while (!meta_.configuration().IsSecondary(learner.address) && world_.now() < end) {
      meta_.Propose(first().address, ConfigType::kAddSecondary, learner.address);
      world_.RunFor(absl::Seconds(2));
    }
    for (const DiskSnapshot& disk : first().server->Disks()) noticed += disk.io_errors > 0 ? 1 : 0;
    const bool is_source_fine = meta_.configuration().primary == first().address &&
                                Snapshot(first()).status == PartitionStatus::kPrimary;
    if (is_source_fine) ExpectAll(first(), 0, c);
    if (meta_.configuration().IsSecondary(learner.address)) {
      ASSERT_TRUE(WaitFor(learner, PartitionStatus::kSecondary));
      return ExpectAll(learner, 0, c);
    }
    ++not_learned;
    // The meta server lets the intact one lead.
    PartitionConfiguration& configuration = meta_.configuration();
    configuration.primary = Endpoint{};
    configuration.ballot = configuration.ballot + 1;
    meta_.Propose(second().address, ConfigType::kUpgradeToPrimary, second().address);
    ASSERT_TRUE(WaitFor(second(), PartitionStatus::kPrimary));
    ExpectAll(second(), 0, c);
    ASSERT_TRUE(AddSecondary(second(), learner));
    ExpectAll(learner, 0, c);
  }
  void TestBody() override {}
  int not_learned = 0;
  int noticed = 0;  // by the source
};

TEST(DamagedSourceTest, NoLearnerTakesTheDamageOver) {
  const std::vector<DamagedBlock> cases = EveryDamage(DamagedSource().Begin());
  EXPECT_GE(cases.size(), 100u);
  int not_learned = 0, noticed = 0;
  for (const DamagedBlock& c : cases) {
    DamagedSource source;
    source.Begin();
    source.Try(c);
    not_learned += source.not_learned;
    noticed += source.noticed;
    ASSERT_FALSE(testing::Test::HasFailure()) << c.ToString();
  }
  EXPECT_GT(noticed, 0) << "no damage lay where a learner reads";
  printf("%zu cases, in %d the source noticed it, in %d it could not be learned from\n",
         cases.size(), noticed, not_learned);
}

}  // namespace
}  // namespace arion
