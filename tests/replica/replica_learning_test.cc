// A replica server that learns from a 2.5.0 primary which answers with the files of its log: the
// files, what happens to them and to either side meanwhile. SPDX-License-Identifier: Apache-2.0
#include "replica/replica_learning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "replica/replica_snapshot.h"
#include "tests/replica/log_lines.h"
#include "tests/replica/old_primary.h"
#include "tests/replica/part_world.h"
#include "tests/replica/server_world.h"
#include "tests/rpc/fixtures.h"

namespace arion {
namespace {

using testing::HasSubstr;

class ReplicaLearningTest : public ReplicaServerWorld {
 protected:
  static constexpr PartitionStatus kLearner = PartitionStatus::kPotentialSecondary;
  static constexpr PartitionStatus kMember = PartitionStatus::kSecondary;

  ReplicaLearningTest() {
    auto& configuration = meta_.configuration();
    configuration.ballot = old_.ballot;
    configuration.primary = old_.address();
  }

  static std::string Value(int64_t i) { return "value " + std::to_string(i); }
  // Decrees 1 to `count`, each of a row of its own; a new file behind each `in_file` of them.
  void Fill(int count, int in_file) {
    for (int i = 1; i <= count; ++i) {
      old_.Commit(Key(i), Value(i));
      if (i % in_file == 0 && i < count) old_.log.SwitchFile();
    }
  }
  Server& AddLearner() {
    Server& server = AddServer();
    world_.RunFor(absl::Seconds(2));  // connected
    return server;
  }
  // Until it says that it has everything; invited anew where a session has ended.
  bool Learn(Server& server, absl::Duration patience = absl::Minutes(2)) {
    const Instant end = world_.now() + patience;
    old_.Invite(server.address);
    while (world_.now() < end) {
      if (world_.RunUntil([&] { return old_.completed; }, absl::Seconds(2))) break;
      old_.checked.reset();
      old_.CheckGroup(server.address, kLearner);
      world_.RunUntil([&] { return old_.checked.has_value() || old_.completed; },
                      absl::Seconds(10));
      if (!old_.completed && old_.checked != ErrorCode::kOk) old_.Invite(server.address);
    }
    return old_.completed;
  }
  bool MakeMember(Server& server) {
    old_.ballot = old_.ballot + 1;
    auto& configuration = meta_.configuration();
    configuration.ballot = old_.ballot;
    configuration.primary = old_.address();
    configuration.secondaries = {server.address};
    old_.CheckGroup(server.address, kMember);
    return WaitFor(server, kMember);
  }
  ErrorCode Prepare(Server& server, PartitionStatus role, int row) {
    old_.Prepare(server.address, role, Key(row), Value(row));
    EXPECT_TRUE(world_.RunUntil([&] { return old_.acked.has_value(); }, absl::Seconds(10)));
    return old_.acked.value_or(ErrorCode::kTimeout);
  }
  // The power fails, the old primary is gone for good, and this server leads alone.
  void LeadAlone(Server& server) {
    server.Crash(sim::CrashMode::kPowerNone);
    auto& configuration = meta_.configuration();
    configuration.primary = server.address;
    configuration.secondaries.clear();
    configuration.ballot = configuration.ballot + 1;
    meta_.SetReplicaCount(1);
    Restart(server);
    ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary));
  }
  void ExpectRows(Server& server, int count) {
    for (int i = 1; i <= count; ++i) ASSERT_EQ(Get(server, i), Value(i)) << i;
  }
  bool HasCopies(Server& server) {
    return Exists(server.node.environment().files(), Snapshot(server).directory + "/learn");
  }

  OldPrimary old_{world_, network_, meta_.app(), kPid, *Endpoint::Parse("10.0.0.50:34801")};
};

TEST_F(ReplicaLearningTest, OneLogFileThenTheCacheThenAMember) {
  Fill(300, 1000);
  Server& c = AddLearner();
  ASSERT_TRUE(Learn(c));
  EXPECT_EQ(old_.files_served, 1);
  EXPECT_EQ(Snapshot(c).last_applied, Decree(300));
  EXPECT_EQ(Prepare(c, kLearner, 301), ErrorCode::kOk);
  ASSERT_TRUE(MakeMember(c));
  world_.RunFor(absl::Seconds(2));
  EXPECT_FALSE(HasCopies(c));
  // What it acknowledges is in its own log.
  EXPECT_EQ(Prepare(c, kMember, 301), ErrorCode::kOk);
  LeadAlone(c);
  ExpectRows(c, 301);
}

