// Splits: what a table's partition count is while it is being doubled, who may begin, pause and
// take back a split, and what becomes of a child when it is registered. Pure.
//
// Shapes    From the start AppInfo::partition_count is the new count, 2 n, and Table::partitions
//           has as many entries. Those of children that are not registered have ballot -1 and no
//           members: nothing is done for them. Parent p has the child p + n. "/arion/split/ID"
//           stores that a table is being split, and which parents are paused (meta/STATE.md 1.2).
// Promises  table_split/C1  A parent's count changes with its ballot: whoever is told of a
//               configuration is told the count by which it owns keys (InfoFor).
//           table_split/C2  A child is registered once, together with its parent's next ballot, by
//               the parent's primary, with the members under whose ballot it was made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "messages/split_messages.h"
#include "meta_state/cluster_state.h"

namespace arion {

// ---- what is there ----

// How the partition stands: kSplitting or kPaused of a parent whose child is not registered, else
// kNotSplit.
SplitStatus SplitStatusOf(const Table& table, int32_t index);
// As the partition's present configuration has it: the count by which it owns keys.
AppInfo InfoFor(const Table& table, int32_t index);
// As it is for all of them: the former count while any child is not registered.
AppInfo InfoForAll(const Table& table);
// A child whose parent is being split, not paused.
bool IsAwaitedChild(const Table& table, int32_t index);
// Of a table that is being split.
int32_t RegisteredChildren(const Table& table);
// How long the rest takes at the rate so far; nullopt: not known, or something is paused.
std::optional<absl::Duration> SplitTimeLeft(const Table& table, Instant now);

// ---- what is stored ----

// nullopt: it is not being split, or no longer.
StoreChange ChangeOfSplit(int32_t app_id, const std::optional<TableSplit>& split);
// What `entries` say of a split of the table, of which they have the partitions `stored`; nullopt:
// it is not being split. DataLoss as ClusterState::Load.
absl::StatusOr<std::optional<TableSplit>> LoadSplit(
    const std::map<std::string, std::string>& entries, const AppInfo& info,
    const std::vector<bool>& stored);

// ---- how it changes ----

PartitionConfiguration UnregisteredChild(const AppInfo& info, int32_t index);
// The child of a parent that gets the configuration `parent`; its data end at `decree`.
PartitionConfiguration ChildOf(const TableSplit& split, const PartitionConfiguration& parent,
                               Decree decree);
// Why the request, which applies to the parent as such, does not register its child; nullptr: it
// does.
const char* WhyNotRegistered(const ClusterState& state, const Table& table,
                             const ConfigurationUpdateRequest& request);
// Whether this child is the last one of all: each other one is registered, or on its way to the
// store.
bool IsLastChild(const Table& table, int32_t child);
// `split` is stored.
void InstallSplit(Table& table, std::optional<TableSplit> split, Instant now);
// The child's configuration is stored. True: the table is not being split any more.
bool InstallChild(Table& table, PartitionConfiguration child, int64_t older_reports, Instant now);

// What becomes of a tool's request.
struct SplitJudgement {
  ErrorCode error = ErrorCode::kOk;
  std::string hint;
  // To be stored, with `split`; nullopt with kOk: nothing to do.
  std::optional<AppInfo> next;
  // The table's then; nullopt: none any more.
  std::optional<TableSplit> split;
};
SplitJudgement JudgeStartSplit(const ClusterState& state, FunctionLevel level,
                               const StartSplitRequest& request);
SplitJudgement JudgeControlSplit(const ClusterState& state, const ControlSplitRequest& request);

}  // namespace arion
