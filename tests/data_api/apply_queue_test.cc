// SPDX-License-Identifier: Apache-2.0
#include "data_api/apply_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/raw_key.h"
#include "base/status.h"
#include "messages/client_messages.h"
#include "rpc/thrift_codec.h"
#include "sim/sim_environment.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Of a decree, and without content.
class DecreeView : public EngineView {
 public:
  explicit DecreeView(Decree at) : at_(at) {}
  absl::StatusOr<Record> Get(std::string_view, uint32_t, ReadTier) const override {
    return absl::NotFoundError("");
  }
  std::unique_ptr<RecordIterator> Walk(KeyRange, Direction) const override { return nullptr; }
  int64_t at() const { return at_.value(); }

 private:
  const Decree at_;
};

// Answers as it is told, and notes who applied what.
class FakeEngine : public Engine {
 public:
  absl::Status Apply(Decree decree, int64_t, absl::Span<const WriteOp>) override {
    return Take(decree, "pool", &pool_answers);
  }
  absl::Status TryApplyAll(absl::Span<const AppliedMutation> mutations) override {
    batches.push_back(static_cast<int>(mutations.size()));
    for (const AppliedMutation& m : mutations)
      RETURN_IF_ERROR(Take(m.decree, "strand", &strand_answers));
    return absl::OkStatus();
  }
  Decree last_applied() const override { return applied_; }
  Decree last_flushed() const override { return Decree(0); }
  Decree last_durable() const override { return Decree(0); }
  absl::StatusOr<Record> Get(std::string_view, uint32_t, ReadTier) const override {
    return absl::NotFoundError("");
  }
  absl::StatusOr<uint64_t> TagOf(std::string_view, ReadTier) const override { return 0; }
  std::optional<SourcePosition> PositionOf(uint8_t, int64_t) const override { return std::nullopt; }
  int64_t latest_timestamp_us() const override { return 0; }
  std::shared_ptr<const EngineView> View() const override {
    return std::make_shared<DecreeView>(applied_);
  }
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::StatusOr<Decree> Checkpoint() override { return applied_; }
  absl::StatusOr<bool> RenewCheckpoints() override { return true; }
  absl::StatusOr<CheckpointFiles> NewestCheckpoint(std::shared_ptr<void>*) override {
    return absl::NotFoundError("");
  }
  uint64_t size_bytes() const override { return 0; }
  void BeforeFlush(std::function<void()>) override {}
  void SetOwnership(const KeyOwnership&) override {}
  KeyOwnership ownership() const override { return {}; }
  int32_t compacted_for() const override { return 0; }
  absl::Status NoteCompactedFor(int32_t) override { return absl::OkStatus(); }
  int64_t last_compacted_ms() const override { return 0; }
  absl::Status NoteCompacted(int64_t) override { return absl::OkStatus(); }
  absl::Status Close() override { return absl::OkStatus(); }

  // The next answers; OK when there is none left.
  std::deque<absl::Status> strand_answers, pool_answers;
  std::vector<std::string> applied;
  // How many the strand gave at once.
  std::vector<int> batches;

 private:
  absl::Status Take(Decree decree, std::string_view where, std::deque<absl::Status>* answers) {
    if (!answers->empty()) {
      absl::Status answer = std::move(answers->front());
      answers->pop_front();
      if (!answer.ok()) return answer;
    }
    EXPECT_EQ(decree, applied_ + 1);
    applied_ = decree;
    applied.push_back(std::string(where) + " " + std::to_string(decree.value()));
    return absl::OkStatus();
  }
  Decree applied_{0};
};

class ApplyQueueTest : public testing::Test {
 protected:
  using Urgency = ApplyQueue::Urgency;

