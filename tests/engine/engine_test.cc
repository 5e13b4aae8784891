// What every engine does, whatever it is made of.
// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>

#include "base/crc.h"
#include "base/raw_key.h"
#include "engine/memory_engine.h"
#include "engine/rocksdb_engine.h"
#include "env/clock.h"
#include "tests/engine/test_environment.h"

namespace arion {
namespace {

constexpr uint32_t kNow = 1000;

using MakeFactory = std::unique_ptr<EngineFactory> (*)(TestEnvironment&);

class EngineTest : public testing::TestWithParam<MakeFactory> {
 protected:
  EngineTest() { Open(); }

  void Open() {
    engine_.reset();
    auto engine = factory_->Open(data_);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  // What was not flushed is lost.
  void CrashAndOpen() { Open(); }

  WriteOp Put(std::string_view key, std::string_view value, uint32_t expire_ts = 0) {
    return {.kind = WriteOp::Kind::kPut, .key = key, .value = value, .expire_ts = expire_ts};
  }
  WriteOp Remove(std::string_view key) { return {.kind = WriteOp::Kind::kRemove, .key = key}; }
  void Apply(std::vector<WriteOp> ops) {
    ASSERT_TRUE(engine_->Apply(engine_->last_applied() + 1, 1, ops).ok());
  }
  std::string Read(std::string_view key, uint32_t now = kNow) {
    auto record = engine_->Get(key, now, ReadTier::kAll);
    if (absl::IsNotFound(record.status())) return "none";
    return record.ok() ? record->value : record.status().ToString();
  }
  int CountCheckpoints() {
    int n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(data_)) {
      n += entry.path().filename().string().starts_with("checkpoint.");
    }
    return n;
  }