TEST_F(ReplicaLearningTest, WhatItAcknowledgedAsALearnerIsInItsLog) {
  Fill(300, 100);
  Server& c = AddLearner();
  ASSERT_TRUE(Learn(c));
  EXPECT_EQ(Prepare(c, kLearner, 301), ErrorCode::kOk);
  c.Crash(sim::CrashMode::kPowerNone);
  Restart(c);
  world_.RunFor(absl::Seconds(5));
  const ReplicaSnapshot snapshot = Snapshot(c);
  EXPECT_EQ(snapshot.last_applied, Decree(300)) << "it was flushed before it said so";
  EXPECT_EQ(snapshot.last_prepared, Decree(301));
  EXPECT_EQ(snapshot.status, PartitionStatus::kInactive) << "it may only learn";
  ASSERT_TRUE(Learn(c));
  ASSERT_TRUE(MakeMember(c));
  LeadAlone(c);
  ExpectRows(c, 300);
}

TEST_F(ReplicaLearningTest, SeveralLogFilesOfWhichTheLastIsTorn) {
  Fill(300, 70);
  old_.log.Append({OldPrimary::MakePut(kPid, old_.ballot, 301, 300, Key(301), "never")});
  old_.log.Tear(20);
  Server& c = AddLearner();
  ASSERT_TRUE(Learn(c));
  EXPECT_EQ(old_.files_served, 5);
  ASSERT_TRUE(MakeMember(c));
  LeadAlone(c);
  ExpectRows(c, 300);
  EXPECT_EQ(Get(c, 301), std::nullopt);
}

TEST_F(ReplicaLearningTest, TheLogGrowsWhileItIsCopied) {
  Fill(300, 100);
  int rounds = 0;
  const auto grow = [&] {
    if (++rounds > 6) return;
    for (int i = 0; i < 15; ++i) {
      const auto row = static_cast<int>(old_.committed()) + 1;
      old_.Commit(Key(row), Value(row));
    }
  };
  old_.on_chunk = old_.on_sizes = grow;
  Server& c = AddLearner();
  ASSERT_TRUE(Learn(c));
  EXPECT_GE(old_.learn_requests, 3);
  EXPECT_EQ(Snapshot(c).last_applied, Decree(old_.committed()));
  ASSERT_TRUE(MakeMember(c));
  LeadAlone(c);
  ExpectRows(c, static_cast<int>(old_.committed()));
}

TEST_F(ReplicaLearningTest, WhatThePrimaryHasNotWrittenYetCounts) {
  Fill(300, 100);
  for (int i = 301; i <= 320; ++i) {
    old_.history.push_back(OldPrimary::MakePut(kPid, old_.ballot, i, i - 1, Key(i), Value(i)));
    AppendMutation(*old_.history.back(), -1, &old_.buffered);
  }
  Server& c = AddLearner();
  ASSERT_TRUE(Learn(c));
  EXPECT_EQ(old_.learn_requests, 2);
  ASSERT_TRUE(MakeMember(c));
  LeadAlone(c);
  ExpectRows(c, 320);
}

TEST_F(ReplicaLearningTest, AFileThatVanishesMidwayIsAskedForAgain) {
  Fill(300, 70);
  const auto all = old_.log.files();
  // Once in the midst of the chunks, once before the sizes; each time the next round finds all.
  old_.on_learn = [&] { old_.log.files() = all; };
  old_.on_chunk = [&] {
    if (old_.chunks_served == 2) old_.log.files().erase(old_.log.names()[2]);
  };
  old_.on_sizes = [&] {
    if (old_.learn_requests == 2) old_.log.files().erase(old_.log.names()[0]);
  };
  Server& c = AddLearner();
  ASSERT_TRUE(Learn(c));
  EXPECT_EQ(old_.learn_requests, 4);
  ASSERT_TRUE(MakeMember(c));
  LeadAlone(c);
  ExpectRows(c, 300);
}