  ApplyQueueTest() {
    queue_ = std::make_shared<ApplyQueue>(
        strand_,
        ApplyQueue::Hooks{
            .in_disk_pool = [this](auto work,
                                   auto then) { RunInPool(std::move(work), std::move(then)); },
            .in_bulk_pool =
                [this](auto work, auto then) {
                  ++bulk_jobs_;
                  RunInPool(std::move(work), std::move(then));
                },
            .on_applied = [this](Decree d) { reported_.push_back(d.value()); },
            .on_failed = [this](Decree d, const absl::Status&) { failed_.push_back(d.value()); },
            .on_no_space = [this](const absl::Status&) { ++no_space_; }});
  }
  void RunInPool(absl::AnyInvocable<absl::Status()> work,
                 absl::AnyInvocable<void(absl::Status)> then) {
    env_.disk_pool("/").Submit([this, work = std::move(work), then = std::move(then)]() mutable {
      strand_->Post([status = work(), then = std::move(then)]() mutable { then(status); });
    });
  }
  static MutationPtr Make(int64_t decree) {
    auto mutation = std::make_shared<Mutation>();
    mutation->decree = Decree(decree);
    return mutation;
  }
  void Apply(std::vector<int64_t> decrees, Urgency urgency = Urgency::kSoon) {
    std::vector<MutationPtr> mutations;
    for (const int64_t d : decrees) mutations.push_back(Make(d));
    env_.RunOn(strand_, [&] { queue_->Apply(engine_, mutations, urgency); });
  }
  void CatchUp() {
    env_.RunOn(strand_, [this] { queue_->CatchUp(); });
  }
  void ViewAt(int64_t decree) {
    env_.RunOn(strand_, [&] {
      queue_->ViewAt(Decree(decree), engine_, [this](std::shared_ptr<const EngineView> view) {
        views_.push_back(view == nullptr ? -1 : dynamic_cast<const DecreeView&>(*view).at());
      });
    });
  }
  void Run(absl::Duration time) { world_.RunFor(time); }

  const absl::Status stalled_ = absl::UnavailableError("stalled");
  const absl::Status full_ = absl::ResourceExhaustedError("full");
  sim::SimWorld world_{3};
  sim::SimNode& node_ = world_.AddNode("n");
  sim::SimEnvironment& env_ = node_.Start();
  StrandPtr strand_ = env_.NewStrand("replica");
  std::shared_ptr<FakeEngine> engine_ = std::make_shared<FakeEngine>();
  std::shared_ptr<ApplyQueue> queue_;
  std::vector<int64_t> reported_, failed_;
  std::vector<int64_t> views_;  // of which decree; -1: it was past
  int no_space_ = 0;
  int bulk_jobs_ = 0;
};

TEST_F(ApplyQueueTest, WhatNeedNotWaitIsAppliedAtOnceAndReportedOnce) {
  Apply({1, 2, 3});
  EXPECT_THAT(engine_->applied, ElementsAre("strand 1", "strand 2", "strand 3"));
  EXPECT_THAT(reported_, ElementsAre(3));
  EXPECT_TRUE(queue_->IsIdle());
  EXPECT_EQ(engine_.use_count(), 1) << "an idle queue lets go of the engine";
}

TEST_F(ApplyQueueTest, WhatIsAppliedInOneTurnIsOneBatch) {
  Apply({1, 2, 3});
  EXPECT_THAT(engine_->batches, ElementsAre(3));
}

TEST_F(ApplyQueueTest, WhatNobodyReadsIsGatheredForASecond) {
  Apply({1}, Urgency::kLater);
  Run(ApplyQueue::kGatheredFor - absl::Milliseconds(10));
  Apply({2, 3}, Urgency::kLater);
  EXPECT_THAT(engine_->applied, IsEmpty());
  EXPECT_THAT(reported_, IsEmpty()) << "told before it is applied";
  EXPECT_FALSE(queue_->IsIdle());
  Run(absl::Milliseconds(20));
  EXPECT_THAT(engine_->applied, ElementsAre("strand 1", "strand 2", "strand 3"));
  EXPECT_THAT(engine_->batches, ElementsAre(3));
  EXPECT_THAT(reported_, ElementsAre(3));
  EXPECT_EQ(engine_.use_count(), 1) << "an idle queue lets go of the engine";

  Apply({4}, Urgency::kLater);
  Run(ApplyQueue::kGatheredFor + absl::Milliseconds(10));
  EXPECT_THAT(reported_, ElementsAre(3, 4)) << "the next are gathered, too";
}

TEST_F(ApplyQueueTest, WhatIsGatheredIsAppliedOnceThereIsMuchOfIt) {
  std::vector<int64_t> many(MutationBatch::kMutationsMax);
  std::iota(many.begin(), many.end(), 1);
  Apply(many, Urgency::kLater);
  EXPECT_THAT(engine_->batches, ElementsAre(MutationBatch::kMutationsMax)) << "by number";
  Apply({65}, Urgency::kLater);
  EXPECT_EQ(engine_->batches.size(), 1u);
  auto large = std::make_shared<Mutation>();
  large->decree = Decree(66);
  large->updates.push_back(
      {.code = WriteCode::kPut,
       .data = EncodeWrapped(
           UpdateRequest{JoinRawKey("h", "s"), std::string(ApplyQueue::kGatheredBytes, 'v')})});
  env_.RunOn(strand_, [&] { queue_->Apply(engine_, {large}, Urgency::kLater); });
  EXPECT_THAT(reported_, ElementsAre(64, 66)) << "by size";
  EXPECT_EQ(queue_->waiting_bytes(), 0u);
}