  TestEnvironment environment_;
  std::string data_ = environment_.root() + "/2.0.pegasus/data";
  std::unique_ptr<EngineFactory> factory_ = GetParam()(environment_);
  std::unique_ptr<Engine> engine_;
  const std::string a_ = JoinRawKey("a", "1");
  const std::string b_ = JoinRawKey("", std::string("b\0", 2));
};

TEST_P(EngineTest, ANewOneIsEmptyAtDecreeZero) {
  EXPECT_EQ(engine_->last_applied(), Decree(0));
  EXPECT_EQ(engine_->last_flushed(), Decree(0));
  EXPECT_EQ(engine_->last_durable(), Decree(0));
  EXPECT_EQ(Read(a_), "none");
  std::shared_ptr<void> hold;
  EXPECT_TRUE(absl::IsNotFound(engine_->NewestCheckpoint(&hold).status()));
}

TEST_P(EngineTest, ReadsWhatWasApplied) {
  Apply({Put(a_, "1"), Put(b_, "")});
  EXPECT_EQ(Read(a_), "1");
  EXPECT_EQ(Read(b_), "");
  Apply({Remove(a_)});
  EXPECT_EQ(Read(a_), "none");
  EXPECT_EQ(engine_->last_applied(), Decree(2));
}

TEST_P(EngineTest, ALaterOperationOfAMutationWins) {
  Apply({Put(a_, "1"), Put(a_, "2"), Put(b_, "1"), Remove(b_)});
  EXPECT_EQ(Read(a_), "2");
  EXPECT_EQ(Read(b_), "none");
}

TEST_P(EngineTest, ManyMutationsAtOnceAreAppliedInTurnAndTheDecreeOfTheLastSurvives) {
  const WriteOp first[] = {Put(a_, "1"), Put(b_, "1")}, second[] = {Put(a_, "2"), Remove(b_)};
  const Engine::AppliedMutation mutations[] = {
      {Decree(1), 1, first}, {Decree(2), 2, {}}, {Decree(3), 3, second}};
  ASSERT_TRUE(engine_->ApplyAll(mutations).ok());
  ASSERT_TRUE(engine_->ApplyAll({}).ok());
  EXPECT_EQ(engine_->last_applied(), Decree(3));
  EXPECT_EQ(Read(a_), "2");
  EXPECT_EQ(Read(b_), "none");
  ASSERT_TRUE(engine_->Flush().ok());
  CrashAndOpen();
  EXPECT_EQ(engine_->last_applied(), Decree(3));
  EXPECT_EQ(Read(a_), "2");
}

TEST_P(EngineTest, ARecordsTagIsItsMutationsOrItsOwnAndStaysBehindItsExpiry) {
  EXPECT_EQ(*engine_->TagOf(a_, ReadTier::kAll), 0u);
  const TimeTag own{.timestamp_us = 70, .cluster_id = 1},
      other{.timestamp_us = 60, .cluster_id = 2};
  const WriteOp ops[] = {Put(a_, "1", kNow - 1),
                         {.key = b_, .value = "2", .time_tag = other.packed()}};
  ASSERT_TRUE(engine_->Apply(Decree(1), 70, ops).ok());
  EXPECT_EQ(Read(a_), "none");
  EXPECT_EQ(*engine_->TagOf(a_, ReadTier::kAll), own.packed());
  EXPECT_EQ(*engine_->TagOf(b_, ReadTier::kAll), other.packed());
  ASSERT_TRUE(engine_->Flush().ok());
  CrashAndOpen();
  EXPECT_EQ(*engine_->TagOf(a_, ReadTier::kAll), own.packed());
  Apply({Remove(a_)});
  EXPECT_EQ(*engine_->TagOf(a_, ReadTier::kAll), 0u) << "this remove leaves nothing";
}

TEST_P(EngineTest, ATombstoneTellsItsTimeAndIsNoRecord) {
  const auto remove = [](const std::string& key, uint64_t tag) {
    return WriteOp{
        .kind = WriteOp::Kind::kRemove, .key = key, .time_tag = tag, .leaves_tombstone = true};
  };
  constexpr int64_t kTime = kExpiryEpochUnixSeconds * 1000000;
  const TimeTag own{.timestamp_us = kTime + 70, .cluster_id = 1, .deleted = true};
  const TimeTag other{.timestamp_us = kTime + 60, .cluster_id = 2, .deleted = true};
  Apply({Put(a_, "1")});
  const WriteOp ops[] = {remove(a_, 0), remove(b_, other.packed())};
  ASSERT_TRUE(engine_->Apply(Decree(2), kTime + 70, ops).ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(*engine_->TagOf(a_, ReadTier::kAll), own.packed());
    EXPECT_EQ(*engine_->TagOf(b_, ReadTier::kAll), other.packed());
    EXPECT_EQ(Read(a_), "none");
    EXPECT_FALSE(engine_->View()->Walk({}, Direction::kForward)->Valid());
    ASSERT_TRUE(engine_->Flush().ok());
    CrashAndOpen();
  }
  const WriteOp put = Put(a_, "2");
  ASSERT_TRUE(engine_->Apply(Decree(3), kTime + 80, {&put, 1}).ok());
  EXPECT_EQ(TimeTag::FromPacked(*engine_->TagOf(a_, ReadTier::kAll)).timestamp_us, kTime + 80);
}

TEST_P(EngineTest, TombstonesGoWhenTheirTimeIsOverAndThoseOfOthersWhenItIsKnown) {
  constexpr int64_t kDay = 24 * 3600;
  const auto at = [](int64_t seconds) { return (kExpiryEpochUnixSeconds + seconds) * 1000000; };
  const WriteOp ops[] = {
      {.kind = WriteOp::Kind::kRemove, .key = a_, .leaves_tombstone = true},
      {.kind = WriteOp::Kind::kRemove,
       .key = b_,
       .time_tag = TimeTag{.timestamp_us = at(9000), .cluster_id = 2, .deleted = true}.packed(),
       .leaves_tombstone = true}};
  ASSERT_TRUE(engine_->Apply(Decree(1), at(1000), ops).ok());
  const auto checkpoint_at = [&](int64_t seconds) {
    environment_.set_expiry_now(static_cast<uint32_t>(seconds));
    Apply({});
    ASSERT_TRUE(engine_->Checkpoint().ok());
  };
  checkpoint_at(500 + kDay);
  EXPECT_NE(*engine_->TagOf(a_, ReadTier::kAll), 0u);
  checkpoint_at(5000 + kDay);
  EXPECT_EQ(*engine_->TagOf(a_, ReadTier::kAll), 0u);
  EXPECT_NE(*engine_->TagOf(b_, ReadTier::kAll), 0u);
  engine_->SetOwnership(
      {.index = static_cast<int32_t>((PartitionHash(b_) + 1) % 1024), .count = 1024});
  checkpoint_at(8999 + kDay);
  EXPECT_EQ(*engine_->TagOf(b_, ReadTier::kAll), 0u);
}

TEST_P(EngineTest, PositionsAndTheLatestTimeComeWithTheDecree) {
  const SourcePosition position{
      .cluster_id = 2, .duplication_id = 7, .decree = Decree(5), .updates = 3, .timestamp_us = 60};
  const WriteOp put = Put(a_, "1");
  const Engine::AppliedMutation mutations[] = {
      {.decree = Decree(1), .timestamp_us = 5'000'000, .ops = {&put, 1}, .position = position},
      {.decree = Decree(2), .timestamp_us = 4'000'000, .ops = {&put, 1}}};
  EXPECT_EQ(engine_->latest_timestamp_us(), 0);
  ASSERT_TRUE(engine_->ApplyAll(mutations).ok());
  EXPECT_EQ(engine_->latest_timestamp_us(), 5'000'000);
  EXPECT_EQ(engine_->PositionOf(2, 7), position);
  EXPECT_EQ(engine_->PositionOf(2, 8), std::nullopt);
  ASSERT_TRUE(engine_->Checkpoint().ok());
  // As a learner gets it.
  std::shared_ptr<void> hold;
  const auto files = engine_->NewestCheckpoint(&hold);
  ASSERT_TRUE(files.ok());
  const std::string learner = environment_.root() + "/3.0.pegasus/data";
  ASSERT_TRUE(factory_->InstallCheckpoint(files->directory, files->decree, learner).ok());
  const auto installed = factory_->Open(learner);
  ASSERT_TRUE(installed.ok());
  CrashAndOpen();
  for (Engine* engine : {engine_.get(), installed->get()}) {
    EXPECT_EQ(engine->PositionOf(2, 7), position);
    EXPECT_GE(engine->latest_timestamp_us(), 5'000'000);
    EXPECT_LE(engine->latest_timestamp_us(), 6'000'000);
  }
}

TEST_P(EngineTest, AMutationWithoutOperationsOnlyAdvancesTheDecree) {
  Apply({});
  ASSERT_TRUE(engine_->Flush().ok());
  CrashAndOpen();
  EXPECT_EQ(engine_->last_applied(), Decree(1));
}

TEST_P(EngineTest, ARecordEndsWhenItsExpiryComes) {
  Apply({Put(a_, "1", kNow + 1), Put(b_, "2", 0)});
  EXPECT_EQ(engine_->Get(a_, kNow, ReadTier::kAll)->expire_ts, kNow + 1);
  EXPECT_EQ(Read(a_, kNow + 1), "none");
  EXPECT_EQ(Read(b_, UINT32_MAX), "2");
  Apply({Put(a_, "3")});
  EXPECT_EQ(Read(a_, kNow + 1), "3");
}

// With its top bit set an expiry would turn the value's header into another.
TEST_P(EngineTest, AnExpiryBeyondTheRangeIsTheLastThereIs) {
  for (const uint32_t expire_ts : {UINT32_MAX, kExpiryMax + 1, kExpiryMax}) {
    Apply({Put(a_, "value", expire_ts)});
    const auto record = engine_->Get(a_, kNow, ReadTier::kAll);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(record->value, "value");
    EXPECT_EQ(record->expire_ts, kExpiryMax);
  }
}

TEST_P(EngineTest, ACrashLeavesExactlyTheLastFlush) {
  Apply({Put(a_, "1")});
  Apply({Put(b_, "1")});
  ASSERT_TRUE(engine_->Flush().ok());
  EXPECT_EQ(engine_->last_flushed(), Decree(2));
  Apply({Put(a_, "2"), Remove(b_)});
  CrashAndOpen();
  EXPECT_EQ(engine_->last_applied(), Decree(2));
  EXPECT_EQ(engine_->last_flushed(), Decree(2));
  EXPECT_EQ(Read(a_), "1");
  EXPECT_EQ(Read(b_), "1");
}

TEST_P(EngineTest, CloseFlushes) {
  Apply({Put(a_, "1")});
  ASSERT_TRUE(engine_->Close().ok());
  Open();
  EXPECT_EQ(engine_->last_applied(), Decree(1));
  EXPECT_EQ(Read(a_), "1");
}

TEST_P(EngineTest, OpeningMakesTheMissingCheckpoint) {
  Apply({Put(a_, "1")});
  ASSERT_TRUE(engine_->Flush().ok());
  EXPECT_EQ(engine_->last_durable(), Decree(0));
  Open();
  EXPECT_EQ(engine_->last_durable(), Decree(1));
}

TEST_P(EngineTest, ACheckpointNamesWhatWasApplied) {
  Apply({Put(a_, "1")});
  Apply({Put(a_, "2")});
  auto decree = engine_->Checkpoint();
  ASSERT_TRUE(decree.ok()) << decree.status();
  EXPECT_EQ(*decree, Decree(2));
  EXPECT_EQ(engine_->last_durable(), Decree(2));
  EXPECT_EQ(engine_->last_flushed(), Decree(2));
  EXPECT_EQ(*engine_->Checkpoint(), Decree(2));  // nothing new: the same one
  EXPECT_EQ(CountCheckpoints(), 1);
}

TEST_P(EngineTest, OldCheckpointsGoButForTheNewestTwoAndTheOneHeld) {
  Apply({Put(a_, "1")});
  ASSERT_TRUE(engine_->Checkpoint().ok());
  std::shared_ptr<void> hold;
  auto held = engine_->NewestCheckpoint(&hold);
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(held->decree, Decree(1));
  ASSERT_FALSE(held->names.empty());
  for (int i = 2; i <= 5; ++i) {
    Apply({Put(a_, std::to_string(i))});
    ASSERT_TRUE(engine_->Checkpoint().ok());
  }
  EXPECT_EQ(CountCheckpoints(), 3);
  for (const std::string& name : held->names) {
    EXPECT_TRUE(Exists(environment_.files(), JoinPath(held->directory, name)));
  }
  hold.reset();
  Apply({Put(a_, "6")});
  ASSERT_TRUE(engine_->Checkpoint().ok());
  EXPECT_EQ(CountCheckpoints(), 2);
  EXPECT_FALSE(Exists(environment_.files(), held->directory));
}

TEST_P(EngineTest, ACheckpointNewerThanTheDataIsDamage) {
  Apply({Put(a_, "1")});
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  std::filesystem::create_directories(data_ + "/checkpoint.7");
  auto engine = factory_->Open(data_);
  EXPECT_EQ(engine.status().code(), absl::StatusCode::kDataLoss);
}

TEST_P(EngineTest, LeftOversOfCheckpointsAreRemoved) {
  engine_.reset();
  for (const char* name :
       {"checkpoint.tmp.123", "checkpoint.tmp", "checkpoint.07", "old_checkpoint"}) {
    std::filesystem::create_directories(data_ + "/" + name + "/sub");
  }
  Open();
  for (const auto& entry : std::filesystem::directory_iterator(data_)) {
    EXPECT_EQ(entry.path().filename().string().find("checkpoint"), std::string::npos)
        << entry.path();
  }
}

TEST_P(EngineTest, AnInstalledCheckpointReplacesEverything) {
  Apply({Put(a_, "source")});
  Apply({Put(a_, "source 2")});
  ASSERT_TRUE(engine_->Checkpoint().ok());
  std::shared_ptr<void> hold;
  auto source = engine_->NewestCheckpoint(&hold);
  ASSERT_TRUE(source.ok());
  // As a learner gets it: the named files alone.
  const std::string learned = environment_.root() + "/learned";
  std::filesystem::create_directories(learned);
  for (const std::string& name : source->names) {
    std::filesystem::copy_file(JoinPath(source->directory, name), JoinPath(learned, name));
  }

  const std::string target = environment_.root() + "/target/data";
  auto other = factory_->Open(target);
  ASSERT_TRUE(other.ok());
  for (int i = 1; i <= 5; ++i) {
    const WriteOp op = Put(b_, "other");
    ASSERT_TRUE((*other)->Apply(Decree(i), 1, {&op, 1}).ok());
  }
  ASSERT_TRUE((*other)->Checkpoint().ok());
  ASSERT_TRUE((*other)->Close().ok());
  other->reset();

  for (int repeat = 0; repeat < 2; ++repeat) {
    absl::Status installed = factory_->InstallCheckpoint(learned, Decree(2), target);
    ASSERT_TRUE(installed.ok()) << installed;
    other = factory_->Open(target);
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ((*other)->last_applied(), Decree(2));
    EXPECT_EQ((*other)->last_durable(), Decree(2));
    EXPECT_EQ((*other)->Get(a_, kNow, ReadTier::kAll)->value, "source 2");
    EXPECT_TRUE(absl::IsNotFound((*other)->Get(b_, kNow, ReadTier::kAll).status()));
    const WriteOp op = Put(b_, "after");
    ASSERT_TRUE((*other)->Apply(Decree(3), 1, {&op, 1}).ok());
    ASSERT_TRUE((*other)->Flush().ok());
    other->reset();
  }
  EXPECT_EQ(Read(a_), "source 2");  // the source is untouched
}

TEST_P(EngineTest, InstallRefusesAnotherDecreeAndKeepsTheOldContent) {
  Apply({Put(a_, "1")});
  ASSERT_TRUE(engine_->Checkpoint().ok());
  std::shared_ptr<void> hold;
  auto source = engine_->NewestCheckpoint(&hold);
  const std::string target = environment_.root() + "/target/data";
  EXPECT_EQ(factory_->InstallCheckpoint(source->directory, Decree(9), target).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ((*factory_->Open(target))->last_applied(), Decree(0));
}

TEST_P(EngineTest, AnInterruptedInstallIsFinishedAtOpen) {
  Apply({Put(a_, "1")});
  ASSERT_TRUE(engine_->Checkpoint().ok());
  Apply({Put(a_, "2")});
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  // The new content is durable under its name; nothing else has happened yet.
  std::filesystem::rename(data_ + "/checkpoint.1", data_ + "/install.1");
  std::filesystem::create_directories(data_ + "/checkpoint.2");
  Open();
  EXPECT_EQ(engine_->last_applied(), Decree(1));
  EXPECT_EQ(Read(a_), "1");
  EXPECT_FALSE(std::filesystem::exists(data_ + "/install.1"));
}

// 20,000 operations against a map, with flushes, checkpoints, clean and unclean restarts.
TEST_P(EngineTest, AgreesWithAModelThroughRestarts) {
  std::mt19937 random(20261121);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  using Model = std::map<std::string, Record>;
  Model model;
  Model flushed_model;
  int64_t applied = 0;
  int64_t flushed = 0;
  for (int operations = 0; operations < 20000;) {
    std::vector<std::string> keys, values;
    const uint32_t n = below(8);
    for (uint32_t i = 0; i < n; ++i) {
      keys.push_back(
          JoinRawKey("hash" + std::to_string(below(20)), "sort" + std::to_string(below(25))));
      values.push_back(std::string(below(200), static_cast<char>('a' + below(26))));
    }
    std::vector<WriteOp> ops;
    for (uint32_t i = 0; i < n; ++i, ++operations) {
      if (below(4) == 0) {
        ops.push_back(Remove(keys[i]));
        model.erase(keys[i]);
      } else {
        const uint32_t expiry = below(3) == 0 ? kNow - 5 + below(10) : 0;
        ops.push_back(Put(keys[i], values[i], expiry));
        model[keys[i]] = Record{.value = values[i], .expire_ts = expiry};
      }
    }
    ++applied;
    ASSERT_TRUE(engine_->Apply(Decree(applied), applied, ops).ok());
    const uint32_t what = below(1000);
    if (what < 10) {
      ASSERT_TRUE((what < 5 ? engine_->Flush() : engine_->Checkpoint().status()).ok());
      flushed_model = model;
      flushed = applied;
    } else if (what < 14) {
      if (what == 10) {
        ASSERT_TRUE(engine_->Close().ok());
        flushed_model = model;
        flushed = applied;
      }
      CrashAndOpen();
      model = flushed_model;
      applied = flushed;
      ASSERT_EQ(engine_->last_applied(), Decree(applied));
      ASSERT_EQ(engine_->last_durable(), Decree(applied));
    }
    if ((what >= 10 && what < 14) || operations % 500 == 0) {
      for (int hash = 0; hash < 20; ++hash) {
        for (int sort = 0; sort < 25; ++sort) {
          const std::string key =
              JoinRawKey("hash" + std::to_string(hash), "sort" + std::to_string(sort));
          auto it = model.find(key);
          const bool live =
              it != model.end() && (it->second.expire_ts == 0 || it->second.expire_ts > kNow);
          ASSERT_EQ(Read(key), live ? it->second.value : "none") << "after decree " << applied;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, EngineTest, testing::Values([](TestEnvironment& environment) {
                           return std::unique_ptr<EngineFactory>(
                               std::make_unique<MemoryEngineFactory>(environment));
                         }));
INSTANTIATE_TEST_SUITE_P(Rocksdb, EngineTest, testing::Values([](TestEnvironment& environment) {
                           return std::unique_ptr<EngineFactory>(
                               std::make_unique<RocksdbEngineFactory>(environment));
                         }));

}  // namespace
}  // namespace arion
