// Drivers and phases on a fake table and a clock moved by hand: loops, intended latency, what is said
// of a rate that is not reached, and what verification catches.
// SPDX-License-Identifier: Apache-2.0
#include "tools/load/run/phase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/load/fake_table.h"

namespace arion::load {
namespace {

constexpr uint64_t kRun = 77;

class PhaseTest : public testing::Test {
 protected:
  void SetWorkload(std::string_view text) {
    Properties properties;
    ASSERT_EQ(properties.Parse(text, "file"), absl::OkStatus());
    absl::StatusOr<Workload> workload = Workload::From(properties);
    ASSERT_TRUE(workload.ok()) << workload.status();
    workload_ = *workload;
  }
  PhaseResult Drive(Driver::Next next, DriverOptions options, PhaseRules rules) {
    const KeyNames keys(workload_);
    Measurements measurements(lanes_.size());
    options.run = kRun;
    rules.loop = options.pacing ? LoopKind::kOpen : LoopKind::kClosed;
    Driver driver({.clock = clock_,
                   .lanes = {lanes_.begin(), lanes_.end()},
                   .keys = keys,
                   .measurements = measurements,
                   .ledger = ledger_.get(),
                   .history = history_.get()},
                  std::move(next), options);
    return RunPhase(driver, measurements, rules,
                    {.clock = clock_,
                     .sleep_until =
                         [this](Instant until) {
                           for (FakeTable* lane : lanes_)
                             until = std::min(until, lane->next_answer());
                           clock_.now = std::max(clock_.now, until);
                           for (FakeTable* lane : lanes_) lane->AnswerDue();
                         },
                     .on_interval = [this](const Interval& i) { intervals_.push_back(i.delay); },
                     .stop = stop_});
  }
  PhaseResult Load() {
    auto source = std::make_shared<OperationSource>(
        workload_, OperationSource::Options{.phase = Phase::kLoad});
    return Drive([source] { return source->Next(); }, {.threads = 10}, {.name = "load"});
  }
  PhaseResult Run(DriverOptions options, PhaseRules rules = {.name = "run"}) {
    auto source = std::make_shared<OperationSource>(
        workload_, OperationSource::Options{.seed = 5, .settling = options.threads});
    options.first_sequence = workload_.insert_count;
    return Drive([source] { return source->Next(); }, options, rules);
  }
  PhaseResult Check() {
    auto records = ledger_->Records();
    return Drive(
        [records, at = size_t{0}]() mutable -> std::optional<Operation> {
          if (at == records.size()) return std::nullopt;
          return Operation{.kind = Kind::kRead, .record = records[at++]};
        },
        {.threads = 10, .read_time = ReadTime::kAfterRun}, {.name = "check"});
  }
  static const KindTally& Of(const PhaseResult& result, Kind kind) {
    return result.total.kinds[static_cast<size_t>(kind)];
  }

