// SPDX-License-Identifier: Apache-2.0
#include "sim_two_clusters/cluster_pair.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "env/clock.h"
#include "sim_checkers/same_content.h"
#include "sim_cluster/run_report.h"

namespace arion::sim {
namespace {

constexpr absl::Duration kEqualMax = absl::Seconds(120);
constexpr int kMoreRuns = 3;

// nullptr: it is not open.
const Engine* EngineOfPrimary(SimCluster& cluster, PartitionId pid) {
  const PartitionConfiguration* config = cluster.groups().Find(pid);
  const SimServer* primary =
      config == nullptr ? nullptr : cluster.lives().ServerAt(config->primary);
  if (primary == nullptr) return nullptr;
  const auto open = cluster.engines().find({primary->name, pid});
  return open == cluster.engines().end() ? nullptr : open->second;
}

}  // namespace

ClusterPair::ClusterPair(ClusterPairOptions options)
    : options_(std::move(options)),
      world_(options_.seed),
      source_(options_.source, world_, engines_[0]),
      receiver_(options_.receiver, world_, engines_[1]),
      there_(world_, source_, ClusterPairOptions::kSourceId, receiver_,
             ClusterPairOptions::kReceiverName),
      convergence_({ClusterPairOptions::kSourceId, ClusterPairOptions::kReceiverId}),
      link_(options_, world_, source_, receiver_) {
  if (options_.both_ways) {
    back_.emplace(world_, receiver_, ClusterPairOptions::kReceiverId, source_,
                  ClusterPairOptions::kSourceName);
    link_back_.emplace(options_, world_, receiver_, source_);
  }
  source_.lives().ConnectTo(receiver_.network());
  receiver_.lives().ConnectTo(source_.network());
  WatchBoth();
}

ClusterPair::~ClusterPair() {
  shared_ = {};
  pauses_ = {};
  // The servers of each have an end in the other one's network.
  source_.EndServers();
  receiver_.EndServers();
}

// ---- what the checkers see ----

void ClusterPair::WatchBoth() {
  source_.lives().on_stored = [this](const MetaStore::Change& change) {
    there_.NoteStored(change);
  };
  receiver_.lives().on_stored = [this](const MetaStore::Change& change) {
    there_.NoteStoredThere(change);
    if (back_) back_->NoteStored(change);
  };
  back_ ? WatchBothWays() : WatchOneWay();
}

void ClusterPair::WatchOneWay() {
  source_.lives().on_applied = [this](PartitionId pid, Decree decree, int64_t timestamp_us,
                                      absl::Span<const WriteOp> ops) {
    if (source_.groups().IsWanted(pid)) there_.checker().AtSource(pid, decree, timestamp_us, ops);
  };
  receiver_.lives().on_applied = [this](PartitionId pid, Decree decree, int64_t,
                                        absl::Span<const WriteOp> ops) {
    const PartitionId source = there_.SourceOf(pid);
    if (source != PartitionId{}) there_.checker().AtReceiver(source, decree, ops, world_.now());
  };
}

void ClusterPair::WatchBothWays() {
  source_.lives().on_applied = [this](PartitionId pid, Decree decree, int64_t timestamp_us,
                                      absl::Span<const WriteOp> ops) {
    if (there_.Sends(pid.app_id)) convergence_.Applied(0, pid, decree, timestamp_us, ops);
  };
  receiver_.lives().on_applied = [this](PartitionId pid, Decree decree, int64_t timestamp_us,
                                        absl::Span<const WriteOp> ops) {
    const PartitionId source = there_.SourceOf(pid);
    if (source != PartitionId{}) convergence_.Applied(1, source, decree, timestamp_us, ops);
  };
}

// ---- the run ----

bool ClusterPair::Duplicate(DuplicationWay::From from) {
  const int tables = options_.receiver.received_tables;
  if (!there_.Begin(tables, from) || (back_ && !back_->Begin(tables, from))) return false;
  // Whoever begins with checkpoints begins in the midst of troubles.
  if (from == DuplicationWay::From::kEmpty &&
      (!there_.AwaitBegun() || (back_ && !back_->AwaitBegun())))
    return false;
  there_.Watch();
  if (back_) back_->Watch();
  return true;
}

void ClusterPair::StartSharedClients() {
  std::vector<std::string> tables;
  for (int i = 0; i < options_.receiver.received_tables; ++i)
    tables.push_back(source_.groups().tables()[static_cast<size_t>(i)].name);
  shared_[0] = std::make_unique<SharedTableClients>(world_, source_.network(),
                                                    ClusterPairOptions::kSourceName, tables);
  shared_[1] = std::make_unique<SharedTableClients>(world_, receiver_.network(),
                                                    ClusterPairOptions::kReceiverName, tables);
  for (const auto& clients : shared_) clients->Start();
}

RunReport ClusterPair::Run() {
  const bool is_late = options_.duplicated_after > absl::ZeroDuration();
  if (source_.Begin() && receiver_.Begin() && (is_late || Duplicate(DuplicationWay::From::kEmpty)))
    MeetTroubles();
  RunReport report = source_.Report();
  const RunReport other = receiver_.Report();
  for (std::string& violation : report.violations)
    violation = absl::StrCat(violation, " (at the source)");
  for (const std::string& violation : other.violations)
    report.violations.push_back(absl::StrCat(violation, " (at the receiver)"));
  Judge(&report);
  report.mix = absl::StrCat(report.mix, "\n  ", other.mix, "\n  ", DescribeRun());
  report.acknowledged_writes += other.acknowledged_writes;
  report.data_operations += other.data_operations;
  report.data_keys += other.data_keys;
  report.reads += other.reads;
  for (size_t i = 0; i < report.faults.size(); ++i) report.faults[i] += other.faults[i];
  for (size_t i = 0; i < report.probes.size(); ++i) report.probes[i] += other.probes[i];
  report.healed_after = std::max(report.healed_after, other.healed_after);
  report.replay_options = options_.ReplayOptions();
  return report;
}

void ClusterPair::Judge(RunReport* report) const {
  const auto add = [report](const Violations& more) {
    report->violations.insert(report->violations.end(), more.begin(), more.end());
  };
  add(there_.checker().Judge());
  if (!back_) return;
  add(back_->checker().Judge());
  add(convergence_.Judge());
  // Where they never became equal that is said already.
  if (equal_after_ < kEqualMax) add(convergence_.JudgeEnd());
}

void ClusterPair::MeetTroubles() {
  source_.BeginTroubles();
  receiver_.BeginTroubles();
  if (back_) StartSharedClients();
  link_.Begin();
  if (link_back_) link_back_->Begin();
  if (options_.pauses) {
    pauses_[0] = std::make_unique<DuplicationPauses>(world_, source_);
    if (back_) pauses_[1] = std::make_unique<DuplicationPauses>(world_, receiver_);
  }
  for (const auto& pauses : pauses_)
    if (pauses) pauses->Start();
  const bool is_late = options_.duplicated_after > absl::ZeroDuration();
  if (is_late) {
    world_.RunFor(options_.duplicated_after);
    if (!Duplicate(DuplicationWay::From::kCheckpoint)) return;
  }
  world_.RunFor(options_.run_length);
  for (int more = 0;
       more < kMoreRuns && (source_.HasDoneTooLittle() || receiver_.HasDoneTooLittle()); ++more)
    world_.RunFor(options_.run_length);
  link_.End();
  if (link_back_) link_back_->End();
  for (const auto& clients : shared_)
    if (clients) clients->Stop();
  for (const auto& pauses : pauses_)
    if (pauses) pauses->Stop();
  source_.EndTroubles();
  receiver_.EndTroubles();
  source_.AwaitHealth();
  receiver_.AwaitHealth();
  if (!source_.checkers().violations.empty() || !receiver_.checkers().violations.empty()) return;
  if (source_.IsLeftToOperator() || receiver_.IsLeftToOperator()) return;
  if (is_late && !there_.AwaitBegun()) return;
  AwaitEqual();
  source_.AwaitTidiness();
  receiver_.AwaitTidiness();
}

void ClusterPair::AwaitEqual() {
  const Instant begin = world_.now();
  std::string differs = WhatDiffers();
  while (!differs.empty() && world_.now() - begin < kEqualMax) {
    world_.RunFor(absl::Milliseconds(500));
    differs = WhatDiffers();
  }
  equal_after_ = world_.now() - begin;
  if (!differs.empty())
    source_.checkers().Violate(absl::StrCat("cluster_pair/E1: the clusters differ after ",
                                            absl::FormatDuration(kEqualMax), ":", differs));
}

std::string ClusterPair::WhatDiffers() {
  uint32_t now = 0;  // by the clock that is most ahead
  for (const auto& node : world_.nodes()) now = std::max(now, ExpiryNow(*node));
  std::string text;
  for (const auto& [receiver_id, source_id] : there_.tables()) {
    const int32_t count = source_.groups().CountOf(source_id);
    for (int32_t index = 0; index < count; ++index) {
      const PartitionId pid{source_id, index};
      const Engine* const source = EngineOfPrimary(source_, pid);
      const Engine* const receiver = EngineOfPrimary(receiver_, {receiver_id, index});
      if (source == nullptr || receiver == nullptr ||
          !HoldTheSame(*source, *receiver, now, {.index = index, .count = count}))
        absl::StrAppend(&text, " [", pid.ToString(), "]");
    }
  }
  return text;
}

std::string ClusterPair::DescribeRun() const {
  const std::string links = link_back_
                                ? absl::StrCat(link_.ToString(), "; back: ", link_back_->ToString())
                                : link_.ToString();
  const std::string done =
      back_ ? absl::StrCat("both ways, records that both wrote ", convergence_.CountContended(),
                           ", writes overtaken ", convergence_.overtaken())
            : absl::StrCat("received ", checker().received(), ", of them again ",
                           checker().CountAgain());
  const int64_t pauses =
      std::accumulate(pauses_.begin(), pauses_.end(), int64_t{0},
                      [](int64_t sum, const auto& one) { return sum + (one ? one->count() : 0); });
  return absl::StrCat(links, "; ", done, ", paused ", pauses, ", equal after ",
                      absl::FormatDuration(equal_after_));
}

}  // namespace arion::sim
