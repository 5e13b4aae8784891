// SPDX-License-Identifier: Apache-2.0
#include "replica_server/tool_requests.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "disks/disk_snapshot.h"
#include "disks/disk_watch.h"
#include "messages/admin_messages.h"
#include "messages/replication_messages.h"
#include "messages/tool_messages.h"
#include "replica/replica.h"
#include "replica/replica_snapshot.h"
#include "replica_server/replica_table.h"
#include "replica_server/request_argument.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

template <class T>
void Reply(Responder& responder, const T& response) {
  responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
}

// ---- disks ----

QueryDiskInfoResponse DisksOf(const std::vector<DiskSnapshot>& disks,
                              const std::vector<ReplicaInfo>& reports, int32_t only_app_id) {
  QueryDiskInfoResponse response;
  for (const DiskSnapshot& disk : disks) {
    // A failed disk shows no space; the older tools expect the disks that serve.
    if (disk.tag == kLogHomeTag || disk.state == DiskStatus::kIoError) continue;
    DiskInfo info{.tag = disk.tag,
                  .full_dir = disk.path,
                  .disk_capacity_mb = static_cast<int64_t>(disk.total_bytes >> 20),
                  .disk_available_mb = static_cast<int64_t>(disk.available_bytes >> 20)};
    for (const ReplicaInfo& report : reports) {
      const int32_t app_id = report.pid.app_id;
      if (report.disk_tag != disk.tag || (only_app_id != 0 && app_id != only_app_id)) continue;
      if (report.status == PartitionStatus::kPrimary)
        info.holding_primary_replicas[app_id].insert(report.pid);
      if (report.status == PartitionStatus::kSecondary)
        info.holding_secondary_replicas[app_id].insert(report.pid);
    }
    response.total_capacity_mb += info.disk_capacity_mb;
    response.total_available_mb += info.disk_available_mb;
    response.disk_infos.push_back(std::move(info));
  }
  return response;
}

void AnswerDisks(const std::shared_ptr<DiskWatch>& disks, const StrandPtr& strand,
                 const std::shared_ptr<ReplicaTable>& table, InboundRequest& request) {
  auto query = TakeArgument<QueryDiskInfoRequest>(request);
  if (!query) return;
  strand->Post([disks, table, name = std::move(query->app_name),
                responder = std::move(request.responder)]() mutable {
    table->Tables([disks, table, name = std::move(name),
                   responder = std::move(responder)](const std::vector<AppInfo>& apps) mutable {
      int32_t app_id = 0;
      for (const AppInfo& app : apps)
        if (app.app_name == name) app_id = app.app_id;
      if (!name.empty() && app_id == 0)
        return Reply(responder, QueryDiskInfoResponse{.err = ErrorCode::kObjectNotFound});
      table->Report([disks, app_id, responder = std::move(responder)](
                        const std::vector<ReplicaInfo>& reports) mutable {
        Reply(responder, DisksOf(disks->Snapshot(), reports, app_id));
      });
    });
  });
}

// ---- one replica ----

std::shared_ptr<Replica> FindOpen(const ReplicaTable& table, PartitionId pid) {
  std::optional<ReplicaTable::Route> route = table.Find(pid);
  return route ? route->replica : nullptr;
}

void AnswerDecree(const ReplicaTable& table, InboundRequest& request) {
  const auto query = TakeArgument<QueryDecreeRequest>(request);
  if (!query) return;
  const std::shared_ptr<Replica> replica = FindOpen(table, query->pid);
  if (replica == nullptr)
    return Reply(request.responder, QueryDecreeResponse{.err = ErrorCode::kObjectNotFound});
  replica->strand()->Post([replica, responder = std::move(request.responder)]() mutable {
    const ReplicaSnapshot now = replica->Snapshot();
    // A learner's decrees are not the group's yet.
    const bool is_learner = now.status == PartitionStatus::kPotentialSecondary;
    Reply(responder,
          QueryDecreeResponse{.last_decree = is_learner ? Decree(0) : now.last_committed});
  });
}

void AnswerFollower(const ReplicaTable& table, InboundRequest& request) {
  const auto query = TakeArgument<LearnRequest>(request);
  if (!query) return;
  const std::shared_ptr<Replica> replica = FindOpen(table, query->pid);
  if (replica == nullptr)
    return Reply(request.responder, LearnResponse{.err = ErrorCode::kObjectNotFound});
  replica->strand()->Post([replica, responder = std::move(request.responder)]() mutable {
    replica->ShipToFollower(std::move(responder));
  });
}

void AnswerHotKey(const ReplicaHost& host, const ReplicaTable& table, InboundRequest& request) {
  const auto detect = TakeArgument<DetectHotkeyRequest>(request);
  if (!detect) return;
  // Asked first: hot keys of a partition that is not here would be old ones.
  if (FindOpen(table, detect->pid) == nullptr)
    return Reply(request.responder,
                 DetectHotkeyResponse{.err = ErrorCode::kObjectNotFound,
                                      .err_hint = absl::StrCat("replica ", detect->pid.ToString(),
                                                               " is not open here")});
  const Instant now = host.env.clock().Now();
  std::vector<HotKeys::Hot> top;
  for (RequestBook::HotKey& hot : host.requests->ReadHotKeys(now))
    if (hot.pid == detect->pid) top.push_back(std::move(hot.hot));
  Reply(request.responder, host.hot_key_search->Answer(*detect, top, now));
}

struct DisabledCode {
  std::string_view code;
  bool has_text;  // in field 2 of its response
  const char* what;
};
constexpr DisabledCode kDisabled[] = {
    {"RPC_REPLICA_DISK_MIGRATE", true, "moves between the disks of a server"},
    {"RPC_ADD_NEW_DISK", true, "disks added without a restart (data_dirs names them)"},
    {"RPC_COLD_BACKUP", false, "backup"},
    {"RPC_CLEAR_COLD_BACKUP", false, "backup"},
    {"RPC_BULK_LOAD", false, "bulk load"},
};

}  // namespace

bool AnswerTool(const ReplicaHost& host, const StrandPtr& server_strand,
                const std::shared_ptr<ReplicaTable>& table, InboundRequest& request) {
  const std::string& name = request.header.name;
  if (name == kRpcQueryDiskInfo) {
    AnswerDisks(host.disks->watch, server_strand, table, request);
  } else if (name == kRpcQueryDecree) {
    AnswerDecree(*table, request);
  } else if (name == kRpcQueryLastCheckpoint) {
    AnswerFollower(*table, request);
  } else if (name == kRpcDetectHotkey) {
    AnswerHotKey(host, *table, request);
    // What Arion does not have is refused by name, so that tools print a reason.
  } else {
    for (const DisabledCode& disabled : kDisabled) {
      if (disabled.code != name) continue;
      DisabledResponse response;
      if (disabled.has_text)
        response.hint_at_2 = absl::StrCat("Arion does not have ", disabled.what, " yet");
      Reply(request.responder, response);
      return true;
    }
    return false;
  }
  return true;
}

}  // namespace arion