TEST_F(ReplicaLearningTest, ADamagedFirstFileIsRefusedAndSaidAndNothingBehindItIsApplied) {
  Fill(300, 100);
  std::string& first = old_.log.files()["log.1.0"];
  const size_t at = first.size() / 2;
  first[at] ^= 1;
  LogLines lines("learning failed");
  Server& c = AddLearner();
  EXPECT_FALSE(Learn(c, absl::Seconds(30)));
  EXPECT_GT(Snapshot(c).last_applied, Decree(30)) << "the sound part of it";
  EXPECT_LT(Snapshot(c).last_applied, Decree(60));
  const std::vector<std::string> said = lines.Take();
  ASSERT_FALSE(said.empty());
  EXPECT_THAT(said[0], HasSubstr("10.0.0.50:34801 was asked for what follows decree "));
  EXPECT_THAT(said[0], HasSubstr("log file log.1.0 as it came: CORRUPT at"));

  first[at] ^= 1;
  ASSERT_TRUE(Learn(c));
  ASSERT_TRUE(MakeMember(c));
  LeadAlone(c);
  ExpectRows(c, 300);
}

TEST_F(ReplicaLearningTest, ALogThatBeginsBehindWhatIsLackedTeachesNothingAndThatIsSaid) {
  Fill(300, 100);
  const auto all = old_.log.files();
  old_.log.files().erase("log.1.0");
  LogLines lines("learning failed");
  Server& c = AddLearner();
  EXPECT_FALSE(Learn(c, absl::Seconds(30)));
  EXPECT_EQ(Snapshot(c).last_applied, Decree(0));
  const std::vector<std::string> said = lines.Take();
  ASSERT_FALSE(said.empty());
  EXPECT_THAT(said[0], HasSubstr("decree 1 is committed by (3, 101) but missing"));

  old_.log.files() = all;
  ASSERT_TRUE(Learn(c));
  ASSERT_TRUE(MakeMember(c));
  LeadAlone(c);
  ExpectRows(c, 300);
}

TEST_F(ReplicaLearningTest, AnOlderVersionOfADecreeIsNotTaken) {
  for (int i = 1; i <= 300; ++i) {
    const auto old_one = OldPrimary::MakePut(kPid, Ballot(2), i, i > 250 ? 250 : i - 1, Key(i),
                                             i > 250 ? "overruled" : Value(i));
    old_.log.Append({old_one});
    if (i <= 250) old_.history.push_back(old_one);
  }
  old_.log.SwitchFile();
  for (int i = 251; i <= 300; ++i) old_.Commit(Key(i), Value(i));
  Server& c = AddLearner();
  ASSERT_TRUE(Learn(c));
  ASSERT_TRUE(MakeMember(c));
  LeadAlone(c);
  ExpectRows(c, 300);
}

// It stays primary under the next ballot, and prepares again what it does not know to be committed.
TEST_F(ReplicaLearningTest, TheBallotRisesWhileTheLogIsCopied) {
  Fill(300, 70);
  Server& c = AddLearner();
  old_.on_chunk = [&] {
    if (old_.chunks_served != 2) return;
    old_.ballot = old_.ballot + 1;
    for (int i = 291; i <= 300; ++i)
      old_.log.Append({OldPrimary::MakePut(kPid, old_.ballot, i, 290, Key(i), Value(i))});
    old_.CheckGroup(c.address, kLearner);
  };
  ASSERT_TRUE(Learn(c));
  EXPECT_EQ(old_.ballot, Ballot(4));
  EXPECT_EQ(Snapshot(c).ballot, Ballot(4));
  EXPECT_EQ(old_.signature, (int64_t{3} << 32) + 2) << "one session";
  ASSERT_TRUE(MakeMember(c));
  LeadAlone(c);
  ExpectRows(c, 300);
}

TEST_F(ReplicaLearningTest, ACopyThatTheSystemRefusesIsTriedAgain) {
  Fill(300, 70);
  Server& c = AddLearner();
  sim::SimDisk& disk = c.node.disk();
  const std::string copies = options_.layout.data_directories[0].path + "/2.1.pegasus/learn";
  int failed = 0;
  for (const sim::DiskTrouble trouble :
       {sim::DiskTrouble::kNoDescriptors, sim::DiskTrouble::kNoSpace}) {
    disk.FailCalls(copies, trouble, 100);
    EXPECT_FALSE(Learn(c, absl::Seconds(10)));
    EXPECT_GT(disk.calls_failed(), failed);
    failed = static_cast<int>(disk.calls_failed());
    EXPECT_EQ(Snapshot(c).last_applied, Decree(0));
  }
  disk.FailCalls("", sim::DiskTrouble::kNoSpace, 0);
  ASSERT_TRUE(Learn(c));
  EXPECT_EQ(CountDirectories(c, ".err"), 0);
  ASSERT_TRUE(MakeMember(c));
  LeadAlone(c);
  ExpectRows(c, 300);
}

