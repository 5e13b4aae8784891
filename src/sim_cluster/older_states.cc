// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/older_states.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "base/log.h"
#include "meta_overview/cluster_overview.h"

namespace arion::sim {
namespace {

constexpr absl::Duration kCalmBehind = absl::Seconds(20);
constexpr absl::Duration kSaidAfter = absl::Seconds(15);

std::string JournalPath() { return absl::StrCat(ClusterSettings::kMetaRoot, "/meta.journal"); }

}  // namespace

OlderStates::OlderStates(const ClusterSettings& settings, SimWorld& world, ServerLives& lives,
                         const Groups& groups, Troubles& troubles, OlderDisks& disks,
                         RunCheckers& checkers)
    : settings_(settings),
      world_(world),
      lives_(lives),
      groups_(groups),
      troubles_(troubles),
      disks_(disks),
      checkers_(checkers) {}

OlderStates::State OlderStates::StateNow() const {
  const SimMeta& meta = lives_.meta();
  const auto file = meta.node->disk().Find(JournalPath());
  CHECK(file.ok()) << file.status();
  const absl::StatusOr<ClusterState> state = meta.store->State();
  CHECK(state.ok()) << state.status();
  return {.journal = (*file)->content, .stored = groups_.stored(), .listed = state->listed};
}

bool OlderStates::State::Knows(PartitionId pid, Endpoint member) const {
  const auto found = stored.find(pid);
  // A partition that the copy does not know is lost with it, so nobody has to be known for that.
  return found == stored.end() || found->second.IsMember(member) || listed.contains(member);
}

void OlderStates::Replace(const State& state) {
  SimDisk& disk = lives_.meta().node->disk();
  const auto file = *disk.Find(JournalPath());
  CHECK(disk.Truncate(*file, 0).ok());
  CHECK(disk.Write(*file, 0, state.journal, SimDisk::Path::kCached).ok());
  disk.MakeDurable();
  ++lives_.meta().states_put_back;
}

bool OlderStates::NamesOneGoneForGood(const State& state) const {
  const auto is_gone = [&](Endpoint member) {
    return member.IsValid() && lives_.ServerAt(member) == nullptr;
  };
  return std::any_of(state.stored.begin(), state.stored.end(), [&](const auto& entry) {
    const PartitionConfiguration& config = entry.second;
    return is_gone(config.primary) ||
           std::any_of(config.secondaries.begin(), config.secondaries.end(), is_gone) ||
           std::any_of(config.last_drops.begin(), config.last_drops.end(), is_gone);
  });
}

bool OlderStates::IsOlder(const State& state, int64_t ballots) const {
  // Some partition has changed by that many ballots since.
  return std::any_of(groups_.stored().begin(), groups_.stored().end(), [&](const auto& entry) {
    const auto kept = state.stored.find(entry.first);
    return kept != state.stored.end() && kept->second.ballot + ballots <= entry.second.ballot;
  });
}

void OlderStates::KeepOneAndPutItBack() {
  kept_ = {StateNow()};
  AwaitMoment();
}

void OlderStates::AwaitMoment() {
  world_.After(absl::Milliseconds(100), EventKind::kFault, [this] {
    if (!troubles_.are_on()) return;
    // By two ballots: that much is said by the meta server for certain (older_states/S1).
    if (!IsOlder(kept_[0], 2) || !troubles_.IsCalm()) return AwaitMoment();
    LOG(INFO) << "fault: an older copy of the meta server's state is put back";
    lives_.CrashMeta(CrashMode::kProcess);
    Replace(kept_[0]);
    troubles_.KeepCalmFor(kCalmBehind);
    lives_.StartMeta();
    CheckLaterItIsSaid();
  });
}

void OlderStates::Keep() {
  constexpr size_t kStatesMax = 4;
  SimNode& node = *lives_.meta().node;
  // StateNow takes for granted that the store and the journal can be read.
  if (node.alive() && !node.disk().is_in_trouble()) {
    kept_.push_back(StateNow());
    if (kept_.size() > kStatesMax) kept_.erase(kept_.begin());
  }
  world_.After(world_.random().Between(absl::Seconds(2), absl::Seconds(15)), EventKind::kFault,
               [this] {
                 if (troubles_.are_on()) Keep();
               });
}

bool OlderStates::MayBePutBack(const State& state) const {
  // One of several directories that is empty waits for a person, too, and may hold any copy.
  const bool lacks_directory =
      troubles_.CountOf(Fault::kDiskLost) > 0 && settings_.DiskPaths().size() > 1;
  // Whom it names and who is gone for good would be waited for until a person acts.
  return !lacks_directory && !NamesOneGoneForGood(state);
}

// A table that the copy does not know is lost with it; what it does not know else shows by reports
// only, so that nothing else happens meanwhile. Either all servers run and tell, or the power of
// all fails: then of each group one that holds everything is known to the copy, too, as a member or
// by the list of servers, and waited for.
void OlderStates::PutBack(SimServer& server) {
  SimRandom& random = world_.random();
  if (kept_.empty() || settings_.run.faults.Has(Fault::kTableChurn) || !troubles_.IsCalm())
    return troubles_.Discount(Fault::kMetaPutBack);
  const State& state = kept_[random.Below(kept_.size())];
  if (!MayBePutBack(state)) return troubles_.Discount(Fault::kMetaPutBack);
  const bool is_older = IsOlder(state, 2);
  lives_.CrashMeta(CrashMode::kProcess);
  Replace(state);
  troubles_.KeepCalmFor(kCalmBehind);
  // A member that has not heard yet that it is one takes itself for a learner.
  const bool have_all_heard = world_.now() - groups_.stored_last() > absl::Seconds(5);
  const auto knows = [&state](PartitionId pid, Endpoint member) {
    return state.Knows(pid, member);
  };
  if (random.Coin() && have_all_heard && disks_.HaveAllWithout({}, knows)) {
    PutBackDisksWithPower(server, state);
    world_.After(random.Between(absl::ZeroDuration(), absl::Seconds(2)), EventKind::kFault,
                 [this] { lives_.StartMeta(); });
  } else {
    lives_.StartMeta();
    if (is_older) CheckLaterItIsSaid();
  }
}

void OlderStates::PutBackDisksWithPower(SimServer& server, const State& state) {
  const auto knows = [&state](PartitionId pid, Endpoint member) {
    return state.Knows(pid, member);
  };
  lives_.CrashServer(server, lives_.DrawCrashMode());
  lives_.RestartLater(server, world_.random().Between(absl::ZeroDuration(), absl::Seconds(2)));
  if (groups_.HasLostCopy() || !disks_.MayGoBack(server, Fault::kDisksPutBack) ||
      !disks_.HaveAllWithout({server.endpoint}, knows))
    return disks_.CrashOthers(server);
  troubles_.LoseCopyOf(server);
  // Of two moments a partition may lie in two of its directories: a person decides.
  disks_.PutBackSeveral(server, OlderDisks::Moments::kOne, knows);
  server.node->disk().MakeDurable();
}

void OlderStates::CheckLaterItIsSaid() {
  world_.After(kSaidAfter, EventKind::kCheck, [this] { CheckItIsSaid(Expected::kWentBack); });
}

void OlderStates::CheckItIsSaid(Expected expected) {
  const auto judge = [this, expected](const ClusterOverview& overview) {
    const bool is_said =
        std::any_of(overview.warnings.begin(), overview.warnings.end(),
                    [](const ClusterWarning& one) { return one.kind == "state_went_back"; });
    if (is_said == (expected == Expected::kWentBack)) return;
    checkers_.Violate(
        is_said ? "older_states/S1: the meta server says that its state went back, and it did not"
                : "older_states/S1: the meta server's state went back, and it does not say so");
  };
  if (MetaGroup* metas = lives_.metas()) {
    if (MetaGroup::Member* leader = metas->Leader()) leader->server->Overview(judge);
    return;
  }
  const SimMeta& meta = lives_.meta();
  if (meta.node->alive() && meta.server != nullptr) meta.server->Overview(judge);
}

}  // namespace arion::sim