  HandClock clock_;
  FakeTable table_{clock_};
  FakeTable other_{clock_};
  std::vector<FakeTable*> lanes_ = {&table_};
  Workload workload_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<History> history_;
  std::atomic<bool> stop_ = false;
  std::vector<absl::Duration> intervals_;
};

TEST_F(PhaseTest, AClosedLoopKeepsItsThreadsUnderWay) {
  SetWorkload("recordcount=1000\nreadproportion=0.5\nupdateproportion=0.5\n");
  const PhaseResult load = Load();
  EXPECT_EQ(load.total.Operations(), 1000u);
  EXPECT_EQ(table_.rows.size(), 1000u);
  table_.most_under_way = 0;
  const PhaseResult run = Run({.threads = 8, .operations_max = 5000});
  EXPECT_EQ(run.total.Operations(), 5000u);
  EXPECT_EQ(run.total.Errors(), 0u);
  EXPECT_EQ(table_.most_under_way, 8);
  EXPECT_EQ(Of(run, Kind::kRead).not_found, 0u);
  EXPECT_EQ(Of(run, Kind::kRead).service.max(), 100'000);
}

// 1000 a second, and the server says nothing for two seconds.
TEST_F(PhaseTest, APauseIsSeenInIntendedLatencyByAllItDelayed) {
  SetWorkload("recordcount=100\nreadproportion=1\n");
  Load();
  table_.pause_begins = clock_.now + absl::Seconds(4);
  table_.pause_ends = table_.pause_begins + absl::Seconds(2);
  const PhaseResult run =
      Run({.threads = 50, .pacing = *Pacing::Parse("1000"), .start_within = absl::Seconds(10)});
  EXPECT_EQ(run.not_started, 0);
  EXPECT_EQ(run.started, 10'000);
  const KindTally& reads = Of(run, Kind::kRead);
  // Of 10,000 meant to start, 2,000 fell into the pause, evenly: a tenth waited more than a second.
  EXPECT_NEAR(static_cast<double>(reads.intended.Percentile(90)), 1e9, 0.02e9);
  EXPECT_NEAR(static_cast<double>(reads.intended.Percentile(99)), 1.9e9, 0.02e9);
  EXPECT_NEAR(static_cast<double>(reads.intended.max()), 2e9, 0.01e9);
  // Only the fifty under way were slow themselves: what a closed loop would show.
  EXPECT_LT(reads.service.Percentile(99), 100'100);
  EXPECT_GE(run.worst_delay, absl::Milliseconds(1800));
}

TEST_F(PhaseTest, ARateBeyondCapacityIsSaid) {
  SetWorkload("recordcount=100\nreadproportion=1\n");
  Load();
  // Ten threads of 100 us carry 100,000 a second.
  const PhaseResult run =
      Run({.threads = 10, .pacing = *Pacing::Parse("150000"), .start_within = absl::Seconds(2)});
  EXPECT_NEAR(static_cast<double>(run.not_started), 90'000, 3'000);
  EXPECT_GT(run.worst_delay, absl::Milliseconds(300));
  EXPECT_GE(run.worst_delay, *std::max_element(intervals_.begin(), intervals_.end()));
  const PhaseResult within =
      Run({.threads = 10, .pacing = *Pacing::Parse("50000"), .start_within = absl::Seconds(2)});
  EXPECT_EQ(within.not_started, 0);
  EXPECT_EQ(within.started, 100'000);
}

// All operations start in the end, and nothing is left that could be counted as not started.
TEST_F(PhaseTest, ARateBeyondCapacityIsSaidWhereThePhaseIsANumberOfOperations) {
  SetWorkload("recordcount=100\nreadproportion=1\n");
  Load();
  const auto outcome_of = [this](int64_t operations, std::string_view rate) {
    const PhaseResult run =
        Run({.threads = 10, .pacing = *Pacing::Parse(rate), .operations_max = operations});
    EXPECT_EQ(run.not_started, 0);
    EXPECT_GE(run.worst_delay, run.last_delay);
    return run.RateOutcome();
  };
  EXPECT_EQ(outcome_of(300'000, "150000"), PhaseResult::Rate::kMissed);  // a second late
  EXPECT_EQ(outcome_of(60'000, "150000"),
            PhaseResult::Rate::kMissed);  // done before the first tick
  EXPECT_EQ(outcome_of(3'000, "150000"), PhaseResult::Rate::kUntold);
  EXPECT_EQ(outcome_of(100'000, "50000"), PhaseResult::Rate::kReached);
}

TEST_F(PhaseTest, APauseThatIsMadeUpForLeavesTheRateReached) {
  SetWorkload("recordcount=100\nreadproportion=1\n");
  Load();
  table_.pause_begins = clock_.now + absl::Seconds(4);
  table_.pause_ends = table_.pause_begins + absl::Seconds(2);
  const PhaseResult run =
      Run({.threads = 50, .pacing = *Pacing::Parse("1000"), .operations_max = 10'000});
  EXPECT_GE(run.worst_delay, absl::Milliseconds(1800));
  EXPECT_EQ(run.RateOutcome(), PhaseResult::Rate::kReached);
}

TEST_F(PhaseTest, ClientsShareTheWorkInEitherLoop) {
  SetWorkload("recordcount=100\nupdateproportion=1\n");
  lanes_ = {&table_, &other_};
  Run({.threads = 9, .pacing = *Pacing::Parse("1000"), .start_within = absl::Seconds(2)});
  EXPECT_EQ(table_.asked, 1000);
  EXPECT_EQ(other_.asked, 1000);
  Run({.threads = 9, .operations_max = 900});
  EXPECT_EQ(table_.most_under_way, 5);
  EXPECT_EQ(other_.most_under_way, 4);
}

TEST_F(PhaseTest, WarmUpIsNotCounted) {
  SetWorkload("recordcount=100\nreadproportion=1\n");
  Load();
  const PhaseResult run = Run({.threads = 1, .start_within = absl::Seconds(3)},
                              {.name = "run", .warm_up = absl::Seconds(1)});
  EXPECT_EQ(run.started, 30'000);
  EXPECT_NEAR(static_cast<double>(run.total.Operations()), 20'000, 5);
  EXPECT_NEAR(run.seconds, 2, 0.01);
  EXPECT_EQ(run.series.size(), 3u);
}

TEST_F(PhaseTest, AnIntervalEndsWithTheWarmUp) {
  SetWorkload("recordcount=100\nreadproportion=1\n");
  Load();
  const PhaseResult run = Run({.threads = 1, .start_within = absl::Milliseconds(700)},
                              {.name = "run", .warm_up = absl::Milliseconds(200)});
  EXPECT_NEAR(static_cast<double>(run.total.Operations()), 5'000, 50);
  EXPECT_NEAR(run.seconds, 0.5, 0.01);
}

TEST_F(PhaseTest, ErrorsAreCountedByCodeAndEndAPhaseWhereNothingSucceeds) {
  SetWorkload("recordcount=100\nreadproportion=1\n");
  table_.refusal = absl::UnavailableError("nobody is there");
  table_.latency = absl::Milliseconds(100);
  const PhaseResult run = Run({.threads = 1, .start_within = absl::Minutes(10)},
                              {.name = "run", .give_up = absl::Seconds(5)});
  EXPECT_EQ(run.end, PhaseResult::End::kGivenUp);
  EXPECT_NEAR(static_cast<double>(Of(run, Kind::kRead).errors.at(absl::StatusCode::kUnavailable)),
              50, 2);
  EXPECT_EQ(Of(run, Kind::kRead).first_error.at(absl::StatusCode::kUnavailable), "nobody is there");
  EXPECT_EQ(Of(run, Kind::kRead).service.count(), 0u);
}

TEST_F(PhaseTest, ARunThatDiesBeforeItsEndEndedFailing) {
  SetWorkload("recordcount=100\nreadproportion=1\n");
  Load();
  table_.refusal = absl::UnavailableError("nobody is there");
  table_.refusal_begins = clock_.now + absl::Milliseconds(2500);
  const PhaseResult at_once = Run({.threads = 8, .start_within = absl::Seconds(5)});
  EXPECT_TRUE(at_once.HasEndedFailing());
  EXPECT_GT(at_once.total.Succeeded(), 100'000u) << "what was measured is kept";
  // Errors that come after the run's end, the last successes long before it.
  table_.refusal_begins = clock_.now + absl::Milliseconds(2500);
  table_.pause_begins = table_.refusal_begins + table_.latency;
  table_.pause_ends = clock_.now + absl::Seconds(7);
  const PhaseResult late = Run({.threads = 8, .start_within = absl::Seconds(5)});
  EXPECT_EQ(late.ending.operations, 8u);
  EXPECT_EQ(late.ending.errors, 8u);
  EXPECT_TRUE(late.HasEndedFailing());
}

TEST_F(PhaseTest, WhatFailedAndHealedAgainIsNoFailingEnd) {
  SetWorkload("recordcount=100\nreadproportion=1\n");
  Load();
  table_.refusal = absl::UnavailableError("nobody is there");
  table_.refusal_begins = clock_.now + absl::Seconds(1);
  table_.refusal_ends = clock_.now + absl::Seconds(3);
  const PhaseResult run = Run({.threads = 8, .start_within = absl::Seconds(5)});
  EXPECT_GT(run.total.Errors(), 100'000u);
  EXPECT_EQ(run.ending.errors, 0u);
  EXPECT_FALSE(run.HasEndedFailing());
}

TEST_F(PhaseTest, StopEndsItAndWhatWasMeasuredIsKept) {
  SetWorkload("recordcount=100\nreadproportion=1\n");
  Load();
  stop_ = true;
  const PhaseResult run = Run({.threads = 4, .start_within = absl::Minutes(10)});
  EXPECT_EQ(run.end, PhaseResult::End::kStopped);
  EXPECT_EQ(run.total.Operations(), 4u);
}

constexpr char kEverything[] =
    "recordcount=500\nreadproportion=0.3\nupdateproportion=0.2\ninsertproportion=0.05\n"
    "scanproportion=0.1\nreadmodifywriteproportion=0.1\ndeleteproportion=0.05\n"
    "multigetproportion=0.1\nmultiputproportion=0.1\nrecordsperhashkey=20\nmaxscanlength=8\n"
    "requestdistribution=zipfian\nfieldlength=10\n";

TEST_F(PhaseTest, VerificationFindsNothingInAStoreThatKeepsItsWord) {
  SetWorkload(kEverything);
  ledger_ = std::make_unique<Ledger>(kRun);
  Load();
  const PhaseResult run = Run({.threads = 16, .operations_max = 50'000});
  Check();
  for (size_t i = 0; i < kKinds; ++i) EXPECT_GT(run.total.kinds[i].Operations(), 1000u) << i;
  const Ledger::Verdict verdict = ledger_->verdict();
  EXPECT_GT(verdict.reads, 50'000);
  for (const Violation& v : verdict.first)
    ADD_FAILURE() << NameOf(v.type) << " " << v.record << " " << v.text;
}

TEST_F(PhaseTest, VerificationFindsOneWriteLostInTenThousand) {
  SetWorkload("recordcount=2000\nreadproportion=0.5\nupdateproportion=0.5\nfieldlength=10\n");
  ledger_ = std::make_unique<Ledger>(kRun);
  Load();
  int writes = 0;
  int lost = 0;
  table_.loses_write = [&] { return ++writes % 10'000 == 0 && ++lost > 0; };
  Run({.threads = 16, .operations_max = 80'000});
  table_.loses_write = [] { return false; };
  Check();
  EXPECT_GE(lost, 3);
  const Ledger::Verdict verdict = ledger_->verdict();
  EXPECT_GT(verdict.Total(), 0) << "but for those written over before anybody read";
  ASSERT_FALSE(verdict.first.empty());
  EXPECT_THAT(verdict.first[0].text, testing::HasSubstr("was acknowledged"));
  EXPECT_GT(verdict.first[0].at, Instant(1'000'000'000));
}

TEST_F(PhaseTest, WhatCannotBeReadBackIsNotVerified) {
  SetWorkload("recordcount=100\nreadproportion=1\nfieldlength=10\n");
  ledger_ = std::make_unique<Ledger>(kRun);
  Load();
  table_.refusal = absl::UnavailableError("nobody is there");
  EXPECT_EQ(Check().total.Errors(), 100u);
  EXPECT_EQ(ledger_->verdict().unchecked, 100);
  table_.refusal = absl::OkStatus();
  Check();
  EXPECT_EQ(ledger_->verdict().unchecked, 0);
}

TEST_F(PhaseTest, VerificationFindsAnInsertThatIsLost) {
  SetWorkload("recordcount=10000\nreadproportion=1\nfieldlength=10\n");
  ledger_ = std::make_unique<Ledger>(kRun);
  int writes = 0;
  table_.loses_write = [&] { return ++writes == 7777; };
  Load();
  Check();
  const Ledger::Verdict verdict = ledger_->verdict();
  EXPECT_EQ(verdict.violations[static_cast<size_t>(Violation::Type::kLost)], 1);
  EXPECT_EQ(verdict.Total(), 1);
}

TEST_F(PhaseTest, VerificationFindsStaleReads) {
  SetWorkload("recordcount=100\nreadproportion=0.5\nupdateproportion=0.5\nfieldlength=10\n");
  ledger_ = std::make_unique<Ledger>(kRun);
  Load();
  int reads = 0;
  table_.reads_stale = [&] { return ++reads % 1000 == 0; };
  Run({.threads = 4, .operations_max = 20'000});
  const Ledger::Verdict verdict = ledger_->verdict();
  EXPECT_GE(verdict.violations[static_cast<size_t>(Violation::Type::kStale)], 5);
  EXPECT_EQ(verdict.violations[static_cast<size_t>(Violation::Type::kLost)], 0);
}

TEST_F(PhaseTest, VerificationFindsValuesOfOtherRecordsAndTornOnes) {
  SetWorkload("recordcount=10\nreadproportion=1\nfieldlength=10\n");
  ledger_ = std::make_unique<Ledger>(kRun);
  Load();
  auto first = table_.rows.begin();
  auto second = std::next(first);
  auto third = std::next(second);
  std::swap(first->second, second->second);
  third->second.back()[40] ^= 1;
  Check();
  const Ledger::Verdict verdict = ledger_->verdict();
  EXPECT_EQ(verdict.violations[static_cast<size_t>(Violation::Type::kMixed)], 3);
  EXPECT_EQ(verdict.Total(), 3);
}

TEST_F(PhaseTest, TheHistoryHasEveryOperationOnARecord) {
  SetWorkload(kEverything);
  ledger_ = std::make_unique<Ledger>(kRun);
  const std::string path = testing::TempDir() + "arion_load_history";
  history_ = std::make_unique<History>(path);
  Load();
  Run({.threads = 16, .operations_max = 2'000});
  EXPECT_EQ(history_->Close(), absl::OkStatus());
  std::set<std::pair<std::string, std::string>> written;
  std::set<std::pair<std::string, std::string>> read;
  int removed = 0;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    const nlohmann::json line = nlohmann::json::parse(text);
    EXPECT_LT(line["call"], line["return"]);
    removed += line["op"] == "remove";
    if (line["value"].is_null()) continue;
    (line["op"] == "read" ? read : written).emplace(line["key"], line["value"]);
  }
  EXPECT_GT(written.size(), 1000u);
  EXPECT_GT(read.size(), 300u);
  EXPECT_GT(removed, 50);
  EXPECT_TRUE(std::includes(written.begin(), written.end(), read.begin(), read.end()));
  std::filesystem::remove(path);
}

TEST_F(PhaseTest, AHistoryThatCannotBeWrittenIsSaid) {
  EXPECT_THAT(std::string(History("/nonexistent/history").Close().message()),
              testing::HasSubstr("can't write /nonexistent/history: No such file"));
  SetWorkload("recordcount=1000\nreadproportion=1\n");
  ledger_ = std::make_unique<Ledger>(kRun);
  history_ = std::make_unique<History>("/dev/full");
  EXPECT_EQ(Load().total.Errors(), 0u) << "the load goes on";
  EXPECT_THAT(std::string(history_->Close().message()), testing::HasSubstr("No space left"));
}

}  // namespace
}  // namespace arion::load
