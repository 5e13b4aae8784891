// SPDX-License-Identifier: Apache-2.0
#include "sim_two_clusters/cluster_pair.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "env/clock.h"
#include "messages/duplicate_messages.h"
#include "messages/duplication_messages.h"
#include "meta_state/cluster_state.h"
#include "meta_state/meta_store.h"
#include "replica/replica_snapshot.h"
#include "rpc/thrift_codec.h"
#include "sim_checkers/same_content.h"
#include "sim_cluster/run_report.h"
#include "sim_workloads/probe_client.h"

namespace arion::sim {
namespace {

constexpr absl::Duration kBegunMax = absl::Seconds(60);
constexpr absl::Duration kEqualMax = absl::Seconds(120);
constexpr int kMoreRuns = 3;
constexpr Endpoint kAdmin = {0x0a0001fdu, 1000};

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
      checker_(ClusterPairOptions::kSourceId),
      link_(options_, world_, source_, receiver_) {
  source_.lives().ConnectTo(receiver_.network());
  receiver_.lives().ConnectTo(source_.network());
  WatchBoth();
  WatchNetworks();
}

ClusterPair::~ClusterPair() {
  // The servers of each have an end in the other one's network.
  source_.EndServers();
  receiver_.EndServers();
}

// ---- what the checkers see ----

PartitionId ClusterPair::SourceOf(PartitionId receiver) const {
  const auto found = tables_.find(receiver.app_id);
  return found == tables_.end() ? PartitionId{} : PartitionId{found->second, receiver.index};
}

void ClusterPair::WatchBoth() {
  source_.lives().on_applied = [this](PartitionId pid, Decree decree, int64_t timestamp_us,
                                      absl::Span<const WriteOp> ops) {
    if (source_.groups().IsWanted(pid)) checker_.AtSource(pid, decree, timestamp_us, ops);
  };
  source_.lives().on_stored = [this](const MetaStore::Change& change) { NoteStored(change); };
  receiver_.lives().on_applied = [this](PartitionId pid, Decree decree, int64_t,
                                        absl::Span<const WriteOp> ops) {
    const PartitionId source = SourceOf(pid);
    if (source != PartitionId{}) checker_.AtReceiver(source, decree, ops, world_.now());
  };
}

void ClusterPair::WatchNetworks() {
  SimNetwork& source = source_.network();
  source.on_request = [this, watch = std::move(source.on_request)](Endpoint from, Endpoint to,
                                                                   const OutboundRequest& request) {
    watch(from, to, request);
    if (request.name != kRpcDuplicationSync) return;
    const auto sync = DecodeWrapped<DuplicationSyncRequest>(request.body);
    if (!sync.ok()) return source_.checkers().Violate("a duplication sync does not decode");
    for (const auto& [pid, entries] : sync->confirm_list)
      for (const DuplicationConfirmEntry& entry : entries) checker_.Said(pid, entry);
  };
  SimNetwork& receiver = receiver_.network();
  receiver.on_request = [this, watch = std::move(receiver.on_request)](
                            Endpoint from, Endpoint to, const OutboundRequest& request) {
    watch(from, to, request);
    if (request.name == kRpcDuplicate) NoteSender(from, request.pid);
  };
  // What its sender gave up comes late, and each request again, in any order.
  receiver.echoes = {.request = kRpcDuplicate, .copies = 1, .late_max = absl::Seconds(5)};
}

void ClusterPair::NoteSender(Endpoint from, PartitionId receiver) {
  const PartitionId pid = SourceOf(receiver);
  const PartitionConfiguration* config = source_.groups().Find(pid);
  if (config == nullptr || !config->primary.IsValid() ||
      ClusterSettings::Abroad(config->primary) == from || !sent_by_former_.insert(pid).second)
    return;
  source_.checkers().Violate(absl::StrCat(
      "cluster_pair/E2: ", from.ToString(), " sends writes of [", pid.ToString(), "] at ",
      world_.now().nanos() / 1000000, " ms, and ", config->primary.ToString(), " leads it"));
}

void ClusterPair::Look() {
  LookAtLogs();
  world_.After(absl::Seconds(1), EventKind::kCheck, [this] { Look(); });
}

// "/apps/2/duplication/1700000000/3": how far that partition is.
void ClusterPair::NoteStored(const MetaStore::Change& change) {
  const std::vector<std::string> parts = absl::StrSplit(change.key, '/');
  int32_t app_id = 0, index = 0;
  int64_t decree = 0;
  if (parts.size() == 6 && parts[3] == "duplication" && change.value &&
      absl::SimpleAtoi(parts[2], &app_id) && absl::SimpleAtoi(parts[5], &index) &&
      absl::SimpleAtoi(*change.value, &decree))
    checker_.Stored({app_id, index}, Decree(decree), world_.now());
}

void ClusterPair::LookAtLogs() {
  for (const auto& server : source_.lives().servers()) {
    if (!server->server || server->stopping) continue;
    const std::string life = absl::StrCat(server->name, ".", server->node->life());
    server->server->Snapshot([this, life](const std::vector<ReplicaSnapshot>& replicas) {
      for (const ReplicaSnapshot& replica : replicas) {
        if (!source_.groups().IsWanted(replica.pid) || replica.loading) continue;
        const bool is_member = replica.status == PartitionStatus::kPrimary ||
                               replica.status == PartitionStatus::kSecondary;
        checker_.Looked(life, replica.pid,
                        is_member ? std::optional<Ballot>(replica.ballot) : std::nullopt,
                        replica.log_begins);
      }
    });
  }
}

// ---- the run ----

bool ClusterPair::Add(const std::string& table) {
  SimNode& node = world_.AddNode("admin");
  SimEnvironment& env = node.Start();
  SimTransport transport(source_.network(), node, kAdmin);
  StrandPtr strand = env.NewStrand("admin");
  ProbeClient admin(transport, strand);
  const AddDuplicationRequest request{.app_name = table,
                                      .remote_cluster_name = ClusterPairOptions::kReceiverName,
                                      .is_duplicating_checkpoint = false};
  AddDuplicationResponse last{.err = ErrorCode::kUnknown};
  for (int attempt = 0; attempt < 10 && last.err != ErrorCode::kOk; ++attempt) {
    bool is_answered = false;
    strand->Post([&] {
      admin.AddDuplication(ClusterSettings::kMetaEndpoint, request,
                           [&](AddDuplicationResponse response) {
                             last = std::move(response);
                             is_answered = true;
                           });
    });
    if (!world_.RunUntil([&] { return is_answered; }, absl::Seconds(20))) break;
    world_.RunFor(absl::Milliseconds(500));
  }
  node.Crash(CrashMode::kProcess);
  if (last.err != ErrorCode::kOk)
    source_.checkers().Violate(absl::StrCat("table ", table,
                                            " is not duplicated: ", Text(ErrorCodeName(last.err)),
                                            ", ", last.hint.value_or("")));
  return last.err == ErrorCode::kOk;
}

// Each partition has a place to begin at, and sends.
bool ClusterPair::HasBegun() {
  const absl::StatusOr<ClusterState> state = source_.lives().meta().store->State();
  return state.ok() && std::all_of(tables_.begin(), tables_.end(), [&state](const auto& ids) {
           const Table* table = state->FindTable(ids.second);
           return table != nullptr && table->duplications.size() == 1 &&
                  std::all_of(table->duplications.begin()->second.partitions.begin(),
                              table->duplications.begin()->second.partitions.end(),
                              [](const auto& one) { return one.stored >= Decree(0); });
         });
}

bool ClusterPair::Duplicate() {
  const auto& from = source_.groups().tables();
  const auto& to = receiver_.groups().tables();
  for (size_t i = 0; i < from.size(); ++i) {
    tables_[to[i].app_id] = from[i].app_id;
    if (!Add(from[i].name)) return false;
  }
  // The state is read from what is stored: not after each event.
  const Instant end = world_.now() + kBegunMax;
  while (!HasBegun() && world_.now() < end) world_.RunFor(absl::Seconds(1));
  if (HasBegun()) return true;
  source_.checkers().Violate("cluster_pair/E1: nothing was sent 60 s after it was asked for");
  return false;
}

RunReport ClusterPair::Run() {
  if (source_.Begin() && receiver_.Begin() && Duplicate()) MeetTroubles();
  RunReport report = source_.Report();
  const RunReport other = receiver_.Report();
  for (std::string& violation : report.violations)
    violation = absl::StrCat(violation, " (at the source)");
  for (const std::string& violation : other.violations)
    report.violations.push_back(absl::StrCat(violation, " (at the receiver)"));
  for (std::string& violation : checker_.Judge()) report.violations.push_back(std::move(violation));
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

void ClusterPair::MeetTroubles() {
  Look();
  source_.BeginTroubles();
  receiver_.BeginTroubles();
  link_.Begin();
  world_.RunFor(options_.run_length);
  for (int more = 0;
       more < kMoreRuns && (source_.HasDoneTooLittle() || receiver_.HasDoneTooLittle()); ++more)
    world_.RunFor(options_.run_length);
  link_.End();
  source_.EndTroubles();
  receiver_.EndTroubles();
  source_.AwaitHealth();
  receiver_.AwaitHealth();
  if (!source_.checkers().violations.empty() || !receiver_.checkers().violations.empty()) return;
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
  for (const auto& [receiver_id, source_id] : tables_) {
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
  return absl::StrCat(link_.ToString(), "; received ", checker_.received(), ", of them again ",
                      checker_.CountAgain(), ", equal after ", absl::FormatDuration(equal_after_));
}

}  // namespace arion::sim
