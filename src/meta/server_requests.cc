// SPDX-License-Identifier: Apache-2.0
#include "meta/server_requests.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "base/counter.h"
#include "base/log.h"
#include "meta/older_server_vetting.h"
#include "meta/request_codec.h"
#include "meta/request_handlers.h"
#include "meta/wall_clocks.h"
#include "meta_judgement/replica_garbage.h"
#include "meta_state/failure_detector.h"
#include "meta_state/replica_reports.h"
#include "meta_state/report_numbers.h"
#include "meta_state/table_split.h"
#include "meta_state/unix_seconds.h"

namespace arion {
namespace {

// A 2.5.0 server says it as the time that it wants back. From who may mean another time by that it
// counts where it can be no time since a start.
std::optional<int64_t> WallClockOf(const BeaconMessage& beacon) {
  constexpr int64_t kUnixMillisMin = 1'500'000'000'000;  // 2017; nobody has been up for so long
  if (beacon.wall_ms) return beacon.wall_ms;
  return beacon.time >= kUnixMillisMin ? std::optional(beacon.time) : std::nullopt;
}

}  // namespace

void ServerRequests::AddTo(RequestHandlers& handlers) {
  handlers.Add(kRpcBeacon, this, &ServerRequests::OnBeacon);
  handlers.Add(kRpcConfigSync, this, &ServerRequests::OnConfigSync);
}

void ServerRequests::Begin() {
  began_at_ = Now();
  uses_.state.is_beginning = true;
  // A former life may have granted leases until just now.
  leases_end_ = Now() + uses_.options.grace;
  for (auto& [endpoint, node] : uses_.state.nodes) {
    node.alive = true;
    uses_.detector.AssumeAlive(endpoint, Now());
  }
  for (const auto& [app_id, table] : uses_.state.tables)
    for (const Partition& partition : table.partitions)
      led_at_begin_.insert(partition.config.primary);
}

void ServerRequests::OnBeacon(InboundRequest& request) {
  auto beacon = RequestCodec::Decode<BeaconMessage>(request);
  if (!beacon || !beacon->from_node.IsValid() || beacon->from_node.port == 0) return;
  Endpoint from = beacon->from_node;
  if (!uses_.state.nodes.contains(from) && uses_.state.nodes.size() >= kNodesMax) return;
  if (uses_.options.vets_older_servers && !uses_.older_servers.MayCount(*beacon, request)) return;
  if (!NoteLife(*beacon)) return;
  leases_end_ = Now() + uses_.options.grace;
  uses_.wall_clocks.Note(from, WallClockOf(*beacon), events_.excused_until());
  // Only our own servers name their process.
  uses_.state.nodes[from].is_older = !beacon->process_id;
  const bool stops = beacon->stops.value_or(false);
  // At once: what it leads should move before its process ends.
  if (std::exchange(uses_.state.nodes[from].is_stopping, stops) != stops) events_.plan();
  uses_.codec.Answer(
      request,
      BeaconAck{.time = beacon->time,
                .this_node = beacon->to_node,
                .primary_node = beacon->to_node,
                .is_master = true,
                .allowed = true,
                .arion_meta_life = uses_.life,
                .arion_deaths = uses_.detector.Deaths(from) + !led_at_begin_.contains(from),
                .arion_is_frozen = Level() <= FunctionLevel::kFreezed,
                .agreed_wall_ms = uses_.wall_clocks.AgreedMillis().value_or(0)});
}

bool ServerRequests::NoteLife(const BeaconMessage& beacon) {
  const Endpoint from = beacon.from_node;
  switch (uses_.detector.OnBeacon(from, {beacon.start_time, beacon.process_id}, Now())) {
    case FailureDetector::Verdict::kRefused:
      LOG_EVERY_N(WARNING, 100) << "meta: " << from << " restarts again and again: not answered "
                                << "until it has been up for "
                                << absl::FormatDuration(uses_.options.stable_running);
      return false;
    case FailureDetector::Verdict::kFormer:
      return false;
    case FailureDetector::Verdict::kAlive:
      return true;
    case FailureDetector::Verdict::kCameAlive:
      CameAlive(from, "alive");
      return true;
    case FailureDetector::Verdict::kRestarted:
      CameAlive(from, "restarted");
      EndIncarnation(from);
      return true;
  }
  return false;
}

void ServerRequests::CameAlive(Endpoint server, const char* what) {
  LOG(INFO) << "meta: " << server << " " << what;
  Node& node = uses_.state.nodes[server];
  // All that its last process reported is void, and what of it is not named here is replaced by the
  // next report.
  uses_.wall_clocks.ForgetServer(server);
  node.alive = true;
  node.collected = false;
  // A report that was asked for from the former process must not be read.
  node.awaited_report = 0;
  node.slow_disks.clear();
  node.disks.clear();
  node.nearly_full.clear();
  node.replicas_max.reset();
  node.slow_members.clear();
  node.replicas.clear();
  events_.plan();
}

void ServerRequests::EndIncarnation(Endpoint server) {
  ++uses_.state.nodes[server].incarnation;
  for (auto& [app_id, table] : uses_.state.tables) {
    for (Partition& partition : table.partitions) {
      NoteRestart(partition, server, uses_.detector.FormerServiceEnd(server) + uses_.options.grace);
    }
  }
}

void ServerRequests::Expire() {
  for (Endpoint server : uses_.detector.Expire(Now())) {
    LOG(WARNING) << "meta: " << server << " is dead: no beacon for "
                 << absl::FormatDuration(uses_.options.grace);
    uses_.deaths.Add(1);
    Node& node = uses_.state.nodes[server];
    node.alive = false;
    node.collected = false;
    uses_.wall_clocks.ForgetDeadServer(server);
  }
  if (Now() >= start_ends()) {
    uses_.state.awaited.clear();
    uses_.state.is_beginning = false;
  }
}

void ServerRequests::OnConfigSync(InboundRequest& request) {
  auto sync = RequestCodec::Decode<ConfigSyncRequest>(request);
  if (!sync) return;
  // Without beacons its report could be of any time; and strangers must not add servers.
  if (!uses_.state.IsAlive(sync->node)) {
    return uses_.codec.Answer(request, ConfigSyncResponse{.err = ErrorCode::kObjectNotFound});
  }
  ConfigSyncResponse response;
  Node& node = uses_.state.nodes[sync->node];
  if (node.awaited_report == 0) node.awaited_report = uses_.numbers.Next();
  // The report may be of before what this server has decided since. The answer brings the number
  // with which the server reports anew (server_requests/S2).
  if (sync->number && *sync->number != node.awaited_report) {
    response.err = ErrorCode::kInvalidVersion;
    response.next_number = node.awaited_report;
    return uses_.codec.Answer(request, response);
  }
  node.awaited_report = uses_.numbers.Next();
  if (sync->number) response.next_number = node.awaited_report;
  NoteReports(uses_.state, *sync, uses_.numbers.last(), uses_.options.grace, Now());
  uses_.state.awaited.erase(sync->node);
  AddPartitions(sync->node, response);
  if (response.err == ErrorCode::kOk) AddOthers(*sync, response);
  uses_.codec.Answer(request, response);
  events_.plan();
}

void ServerRequests::AddPartitions(Endpoint server, ConfigSyncResponse& response) {
  for (auto& [app_id, table] : uses_.state.tables) {
    for (Partition& partition : table.partitions) {
      const PartitionConfiguration& config = partition.config;
      if (partition.intent && partition.intent->target == server) {
        partition.intent->times_sent = 0;  // what it ignored before it was connected
      }
      // While a change is stored, it counts for both: those who are members, and those who will be.
      const bool leaves_or_joins = partition.pending && partition.pending->IsMember(server);
      if (!config.IsMember(server) && !leaves_or_joins) continue;
      if (partition.pending) response.err = ErrorCode::kBusy;
      const int32_t index = config.pid.index;
      response.partitions.push_back(
          {.info = InfoFor(table, index), .config = config, .host_node = server});
      // One of 2.5.0 would act on it in its own way.
      if (uses_.state.FindNode(server)->is_older) continue;
      const SplitStatus status = SplitStatusOf(table, index);
      if (status == SplitStatus::kNotSplit) continue;
      // A freezed cluster registers no child: nobody should stop writes for that.
      response.partitions.back().meta_split_status =
          static_cast<int32_t>(Level() <= FunctionLevel::kFreezed ? SplitStatus::kPaused : status);
    }
  }
  // All or nothing: a part of the list would read as if the rest were not the server's.
  if (response.err != ErrorCode::kOk) response.partitions.clear();
}

void ServerRequests::AddOthers(const ConfigSyncRequest& sync, ConfigSyncResponse& response) const {
  // 0 while clocks disagree. Then no dropped table is over.
  const int64_t for_good = UnixSecondsForGood(uses_.clock);
  auto garbage = GarbageOf(uses_.state, Level(), sync.node, for_good);
  if (!garbage.empty()) response.gc_replicas = std::move(garbage);
  std::vector<PartitionId> kept, unheard;
  for (const ReplicaInfo& report : sync.stored_replicas.value_or(std::vector<ReplicaInfo>{})) {
    const Table* table = uses_.state.FindTable(report.pid.app_id);
    const Partition* partition = uses_.state.FindPartition(report.pid);
    if (partition == nullptr) continue;
    if (IsAwaitedChild(*table, report.pid.index)) kept.push_back(report.pid);
    // It was registered, and its server was taken for dead before it heard of that.
    if (!partition->IsUnregistered() && report.is_unborn.value_or(false))
      unheard.push_back(report.pid);
  }
  // Perhaps nobody else has them.
  const auto unneeded = UnneededOf(uses_.state, Level(), sync.node, unheard, for_good);
  std::copy_if(unheard.begin(), unheard.end(), std::back_inserter(kept), [&](PartitionId pid) {
    return std::find(unneeded.begin(), unneeded.end(), pid) == unneeded.end();
  });
  // One of 2.5.0 ends on partitions in fields that it does not know.
  const bool is_older = uses_.state.FindNode(sync.node)->is_older;
  if (!kept.empty() && !is_older) response.kept_children = std::move(kept);
  if (sync.missing_replicas)
    response.unneeded_replicas =
        UnneededOf(uses_.state, Level(), sync.node, *sync.missing_replicas, for_good);
}

}  // namespace arion
