// SPDX-License-Identifier: Apache-2.0
#include "replica_server/config_sync.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "disks/disk_watch.h"
#include "disks/open_file_budget.h"
#include "membership/cluster_question.h"
#include "messages/split_messages.h"
#include "messages/tool_messages.h"
#include "replica/replica.h"
#include "replica_server/replica_table.h"
#include "rpc/older_servers.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(5);
constexpr absl::Duration kRetryDelay = absl::Milliseconds(500);
constexpr absl::Duration kSoon = absl::Milliseconds(50);  // replicas that open together share one

// Whether nobody can register the child any more: the ballot that it was made under is over for its
// parent, or its parent is not here.
bool IsOfNoAttempt(const ReplicaInfo& child, const std::vector<ReplicaInfo>& reports) {
  return std::none_of(reports.begin(), reports.end(), [&child](const ReplicaInfo& other) {
    return other.pid == ParentOf(child.pid) && other.ballot <= child.ballot;
  });
}

}  // namespace

ConfigSync::ConfigSync(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
                       std::shared_ptr<ReplicaTable> table,
                       std::vector<std::string> unreadable_disks)
    : host_(std::move(host)),
      strand_(std::move(strand)),
      table_(std::move(table)),
      unreadable_disks_(std::move(unreadable_disks)) {}

void ConfigSync::OnConnected(uint64_t term) {
  CHECK_ON_STRAND(strand_);
  is_connected_ = true;
  was_answered_ = false;
  // What the former term sent does not count any more (config_sync/C1).
  is_under_way_ = false;  // what the former term sent counts no more
  term_ = term;
  Run();
}

void ConfigSync::OnLeaseLost() {
  CHECK_ON_STRAND(strand_);
  is_connected_ = false;
  if (timer_ != kNoTimer) strand_->Cancel(timer_);
  timer_ = kNoTimer;
}

void ConfigSync::Soon() {
  CHECK_ON_STRAND(strand_);
  if (is_connected_) Schedule(kSoon);
}

void ConfigSync::AskAboutMissing(std::set<PartitionId> missing,
                                 std::function<void(const std::vector<PartitionId>&)> on_unneeded) {
  CHECK_ON_STRAND(strand_);
  missing_ = std::move(missing);
  on_unneeded_ = std::move(on_unneeded);
}

void ConfigSync::Schedule(absl::Duration delay) {
  const Instant at = host_->env.clock().Now() + delay;
  if (timer_ != kNoTimer) {
    // The earlier of two wishes counts; one report serves both.
    if (timer_at_ <= at) return;
    strand_->Cancel(timer_);
  }
  timer_at_ = at;
  timer_ = strand_->PostAfter(delay, [self = weak_from_this()] {
    const auto sync = self.lock();
    if (sync == nullptr) return;
    sync->timer_ = kNoTimer;
    sync->Run();
  });
}

void ConfigSync::Run() {
  if (!is_connected_) return;
  // One request at a time, so that the numbers keep their meaning. The next one reports what is
  // true then.
  if (is_under_way_) return Schedule(kRetryDelay);
  is_under_way_ = true;
  listing_.reset();
  // An older version's meta server would end on a partition it does not know, so it is asked first.
  const OlderServers* older = host_->options.older_servers.get();
  if (older != nullptr && older->are_let_in()) return AskForListing();
  Report();
}

void ConfigSync::AskForListing() {
  arion::AskForListing(
      host_->transport, strand_, host_->lease->leader(), QuestionDepth::kAgain,
      [self = weak_from_this(), term = term_](absl::StatusOr<ClusterListing> listing) {
        const auto sync = self.lock();
        if (sync == nullptr || !sync->is_connected_ || sync->term_ != term) return;
        sync->OnListing(std::move(listing));
      });
}

void ConfigSync::OnListing(absl::StatusOr<ClusterListing> listing) {
  if (!listing.ok()) {
    LOG(WARNING) << "config sync: " << listing.status().message();
    is_under_way_ = false;
    // In a term in which it has answered it may be busy; before that, members wait for the first
    // answer.
    return Schedule(was_answered_ ? host_->options.config_sync_interval : kRetryDelay);
  }
  host_->options.older_servers->SetListed(listing->servers);
  if (!listing->is_arion) {
    host_->join->SetListing(*listing);
    listing_ = *std::move(listing);
  }
  Report();
}

