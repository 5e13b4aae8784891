// SPDX-License-Identifier: Apache-2.0
#include "sim_older/old_meta_server.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "meta_state/cluster_state.h"
#include "sim_older/old_meta_requests.h"

namespace arion::sim {
namespace {

constexpr absl::Duration kWriteAgain = absl::Seconds(1);

}  // namespace

OldMetaServer::OldMetaServer(Environment& env, Transport& transport, MetaStore& store,
                             OldMetaOptions options, std::function<void(std::string)> violate)
    : env_(env),
      transport_(transport),
      store_(store),
      options_(std::move(options)),
      violate_(std::move(violate)),
      strand_(env.NewStrand("old meta")) {}

absl::Status OldMetaServer::Start() {
  ASSIGN_OR_RETURN(const auto entries, store_.Load());
  ASSIGN_OR_RETURN(ClusterState stored, ClusterState::Load(entries));
  // Without tables there was nobody whom an earlier life knew (OnUpdate).
  is_first_life_ = stored.tables.empty();
  for (auto& [id, from] : stored.tables) {
    OldTable& table = state_.tables[id];
    table.info = from.info;
    table.info.status =
        // A change may have been interrupted, so that partitions are not as their table says: GoOn
        // makes them so.
        from.info.status == AppStatus::kDropped ? AppStatus::kDropping : AppStatus::kRecalling;
    for (Partition& partition : from.partitions) {
      OldPartition& mine = table.partitions.emplace_back();
      mine.config = std::move(partition.config);
      for (Endpoint node : mine.config.last_drops) mine.dropped.push_back({.node = node});
      std::vector<Endpoint> members = mine.config.secondaries;
      if (mine.config.primary.IsValid()) members.push_back(mine.config.primary);
      for (Endpoint node : members) {
        // Members count as alive for a grace, so that a start of the meta server moves nothing.
        state_.nodes[node].is_alive = true;
        last_beacons_[node] = Now();
      }
    }
  }
  transport_.SetHandler([this](InboundRequest request) {
    auto shared = std::make_shared<InboundRequest>(std::move(request));
    strand_->Post([this, shared] { Handle(std::move(*shared)); });
  });
  strand_->Post([this] {
    for (auto& [id, table] : state_.tables) GoOn(table);
    CheckNodes();
    LookAtAll();
  });
  return absl::OkStatus();
}

bool OldMetaServer::IsLeftToPerson(PartitionId pid) const {
  const auto table = state_.tables.find(pid.app_id);
  if (table == state_.tables.end()) return false;
  const OldPartition& partition = table->second.partitions.at(static_cast<size_t>(pid.index));
  return partition.config.MemberCount() == 0 && !partition.config.last_drops.empty() &&
         OldChooseOfDropped(state_, partition).is_for_a_person;
}

void OldMetaServer::Handle(InboundRequest request) {
  if (request.header.pid.app_id > 0)
    return violate_(
        absl::StrCat("replica/README.md A15: ", request.header.name, " with a partition"));
  if (HandleServer(request) || HandleTable(request) || HandleQuery(request)) return;
  request.responder.Reply(ErrorCode::kHandlerNotFound);
}

bool OldMetaServer::HandleServer(InboundRequest& request) {
  const std::string& name = request.header.name;
  const bool is_internal =
      name == kRpcBeacon || name == kRpcConfigSync || name == kRpcUpdateConfiguration;
  if (is_internal && request.header.thread_hash != 0)
    violate_(absl::StrCat("replica/OLDER.md 2: ", name, " on a partition's thread"));
  if (name == kRpcBeacon) {
    if (const auto beacon = Take<BeaconMessage>(request)) OnBeacon(request, *beacon);
  } else if (name == kRpcConfigSync) {
    if (const auto sync = Take<ConfigSyncRequest>(request)) OnSync(request, *sync);
  } else if (name == kRpcUpdateConfiguration) {
    if (const auto update = Take<ConfigurationUpdateRequest>(request))
      OnUpdate(std::move(request), *update);
  } else if (name == kRpcDuplicationSync) {
    Answer(request, DuplicationSyncResponse{});
  } else {
    return false;
  }
  return true;
}

// ---- nodes ----

void OldMetaServer::OnBeacon(InboundRequest& request, const BeaconMessage& beacon) {
  if (beacon.hp_from_node || beacon.hp_to_node)
    violate_("replica/OLDER.md 4: a beacon with host names");
  // Whoever was dead has to report again before it counts as collected.
  OldNode& node = state_.nodes[beacon.from_node];
  last_beacons_[beacon.from_node] = Now();
  if (!std::exchange(node.is_alive, true)) node.is_collected = false;
  Answer(request, BeaconAck{.time = beacon.time,
                            .this_node = beacon.to_node,
                            .primary_node = beacon.to_node,
                            .is_master = true,
                            .allowed = true});
}

void OldMetaServer::CheckNodes() {
  for (auto& [endpoint, node] : state_.nodes) {
    if (!node.is_alive || Now() - last_beacons_[endpoint] <= options_.grace) continue;
    node.is_alive = node.is_collected = false;
    LOG(INFO) << "2.5.0 meta: " << endpoint << " is dead";
    OnDeath(endpoint);
  }
  strand_->PostAfter(options_.check_interval, [this] { CheckNodes(); });
}

void OldMetaServer::OnDeath(Endpoint node) {
  for (const auto& [id, table] : state_.tables) {
    for (const OldPartition& partition : table.partitions) {
      const PartitionConfiguration& config = partition.config;
      // What is being written is looked at when it is written (OnWritten).
      if (!config.IsMember(node) || partition.pending) continue;
      if (config.primary == node)
        WriteWithoutPrimary(partition);
      else if (config.primary.IsValid() && Level() >= FunctionLevel::kSteady)
        Propose(table, partition, {ConfigType::kDowngradeToInactive, config.primary, node});
    }
  }
}

bool OldMetaServer::IsBeingUpdated(Endpoint node) const {
  for (const auto& [id, table] : state_.tables)
    for (const OldPartition& partition : table.partitions)
      if (partition.pending &&
          (partition.config.IsMember(node) || partition.pending->IsMember(node)))
        return true;
  return false;
}

void OldMetaServer::OnSync(InboundRequest& request, const ConfigSyncRequest& sync) {
  // A reader that does not know a field can't skip what is no plain type (replica/OLDER.md 3).
  if (sync.hp_node || (sync.missing_replicas && !sync.missing_replicas->empty()) ||
      (sync.slow_members && !sync.slow_members->empty()))
    violate_("replica/OLDER.md 3: a config sync with what 2.5.0 can't skip");
  ConfigSyncResponse response;
  const auto node = state_.nodes.find(sync.node);
  if (node == state_.nodes.end()) {
    response.err = ErrorCode::kObjectNotFound;
    return Answer(request, response);
  }
  // Neither the old configuration nor the new one would be a true answer.
  if (IsBeingUpdated(sync.node)) {
    response.err = ErrorCode::kBusy;
    return Answer(request, response);
  }
  if (sync.stored_replicas) {
    std::vector<ReplicaInfo> garbage = Collect(sync.node, *sync.stored_replicas);
    if (!garbage.empty()) response.gc_replicas = std::move(garbage);
    node->second.is_collected = true;
    WatchLearners(sync.node);
  }
  for (const auto& [id, table] : state_.tables)
    for (const OldPartition& partition : table.partitions)
      if (partition.config.IsMember(sync.node))
        response.partitions.push_back(
            {.info = table.info, .config = partition.config, .host_node = sync.node});
  Answer(request, response);
}

std::vector<ReplicaInfo> OldMetaServer::Collect(Endpoint node,
                                                const std::vector<ReplicaInfo>& stored) {
  std::vector<ReplicaInfo> garbage;
  for (auto& [id, table] : state_.tables)
    // The report replaces all that the server said before.
    for (OldPartition& partition : table.partitions) partition.reports.erase(node);
  std::set<PartitionId> told;
  for (const ReplicaInfo& report : stored) {
    OldPartition* partition = state_.Find(report.pid);
    if (partition == nullptr) {
      violate_(absl::StrCat("replica/README.md A13: a config sync names ", report.pid.ToString()));
      continue;
    }
    if (!told.insert(report.pid).second)
      violate_(absl::StrCat("a config sync names ", report.pid.ToString(), " twice"));
    partition->reports[node] = report;
    const AppInfo& info = state_.tables.at(report.pid.app_id).info;
    const bool is_useful = info.status == AppStatus::kDropped
                               ? info.expire_second > NowSeconds()
                               : OldCollect(*partition, node, report, options_.guardian);
    if (!is_useful && Level() >= FunctionLevel::kLively) {
      ReplicaInfo plain = report;
      // Fields of Arion's, which 2.5.0 would not send back.
      plain.durability.reset(), plain.unclean.reset(), plain.loading.reset();
      plain.last_mutation_ballot.reset(), plain.times_older.reset(), plain.is_unproven.reset();
      plain.table_version.reset(), plain.content_verdict.reset();
      garbage.push_back(std::move(plain));
    }
  }
  return garbage;
}

void OldMetaServer::WatchLearners(Endpoint node) {
  for (auto& [id, table] : state_.tables) {
    for (OldPartition& partition : table.partitions) {
      const auto report = partition.reports.find(node);
      if (partition.proposals.empty() || report == partition.reports.end()) continue;
      OldProposal& head = partition.proposals.front();
      if (head.node != node || head.node == head.target) continue;
      const PartitionStatus status = report->second.status;
      if (status == PartitionStatus::kPotentialSecondary)
        head.was_learner_seen = true;
      else if (head.was_learner_seen &&
               (status == PartitionStatus::kInactive || status == PartitionStatus::kError))
        // The learner was seen and has failed: another server may be asked.
        partition.proposals.clear();
    }
  }
}

// ---- partitions ----

bool OldMetaServer::NamesUnknown(const ConfigurationUpdateRequest& update) const {
  std::vector<Endpoint> named = update.config.secondaries;
  named.push_back(update.node);
  if (update.config.primary.IsValid()) named.push_back(update.config.primary);
  return std::any_of(named.begin(), named.end(),
                     [this](Endpoint node) { return !state_.nodes.contains(node); });
}

void OldMetaServer::OnUpdate(InboundRequest request, const ConfigurationUpdateRequest& update) {
  const PartitionId pid = update.config.pid;
  OldPartition* partition = state_.Find(pid);
  // Whom it knew before this life, and no configuration names, it knows by its first beacon only:
  // 2.5.0 ends by what its own servers say, too, and whoever asked asks again.
  if (partition != nullptr && !is_first_life_ && NamesUnknown(update)) return;
  if (partition == nullptr || NamesUnknown(update))
    return violate_(absl::StrCat("replica/README.md A13: an update of ", pid.ToString(), " by ",
                                 request.header.from.ToString(), " about ",
                                 update.node.ToString()));
  const auto answer = [&request](ErrorCode error, const PartitionConfiguration& config) {
    Answer(request, ConfigurationUpdateResponse{error, config});
  };
  if (Level() <= FunctionLevel::kFreezed)
    return answer(ErrorCode::kStateFreezed, partition->config);
  if (OldIsSame(update.config, partition->config)) return answer(ErrorCode::kOk, partition->config);
  if (update.config.ballot != partition->config.ballot + 1)
    return answer(ErrorCode::kInvalidVersion, partition->config);
  // No answer: the sender's call times out, and it asks again.
  if (partition->pending) return;
  PartitionConfiguration config = update.config;
  config.last_drops = partition->config.last_drops;
  if (partition->config.IsMember(update.node) && !config.IsMember(update.node))
    OldNoteDropped(config, update.node);
  std::erase_if(config.last_drops, [&config](Endpoint node) { return config.IsMember(node); });
  auto shared = std::make_shared<InboundRequest>(std::move(request));
  Write(std::move(config), [this, shared, pid] {
    Answer(*shared, ConfigurationUpdateResponse{ErrorCode::kOk, state_.Find(pid)->config});
  });
}

void OldMetaServer::LookAtAll() {
  strand_->PostAfter(options_.guardian_interval, [this] { LookAtAll(); });
  if (Level() < FunctionLevel::kSteady) return;
  struct Sent {
    const OldTable* table;
    const OldPartition* partition;
    OldProposal proposal;
    int order;
  };
  std::vector<Sent> all;
  for (auto& [id, table] : state_.tables) {
    if (table.info.status != AppStatus::kAvailable) continue;
    for (OldPartition& partition : table.partitions) {
      const auto proposal = OldCure(state_, table, partition, options_.guardian, Now());
      if (!proposal) continue;
      const bool is_addition = proposal->type == ConfigType::kAddSecondary;
      // New copies last, those for a primary alone before the others.
      const int order = !is_addition ? 0 : partition.config.secondaries.empty() ? 1 : 2;
      all.push_back({&table, &partition, *proposal, order});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Sent& a, const Sent& b) { return a.order < b.order; });
  for (const Sent& sent : all) Propose(*sent.table, *sent.partition, sent.proposal);
}

void OldMetaServer::Look(PartitionId pid) {
  OldTable& table = state_.tables.at(pid.app_id);
  OldPartition& partition = *state_.Find(pid);
  if (Level() < FunctionLevel::kSteady || table.info.status != AppStatus::kAvailable) return;
  if (const auto proposal = OldCure(state_, table, partition, options_.guardian, Now()))
    Propose(table, partition, *proposal);
}

void OldMetaServer::Propose(const OldTable& table, const OldPartition& partition,
                            const OldProposal& proposal) {
  const ConfigurationUpdateRequest request{
      .info = table.info, .config = partition.config, .type = proposal.type, .node = proposal.node};
  OutboundRequest outbound{.name = kRpcConfigProposal, .body = EncodeWrapped(request)};
  outbound.thread_hash = partition.config.pid.thread_hash();
  transport_.SendOneWay(proposal.target, std::move(outbound));
}

void OldMetaServer::WriteWithoutPrimary(const OldPartition& partition) {
  PartitionConfiguration config = partition.config;
  config.ballot = config.ballot + 1;
  OldNoteDropped(config, std::exchange(config.primary, Endpoint{}));
  Write(std::move(config), [] {});
}

void OldMetaServer::Write(PartitionConfiguration config, std::function<void()> done) {
  const PartitionId pid = config.pid;
  OldPartition& partition = *state_.Find(pid);
  // One change of a partition at a time, so that ballots rise by one.
  CHECK(!partition.pending) << pid;
  partition.pending = config;
  Commit({ClusterState().ChangeOf(config)}, [this, pid, done = std::move(done)] {
    OldPartition& written = *state_.Find(pid);
    const PartitionConfiguration now_valid = *std::exchange(written.pending, std::nullopt);
    OldApply(written, now_valid, options_.guardian, Now());
    done();
    OnWritten(pid);
  });
}

void OldMetaServer::OnWritten(PartitionId pid) {
  OldTable& table = state_.tables.at(pid.app_id);
  const OldPartition& partition = *state_.Find(pid);
  if (table.info.status != AppStatus::kAvailable) return GoOn(table);
  // It died while this was written. (2.5.0 cancels what is being written, and may store two
  // configurations of one ballot: tests/sim/known_bugs.md T-36.)
  if (const Endpoint primary = partition.config.primary;
      primary.IsValid() && !state_.IsAlive(primary))
    return WriteWithoutPrimary(partition);
  Look(pid);
}

void OldMetaServer::Commit(std::vector<MetaStore::Change> batch, std::function<void()> done) {
  const auto again = [this, batch, done] { Commit(batch, done); };
  // Not given up: who waits for it is answered once the level rises.
  if (Level() <= FunctionLevel::kBlind) {
    strand_->PostAfter(kWriteAgain, again);
    return;
  }
  store_.Commit(std::move(batch), StoreNeed::kToServe, strand_,
                [this, again, done = std::move(done)](const absl::Status& status) {
                  if (status.ok()) return done();
                  strand_->PostAfter(kWriteAgain, again);
                });
}

}  // namespace arion::sim