TEST_F(ApplyQueueTest, WhoNeedsTheContentDoesNotWaitForWhatIsGathered) {
  Apply({1, 2}, Urgency::kLater);
  CatchUp();
  EXPECT_THAT(reported_, ElementsAre(2));
  CatchUp();
  Apply({3}, Urgency::kLater);
  Apply({4}, Urgency::kSoon);
  EXPECT_THAT(reported_, ElementsAre(2, 4)) << "a primary's applies those before it";
  Apply({5, 6, 7}, Urgency::kLater);
  ViewAt(6);
  EXPECT_THAT(views_, ElementsAre(6));
  EXPECT_THAT(reported_, ElementsAre(2, 4, 7));
  ViewAt(9);
  Apply({8, 9, 10}, Urgency::kLater);
  EXPECT_THAT(views_, ElementsAre(6, 9)) << "whoever waits for a view need not wait a second";
}

TEST_F(ApplyQueueTest, CatchingUpLeavesToThePoolWhatItHas) {
  engine_->strand_answers = {stalled_};
  Apply({1, 2}, Urgency::kLater);
  CatchUp();
  CatchUp();
  EXPECT_THAT(engine_->applied, IsEmpty());
  Run(absl::Milliseconds(500));
  EXPECT_THAT(engine_->applied, ElementsAre("pool 1"));
  Run(absl::Seconds(1));
  EXPECT_THAT(engine_->applied, ElementsAre("pool 1", "strand 2"));
  EXPECT_THAT(reported_, ElementsAre(1, 2));
}

TEST_F(ApplyQueueTest, WhatIsGatheredIsDroppedWithTheQueue) {
  Apply({1}, Urgency::kLater);
  env_.RunOn(strand_, [this] { queue_->Abandon(); });
  Run(absl::Seconds(2));
  EXPECT_THAT(engine_->applied, IsEmpty());
  EXPECT_TRUE(queue_->IsIdle());
}

TEST_F(ApplyQueueTest, WhatWouldWaitGoesToThePoolAndTheLaterOnesQueueBehindIt) {
  engine_->strand_answers = {absl::OkStatus(), stalled_};
  Apply({1, 2, 3});
  EXPECT_THAT(reported_, ElementsAre(1));
  EXPECT_FALSE(queue_->IsIdle());
  EXPECT_GT(queue_->waiting_bytes(), 0u);
  Apply({4});
  Run(absl::Seconds(1));
  EXPECT_THAT(engine_->applied, ElementsAre("strand 1", "pool 2", "strand 3", "strand 4"));
  EXPECT_THAT(reported_, ElementsAre(1, 2, 4));
  EXPECT_TRUE(queue_->IsIdle());
  EXPECT_EQ(queue_->waiting_bytes(), 0u);
  EXPECT_EQ(no_space_, 0);
}

TEST_F(ApplyQueueTest, WithoutSpaceItIsTriedUntilItFits) {
  engine_->strand_answers = {full_};
  for (int i = 0; i < 20; ++i) engine_->pool_answers.push_back(full_);
  Apply({1, 2});
  Run(absl::Seconds(5));
  EXPECT_THAT(engine_->applied, IsEmpty());
  EXPECT_GE(no_space_, 4);
  EXPECT_LE(no_space_, 8) << "pauses grow";
  engine_->pool_answers.clear();  // there is room again
  Run(ApplyQueue::kPauseMax + absl::Milliseconds(100));
  EXPECT_THAT(engine_->applied, ElementsAre("pool 1", "strand 2"));
  EXPECT_THAT(failed_, IsEmpty());
}

TEST_F(ApplyQueueTest, ARealFailureIsToldOnceAndEndsTheQueue) {
  engine_->strand_answers = {absl::OkStatus(), absl::DataLossError("broken")};
  Apply({1, 2, 3});
  Apply({4});
  EXPECT_THAT(reported_, ElementsAre(1));
  EXPECT_THAT(failed_, ElementsAre(2));
  EXPECT_THAT(engine_->applied, ElementsAre("strand 1"));
}

TEST_F(ApplyQueueTest, AFailureInThePoolIsOneToo) {
  engine_->strand_answers = {stalled_};
  engine_->pool_answers = {absl::DataLossError("broken")};
  Apply({1, 2});
  Run(absl::Seconds(1));
  EXPECT_THAT(failed_, ElementsAre(1));
  EXPECT_THAT(reported_, IsEmpty());
}