void ConfigSync::Report() {
  table_->Report([self = weak_from_this(), term = term_](std::vector<ReplicaInfo> reports) {
    const auto sync = self.lock();
    if (sync != nullptr && sync->is_connected_ && sync->term_ == term)
      sync->Send(std::move(reports));
  });
}

void ConfigSync::Send(std::vector<ReplicaInfo> reports) {
  // Only with an older version's listing.
  if (listing_) {
    std::vector<PartitionId> unknown;
    std::erase_if(reports, [&](const ReplicaInfo& report) {
      if (MayBeReported(*listing_, report.pid)) return false;
      unknown.push_back(report.pid);
      return true;
    });
    host_->join->SetUnreported(std::move(unknown));
  }
  ConfigSyncRequest request{.node = host_->self, .stored_replicas = reports, .number = number_};
  const PeerGeneration generation = host_->options.peer_generation;
  if (generation == PeerGeneration::k26) request.hp_node = HostPort::From(host_->self);
  if (!unreadable_disks_.empty()) request.unreadable_disks = unreadable_disks_;
  // A server of version 2.5.0 ends on partitions and addresses in fields that it does not know. A
  // meta server that numbers reports is never of that version.
  asked_ = host_->lease->leader();
  const bool is_ours = numbered_by_ == asked_;
  if (!missing_.empty() && is_ours)
    request.missing_replicas.emplace(missing_.begin(), missing_.end());
  if (std::vector<std::string> slow = host_->disks->watch->SlowTags(); !slow.empty())
    request.slow_disks = std::move(slow);
  request.disks = host_->disks->watch->Reports();
  if (std::vector<Endpoint> slow = host_->peers->Slow(); !slow.empty() && is_ours)
    request.slow_members = std::move(slow);
  if (const OpenFileBudget* files = host_->options.open_files.get(); files != nullptr) {
    request.replicas_max = files->replicas_max();
    request.open_files_max = files->shares().limit;
  }
  host_->transport.Call(
      asked_,
      {.name = kRpcConfigSync, .body = EncodeWrapped(request, generation), .timeout = kTimeout},
      strand_,
      [self = weak_from_this(), term = term_,
       // Kept as they were sent: the answer is compared with them.
       reports = std::move(reports)](const RpcResult& result) {
        const auto sync = self.lock();
        if (sync != nullptr && sync->is_connected_ && sync->term_ == term)
          sync->OnAnswer(reports, result);
      });
}

void ConfigSync::OnAnswer(const std::vector<ReplicaInfo>& reports, const RpcResult& result) {
  is_under_way_ = false;
  ErrorCode error = result.error;
  ConfigSyncResponse response;
  if (error == ErrorCode::kOk) {
    absl::StatusOr<ConfigSyncResponse> decoded = DecodeWrapped<ConfigSyncResponse>(result.body);
    error = decoded.ok() ? decoded->err : ErrorCode::kInvalidData;
    if (decoded.ok()) response = *std::move(decoded);
  }
  const int64_t sent = number_;  // one request at a time
  // A meta server that does not number leaves the number at 0.
  number_ = response.next_number.value_or(number_);
  if (result.error == ErrorCode::kOk) numbered_by_ = response.next_number ? asked_ : Endpoint{};
  // Refused unread, but it says which number it expects: report again at once, with what is true
  // now.
  if (error == ErrorCode::kInvalidVersion && number_ != sent) return Schedule(absl::ZeroDuration());
  if (error != ErrorCode::kOk) {
    // Busy is normal while it recovers its state.
    LOG_IF(WARNING, error != ErrorCode::kBusy)
        << "config sync with " << host_->lease->leader() << ": " << error;
    return Schedule(error == ErrorCode::kBusy || !was_answered_
                        ? kRetryDelay
                        : host_->options.config_sync_interval);
  }
  was_answered_ = true;
  Schedule(host_->options.config_sync_interval);

  // A replica that the answer leaves out is not wanted here, unless it is still loading.
  std::set<PartitionId> named;
  for (const ConfigurationUpdateRequest& entry : response.partitions) {
    named.insert(entry.config.pid);
    host_->MeetMembers(entry.config);
    Adopt(entry);
  }
  if (response.kept_children)
    named.insert(response.kept_children->begin(), response.kept_children->end());
  const OpenFileBudget* files = host_->options.open_files.get();
  // A server without files for new replicas does not keep unwanted ones open for a while.
  const bool has_room = files == nullptr || files->MayTakeReplica();
  const MissingInSync missing{has_room ? MissingInSync::Linger::kUsual
                                       : MissingInSync::Linger::kNone};
  for (const ReplicaInfo& report : reports) {
    if (named.contains(report.pid) || report.loading.value_or(false)) continue;
    if (report.is_unborn.value_or(false)) {
      if (IsOfNoAttempt(report, reports)) table_->PutChildAway(report.pid);
      continue;
    }
    const auto route = table_->Find(report.pid);
    if (!route || route->phase != ReplicaTable::Phase::kOpen) continue;
    route->replica->strand()->Post([replica = route->replica, report, missing] {
      // As it was reported, on its own strand: it may have become a member meanwhile
      // (config_sync/C1).
      const ReplicaInfo now = replica->Report();
      if (now.status == report.status && now.ballot == report.ballot) replica->Notify(missing);
    });
  }
  if (response.unneeded_replicas && on_unneeded_) on_unneeded_(*response.unneeded_replicas);
  if (!response.gc_replicas) return;
  for (const ReplicaInfo& garbage : *response.gc_replicas) table_->SetGarbageAside(garbage.pid);
}

