// A table's duplications to other clusters: what is stored of them, who may add, change and remove
// one, what primaries say of their progress, and what is asked of the other cluster. Pure.
//
// Shapes    "/apps/2/duplication/1700000000": JSON, "/apps/2/duplication/1700000000/3": how far
//           partition 3 is, a decree in decimal digits; absent: nothing is known to be there. Names
//           and values are Pegasus' (meta/STATE.md 9.5).
// Errors    Load never fails. A duplication of which anything can't be understood is kept, and
//           treated as paused: one that is not seen would let the logs go that it needs.
// Threads   Pure functions.
// Promises  table_duplication/D1  A duplication's progress never falls: what is stored is the
//               largest decree that a primary of the partition has said.
//           table_duplication/D2  AppInfo::duplicating is true from the moment when a table's first
//               duplication is stored until its last one is removed.
//           table_duplication/D3  Who begins to send a partition is told to begin behind the
//               largest decree that anybody said, and not before that is stored. Else one that
//               began behind less, and came no farther than between the two, would have set
//               records back there, and the next one would begin behind them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messages/duplication_messages.h"
#include "meta_state/cluster_state.h"

namespace arion {

// One duplication as it is to be.
struct DuplicationChange {
  int32_t dupid = 0;
  // nullopt: removed, with its progress.
  std::optional<DuplicationInfo> next;
};
// Its keys, and what stands there then.
std::vector<StoreChange> ChangesOf(const Table& table, const DuplicationChange& change);
// How far a duplication of one partition is.
struct ProgressChange {
  PartitionId pid;
  int32_t dupid = 0;
  Decree decree;
};
StoreChange ChangeOf(const ProgressChange& change);
// What a store holds of this table's duplications.
void LoadDuplications(const std::map<std::string, std::string>& entries, Table* table);
// The changes are stored.
void InstallDuplications(Table& table, const std::vector<DuplicationChange>& changes);

// Its name at the other cluster.
const std::string& RemoteNameOf(const Table& table, const DuplicationInfo& info);

// ---- what tools ask for ----

// What is configured of clusters.
struct KnownClusters {
  // Our own.
  std::string own;
  // By name: how writes that come from there are marked.
  const std::map<std::string, int>& ids;
  // Those of which the meta servers are known.
  std::set<std::string> reachable;
};
// What becomes of a request.
struct DuplicationJudgement {
  ErrorCode error = ErrorCode::kOk;
  std::string hint;
  int32_t app_id = 0;
  // To be stored, with `change`; nullopt with kOk: nothing to do.
  std::optional<AppInfo> next;
  DuplicationChange change;
};
DuplicationJudgement JudgeAddDuplication(const ClusterState& state, const KnownClusters& clusters,
                                         const AddDuplicationRequest& request, int64_t unix_ms);
DuplicationJudgement JudgeModifyDuplication(const ClusterState& state,
                                            const ModifyDuplicationRequest& request);
// Goes on to that status by itself; kInvalidState: it is not what it was any more.
DuplicationJudgement JudgeDuplicationStep(const ClusterState& state, int32_t app_id, int32_t dupid,
                                          DuplicationStatus from, DuplicationStatus to);
// With the table: none is left.
std::vector<DuplicationChange> RemovalOfAll(const Table& table);

// ---- what primaries say ----

// Whether the server leads one of the table's partitions.
bool LeadsSome(const Table& table, Endpoint node);
// What does not count of a request: of partitions that the server does not lead, and decrees that
// can't be.
struct RefusedConfirms {
  int64_t of_others = 0;
  int64_t impossible = 0;
};
RefusedConfirms NoteConfirms(ClusterState& state, const DuplicationSyncRequest& request);
// What is to be stored by now of what the server of this request said of its partitions, and former
// primaries of these: at once where it has not begun itself. It counts as being stored from then
// until NoteStored. Nothing is taken of a table of which a change `is_under_way`: that may be a
// removal.
std::vector<ProgressChange> TakeDueProgress(ClusterState& state,
                                            const DuplicationSyncRequest& request, Instant now,
                                            absl::FunctionRef<bool(int32_t app_id)> is_under_way);
void NoteStored(ClusterState& state, const std::vector<ProgressChange>& changes, bool is_stored);
// RPC_CM_DUPLICATION_SYNC, to a server that is known.
DuplicationSyncResponse AnswerDuplicationSync(const ClusterState& state,
                                              const DuplicationSyncRequest& request);
// Without what only some need to know of its partitions.
DuplicationEntry EntryOf(int32_t dupid, const Duplication& duplication);

// ---- what the other cluster is asked for ----

// Every partition has a checkpoint with all that was there before the duplication.
bool IsCheckpointPrepared(const Duplication& duplication);
// The table that the other cluster is to make. `own_metas`: our meta servers, with commas between.
CreateAppRequest RemoteTableOf(const Table& table, const DuplicationInfo& info,
                               const std::string& own_cluster, const std::string& own_metas);
// Why a table that is there already is not the one that was asked for; empty: it is.
std::string WhyNotOurTable(const AppInfo& there, const CreateAppRequest& wanted,
                           const DuplicationInfo& info);
// Why it can't take writes yet; empty: it can.
std::string WhyNotReady(const QueryConfigResponse& there, const Table& table);

}  // namespace arion
