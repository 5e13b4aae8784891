// TableChanges: changes of tables' descriptions, and perhaps of all their partitions, from the
// judgement to what became of storing them; requests that wait for that; names that are taken
// meanwhile.
//
// Shapes    A change of partitions begins to be stored once no change of one of them is on its way
//           to the store. What could not be written is as if it had not been tried. After a failed
//           sync nothing is known any more: what was about to change stays as it is, and pending.
// Threads   Strand-bound; callbacks come on the strand, while the owner lives.
// Lifetime  The state, the store and the clock outlive it.
// Promises  table_changes/T1  One change at a time for each table.
//           table_changes/T2  `done` comes once for each change, after the state shows what became
//               of it, and before requests that waited for it are handled again.
//           table_changes/T3  A name that is reserved is free again when it is released, by whoever
//               reserved it.
//           table_changes/T4  From the judgement of a change of a split until it is stored or given
//               up no partition of that table changes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "env/clock.h"
#include "meta_state/cluster_state.h"
#include "meta_state/configuration_change.h"
#include "meta_state/table_duplication.h"
#include "rpc/transport.h"

namespace arion {

class StoreGuard;

// A member of MetaServer::State. TableRequests begins changes, ConfigurationRequests tells when a
// partition settled (Continue).
//
//   if (changes.Defers(table, request)) return;
//   changes.Begin({.next = info, .done = [](ErrorCode error) { ... }});
class TableChanges {
 public:
  // Requests that wait, of all tables. More are answered ERR_BUSY.
  static constexpr size_t kDeferredMax = 1000;

  // One change of one table.
  struct Change {
    AppInfo next;
    // nullopt: partitions stay as they are.
    std::optional<PartitionChange> of_partitions;
    // The table's once it is stored; absent: it stays as it is. No partition changes meanwhile, as
    // with `of_partitions`.
    struct OfSplit {
      std::optional<TableSplit> next;
    };
    std::optional<OfSplit> of_split;
    // Of the table's duplications, those that change.
    std::vector<DuplicationChange> of_duplications;
    // What memory showed before, where it shows already that something is under way.
    std::optional<AppInfo> former;
    // kOk, or StoreGuard::ErrorOf.
    absl::AnyInvocable<void(ErrorCode)> done;
  };
  // What it tells its owner, on the strand.
  struct Events {
    // It is stored and installed.
    std::function<void(Table&)> changed;
    // It could not be written.
    std::function<void()> given_up;
    // Updates of it that were held.
    std::function<void(PartitionId)> judgeable;
    // One that was deferred.
    std::function<void(InboundRequest)> again;
  };
  TableChanges(ClusterState& state, StoreGuard& store, const Clock& clock, Events events);

  // True: a change of that table is under way, the request waits for its end or was answered.
  bool Defers(const Table* table, InboundRequest& request);
  // The same; and true while a change of one of its partitions is on its way to the store. Then no
  // other begins before the request was handled again.
  bool DefersUntilStill(const Table* table, InboundRequest& request);
  bool IsUnderWay(int32_t app_id) const { return under_way_.contains(app_id); }
  // None of this table is under way.
  void Begin(Change change);
  // A partition of the table is pending no more.
  void Continue(int32_t app_id);

  // Of tables that are being stored.
  const std::set<std::string>& reserved_names() const { return reserved_names_; }
  void Reserve(const std::string& name) { reserved_names_.insert(name); }
  void Release(const std::string& name) { reserved_names_.erase(name); }

 private:
  struct UnderWay {
    Change change;
    bool is_being_stored = false;
  };
  bool Wait(InboundRequest& request);
  void GoOnIfStill(int32_t app_id);
  void JudgeHeld(const Table& table);
  void Finish(int32_t app_id, const absl::Status& stored);
  void InstallPartitions(Table& table, const PartitionChange& change);

  ClusterState& state_;
  StoreGuard& store_;
  const Clock& clock_;
  const Events events_;
  std::set<std::string> reserved_names_;
  std::map<int32_t, UnderWay> under_way_;
  // Tables that are to become still: of these, and of under_way_, are the requests that wait.
  std::set<int32_t> awaited_still_;
  std::deque<InboundRequest> deferred_;
};

}  // namespace arion