TEST_F(ReplicaLearningTest, WhyLearningFailedIsSaidOfEveryAnswer) {
  Fill(300, 100);
  LogLines lines("learning failed");
  Server& c = AddLearner();
  const auto reason = [&](std::function<LearnResponse()> answer) {
    old_.answers_learn = [answer](const LearnRequest&) { return EncodeWrapped(answer()); };
    old_.Invite(c.address);
    world_.RunFor(absl::Seconds(20));
    std::vector<std::string> said = lines.Take();
    EXPECT_EQ(said.size(), 1u);
    return said.empty() ? "" : said[0];
  };
  LearnResponse sound;
  sound.config = {
      .pid = kPid, .ballot = old_.ballot, .primary = old_.address(), .status = kLearner};
  sound.learnee = old_.address();
  sound.last_committed_decree = Decree(300);
  sound.prepare_start_decree = kInvalidDecree;
  sound.type = LearnType::kLog;
  sound.state.to_decree_included = Decree(300);
  sound.state.files = {"log.1.0"};
  const auto with = [&](auto change) {
    return [change, response = sound]() mutable {
      change(response);
      return response;
    };
  };
  EXPECT_THAT(reason(with([](auto& r) { r.err = ErrorCode::kObjectNotFound; })),
              HasSubstr("10.0.0.50:34801 was asked for what follows decree 0: it answered "
                        "ERR_OBJECT_NOT_FOUND"));
  EXPECT_THAT(reason(with([](auto& r) { r.type = LearnType::kInvalid; })), HasSubstr("type 0"));
  EXPECT_THAT(reason(with([](auto& r) { r.prepare_start_decree = Decree(7); })),
              HasSubstr("begins to prepare with a piece of its log"));
  EXPECT_THAT(reason(with([](auto& r) { r.state.files = {"../log.1.0"}; })),
              HasSubstr("'../log.1.0' is no log file's name"));
  EXPECT_THAT(reason(with([](auto& r) { r.state.files = {"log.7.99"}; })),
              HasSubstr("no longer has the files it named, log.7.99 and 0 more: error 20"));
  old_.answers_learn = nullptr;
  ASSERT_TRUE(Learn(c));
}

// Whatever a crash leaves, of the copy or of what was applied: it learns on, and holds the same.
TEST_F(ReplicaLearningTest, ACrashAtAnyMomentLosesNothing) {
  const std::string padding(4000, 'p');
  for (int i = 1; i <= 300; ++i) {
    old_.Commit(Key(i), Value(i) + padding);
    if (i % 70 == 0) old_.log.SwitchFile();
  }
  const Instant begin = world_.now();
  Server& timed = AddLearner();
  const Instant invited = world_.now();
  ASSERT_TRUE(Learn(timed));
  const absl::Duration whole = world_.now() - invited;
  ASSERT_LT(whole, absl::Seconds(2)) << "in one session";
  ASSERT_LT(invited - begin, absl::Seconds(3));
  int before_it_had_all = 0, before_it_was_applied = 0, half_applied = 0;
  constexpr int kMoments = 48;
  for (int i = 0; i < kMoments; ++i) {
    SCOPED_TRACE(i);
    Server& c = AddLearner();
    const int served = old_.chunks_served;
    old_.Invite(c.address);
    world_.RunFor(whole * i / kMoments);
    const Decree applied = Snapshot(c).last_applied;
    const bool has_all = old_.chunks_served - served >= 5;
    ++(!has_all ? before_it_had_all : applied == Decree(0) ? before_it_was_applied : half_applied);
    c.Crash(i % 3 == 0   ? sim::CrashMode::kProcess
            : i % 3 == 1 ? sim::CrashMode::kPowerNone
                         : sim::CrashMode::kPowerRandom);
    Restart(c);
    world_.RunFor(absl::Seconds(2));
    EXPECT_NE(Snapshot(c).status, PartitionStatus::kSecondary);
    ASSERT_TRUE(Learn(c));
    EXPECT_EQ(Snapshot(c).last_applied, Decree(300));
    EXPECT_EQ(CountDirectories(c, ".err"), 0);
    EXPECT_EQ(Prepare(c, kLearner, 301), ErrorCode::kOk);
    if (i % 4 == 0) {
      ASSERT_TRUE(MakeMember(c));
      world_.RunFor(absl::Seconds(2));
      EXPECT_FALSE(HasCopies(c));
    }
    c.Crash(sim::CrashMode::kPowerNone);
    Restart(c);
    ASSERT_TRUE(world_.RunUntil([&] { return Snapshot(c).last_applied == Decree(300); },
                                absl::Seconds(30)));
    EXPECT_EQ(Snapshot(c).last_prepared, Decree(301)) << "it was acknowledged";
    c.Crash(sim::CrashMode::kProcess);
  }
  EXPECT_GT(before_it_had_all, 3);
  EXPECT_GT(before_it_was_applied, 3);
  EXPECT_GT(half_applied, 3);
}

