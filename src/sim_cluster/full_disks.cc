// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/full_disks.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "base/log.h"
#include "sim_cluster/server_lives.h"

namespace arion::sim {
namespace {

// full_disks/F1
constexpr absl::Duration kFullDiskLeft = absl::Seconds(30);
constexpr uint64_t kFreeBytesMax = 100000;  // on a full disk there is a little room yet
constexpr uint64_t kMetaFreeBytesMax = 2000;

}  // namespace

FullDisks::FullDisks(SimWorld& world, ServerLives& lives, const Groups& groups, Troubles& troubles,
                     RunCheckers& checkers)
    : world_(world), lives_(lives), groups_(groups), troubles_(troubles), checkers_(checkers) {}

void FullDisks::FillOneAndJudge() {
  world_.After(absl::Seconds(5), EventKind::kFault, [this] {
    SimServer& full = lives_.AnyServer();
    LOG(INFO) << "fault: the disk of " << full.name << " is full";
    // Not all the way: the write that meets the end should be somewhere else in each seed.
    full.node->disk().SetFreeBytes(world_.random().Below(kFreeBytesMax));
    world_.After(kFullDiskLeft, EventKind::kCheck, [this, &full] { Judge(full); });
    world_.After(2 * kFullDiskLeft, EventKind::kFault, [this, &full] {
      Judge(full);
      must_take_writes_ = false;
      full.node->disk().SetFreeBytes(UINT64_MAX);
    });
  });
}

void FullDisks::Judge(const SimServer& full) {
  // From here on NetworkWatch takes a refused write for a violation.
  must_take_writes_ = true;
  // Three copies, or as many as there are other servers.
  const size_t members = std::min<size_t>(3, lives_.servers().size() - 1);
  for (const auto& [pid, config] : groups_.stored()) {
    if (!groups_.IsWanted(pid)) continue;
    if (config.IsMember(full.endpoint) || !config.primary.IsValid() ||
        config.MemberCount() < members)
      checkers_.Violate(absl::StrCat(
          "full_disks/F1: ", full.name, "'s disk was filled at least ",
          absl::FormatDuration(kFullDiskLeft), " ago, and of [", pid.ToString(),
          "] the primary is ", config.primary.ToString(), ", members ", config.MemberCount(),
          config.IsMember(full.endpoint) ? ", that server among them" : ""));
  }
}

void FullDisks::Fill(SimServer& server, absl::Duration length) {
  server.node->disk().SetFreeBytes(world_.random().Below(kFreeBytesMax));
  troubles_.LastFor(length, [&server] { server.node->disk().SetFreeBytes(UINT64_MAX); });
}

void FullDisks::FillMeta(absl::Duration length) {
  SimMeta& meta = lives_.meta();
  // Without its reserve the meta server promises nothing on a full disk (server_lives/L3).
  if (meta.is_disk_full || !meta.HasWholeReserve()) return troubles_.Discount(Fault::kMetaDiskFull);
  meta.is_disk_full = true;
  meta.node->disk().SetFreeBytes(world_.random().Below(kMetaFreeBytesMax));
  troubles_.LastFor(length, [&meta] {
    meta.is_disk_full = false;
    meta.node->disk().SetFreeBytes(UINT64_MAX);
  });
}

}  // namespace arion::sim
