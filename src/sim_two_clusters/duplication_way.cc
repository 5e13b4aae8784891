// SPDX-License-Identifier: Apache-2.0
#include "sim_two_clusters/duplication_way.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "messages/duplicate_messages.h"
#include "messages/duplication_messages.h"
#include "meta_state/cluster_state.h"
#include "replica/replica_snapshot.h"
#include "rpc/thrift_codec.h"
#include "sim_workloads/probe_client.h"

namespace arion::sim {
namespace {

constexpr absl::Duration kBegunMax = absl::Seconds(60);
constexpr Endpoint kAdmin = {0x0a0001fdu, 1000};

}  // namespace

DuplicationWay::DuplicationWay(SimWorld& world, SimCluster& from, uint8_t from_id, SimCluster& to,
                               std::string to_name)
    : world_(world), from_(from), to_(to), to_name_(std::move(to_name)), checker_(from_id) {
  WatchNetworks();
}

PartitionId DuplicationWay::SourceOf(PartitionId receiver) const {
  const auto found = tables_.find(receiver.app_id);
  return found == tables_.end() ? PartitionId{} : PartitionId{found->second, receiver.index};
}

bool DuplicationWay::Sends(int32_t app_id) const {
  return std::any_of(tables_.begin(), tables_.end(),
                     [app_id](const auto& ids) { return ids.second == app_id; });
}

// ---- what can be seen ----

void DuplicationWay::WatchNetworks() {
  SimNetwork& from = from_.network();
  from.on_request = [this, watch = std::move(from.on_request)](Endpoint sender, Endpoint to,
                                                               const OutboundRequest& request) {
    watch(sender, to, request);
    if (request.name != kRpcDuplicationSync) return;
    const auto sync = DecodeWrapped<DuplicationSyncRequest>(request.body);
    if (!sync.ok()) return from_.checkers().Violate("a duplication sync does not decode");
    for (const auto& [pid, entries] : sync->confirm_list)
      for (const DuplicationConfirmEntry& entry : entries) checker_.Said(pid, entry);
  };
  SimNetwork& to = to_.network();
  to.on_request = [this, watch = std::move(to.on_request)](Endpoint sender, Endpoint receiver,
                                                           const OutboundRequest& request) {
    watch(sender, receiver, request);
    if (request.name == kRpcDuplicate) NoteSender(sender, request.pid);
  };
  // What its sender gave up comes late, and each request again, in any order.
  to.echoes = {.request = kRpcDuplicate, .copies = 1, .late_max = absl::Seconds(5)};
}

void DuplicationWay::NoteSender(Endpoint sender, PartitionId receiver) {
  const PartitionId pid = SourceOf(receiver);
  const PartitionConfiguration* config = from_.groups().Find(pid);
  if (config == nullptr || !config->primary.IsValid() ||
      ClusterSettings::Abroad(config->primary) == sender || !sent_by_former_.insert(pid).second)
    return;
  from_.checkers().Violate(absl::StrCat(
      "duplication_way/W1: ", sender.ToString(), " sends writes of [", pid.ToString(), "] at ",
      world_.now().nanos() / 1000000, " ms, and ", config->primary.ToString(), " leads it"));
}

// "/apps/2/duplication/1700000000/3": how far that partition is.
void DuplicationWay::NoteStored(const MetaStore::Change& change) {
  const std::vector<std::string> parts = absl::StrSplit(change.key, '/');
  int32_t app_id = 0, index = 0;
  int64_t decree = 0;
  if (parts.size() == 6 && parts[3] == "duplication" && change.value &&
      absl::SimpleAtoi(parts[2], &app_id) && absl::SimpleAtoi(parts[5], &index) &&
      absl::SimpleAtoi(*change.value, &decree))
    checker_.Stored({app_id, index}, Decree(decree), world_.now());
}

void DuplicationWay::Watch() {
  LookAtLogs();
  world_.After(absl::Seconds(1), EventKind::kCheck, [this] { Watch(); });
}

void DuplicationWay::LookAtLogs() {
  for (const auto& server : from_.lives().servers()) {
    if (!server->server || server->stopping) continue;
    const std::string life = absl::StrCat(server->name, ".", server->node->life());
    server->server->Snapshot([this, life](const std::vector<ReplicaSnapshot>& replicas) {
      for (const ReplicaSnapshot& replica : replicas) {
        if (!from_.groups().IsWanted(replica.pid) || replica.loading) continue;
        const bool is_member = replica.status == PartitionStatus::kPrimary ||
                               replica.status == PartitionStatus::kSecondary;
        checker_.Looked(life, replica.pid,
                        is_member ? std::optional<Ballot>(replica.ballot) : std::nullopt,
                        replica.log_begins);
      }
    });
  }
}

// ---- how it begins ----

// "/apps/3": a table.
void DuplicationWay::NoteStoredThere(const MetaStore::Change& change) {
  const std::vector<std::string> parts = absl::StrSplit(change.key, '/');
  int32_t app_id = 0;
  if (awaited_.empty() || parts.size() != 3 || !absl::SimpleAtoi(parts[2], &app_id)) return;
  // The rest of the batch is stored by then.
  world_.After(absl::ZeroDuration(), EventKind::kCheck, [this, app_id] { Adopt(app_id); });
}

void DuplicationWay::Adopt(int32_t app_id) {
  // A new life of the meta server tells it again.
  if (to_.lives().meta().store == nullptr) return;
  const absl::StatusOr<ClusterState> state = to_.lives().meta().store->State();
  const Table* table = state.ok() ? state->FindTable(app_id) : nullptr;
  const auto found = table == nullptr ? awaited_.end() : awaited_.find(table->info.app_name);
  if (found == awaited_.end()) return;
  tables_[app_id] = found->second.app_id;
  WorkloadTable copy = found->second;
  copy.app_id = app_id;
  to_.AddCopiedTable(std::move(copy));
  awaited_.erase(found);
}

bool DuplicationWay::Add(const std::string& table, From from) {
  SimNode& node = world_.AddNode("admin");
  SimEnvironment& env = node.Start();
  SimTransport transport(from_.network(), node, kAdmin);
  StrandPtr strand = env.NewStrand("admin");
  ProbeClient admin(transport, strand);
  const AddDuplicationRequest request{.app_name = table,
                                      .remote_cluster_name = to_name_,
                                      .is_duplicating_checkpoint = from == From::kCheckpoint,
                                      .remote_replica_count = to_.settings().replica_count};
  AddDuplicationResponse last{.err = ErrorCode::kUnknown};
  // It exists where only the answer to an earlier attempt was lost.
  const auto is_done = [&last] {
    return last.err == ErrorCode::kOk || last.err == ErrorCode::kDupExist;
  };
  for (int attempt = 0; attempt < 60 && !is_done(); ++attempt) {
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
  if (!is_done())
    from_.checkers().Violate(absl::StrCat("table ", table,
                                          " is not duplicated: ", Text(ErrorCodeName(last.err)),
                                          ", ", last.hint.value_or("")));
  return is_done();
}

// Each partition has a place to begin at, and sends.
bool DuplicationWay::HasBegun() {
  const absl::StatusOr<ClusterState> state = from_.lives().meta().store->State();
  return state.ok() && awaited_.empty() &&
         std::all_of(tables_.begin(), tables_.end(), [&state](const auto& ids) {
           const Table* table = state->FindTable(ids.second);
           return table != nullptr && table->duplications.size() == 1 &&
                  std::all_of(table->duplications.begin()->second.partitions.begin(),
                              table->duplications.begin()->second.partitions.end(),
                              [](const auto& one) { return one.stored >= Decree(0); });
         });
}

bool DuplicationWay::Begin(int tables, From from) {
  if (from == From::kCheckpoint) checker_.BeginWithCheckpoints();
  for (size_t i = 0; i < static_cast<size_t>(tables); ++i) {
    const WorkloadTable& table = from_.groups().tables()[i];
    if (from == From::kCheckpoint)
      awaited_[table.name] = table;
    else
      tables_[to_.groups().tables()[i].app_id] = table.app_id;
    if (!Add(table.name, from)) return false;
  }
  return true;
}

bool DuplicationWay::AwaitBegun() {
  // The state is read from what is stored: not after each event.
  const Instant end = world_.now() + kBegunMax;
  while (!HasBegun() && world_.now() < end) world_.RunFor(absl::Seconds(1));
  if (HasBegun()) return true;
  from_.checkers().Violate("cluster_pair/E1: nothing was sent 60 s after it was asked for");
  return false;
}

}  // namespace arion::sim