// The conversation of two 2.5.0 servers, as it was captured: the learner says the same, and
// understands the same.
TEST_F(ReplicaLearningTest, TheCapturedConversation) {
  REQUIRE_FIXTURE(FrameFixtures() + "/captured-2.5.0/49_learn_log_ack.hex");
  constexpr size_t kFrameHeaderBytes = 192;
  const auto body = [](const std::string& name) {
    return ReadFrame("captured-2.5.0/" + name + ".hex").substr(kFrameHeaderBytes);
  };
  constexpr PartitionId kCaptured{2, 0};
  const std::string value(250, 'v');
  OldPrimary old(world_, network_, meta_.app(), kCaptured, *Endpoint::Parse("127.0.0.1:34801"));
  old.ballot = Ballot(17);
  old.signature = 73014444034 - 1;
  old.log = sim::OldLog(kCaptured, 5, 24297);
  for (int i = 1; i <= 1247; ++i) {
    const bool is_torn = i == 1247;
    const auto m = OldPrimary::MakePut(kCaptured, old.ballot, i, i - 1, Key(i),
                                       is_torn ? std::string(400'000, 'v') : value);
    if (!is_torn) old.history.push_back(m);
    if (i > 245) old.log.Append({m});
  }
  ASSERT_GT(old.log.bytes().size(), 407676u);
  old.log.bytes().resize(407676);
  LearnResponse head;  // brings it to where the captured learner stood
  old.answers_learn = [&](const LearnRequest& request) -> std::optional<std::string> {
    if (request.last_committed_decree_in_app == Decree(245)) return body("49_learn_log_ack");
    if (request.last_committed_decree_in_app > Decree(245)) return std::nullopt;
    head.config = {
        .pid = kCaptured, .ballot = old.ballot, .primary = old.address(), .status = kLearner};
    head.learnee = old.address();
    head.last_committed_decree = Decree(1246);
    head.prepare_start_decree = kInvalidDecree;
    head.type = LearnType::kLog;
    head.state.to_decree_included = Decree(245);
    for (int i = 1; i <= 245; ++i)
      AppendMutation(*old.history[static_cast<size_t>(i - 1)], -1, &head.state.meta.bytes);
    return EncodeWrapped(head);
  };
  servers_.push_back(std::make_unique<Server>(world_, 7));
  Server& c = *servers_.back();
  c.address = *Endpoint::Parse("127.0.0.1:34803");
  ASSERT_TRUE(c.Start(network_, options_).ok());
  world_.RunFor(absl::Seconds(2));
  old.Invite(c.address);
  ASSERT_TRUE(world_.RunUntil([&] { return old.completed; }, absl::Minutes(1)));
  EXPECT_EQ(Snapshot(c, kCaptured).last_applied, Decree(1246));

  ASSERT_GE(old.learn_bodies.size(), 3u);
  EXPECT_EQ(old.learn_bodies[1], body("48_learn_log"));
  ASSERT_EQ(old.size_bodies.size(), 1u);
  // Where the files go is the learner's own affair.
  auto sizes = *DecodeWrapped<GetFileSizeRequest>(old.size_bodies[0]);
  EXPECT_TRUE(sizes.dst_dir.ends_with("/2.0.pegasus/learn"));
  const auto captured_sizes = *DecodeWrapped<GetFileSizeRequest>(body("62_nfs_get_file_size_log"));
  sizes.dst_dir = captured_sizes.dst_dir;
  sizes.dest_disk_tag = captured_sizes.dest_disk_tag;
  EXPECT_EQ(EncodeWrapped(sizes), body("62_nfs_get_file_size_log"));
  EXPECT_EQ(EncodeWrapped(GetFileSizeResponse{.file_list = {"log.5.24297"}, .size_list = {407676}}),
            body("63_nfs_get_file_size_log_ack"));
  ASSERT_EQ(old.copy_bodies.size(), 1u);
  auto copy = *DecodeWrapped<CopyRequest>(old.copy_bodies[0]);
  copy.dst_dir = DecodeWrapped<CopyRequest>(body("66_nfs_copy_log"))->dst_dir;
  EXPECT_EQ(EncodeWrapped(copy), body("66_nfs_copy_log"));
}

// ---- a learner's work by itself, without servers ----

class LearnerWorkTest : public PartWorld {
 protected:
  LearnerWorkTest() {
    learning_.emplace(
        host_, strand_, kPart, kDirectory, 0, std::make_shared<RequestStats>(0), *work_, engine_,
        log_,
        ReplicaLearning::Hooks{
            .exchange_engine =
                [this](uint64_t, Decree expected, DiskWork::PoolWork exchange) {
                  exchanged_at_ = expected;
                  env_.RunInPool([&] { exchanged_ = exchange(); });
                },
            .step =
                [this](const Event& event) { done_.push_back(std::get<LearnerWorkDone>(event)); },
            .tag = [] { return std::string("[2.1]"); }});
  }
  void Begin(LearnerWork work) {
    Do([&] { learning_->Begin(std::move(work)); });
    Run(absl::Seconds(5));
  }
  bool IsThere(const std::string& name) {
    bool is_there = false;
    env_.RunInPool([&] { is_there = Exists(env_.files(), std::string(kDirectory) + "/" + name); });
    return is_there;
  }

  std::optional<ReplicaLearning> learning_;
  std::optional<Decree> exchanged_at_;
  absl::Status exchanged_;
  std::vector<LearnerWorkDone> done_;
};

TEST_F(LearnerWorkTest, WhatItWasTaughtIsFlushed) {
  EXPECT_TRUE(engine_->Apply(Decree(1), 0, {}).ok());
  Begin({.serial = 3, .what = LearnerWork::What::kFlush});
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_.front().serial, 3u);
  EXPECT_EQ(done_.front().durable, Decree(1));
}

TEST_F(LearnerWorkTest, FilesThatAreNoCheckpointAreRefused) {
  LearnerWork work{.serial = 4, .what = LearnerWork::What::kInstallCheckpoint};
  Begin(work);
  work.response.state.files = {"checkpoint.1/a", "elsewhere/b"};
  Begin(work);
  work.response.state.files = {"checkpoint.1/a"};
  // Of indexes: of the checkpoint itself, without a size.
  for (const auto& [name, sizes] :
       std::vector<std::pair<std::string, size_t>>{{"checkpoint.1/b", 1}, {"index.1/b", 0}}) {
    work.response.state.indexes = LearnIndexes{
        .files = {name}, .sizes = std::vector<int64_t>(sizes), .checksums = {"00000000"}};
    Begin(work);
  }
  ASSERT_EQ(done_.size(), 4u);
  for (const LearnerWorkDone& done : done_)
    EXPECT_EQ(done.result, LearnerWorkDone::Result::kRemoteFailed);
  EXPECT_FALSE(exchanged_at_);
}

TEST_F(LearnerWorkTest, AMemberKeepsNoCopies) {
  env_.RunInPool(
      [&] { EXPECT_TRUE(env_.files().CreateDirectories(LearnPathOf(kDirectory)).ok()); });
  Do([&] { learning_->DropCopies(); });
  Run(absl::Seconds(1));
  EXPECT_FALSE(IsThere("learn"));
}

}  // namespace
}  // namespace arion
