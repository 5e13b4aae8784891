// When a replica's indexes are defined and built. SPDX-License-Identifier: Apache-2.0
#include "indexes/index_upkeep.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/status.h"
#include "engine/engine_wrapper.h"
#include "engine/index_store.h"
#include "engine/memory_engine.h"
#include "indexes/index_book.h"
#include "tests/indexes/indexed_replica.h"

namespace arion {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

constexpr int kStepRecords = 200;
constexpr IndexOptions kOptions = {.step_records = kStepRecords, .former_bytes = 20'000};

// Its bulk loads fail at their end, as often as is said.
class FailingFactory : public MemoryEngineFactory {
 public:
  using MemoryEngineFactory::MemoryEngineFactory;

  absl::StatusOr<std::unique_ptr<IndexStore>> OpenIndexStore(
      const std::string& directory) override {
    ASSIGN_OR_RETURN(auto store, MemoryEngineFactory::OpenIndexStore(directory));
    return std::make_unique<Store>(std::move(store), failures_);
  }
  void Fail(int times) { *failures_ = times; }

 private:
  struct Writer : BulkWriter {
    Writer(std::unique_ptr<BulkWriter> inner, std::shared_ptr<int> failures)
        : inner(std::move(inner)), failures(std::move(failures)) {}
    absl::Status Add(std::string_view raw_key) override { return inner->Add(raw_key); }
    absl::StatusOr<std::vector<std::string>> Save() override { return inner->Save(); }
    absl::Status Sort() override { return inner->Sort(); }
    absl::Status Finish() override {
      if (*failures > 0) return --*failures, absl::DataLossError("injected");
      return inner->Finish();
    }
    const std::unique_ptr<BulkWriter> inner;
    const std::shared_ptr<int> failures;
  };
  struct Store : EngineWrapper<IndexStore> {
    Store(std::unique_ptr<IndexStore> store, std::shared_ptr<int> failures)
        : EngineWrapper(std::move(store)), failures(std::move(failures)) {}
    absl::StatusOr<std::unique_ptr<BulkWriter>> NewBulkWriter(
        const std::vector<std::string>& saved) override {
      ASSIGN_OR_RETURN(auto writer, static_cast<IndexStore&>(inner()).NewBulkWriter(saved));
      return std::make_unique<Writer>(std::move(writer), failures);
    }
    absl::Status CopyTo(const std::string& directory) override {
      return static_cast<IndexStore&>(inner()).CopyTo(directory);
    }
    absl::Status RemoveRange(const KeyRange& range) override {
      return static_cast<IndexStore&>(inner()).RemoveRange(range);
    }
    const std::shared_ptr<int> failures;
  };
  const std::shared_ptr<int> failures_ = std::make_shared<int>(0);
};

// The pool and the timers are queues that the test works off.
class IndexUpkeepTest : public testing::Test {
 protected:
  IndexUpkeepTest() { Open(); }
  ~IndexUpkeepTest() override {
    upkeep_.Close();
    RunPool();
  }

  void Open() {
    auto engine = factory_.Open(environment_.root() + "/1.0.pegasus/data");
    ASSERT_TRUE(engine.ok());
    engine_ = *std::move(engine);
  }
  IndexUpkeep::Hooks Hooks() {
    return {.in_bulk_pool =
                [this](auto work, auto then) {
                  pool_.push_back({std::move(work), std::move(then)});
                },
            .after = [this](absl::Duration, auto task) { timers_.push_back(std::move(task)); },
            .pace =
                [this](uint64_t bytes) {
                  paced_bytes_ += bytes;
                  return rest_;
                },
            .wanted = [this]() -> const std::vector<NamedIndex>& { return wanted_; },
            .is_told = [this] { return is_told_; },
            .note =
                [this](const auto& indexes) {
                  book_.Note({1, 0}, "temp", indexes, wanted_);
                },
            .is_quiet_awaited = [this] { return is_quiet_awaited_; },
            .is_member = [this] { return is_member_; },
            .tag = [] { return std::string("[1.0]"); }};
  }
  void Want(const Texts& texts) {
    wanted_ = IndexedReplica::Named(texts);
    upkeep_.Consider();
  }
  // One job; false: none waits.
  bool RunJob() {
    if (pool_.empty()) return false;
    Job job = std::move(pool_.front());
    pool_.pop_front();
    const absl::Status status = job.work();
    job.work = nullptr;
    job.then(status);
    return true;
  }
  void RunPool() {
    while (RunJob()) {
    }
  }
  void RunTimers() {
    auto due = std::move(timers_);
    timers_.clear();
    for (auto& task : due) task();
  }
  void Put(int records) {
    for (int i = 0; i < records; ++i) {
      const std::string key = JoinRawKey("k" + std::to_string(i), "");
      const std::vector<WriteOp> ops = {{.key = key, .value = R"({"n":1})"}};
      ASSERT_TRUE(engine_->Apply(engine_->last_applied() + 1, 1, ops).ok());
    }
  }
  bool IsWhole(const std::string& name) {
    const auto reading = engine_->indexes()->Read(name);
    return reading && reading->progress.is_whole;
  }

  struct Job {
    absl::AnyInvocable<absl::Status()> work;
    absl::AnyInvocable<void(absl::Status)> then;
  };
  TestEnvironment environment_;
  FailingFactory plain_{environment_};
  IndexedEngineFactory factory_{environment_, plain_, kOptions};
  IndexBook book_;
  std::deque<Job> pool_;
  std::vector<absl::AnyInvocable<void()>> timers_;
  std::vector<NamedIndex> wanted_;
  bool is_told_ = true;
  uint64_t paced_bytes_ = 0;
  absl::Duration rest_;
  bool is_quiet_awaited_ = false;
  bool is_member_ = true;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<IndexSlots> slots_ = std::make_shared<IndexSlots>(1);
  IndexUpkeep upkeep_{slots_, engine_, Hooks()};
};

TEST_F(IndexUpkeepTest, WithoutIndexesNothingIsDone) {
  upkeep_.Consider();
  EXPECT_FALSE(RunJob());
  EXPECT_TRUE(timers_.empty());
}

TEST_F(IndexUpkeepTest, WhatIsWantedIsDefinedAndBuiltStepByStep) {
  Put(kStepRecords + 5);
  Want({{"by_n", "$.n"}});
  EXPECT_TRUE(RunJob()) << "it is defined";
  EXPECT_TRUE(RunJob()) << "a build begins";
  EXPECT_EQ(book_.Paces()["temp"].bytes_per_second, 0) << "nothing is read yet";
  EXPECT_FALSE(book_.Paces()["temp"].seconds_left());
  const uint64_t all = book_.Paces()["temp"].left_bytes;
  EXPECT_GT(all, 0u);
  EXPECT_TRUE(RunJob());
  EXPECT_FALSE(IsWhole("by_n"));
  EXPECT_LT(book_.Paces()["temp"].left_bytes, all);
  RunPool();
  EXPECT_EQ(book_.Paces()["temp"].seconds_left(), 0);
  EXPECT_TRUE(IsWhole("by_n"));
  ASSERT_EQ(book_.Rows().size(), 1u) << "displays see it";
  EXPECT_EQ(book_.Rows()[0].whole, 1);
  EXPECT_EQ(book_.Rows()[0].mean_percent, 100);
  EXPECT_NE(slots_->TryBuild(), nullptr) << "its slot is given back";
  Want({});
  RunPool();
  EXPECT_FALSE(engine_->indexes()->Read("by_n").has_value());
}

TEST_F(IndexUpkeepTest, ARestartKeepsWhatIsBuiltUntilItIsToldWhatIsWanted) {
  Put(5);
  Want({{"by_n", "$.n"}});
  RunPool();
  is_told_ = false;
  Want({});
  RunPool();
  EXPECT_TRUE(IsWhole("by_n")) << "the directory remembers the table as it was created";
  is_told_ = true;
  Want({{"by_n", "$.n"}});
  EXPECT_FALSE(RunJob()) << "it is whole";
  Want({});
  RunPool();
  EXPECT_FALSE(engine_->indexes()->Read("by_n").has_value());
}

TEST_F(IndexUpkeepTest, AChangeEndsABuildAndBeginsOneOfAll) {
  Put(kStepRecords + 5);
  Want({{"by_n", "$.n"}});
  RunJob(), RunJob(), RunJob();
  Want({{"by_n", "$.n"}, {"first", "bytes(0,1)"}});
  RunPool();
  EXPECT_TRUE(IsWhole("by_n") && IsWhole("first"));
}

TEST_F(IndexUpkeepTest, ALearnersAreNotBuiltAndOthersWaitForTheirTurn) {
  is_member_ = false;
  Want({{"by_n", "$.n"}});
  RunPool();
  EXPECT_FALSE(IsWhole("by_n"));
  is_member_ = true;
  auto taken = slots_->TryBuild();
  RunTimers();
  RunPool();
  EXPECT_FALSE(IsWhole("by_n"));
  taken = nullptr;
  RunTimers();
  RunPool();
  EXPECT_TRUE(IsWhole("by_n"));
}

TEST_F(IndexUpkeepTest, ABuildRestsForTheSakeOfClients) {
  Put(3 * kStepRecords);
  rest_ = absl::Milliseconds(20);
  Want({{"by_n", "$.n"}});
  for (int i = 0; i < 3; ++i) RunJob();
  const uint64_t of_a_step = paced_bytes_;
  EXPECT_GT(of_a_step, 0u);
  EXPECT_FALSE(RunJob()) << "it rests";
  int rests = 0;
  while (!IsWhole("by_n")) {
    ASSERT_LT(++rests, 10);
    RunTimers();
    RunPool();
  }
  EXPECT_GT(paced_bytes_, 2 * of_a_step);
}

TEST_F(IndexUpkeepTest, FewAreDefinedAtATime) {
  auto first = slots_->TryDefine(), second = slots_->TryDefine();
  Want({{"by_n", "$.n"}});
  EXPECT_FALSE(RunJob());
  ASSERT_EQ(book_.Rows().size(), 1u) << "displays see what is to come";
  EXPECT_EQ(book_.Rows()[0].replicas, 1);
  EXPECT_EQ(book_.Rows()[0].mean_percent, 0);
  EXPECT_FALSE(book_.Paces()["temp"].seconds_left()) << "all of it is to be read yet";
  second = nullptr;
  RunTimers();
  RunPool();
  EXPECT_EQ(book_.Rows()[0].mean_percent, 100);
  EXPECT_EQ(book_.Paces()["temp"].seconds_left(), 0);
  EXPECT_TRUE(IsWhole("by_n"));
  EXPECT_NE(slots_->TryDefine(), nullptr) << "it is given back";
}

TEST_F(IndexUpkeepTest, APausedOneIsBuiltWhenItGoesOn) {
  Put(1);
  Want({{"by_n", "$.n;paused"}});
  RunPool();
  EXPECT_FALSE(IsWhole("by_n"));
  Want({{"by_n", "$.n"}});
  RunPool();
  EXPECT_TRUE(IsWhole("by_n"));
}

TEST_F(IndexUpkeepTest, ABuildThatFailsBeginsAnewWithEverything) {
  Put(5);
  plain_.Fail(2);
  Want({{"by_n", "$.n"}});
  for (int i = 0; i < 2; ++i) {
    RunPool();
    EXPECT_FALSE(IsWhole("by_n"));
    EXPECT_FALSE(engine_->indexes()->IsDefined(wanted_)) << "what is in the store is not known";
    RunTimers();
  }
  RunPool();
  EXPECT_TRUE(IsWhole("by_n"));
}

TEST_F(IndexUpkeepTest, ABuildThatIsGivenUpIsGoneBeforeTheNext) {
  Put(2 * kStepRecords + 5);
  Want({{"by_n", "$.n"}});
  RunJob(), RunJob(), RunJob();
  Want({{"first", "bytes(0,1)"}});
  RunJob();  // the step that was in the pool
  ASSERT_EQ(pool_.size(), 1u) << "the former build is let go of, and nothing else";
  RunJob();
  EXPECT_FALSE(engine_->indexes()->IsDefined(wanted_)) << "only now it is defined";
  RunPool();
  EXPECT_TRUE(IsWhole("first"));
}

TEST_F(IndexUpkeepTest, ABuildInThePoolEndsBeforeTheEngineGoes) {
  Put(kStepRecords + 5);
  Want({{"by_n", "$.n"}});
  RunJob(), RunJob();
  is_quiet_awaited_ = true;
  upkeep_.EndBuild();  // a step is in the pool
  RunPool();
  EXPECT_FALSE(IsWhole("by_n"));
  ASSERT_TRUE(engine_->Close().ok());
  engine_ = nullptr;
  upkeep_.Consider();
  RunTimers();
  EXPECT_FALSE(RunJob()) << "no engine, no work";
  Open();
  is_quiet_awaited_ = false;
  upkeep_.Consider();
  RunPool();
  EXPECT_TRUE(IsWhole("by_n"));
}

TEST_F(IndexUpkeepTest, EntriesOfFormerFieldsGoWhereTheyTakeMuchRoom) {
  Put(2000);
  Want({{"by_n", "$.n"}, {"all", "value"}});
  RunPool();
  const auto is_outgrown = [this] { return engine_->indexes()->IsOutgrown(*engine_); };
  Put(3000);
  ASSERT_EQ(timers_.size(), 1u);
  RunTimers();
  EXPECT_TRUE(RunJob()) << "it looks";
  EXPECT_FALSE(RunJob()) << "with the data it may grow";
  for (int i = 0; i < 8000; ++i) {
    const std::string key = JoinRawKey("k" + std::to_string(i % 20), "");
    const std::string value = R"({"n":)" + std::to_string(i) + R"(,"text":"some bytes"})";
    const std::vector<WriteOp> ops = {{.key = key, .value = value}};
    ASSERT_TRUE(engine_->Apply(engine_->last_applied() + 1, 1, ops).ok());
  }
  EXPECT_TRUE(is_outgrown());
  RunTimers();
  RunJob();
  EXPECT_TRUE(IsWhole("by_n")) << "it answers while its successor is built";
  EXPECT_TRUE(engine_->indexes()->Read("by_n")->progress.is_renewed);
  RunPool();
  EXPECT_FALSE(is_outgrown());
  EXPECT_EQ(engine_->indexes()->Read("by_n")->progress.entries, 3000);
  ASSERT_EQ(timers_.size(), 1u) << "it looks again";
}

}  // namespace
}  // namespace arion
