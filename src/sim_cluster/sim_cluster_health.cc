// What must be true of a SimCluster once its troubles are over.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/value_schema.h"
#include "disks/disk_snapshot.h"
#include "disks/garbage_collector.h"
#include "disks/replica_directory.h"
#include "env/clock.h"
#include "replica/replica_snapshot.h"
#include "sim_cluster/sim_cluster.h"

namespace arion::sim {
namespace {

constexpr absl::Duration kHealthLimit = absl::Seconds(60);

// Whether two engines hold the same records; an expired one goes with a compaction, by and by.
bool HoldTheSame(const Engine& a, const Engine& b, uint32_t now) {
  const auto view_a = a.View(), view_b = b.View();
  const auto walk_a = view_a->Walk({}, Direction::kForward);
  const auto walk_b = view_b->Walk({}, Direction::kForward);
  const auto skip_expired = [now](RecordIterator& walk) {
    while (walk.Valid() && IsExpired(walk.expire_ts(), now)) walk.Next();
  };
  for (;; walk_a->Next(), walk_b->Next()) {
    skip_expired(*walk_a), skip_expired(*walk_b);
    if (!walk_a->Valid() || !walk_b->Valid()) return walk_a->Valid() == walk_b->Valid();
    if (walk_a->key() != walk_b->key() || walk_a->value() != walk_b->value() ||
        walk_a->expire_ts() != walk_b->expire_ts())
      return false;
  }
}

bool HasTemporaryDirectory(const SimInode& directory) {
  return std::any_of(directory.entries.begin(), directory.entries.end(), [](const auto& entry) {
    return entry.second->is_directory &&
           (entry.first.ends_with(".tmp") || HasTemporaryDirectory(*entry.second));
  });
}

}  // namespace

bool SimCluster::IsWanted(PartitionId pid) const {
  return std::any_of(tables_.begin(), tables_.end(),
                     [pid](const WorkloadTable& table) { return table.app_id == pid.app_id; });
}

bool SimCluster::IsWhole() const {
  int whole = 0;
  for (const auto& [pid, config] : stored_) {
    whole += IsWanted(pid) && config.primary.IsValid() &&
             config.MemberCount() == static_cast<size_t>(replica_count_);
  }
  return whole == options_.topology.partitions * options_.topology.tables;
}

bool SimCluster::MembersAreEqual() const {
  std::vector<std::pair<const Engine*, const Engine*>> pairs;
  for (const auto& [pid, config] : stored_) {
    if (!IsWanted(pid)) continue;
    const Engine* first = nullptr;
    for (const auto& server : servers_) {
      if (!config.IsMember(server->endpoint)) continue;
      auto it = engines_.find({server->name, pid});
      if (it == engines_.end()) return false;
      if (first == nullptr) first = it->second;
      if (it->second->last_applied() != first->last_applied()) return false;
      if (it->second != first) pairs.emplace_back(first, it->second);
    }
  }
  uint32_t now = 0;  // by the clock that is most ahead
  for (const auto& server : servers_) now = std::max(now, ExpiryNow(*server->node));
  return std::all_of(pairs.begin(), pairs.end(), [now](const auto& pair) {
    return HoldTheSame(*pair.first, *pair.second, now);
  });
}

bool SimCluster::DroppedTablesAreGone() const {
  return churn_->IsIdle() &&
         std::none_of(engines_.begin(), engines_.end(), [this](const auto& open) {
           // A 2.5.0 server's config sync leaves learners alone.
           const bool is_older =
               std::any_of(servers_.begin(), servers_.end(), [&open](const auto& server) {
                 return server->is_older && server->name == open.first.first;
               });
           return !is_older && churn_->dropped().contains(open.first.second.app_id);
         });
}

uint64_t SimCluster::DiskBytesOf(SimNode& node) {
  uint64_t bytes = 0;
  node.disk().ForEachFile(
      [&bytes](const std::string&, const SimInode& file) { bytes += file.content.size(); });
  return bytes;
}

void SimCluster::WatchBounds() {
  for (const auto& server : servers_) NoteWhatIsKept(*server);
  bounds_->Note(Kept::kMetaBytes, static_cast<int64_t>(DiskBytesOf(*meta_.node)),
                meta_.node->name());
  bounds_->Note(Kept::kEvents, static_cast<int64_t>(world_.events_waiting()), "the world");
  world_.After(absl::Seconds(3), EventKind::kCheck, [this] { WatchBounds(); });
}

void SimCluster::NoteWhatIsKept(Server& server) {
  int64_t bytes = 0;
  std::map<std::string, std::set<std::string>> checkpoints;  // of each data directory
  std::set<std::string> set_aside;  // names: a replica and its log in a log home bear the same
  server.node->disk().ForEachFile([&](const std::string& path, const SimInode& file) {
    bytes += static_cast<int64_t>(file.content.size());
    if (const size_t at = path.find("/checkpoint"); at != std::string::npos)
      checkpoints[path.substr(0, at)].insert(path.substr(at, path.find('/', at + 1) - at));
    for (const char* end : {".err/", ".gar/"})
      if (const size_t at = path.find(end); at != std::string::npos)
        set_aside.insert(BaseName(path.substr(0, at)));
  });
  bounds_->Note(Kept::kDiskBytes, bytes, server.name);
  bounds_->Note(Kept::kSetAside, static_cast<int64_t>(set_aside.size()), server.name);
  for (const std::string& name : server.set_aside)
    if (!set_aside.contains(name)) coverage_.Hit(Probe::kGarbageRemoved);
  server.set_aside = std::move(set_aside);
  for (const auto& [directory, names] : checkpoints)
    bounds_->Note(Kept::kCheckpoints, static_cast<int64_t>(names.size()),
                  absl::StrCat(server.name, directory));
  const SimNetwork::UnderWay under_way = network_.UnderWayAt(server.endpoint);
  bounds_->Note(Kept::kUnanswered, under_way.unanswered, server.name);
  bounds_->Note(Kept::kUnansweredKb, under_way.unanswered_bytes >> 10, server.name);
  bounds_->Note(Kept::kCalls, under_way.calls, server.name);
  if (!server.server || server.stopping) return;
  server.server->Snapshot([this, name = server.name](const std::vector<ReplicaSnapshot>& replicas) {
    for (const ReplicaSnapshot& replica : replicas) {
      const std::string who = absl::StrCat(name, " ", replica.pid.ToString());
      bounds_->Note(Kept::kUncommitted, replica.last_prepared - replica.last_committed, who);
      bounds_->Note(Kept::kLogFiles, replica.log_files, who);
      bounds_->Note(Kept::kLogBytes, static_cast<int64_t>(replica.log_bytes), who);
    }
  });
}

std::string SimCluster::WhoLearns() {
  struct Tally {
    size_t left = 0;
    std::string learners;
  };
  auto tally = std::make_shared<Tally>();
  for (auto& server : servers_) {
    if (server->old) {
      for (const ReplicaInfo& replica : server->old->Replicas()) {
        if (replica.status != PartitionStatus::kPotentialSecondary || !IsWanted(replica.pid))
          continue;
        // Who had learned everything when its primary died waits for that one for ever: its config
        // syncs leave learners alone, and a later primary, of a larger ballot, does not know it.
        const PartitionConfiguration& config = stored_.at(replica.pid);
        if (replica.ballot < config.ballot && !config.IsMember(server->endpoint)) continue;
        absl::StrAppend(&tally->learners, " ", server->name, " ", replica.pid.ToString());
      }
      continue;
    }
    if (!server->server) return absl::StrCat(" ", server->name, " is gone");
    ++tally->left;
    server->server->Snapshot([this, tally, name = server->name](auto replicas) {
      for (const ReplicaSnapshot& replica : replicas) {
        if (replica.status == PartitionStatus::kPotentialSecondary && IsWanted(replica.pid))
          absl::StrAppend(&tally->learners, " ", name, " ", replica.pid.ToString());
      }
      --tally->left;
    });
  }
  if (!world_.RunUntil([&tally] { return tally->left == 0; }, absl::Seconds(5)))
    return " a server does not tell what its replicas do";
  return tally->learners;
}

// Of two copies one may have just been removed when the other is lost.
void SimCluster::NoteLastCopy(const PartitionConfiguration& before,
                              const PartitionConfiguration& now) {
  if (lost_copy_ && replica_count_ < 3 && before.MemberCount() == 1 &&
      before.IsMember(*lost_copy_) && now.MemberCount() == 0)
    lost_with_last_copy_.insert(now.pid);
}

// Where acknowledged writes may be lost with the power, as those of 2.5.0 servers may, meta does not
// choose among members that contradict each other once nobody is left (meta/STATE.md 6.4): a person
// does. As where the last copy is lost: what the checkers refuse is an empty one in its place. A 2.5.0
// meta server leaves to a person what its own rule does (replica/OLDER.md 6).
bool SimCluster::IsLeftToOperator() const {
  return std::any_of(stored_.begin(), stored_.end(), [this](const auto& entry) {
    return IsWanted(entry.first) && entry.second.MemberCount() == 0 &&
           (server_options_.durability == Durability::kOs || options_.topology.older > 0 ||
            lost_with_last_copy_.contains(entry.first) ||
            (meta_.old != nullptr && meta_.old->IsLeftToPerson(entry.first)));
  });
}

std::string SimCluster::WhatIsMissing() const {
  std::string text;
  for (const auto& [pid, config] : stored_) {
    if (!IsWanted(pid)) continue;
    absl::StrAppend(&text, " [", pid.ToString(), " ballot ", config.ballot.value(), " primary ",
                    config.primary.ToString(), " members ", config.MemberCount());
    for (const auto& server : servers_) {
      auto it = engines_.find({server->name, pid});
      absl::StrAppend(&text, " ", server->name, "@",
                      it == engines_.end() ? std::string("none")
                                           : absl::StrCat(it->second->last_applied().value()));
    }
    absl::StrAppend(&text, "]");
  }
  if (!churn_->IsIdle()) absl::StrAppend(&text, " ", churn_->table(), " is not dropped");
  for (const auto& [where, engine] : engines_)
    if (churn_->dropped().contains(where.second.app_id))
      absl::StrAppend(&text, " ", where.first, " still has ", where.second.ToString());
  return text;
}

// A disk that was slow may still cost its server members, and give them back: but not for ever.
bool SimCluster::IsAtRest() {
  const std::map<PartitionId, PartitionConfiguration> before = stored_;
  world_.RunFor(absl::Seconds(10));
  return IsWhole() && std::all_of(before.begin(), before.end(), [this](const auto& entry) {
           return !IsWanted(entry.first) || stored_.at(entry.first).ballot == entry.second.ballot;
         });
}

void SimCluster::AwaitHealth() {
  Instant begin = world_.now();
  // What was to last longer ends now; restarts that were planned find their server alive.
  world_.RunFor(absl::Seconds(3));
  workload_->Stop();
  bool is_verified = false, is_verifying = false;
  std::string learners;
  while (world_.now() - begin < kHealthLimit) {
    for (auto& server : servers_) {
      if (!server->node->alive()) StartServer(*server);
    }
    if (!meta_.node->alive()) StartMeta();
    if (IsWhole() && !is_verified && !is_verifying) {
      is_verifying = true;
      workload_->Verify([&is_verified, &is_verifying](bool ok) {
        is_verified = ok;
        is_verifying = false;
      });
    }
    if (is_verified && IsWhole() && MembersAreEqual() && DroppedTablesAreGone()) {
      healed_after_ = std::min(healed_after_, world_.now() - begin);
      world_.RunFor(absl::Seconds(3));
      learners = WhoLearns();
      if (learners.empty() && IsAtRest()) return;
    }
    world_.RunFor(absl::Milliseconds(100));
  }
  if (IsLeftToOperator()) return;
  if (!learners.empty())
    Violate(absl::StrCat("sim_cluster/H1: 60 s after all faults ended somebody learns:", learners));
  Violate(absl::StrCat("sim_cluster/H1: 60 s after all faults ended ",
                       !IsWhole()                ? "members are missing:"
                       : !is_verified            ? "not every key can be read and written:"
                       : !DroppedTablesAreGone() ? "a dropped table is still there:"
                       : !MembersAreEqual()      ? "members differ:"
                                                 : "it was not at rest:",
                       WhatIsMissing()));
}

std::string SimCluster::WhatIsLeftOver(const Server& server, const ClusterState& state) const {
  constexpr absl::Duration kRemoving = absl::Seconds(5);
  const GarbageOptions& garbage = server_options_.garbage;
  const int64_t meta_seconds = meta_.node->WallMicros() / 1000000;
  const auto is_needed = [&](PartitionId pid) {
    const Partition* partition = state.FindPartition(pid);
    if (partition == nullptr) return false;
    const AppInfo& table = state.FindTable(pid.app_id)->info;
    if (table.status == AppStatus::kDropped) return table.expire_second > meta_seconds;
    return partition->config.IsMember(server.endpoint);
  };
  std::string text;
  for (const auto& [pid, stored] : server.old_disk)
    if (!is_needed(pid) && !engines_.contains({server.name, pid}))
      absl::StrAppend(&text, " ", server.name, ":", stored.directory);
  if (server.server == nullptr) return text;  // of 2.5.0, or it stopped just now
  for (const DiskSnapshot& disk : server.server->Disks()) {
    if (disk.state == DiskStatus::kIoError) continue;  // not touched until the next start
    const auto place = server.node->disk().Find(disk.path);
    if (!place.ok()) continue;
    std::vector<IgnoredDirectory> at_a_start;
    const auto found =
        ScanDataDirectory(server.node->environment().files(), disk.path, 0, &at_a_start);
    if (!found.ok()) continue;  // its reads fail
    std::set<std::string> ignored;
    for (const IgnoredDirectory& directory : at_a_start) ignored.insert(directory.path);
    for (const auto& [name, inode] : (*place)->entries) {
      const auto replica = ParseReplicaDirectoryName(name);
      // A log at home alone is in nobody's way; the next replica of its name takes its place. What a
      // start ignores, as whose description rotted (seed 994000053), or whose log home has no log of
      // it, is left to a person: after read errors the log may have gone with another copy that was
      // set aside (seed 69700942).
      const std::string& home = server_options_.layout.log_home_directory;
      const bool lacks_log = !home.empty() && !server.node->disk().Find(JoinPath(home, name)).ok();
      bool stays = !replica || disk.tag == "log_home" || is_needed(replica->pid) || lacks_log ||
                   ignored.contains(JoinPath(disk.path, name));
      if (const auto aside = ParseGarbageName(name)) {
        const absl::Duration age =
            absl::Microseconds(server.node->WallMicros() - aside->set_aside_us.value_or(0));
        const bool has_failed = aside->kind == GarbageKind::kFailed;
        stays = age < (has_failed ? garbage.keep_failed : garbage.keep_unneeded) +
                          garbage.interval + kRemoving;
      }
      const bool has_leavings =
          replica && (inode->entries.contains("learn") || HasTemporaryDirectory(*inode));
      if (!stays || has_leavings)
        absl::StrAppend(&text, " ", server.name, ":", disk.path, "/", name,
                        has_leavings ? " (what is in it)" : "");
    }
  }
  const int64_t unanswered = network_.UnderWayAt(server.endpoint).unanswered;
  if (unanswered > 0)
    absl::StrAppend(&text, " ", unanswered, " requests unanswered by ", server.name);
  return text;
}

std::string SimCluster::WhatIsLeftOver() const {
  const absl::StatusOr<ClusterState> state = meta_.store->State();
  if (!state.ok()) return absl::StrCat(" the state: ", state.status().ToString());
  std::string text;
  for (const auto& server : servers_) absl::StrAppend(&text, WhatIsLeftOver(*server, *state));
  return text;
}

// Replicas are called garbage by a lively meta server only; and by one that can tell what is needed.
void SimCluster::AwaitTidiness() {
  if (!violations_.empty() || IsLeftToOperator()) return;
  balances_ = true;
  SetLevel(meta_.node->environment().NewStrand("level"), FunctionLevel::kLively);
  std::string left_over;
  const auto is_tidy = [this, &left_over] { return (left_over = WhatIsLeftOver()).empty(); };
  const Instant begin = world_.now();
  while (!is_tidy() && world_.now() - begin < kHealthLimit) world_.RunFor(absl::Milliseconds(500));
  if (!left_over.empty())
    Violate(
        absl::StrCat("sim_cluster/H1: what nobody needs is still there after 60 s:", left_over));
}

}  // namespace arion::sim
