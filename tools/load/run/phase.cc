// SPDX-License-Identifier: Apache-2.0
#include "tools/load/run/phase.h"

#include <algorithm>
#include <utility>

namespace arion::load {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1);
// How long the end of the last operation, or a signal, may go unseen.
constexpr absl::Duration kGlance = absl::Milliseconds(5);

SeriesPoint PointOf(const Interval& interval, LoopKind loop) {
  SeriesPoint point{.at_seconds = absl::ToDoubleSeconds(interval.start + interval.length),
                    .operations_a_second = static_cast<double>(interval.tally.Operations()) /
                                           absl::ToDoubleSeconds(interval.length),
                    .errors = interval.tally.Errors()};
  for (size_t i = 0; i < kKinds; ++i) {
    const LatencyHistogram& latencies = Telling(interval.tally.kinds[i], loop);
    if (latencies.count() == 0) continue;
    point.kinds[i] = {.has_any = true,
                      .p50 = latencies.Percentile(50),
                      .p99 = latencies.Percentile(99),
                      .p999 = latencies.Percentile(99.9),
                      .max = latencies.max()};
  }
  return point;
}

// One phase under way.
class Runner {
 public:
  Runner(Driver& driver, Measurements& measurements, const PhaseRules& rules,
         const PhaseWorld& world)
      : driver_(driver), measurements_(measurements), rules_(rules), world_(world) {
    result_.name = rules.name;
    result_.loop = rules.loop;
  }

  PhaseResult Run() {
    begin_ = last_tick_ = last_success_ = world_.clock.Now();
    driver_.Begin();
    while (true) {
      driver_.Launch();
      if (driver_.IsIdle()) break;
      const Instant now = world_.clock.Now();
      if (now >= NextTick()) Tick(now);
      if (world_.stop.load()) StopFor(PhaseResult::End::kStopped);
      if (now - last_success_ >= rules_.give_up) StopFor(PhaseResult::End::kGivenUp);
      // Short enough to see a signal; callbacks launch the closed loop's operations themselves.
      world_.sleep_until(std::min({NextTick(), driver_.NextStart(), now + kGlance}));
    }
    // Where it was stopped, it was counted then: what was due later was not asked for.
    if (!has_stopped_) result_.not_started = driver_.Behind();
    if (world_.clock.Now() > last_tick_) Tick(world_.clock.Now());
    result_.started = driver_.started();
    NoteLateness();
    NoteEnding();
    return std::move(result_);
  }

 private:
  void StopFor(PhaseResult::End end) {
    if (has_stopped_) return;
    has_stopped_ = true;
    result_.end = end;
    result_.not_started = driver_.Behind();
    driver_.Stop();
  }

  void NoteLateness() {
    const Driver::Lateness lateness = driver_.lateness();
    result_.worst_delay = std::max(result_.worst_delay, lateness.worst);
    result_.last_delay = lateness.last;
    result_.last_meant = lateness.last_meant;
  }

  // Half a second more or less, so that an interval that ended just before counts, and the one
  // before doesn't.
  void NoteEnding() {
    for (const auto& [end, of] : outcomes_) {
      if (end <= driver_.ended_at().value_or(end) - kInterval / 2) continue;
      result_.ending.operations += of.operations;
      result_.ending.errors += of.errors;
    }
  }

  // An interval ends with the warm-up, so that all that comes after it counts.
  Instant NextTick() const {
    const Instant next = last_tick_ + kInterval, warm = begin_ + rules_.warm_up;
    return last_tick_ < warm ? std::min(next, warm) : next;
  }

  void Tick(Instant now) {
    Interval interval{.start = last_tick_ - begin_,
                      .length = now - last_tick_,
                      .tally = measurements_.Take(),
                      .delay = driver_.Delay(),
                      .started = driver_.started()};
    if (interval.start < rules_.warm_up) interval.use = Interval::Use::kWarmUp;
    last_tick_ = now;
    if (interval.tally.Succeeded() > 0) last_success_ = now;
    result_.worst_delay = std::max(result_.worst_delay, interval.delay);
    result_.series.push_back(PointOf(interval, rules_.loop));
    outcomes_.push_back({now, {interval.tally.Operations(), interval.tally.Errors()}});
    if (interval.use == Interval::Use::kMeasured) {
      result_.total.Add(interval.tally);
      result_.seconds += absl::ToDoubleSeconds(interval.length);
    }
    world_.on_interval(interval);
  }

  Driver& driver_;
  Measurements& measurements_;
  const PhaseRules& rules_;
  const PhaseWorld& world_;
  Instant begin_;
  Instant last_tick_;
  Instant last_success_;
  bool has_stopped_ = false;
  std::vector<std::pair<Instant, PhaseResult::Ending>> outcomes_;  // by interval, with its end
  PhaseResult result_;
};

}  // namespace

PhaseResult::Rate PhaseResult::RateOutcome() const {
  if (not_started > 0 || last_delay > Pacing::SlackOf(last_meant)) return Rate::kMissed;
  return last_delay > last_meant / 10 ? Rate::kUntold : Rate::kReached;
}

const LatencyHistogram& Telling(const KindTally& tally, LoopKind loop) {
  return loop == LoopKind::kOpen ? tally.intended : tally.service;
}

PhaseResult RunPhase(Driver& driver, Measurements& measurements, const PhaseRules& rules,
                     const PhaseWorld& world) {
  return Runner(driver, measurements, rules, world).Run();
}

}  // namespace arion::load
