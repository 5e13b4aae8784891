// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/kept_things.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "disks/disk_snapshot.h"
#include "disks/garbage_collector.h"
#include "disks/replica_directory.h"
#include "env/file_system.h"
#include "replica/replica_snapshot.h"
#include "sim_cluster/cluster_health.h"

namespace arion::sim {
namespace {

// The path in it of a directory under a temporary name; empty if there is none.
std::string TemporaryDirectoryIn(const SimInode& directory) {
  for (const auto& [name, inode] : directory.entries) {
    if (!inode->is_directory) continue;
    if (name.ends_with(".tmp")) return name;
    const std::string below = TemporaryDirectoryIn(*inode);
    if (!below.empty()) return JoinPath(name, below);
  }
  return "";
}

uint64_t DiskBytesOf(SimNode& node) {
  uint64_t bytes = 0;
  node.disk().ForEachFile(
      [&bytes](const std::string&, const SimInode& file) { bytes += file.content.size(); });
  return bytes;
}

}  // namespace

KeptThings::KeptThings(const ClusterSettings& settings, SimWorld& world, const SimNetwork& network,
                       ServerLives& lives, const OpenEngines& engines, RunCheckers& checkers)
    : settings_(settings),
      world_(world),
      network_(network),
      lives_(lives),
      engines_(engines),
      checkers_(checkers) {}

uint64_t KeptThings::DiskBytesMax() const {
  uint64_t bytes = 0;
  for (const auto& server : lives_.servers()) bytes = std::max(bytes, DiskBytesOf(*server->node));
  return bytes;
}

void KeptThings::WatchBounds() {
  for (const auto& server : lives_.servers()) Note(*server);
  SimNode& meta = *lives_.meta().node;  // of several: none has anything on its disk
  checkers_.bounds.Note(Kept::kMetaBytes, static_cast<int64_t>(DiskBytesOf(meta)), meta.name());
  checkers_.bounds.Note(Kept::kEvents, static_cast<int64_t>(world_.events_waiting()), "the world");
  world_.After(absl::Seconds(3), EventKind::kCheck, [this] { WatchBounds(); });
}

void KeptThings::Note(SimServer& server) {
  NoteDisk(server);
  Bounds& bounds = checkers_.bounds;
  const SimNetwork::UnderWay under_way = network_.UnderWayAt(server.endpoint);
  bounds.Note(Kept::kUnanswered, under_way.unanswered, server.name);
  bounds.Note(Kept::kUnansweredKb, under_way.unanswered_bytes >> 10, server.name);
  bounds.Note(Kept::kCalls, under_way.calls, server.name);
  // Servers of 2.5.0 have no snapshots: only what their node shows is noted.
  if (server.server && !server.stopping) NoteReplicas(server);
}

void KeptThings::NoteDisk(SimServer& server) {
  int64_t bytes = 0;
  std::map<std::string, std::set<std::string>> checkpoints;  // of each data directory
  std::set<std::string> set_aside;  // names: a replica and its log in a log home bear the same
  server.node->disk().ForEachFile([&](const std::string& path, const SimInode& file) {
    bytes += static_cast<int64_t>(file.content.size());
    // By the files in them: an empty directory takes no room.
    if (const size_t at = path.find("/checkpoint"); at != std::string::npos)
      checkpoints[path.substr(0, at)].insert(path.substr(at, path.find('/', at + 1) - at));
    for (const char* end : {".err/", ".gar/"})
      if (const size_t at = path.find(end); at != std::string::npos)
        set_aside.insert(BaseName(path.substr(0, at)));
  });
  Bounds& bounds = checkers_.bounds;
  bounds.Note(Kept::kDiskBytes, bytes, server.name);
  bounds.Note(Kept::kSetAside, static_cast<int64_t>(set_aside.size()), server.name);
  for (const std::string& name : server.set_aside)
    if (!set_aside.contains(name)) checkers_.coverage.Hit(Probe::kGarbageRemoved);
  server.set_aside = std::move(set_aside);
  for (const auto& [directory, names] : checkpoints)
    bounds.Note(Kept::kCheckpoints, static_cast<int64_t>(names.size()),
                absl::StrCat(server.name, directory));
}

void KeptThings::NoteReplicas(SimServer& server) {
  // The answer comes later, on the server's strands: a server that dies meanwhile gives none.
  server.server->Snapshot([this, name = server.name](const std::vector<ReplicaSnapshot>& replicas) {
    Bounds& bounds = checkers_.bounds;
    for (const ReplicaSnapshot& replica : replicas) {
      const std::string who = absl::StrCat(name, " ", replica.pid.ToString());
      bounds.Note(Kept::kUncommitted, replica.last_prepared - replica.last_committed, who);
      bounds.Note(Kept::kLogFiles, replica.log_files, who);
      bounds.Note(Kept::kLogBytes, static_cast<int64_t>(replica.log_bytes), who);
    }
  });
}

// ---- what is left over ----

bool KeptThings::IsNeeded(PartitionId pid, const SimServer& server,
                          const ClusterState& state) const {
  const Partition* partition = state.FindPartition(pid);
  if (partition == nullptr) return false;
  const AppInfo& table = state.FindTable(pid.app_id)->info;
  // A dropped table expires by the clock of the meta server.
  const int64_t meta_seconds = lives_.LeadingNode().WallMicros() / 1000000;
  if (table.status == AppStatus::kDropped) return table.expire_second > meta_seconds;
  return partition->config.IsMember(server.endpoint);
}

bool KeptThings::IsKeptStill(const std::string& set_aside, const SimServer& server) const {
  // Garbage is looked for once in an interval, and its removal takes a while.
  constexpr absl::Duration kRemoving = absl::Seconds(5);
  const GarbageOptions& garbage = settings_.server.garbage;
  const auto aside = ParseGarbageName(set_aside);
  const absl::Duration age =
      absl::Microseconds(server.node->WallMicros() - aside->set_aside_us.value_or(0));
  const bool has_failed = aside->kind == GarbageKind::kFailed;
  return age <
         (has_failed ? garbage.keep_failed : garbage.keep_unneeded) + garbage.interval + kRemoving;
}

std::string KeptThings::LeftOverOn(const DiskSnapshot& disk, const SimServer& server,
                                   const ClusterState& state) const {
  if (disk.state == DiskStatus::kIoError) return "";  // not touched until the next start
  const auto place = server.node->disk().Find(disk.path);
  if (!place.ok()) return "";
  std::vector<IgnoredDirectory> at_a_start;
  const auto found =
      ScanDataDirectory(server.node->environment().files(), disk.path, 0, &at_a_start);
  if (!found.ok()) return "";  // its reads fail
  std::set<std::string> ignored;
  for (const IgnoredDirectory& directory : at_a_start) ignored.insert(directory.path);
  const std::string& home = settings_.server.layout.log_home_directory;
  std::string text;
  for (const auto& [name, inode] : (*place)->entries) {
    const auto replica = ParseReplicaDirectoryName(name);
    // A log at home alone is in nobody's way; the next replica of its name takes its place. What a
    // start ignores, as whose description rotted (seed 994000053), or whose log home has no log of
    // it, is left to a person: after read errors the log may have gone with another copy that was
    // set aside (seed 69700942).
    const bool lacks_log = !home.empty() && !server.node->disk().Find(JoinPath(home, name)).ok();
    const bool stays = ParseGarbageName(name)
                           ? IsKeptStill(name, server)
                           : !replica || disk.tag == "log_home" ||
                                 IsNeeded(replica->pid, server, state) || lacks_log ||
                                 ignored.contains(JoinPath(disk.path, name));
    const std::string leavings = !replica                           ? ""
                                 : inode->entries.contains("learn") ? "learn"
                                                                    : TemporaryDirectoryIn(*inode);
    if (!stays || !leavings.empty())
      absl::StrAppend(&text, " ", server.name, ":", disk.path, "/", name,
                      leavings.empty() ? "" : absl::StrCat(" (in it: ", leavings, ")"));
  }
  return text;
}

std::string KeptThings::WhatIsLeftOver(const SimServer& server, const ClusterState& state) const {
  std::string text;
  for (const auto& [pid, stored] : server.old_disk)
    if (!IsNeeded(pid, server, state) && !engines_.contains({server.name, pid}))
      absl::StrAppend(&text, " ", server.name, ":", stored.directory);
  if (server.server == nullptr) return text;  // of 2.5.0, or it stopped just now
  for (const DiskSnapshot& disk : server.server->Disks())
    absl::StrAppend(&text, LeftOverOn(disk, server, state));
  const int64_t unanswered = network_.UnderWayAt(server.endpoint).unanswered;
  if (unanswered > 0)
    absl::StrAppend(&text, " ", unanswered, " requests unanswered by ", server.name);
  return text;
}

std::string KeptThings::WhatIsLeftOver() const {
  const absl::StatusOr<ClusterState> state = lives_.StoredState();
  if (!state.ok()) return absl::StrCat(" the state: ", state.status().ToString());
  std::string text;
  for (const auto& server : lives_.servers())
    absl::StrAppend(&text, WhatIsLeftOver(*server, *state));
  return text;
}

// Replicas are called garbage by a lively meta server only; and by one that can tell what is
// needed.
void KeptThings::AwaitTidiness() {
  lives_.LetBalance();
  std::string left_over;
  const auto is_tidy = [this, &left_over] { return (left_over = WhatIsLeftOver()).empty(); };
  const Instant begin = world_.now();
  // Copies of many partitions are moved for balance, a few at a time.
  const absl::Duration limit = ClusterHealth::kLimit * (settings_.run.splits ? 2 : 1);
  while (!is_tidy() && world_.now() - begin < limit) world_.RunFor(absl::Milliseconds(500));
  if (!left_over.empty())
    checkers_.Violate(absl::StrCat("kept_things/K1: what nobody needs is still there after ",
                                   absl::FormatDuration(limit), ":", left_over));
}

}  // namespace arion::sim