void ConfigSync::TellReplicas(Responder responder) {
  CHECK_ON_STRAND(strand_);
  table_->Report([self = shared_from_this(),
                  responder = std::move(responder)](std::vector<ReplicaInfo> reports) mutable {
    // Nobody has ever counted on them.
    std::erase_if(reports,
                  [](const ReplicaInfo& report) { return report.is_unborn.value_or(false); });
    QueryReplicaInfoResponse response{.replicas = std::move(reports)};
    if (!self->unreadable_disks_.empty()) response.unreadable_disks = self->unreadable_disks_;
    responder.Reply(ErrorCode::kOk, EncodeWrapped(response, self->host_->options.peer_generation));
  });
}

void ConfigSync::TellTables(Responder responder) {
  CHECK_ON_STRAND(strand_);
  table_->Tables([host = host_,
                  responder = std::move(responder)](std::vector<AppInfo> tables) mutable {
    responder.Reply(ErrorCode::kOk, EncodeWrapped(QueryAppInfoResponse{.apps = std::move(tables)},
                                                  host->options.peer_generation));
  });
}

void ConfigSync::Adopt(const ConfigurationUpdateRequest& entry) {
  const auto route = table_->Find(entry.config.pid);
  if (route && route->phase == ReplicaTable::Phase::kOpen)
    return route->replica->strand()->Post(
        [replica = route->replica, entry] { replica->Notify(ConfigurationSynced{entry}); });
  if (route && route->phase != ReplicaTable::Phase::kClosed)  // its turn comes when it is open
    return table_->LearnRole(entry.config.pid, entry.config.primary == host_->self
                                                   ? LastRole::kPrimary
                                                   : LastRole::kSecondary);
  if (!entry.config.IsMember(host_->self)) return;
  if (route) {
    // Its directory is here, or being opened: a configuration that names it opens it, but makes no
    // new one.
    table_->OpenFor(entry.config.pid, entry.info, ReplicaTable::Creation::kForbidden,
                    ConfigurationSynced{entry});
    return;
  }
  // A primary finds out by itself that its secondary is gone.
  if (entry.config.primary == host_->self || !entry.config.primary.IsValid()) AskRemoval(entry);
}

void ConfigSync::AskRemoval(const ConfigurationUpdateRequest& entry) {
  CHECK_ON_STRAND(strand_);
  if (!is_connected_ || !entry.config.IsMember(host_->self)) return;
  ConfigurationUpdateRequest request{.info = entry.info,
                                     .config = entry.config,
                                     .type = ConfigType::kDowngradeToInactive,
                                     .node = host_->self};
  PartitionConfiguration& config = request.config;
  // The update that a member would send for itself; the meta server compares the ballot.
  config.ballot = config.ballot + 1;
  if (config.primary == host_->self) config.primary = Endpoint{};
  std::erase(config.secondaries, host_->self);
  LOG(WARNING) << "[" << config.pid
               << "] is not on this server, which the configuration names: asks to be removed";
  host_->transport.Call(host_->lease->leader(),
                        {.name = kRpcUpdateConfiguration,
                         .body = EncodeWrapped(request, host_->options.peer_generation),
                         .timeout = kTimeout},
                        strand_, [](const RpcResult&) {});  // the next sync asks again if it must
}

}  // namespace arion
