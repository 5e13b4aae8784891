// SPDX-License-Identifier: Apache-2.0
#include "copies/learn_source.h"
#include "pacifica/effects.h"

#include <gtest/gtest.h>

#include "base/crc.h"
#include "base/status.h"
#include "decrees/log_shipment.h"
#include "engine/engine_wrapper.h"
#include "engine/memory_engine.h"
#include "env/file_system.h"
#include "sim/sim_environment.h"
#include "tests/wal/log_world.h"

namespace arion {
namespace {

// With a copy of indexes at each checkpoint.
class WithIndexes : public EngineWrapper<Engine> {
 public:
  WithIndexes(std::unique_ptr<Engine> engine, FileSystem& files)
      : EngineWrapper(std::move(engine)), files_(files) {}
  absl::StatusOr<IndexFiles> ShipIndexes(const CheckpointFiles& /*checkpoint*/,
                                         std::shared_ptr<void>* hold) override {
    if (!is_whole) return absl::DataLossError("injected");
    *hold = held = std::make_shared<int>(1);
    const std::string directory = "/r/data/index.1/store";
    RETURN_IF_ERROR(files_.CreateDirectories(directory));
    RETURN_IF_ERROR(WriteFileDurably(files_, directory + "/1.sst", entries));
    return IndexFiles{.names = {"index.1/store/1.sst"}, .store = store};
  }
  bool is_whole = false;
  std::string entries = "entries";
  std::shared_ptr<const int> store = std::make_shared<int>(1);
  std::shared_ptr<int> held;

 private:
  FileSystem& files_;
};

class LearnSourceTest : public testing::Test {
 protected:
  LearnSourceTest() {
    env_.RunInPool([&] {
      EXPECT_TRUE(env_.files().CreateDirectories("/r/data").ok());
      engine_ = *engines_.Open("/r/data");
    });
    Apply(1);
  }
  void Apply(int64_t decree) {
    env_.RunInPool([&] {
      const WriteOp op{.key = "k", .value = "v"};
      EXPECT_TRUE(engine_->Apply(Decree(decree), 1, {&op, 1}).ok());
      EXPECT_TRUE(engine_->Checkpoint().ok());
    });
  }
  std::shared_ptr<void> Ship(LearnState* state) {
    std::shared_ptr<void> share;
    env_.RunInPool([&] {
      ShipState ship;
      EXPECT_TRUE(source_.ReadCheckpoint(*engine_, &ship, &share).ok());
      *state = ship.response.state;
    });
    return share;
  }