TEST_F(ApplyQueueTest, WhatALearnerIsTaughtIsOneJobOfTheBulkPool) {
  Apply({1, 2, 3}, Urgency::kLast);
  EXPECT_THAT(engine_->applied, IsEmpty()) << "the strand does nothing of it";
  Apply({4, 5}, Urgency::kLast);
  Run(absl::Seconds(1));
  EXPECT_THAT(engine_->applied, ElementsAre("pool 1", "pool 2", "pool 3", "pool 4", "pool 5"));
  EXPECT_THAT(reported_, ElementsAre(3, 5));
  EXPECT_EQ(bulk_jobs_, 2);
  EXPECT_TRUE(queue_->IsIdle());
}

TEST_F(ApplyQueueTest, ASecondarysFirstMutationIsUrgentAgain) {
  Apply({1, 2}, Urgency::kLast);
  Apply({3}, Urgency::kSoon);
  Run(absl::Seconds(1));
  EXPECT_THAT(engine_->applied, ElementsAre("pool 1", "pool 2", "strand 3"));
  EXPECT_THAT(reported_, ElementsAre(2, 3));
}

TEST_F(ApplyQueueTest, WhatFitsOfABatchIsReportedBeforeTheRestIsTriedAgain) {
  engine_->pool_answers = {absl::OkStatus(), full_, full_};
  Apply({1, 2, 3}, Urgency::kLast);
  Run(absl::Milliseconds(100));
  EXPECT_THAT(reported_, ElementsAre(1));
  Run(absl::Seconds(2));
  EXPECT_EQ(no_space_, 2);
  EXPECT_THAT(engine_->applied, ElementsAre("pool 1", "pool 2", "pool 3"));
  EXPECT_THAT(reported_, ElementsAre(1, 2, 3));
}

TEST_F(ApplyQueueTest, AFailureWithinABatchNamesItsDecree) {
  engine_->pool_answers = {absl::OkStatus(), absl::DataLossError("broken")};
  Apply({1, 2, 3}, Urgency::kLast);
  Run(absl::Seconds(1));
  EXPECT_THAT(reported_, ElementsAre(1));
  EXPECT_THAT(failed_, ElementsAre(2));
}

TEST_F(ApplyQueueTest, AnAbandonedQueueSaysNothingMore) {
  engine_->strand_answers = {full_};
  for (int i = 0; i < 20; ++i) engine_->pool_answers.push_back(full_);
  Apply({1});
  env_.RunOn(strand_, [this] { queue_->Abandon(); });
  EXPECT_TRUE(queue_->IsIdle());
  Run(absl::Seconds(10));
  EXPECT_LE(no_space_, 1);
  EXPECT_THAT(reported_, IsEmpty());
  EXPECT_THAT(failed_, IsEmpty());
}

TEST_F(ApplyQueueTest, AViewIsOfItsDecreeThoughMoreIsAppliedAtOnce) {
  ViewAt(2);
  Apply({1});
  EXPECT_THAT(views_, IsEmpty());
  Apply({2, 3, 4});
  EXPECT_THAT(views_, ElementsAre(2));
  ViewAt(4);
  ViewAt(3);
  EXPECT_THAT(views_, ElementsAre(2, 4, -1));
  EXPECT_EQ(engine_.use_count(), 1) << "an idle queue lets go of the engine";
}

TEST_F(ApplyQueueTest, AViewIsOfItsDecreeWhereThePoolApplies) {
  engine_->strand_answers = {absl::OkStatus(), stalled_};
  ViewAt(2);
  Apply({1, 2, 3});
  EXPECT_THAT(views_, IsEmpty());
  Run(absl::Seconds(1));
  EXPECT_THAT(views_, ElementsAre(2));
}

TEST_F(ApplyQueueTest, WhatThePoolMayBePastIsPast) {
  engine_->strand_answers = {absl::OkStatus(), stalled_};
  Apply({1, 2, 3});
  ViewAt(1);
  EXPECT_THAT(views_, ElementsAre(-1));
  ViewAt(5);
  Apply({4, 5, 6}, Urgency::kLast);
  Run(absl::Seconds(1));
  EXPECT_THAT(views_, ElementsAre(-1, -1)) << "all of them were one job";
}

TEST_F(ApplyQueueTest, AViewThatIsForgottenIsNotTaken) {
  ViewAt(1);
  env_.RunOn(strand_, [&] { queue_->ForgetView(); });
  Apply({1});
  EXPECT_THAT(views_, IsEmpty());
}

}  // namespace
}  // namespace arion