  sim::SimWorld world_{3};
  sim::SimNode& node_ = world_.AddNode("r1");
  sim::SimEnvironment& env_ = node_.Start();
  MemoryEngineFactory engines_{env_};
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<ServedFiles> served_ = std::make_shared<ServedFiles>(env_.files());
  LearnSource source_{env_.files(), served_, {2, 1}, "/r/data", "ssd"};
};

TEST_F(LearnSourceTest, LearnersOfOneCheckpointShareItsFiles) {
  LearnState first, second, third;
  const std::shared_ptr<void> share = Ship(&first);
  EXPECT_EQ(Ship(&second), share);
  EXPECT_EQ(first, second);
  Apply(2);
  EXPECT_NE(Ship(&third), share);
  EXPECT_EQ(third.to_decree_included, Decree(2));
}

TEST_F(LearnSourceTest, AFollowerClusterGetsACheckpointByItself) {
  LearnResponse response;
  std::shared_ptr<void> share;
  env_.RunInPool(
      [&] { EXPECT_TRUE(source_.ReadForFollower(*engine_, Decree(0), &response, &share).ok()); });
  EXPECT_EQ(response.base_local_dir, "/r/data/checkpoint.1");
  EXPECT_EQ(response.state.to_decree_included, Decree(1));
  ASSERT_EQ(response.state.files.size(), 1u);
  const std::string& name = response.state.files.front();
  EXPECT_EQ(response.state.file_checksums->front().size(), 8u);
  const CopyRequest piece{.source_dir = response.base_local_dir, .file_name = name, .size = 1};
  const uint64_t before = served_->AsksFor(response.base_local_dir);
  EXPECT_EQ(served_->Read(piece).error, ErrorCode::kOk);
  EXPECT_GT(served_->AsksFor(response.base_local_dir), before);
  EXPECT_NE(served_->Read({.source_dir = "/r/data", .file_name = "checkpoint.1/" + name, .size = 1})
                .error,
            ErrorCode::kOk);
  share.reset();
  EXPECT_EQ(served_->Read(piece).error, ErrorCode::kObjectNotFound);
}

// Another member may have led when it was told that all before the start is in a checkpoint.
TEST_F(LearnSourceTest, AFollowerClusterGetsACheckpointThatReachesAsFarAsItNeeds) {
  const auto reaches = [this](int64_t needed) -> absl::StatusOr<int64_t> {
    LearnResponse response;
    std::shared_ptr<void> share;
    absl::Status status;
    env_.RunInPool(
        [&] { status = source_.ReadForFollower(*engine_, Decree(needed), &response, &share); });
    if (!status.ok()) return status;
    return response.state.to_decree_included.value();
  };
  EXPECT_EQ(*reaches(0), 1);
  env_.RunInPool([&] {
    const WriteOp op{.key = "k", .value = "v"};
    EXPECT_TRUE(engine_->Apply(Decree(2), 1, {&op, 1}).ok());
  });
  EXPECT_EQ(*reaches(1), 1) << "what is there is enough";
  EXPECT_EQ(*reaches(2), 2);
  EXPECT_TRUE(absl::IsUnavailable(reaches(3).status()));
}

TEST_F(LearnSourceTest, WholeIndexesAreOfferedBesideTheCheckpoint) {
  auto wrapped = std::make_unique<WithIndexes>(std::move(engine_), env_.files());
  bool& is_whole = wrapped->is_whole;
  std::shared_ptr<int>& held = wrapped->held;
  engine_ = std::move(wrapped);
  LearnState without, with;
  const std::shared_ptr<void> share = Ship(&without);
  EXPECT_FALSE(without.indexes) << "the checkpoint alone, then";
  is_whole = true;
  std::shared_ptr<void> other = Ship(&with);
  EXPECT_NE(other, share) << "it serves more files";
  ASSERT_TRUE(with.indexes);
  EXPECT_EQ(with.files, without.files);
  EXPECT_EQ(with.file_checksums, without.file_checksums);
  EXPECT_EQ(with.indexes->files, (std::vector<std::string>{"index.1/store/1.sst"}));
  EXPECT_EQ(with.indexes->sizes, (std::vector<int64_t>{7}));
  EXPECT_EQ(with.indexes->checksums.size(), 1u);
  EXPECT_EQ(served_->Read({.source_dir = "/r/data", .file_name = with.indexes->files[0], .size = 7})
                .error,
            ErrorCode::kOk);
  EXPECT_EQ(held.use_count(), 2) << "it stays while it is served";
  other.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(LearnSourceTest, AnIndexThatWasMadeAgainHasChecksumsOfItsOwn) {
  auto wrapped = std::make_unique<WithIndexes>(std::move(engine_), env_.files());
  WithIndexes& indexed = *wrapped;
  engine_ = std::move(wrapped);
  indexed.is_whole = true;
  LearnState former, next;
  Ship(&former);
  Ship(&next);
  EXPECT_EQ(next, former);
  // Dropped and made again: a new store counts its files from the beginning.
  indexed.entries = "another";
  indexed.store = std::make_shared<int>(2);
  Ship(&next);
  EXPECT_EQ(next.indexes->files, former.indexes->files);
  EXPECT_EQ(next.indexes->sizes, former.indexes->sizes);
  EXPECT_EQ(former.indexes->checksums[0], absl::StrFormat("%08x", Crc32c("entries")));
  EXPECT_EQ(next.indexes->checksums[0], absl::StrFormat("%08x", Crc32c("another")));
}

TEST_F(LearnSourceTest, ALearnersCheckpointStaysUntilItIsDone) {
  LearnState state;
  std::shared_ptr<void> share = Ship(&state);
  for (int64_t decree = 2; decree < 8; ++decree) Apply(decree);
  const auto is_there = [&] {
    bool all = true;
    env_.RunInPool([&] {
      for (const std::string& file : state.files)
        all = all && Exists(env_.files(), "/r/data/" + file);
    });
    return all;
  };
  const auto serves = [&] {
    return served_->Read({.source_dir = "/r/data", .file_name = state.files[0], .size = 1}).error ==
           ErrorCode::kOk;
  };
  EXPECT_TRUE(is_there());
  EXPECT_TRUE(serves());
  share.reset();
  for (int64_t decree = 8; decree < 12; ++decree) Apply(decree);
  EXPECT_FALSE(is_there());
  EXPECT_FALSE(serves());
}

TEST_F(LearnSourceTest, ALogWaitsLongForItsTurnOnlyWhileItsLearnerGainsOnTheGroup) {
  const Endpoint learner{1, 34801}, other{2, 34801};
  const auto patience = [this](Endpoint of, int64_t first, int64_t last, int64_t committed) {
    ShipState ship{.first = Decree(first), .committed = Decree(committed)};
    ship.response.state.to_decree_included = Decree(last);
    return source_.LogPatience(of, ship);
  };
  constexpr absl::Duration kLong = LearnSource::kLogPauseMax, kShort = LearnSource::kLogPauseMin;
  constexpr uint64_t kGentle = LearnSource::kGentlePieceBytes, kWhole = LearnSource::kPieceBytes;
  EXPECT_EQ(source_.PieceBytes(learner), kGentle);
  EXPECT_EQ(patience(learner, 1, 100, 1000), kLong);
  EXPECT_EQ(patience(learner, 101, 200, 1050), kLong);  // 100 nearer, 50 farther
  EXPECT_EQ(source_.PieceBytes(learner), kGentle);
  EXPECT_EQ(patience(learner, 201, 300, 1101), kShort);
  EXPECT_EQ(source_.PieceBytes(learner), kWhole) << "else it would never arrive";
  EXPECT_EQ(patience(other, 1, 100, 1101), kLong) << "nothing is known of its pace yet";
  EXPECT_EQ(patience(learner, 301, 400, 1101), kLong);
  source_.KeepOnly({});
  EXPECT_EQ(patience(learner, 1, 100, 5000), kLong) << "it has begun anew";
}

TEST_F(LearnSourceTest, EachFileIsNamedWithItsSizeAndChecksum) {
  LearnState state;
  const std::shared_ptr<void> share = Ship(&state);
  ASSERT_FALSE(state.files.empty());
  ASSERT_EQ(state.file_sizes->size(), state.files.size());
  ASSERT_EQ(state.file_checksums->size(), state.files.size());
  for (const std::string& checksum : *state.file_checksums) EXPECT_EQ(checksum.size(), 8u);
}

// One that was asked before, and got a checkpoint that was made meanwhile: a 2.5.0 learner ends
// where that lies beyond what is said to be committed (replica/README.md A10; sim seed 94, --older
// 1).
TEST_F(LearnSourceTest, WhatACheckpointHoldsIsSaidToBeCommitted) {
  Apply(2);
  std::shared_ptr<void> share;
  ShipState ship;
  ship.response.last_committed_decree = Decree(1);
  env_.RunInPool([&] { EXPECT_TRUE(source_.ReadCheckpoint(*engine_, &ship, &share).ok()); });
  EXPECT_EQ(ship.response.state.to_decree_included, Decree(2));
  EXPECT_EQ(ship.response.last_committed_decree, Decree(2));
}

// A log of an older version whose folder was emptied: its first file's header says 0 and its first
// record is decree 195.
TEST(LearnSourceLogTest, WhatTheLogLacksAlthoughItsHeaderSaysOtherwiseIsShippedAsACheckpoint) {
  LogWorld world;
  ASSERT_TRUE(world.Open().ok());
  for (int64_t decree = 195; decree <= 204; ++decree) world.Append(MakeMutation(decree, 10));
  world.Settle();
  ASSERT_TRUE(world.log->Covers(Decree(1)));
  MemoryEngineFactory engines(world.env());
  LearnSource source(world.files(), std::make_shared<ServedFiles>(world.files()), kTestPid,
                     "/data/2.1.pegasus/data", "ssd");
  std::unique_ptr<Engine> engine;
  const auto ship = [&](int64_t first) {
    ShipState ship{.first = Decree(first), .committed = Decree(204)};
    ship.response.type = LearnType::kLog;
    LearnSource::Shipment shipment;
    world.env().RunInPool([&] {
      if (engine == nullptr) {
        EXPECT_TRUE(world.files().CreateDirectories("/data/2.1.pegasus/data").ok());
        engine = *engines.Open("/data/2.1.pegasus/data");
        const WriteOp op{.key = "k", .value = "v"};
        for (int64_t decree = 1; decree <= 204; ++decree) {
          EXPECT_TRUE(engine->Apply(Decree(decree), 1, {&op, 1}).ok());
          if (decree == 100) {
            EXPECT_TRUE(engine->Checkpoint().ok());
          }
        }
      }
      EXPECT_TRUE(
          source.Read(*world.log, *engine, LearnSource::kPieceBytes, &ship, &shipment).ok());
    });
    EXPECT_TRUE(shipment.log_damage.ok());
    EXPECT_EQ(shipment.share != nullptr, ship.response.type == LearnType::kApp);
    return std::make_pair(ship.response.type, ship.response.state.to_decree_included);
  };
  EXPECT_EQ(ship(195), std::make_pair(LearnType::kLog, Decree(204)));
  EXPECT_EQ(ship(1), std::make_pair(LearnType::kApp, Decree(100)));
  EXPECT_EQ(ship(101), std::make_pair(LearnType::kApp, Decree(204))) << "a new one: 100 is behind";
}

TEST(LearnSourceLogTest, WhatCantBeReadOfTheLogIsShippedAsACheckpoint) {
  LogWorld world;
  ASSERT_TRUE(world.Open().ok());
  for (int64_t decree = 1; decree <= 9; ++decree) world.Append(MakeMutation(decree, 10));
  world.Settle();
  MemoryEngineFactory engines(world.env());
  LearnSource source(world.files(), std::make_shared<ServedFiles>(world.files()), kTestPid,
                     "/data/2.1.pegasus/data", "ssd");
  world.watched().on_open = [](const std::string& path) {
    return path.starts_with(kLogDirectory) ? InputOutputError(path) : absl::OkStatus();
  };
  ShipState ship{.first = Decree(4), .committed = Decree(9)};
  ship.response.type = LearnType::kLog;
  LearnSource::Shipment shipment;
  world.env().RunInPool([&] {
    ASSERT_TRUE(world.files().CreateDirectories("/data/2.1.pegasus/data").ok());
    const auto engine = *engines.Open("/data/2.1.pegasus/data");
    const WriteOp op{.key = "k", .value = "v"};
    for (int64_t decree = 1; decree <= 9; ++decree)
      EXPECT_TRUE(engine->Apply(Decree(decree), 1, {&op, 1}).ok());
    const absl::Status read =
        source.Read(*world.log, *engine, LearnSource::kPieceBytes, &ship, &shipment);
    EXPECT_TRUE(read.ok()) << read;
  });
  EXPECT_EQ(ship.response.type, LearnType::kApp);
  EXPECT_EQ(ship.response.state.to_decree_included, Decree(9));
  EXPECT_FALSE(ship.response.state.files.empty());
  EXPECT_NE(shipment.share, nullptr);
  EXPECT_TRUE(absl::IsDataLoss(shipment.log_damage)) << shipment.log_damage;
}

// A large mutation that did not fit left the piece less than half full, which was taken for the
// end.
TEST(LearnSourceLogTest, APieceThatALargeMutationCutsShortIsNotTheLogsEnd) {
  LogWorld world;
  ASSERT_TRUE(world.Open().ok());
  world.Append(MakeMutation(1, 100, /*ballot=*/1, /*last_committed=*/0));
  world.Append(MakeMutation(2, 1 << 20, 1, 0));
  world.Append(MakeMutation(1, 100, 2, 0));
  world.Append(MakeMutation(2, 100, 2, 0));
  world.Settle();
  absl::StatusOr<std::vector<MutationPtr>> history = absl::UnknownError("");
  world.env().RunInPool(
      [&] { history = ReadHistory(*world.log, Decree(1), Decree(2), 128 << 10); });
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->size(), 2u);
  for (const MutationPtr& mutation : *history) EXPECT_EQ(mutation->ballot, Ballot(2));
}

// From 128 KiB on by fours, the last piece would have been of 32 MiB, not of the 64 that may be
// read.
TEST(LearnSourceLogTest, ALogThatProvesLittleIsReadUpToTheLimit) {
  constexpr int64_t kDecrees = 45;
  LogWorld world;
  ASSERT_TRUE(world.Open().ok());
  for (int64_t d = 1; d <= kDecrees; ++d) world.Append(MakeMutation(d, 1 << 20, 1, 0));
  for (int64_t d = 1; d <= kDecrees; ++d) world.Append(MakeMutation(d, 100, 2, 0));
  world.Settle();
  absl::StatusOr<std::vector<MutationPtr>> history = absl::UnknownError("");
  world.env().RunInPool([&] {
    history = ReadHistory(*world.log, Decree(1), Decree(kDecrees), LearnSource::kGentlePieceBytes);
  });
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->back()->decree, Decree(kDecrees));
  EXPECT_EQ(history->back()->ballot, Ballot(2));
}

TEST(CheapestWayTest, TheLogUnlessItsReplayTakesLongerThanACopy) {
  EXPECT_FALSE(CheckpointIsCheaper(absl::Milliseconds(900), 0)) << "a little of the log";
  EXPECT_TRUE(CheckpointIsCheaper(absl::Seconds(20), 100 << 20)) << "the same keys over and over";
  EXPECT_FALSE(CheckpointIsCheaper(absl::Seconds(20), uint64_t{10} << 30)) << "a large table";
}

}  // namespace
}  // namespace arion
