// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/silent_changes.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "disks/replica_directory.h"
#include "rpc/thrift_codec.h"
#include "verification/content_count.h"

namespace arion::sim {
namespace {

constexpr absl::Duration kAskAgain = absl::Seconds(1);
constexpr absl::Duration kLooked = absl::Seconds(3);  // then what is set aside is not removed yet
constexpr size_t kFoundEqualTimes = 2;                // the first may have begun before the change

}  // namespace

SilentChanges::SilentChanges(const ClusterSettings& settings, SimWorld& world, ServerLives& lives,
                             const Groups& groups, Troubles& troubles, RunCheckers& checkers)
    : settings_(settings),
      world_(world),
      lives_(lives),
      groups_(groups),
      troubles_(troubles),
      checkers_(checkers) {}

// Else no member is counted.
bool SilentChanges::WallClocksAgree() const {
  std::vector<int64_t> walls;
  for (const auto& server : lives_.servers()) walls.push_back(server->node->WallMicros() / 1000000);
  const auto [first, last] = std::minmax_element(walls.begin(), walls.end());
  return *last - *first < ContentCount::kClocksApartSeconds / 2;
}

// Nothing may move, and nothing come late.
bool SilentChanges::MayLead() const {
  return settings_.run.faults.balancer == FaultMix::Balancer::kOn ||
         settings_.run.faults.always_late_percent > 0 || !WallClocksAgree();
}

std::vector<SilentChanges::Copy> SilentChanges::SecondariesOf(const SimServer& server) const {
  std::vector<Copy> copies;
  std::vector<std::string> directories;
  if (server.memory != nullptr) directories = server.memory->OpenDirectories();
  for (const std::string& directory : directories) {
    const auto name = ParseReplicaDirectoryName(BaseName(ParentDirectory(directory)));
    // Three copies at least: only then does a majority say which of them is right.
    const PartitionConfiguration* stored = name ? groups_.Find(name->pid) : nullptr;
    if (stored != nullptr && groups_.IsWanted(name->pid) && stored->MemberCount() >= 3 &&
        stored->IsSecondary(server.endpoint))
      copies.emplace_back(directory, name->pid);
  }
  return copies;
}

void SilentChanges::Change(SimServer& server) {
  SimRandom& random = world_.random();
  const std::vector<Copy> candidates = SecondariesOf(server);
  const bool may_lead = MayLead();
  if (groups_.HasLostCopy() || !troubles_.IsCalm() || may_lead || candidates.empty()) {
    troubles_.Discount(Fault::kSilentChange);
    // Tried again once the other troubles are over; one such wait at a time is enough.
    if (!groups_.HasLostCopy() && !may_lead && !std::exchange(awaits_calm_, true)) AwaitCalm();
    return;
  }
  const auto& [directory, pid] = candidates[random.Below(candidates.size())];
  // A raw key, whose hash key has two bytes as those of the workload: a record from there on is
  // changed.
  std::string from("\0\2", 2);
  from.push_back(static_cast<char>('a' + random.Below(26)));
  from.push_back(static_cast<char>('0' + random.Below(10)));
  std::optional<std::string> value;
  if (random.Coin()) value = "changed silently";
  const auto key = server.memory->ChangeSilently(directory, from, value);
  LOG(INFO) << "silent change: " << server.name << " " << pid << ", a record is "
            << (!key    ? "not there"
                : value ? "changed"
                        : "lost");
  troubles_.LoseCopyOf(server);
  WatchWhoIsSetAside(server);
  VerifyUntilEqual(pid);
}

void SilentChanges::AwaitCalm() {
  world_.After(kAskAgain, EventKind::kFault, [this] {
    if (!troubles_.are_on() || groups_.HasLostCopy()) return;
    if (!troubles_.IsCalm()) return AwaitCalm();
    awaits_calm_ = false;
    // Taken back when it was put off, it counts now that it happens.
    troubles_.Count(Fault::kSilentChange);
    Change(lives_.AnyServer());
  });
}

void SilentChanges::WatchWhoIsSetAside(SimServer& changed) {
  for (const auto& other : lives_.servers()) {
    // The changed one is set aside: that is what verification is for.
    if (other.get() == &changed) continue;
    world_.After(
        kLooked, EventKind::kCheck, [this, &server = *other, before = other->SetAsideAsFailed()] {
          for (const std::string& directory : server.SetAsideAsFailed())
            if (!before.contains(directory))
              checkers_.Violate(absl::StrCat("silent_changes/V1: ", server.name, " set ", directory,
                                             " aside, though another copy was changed"));
        });
  }
}

std::vector<PartitionConfiguration> SilentChanges::RelativesOf(PartitionId pid) const {
  int32_t first_count = 0;
  for (const WorkloadTable& table : groups_.tables())
    if (table.app_id == pid.app_id) first_count = table.partition_count;
  std::vector<PartitionConfiguration> relatives;
  for (const auto& [other, stored] : groups_.stored())
    if (other.app_id == pid.app_id && other.index % first_count == pid.index % first_count)
      relatives.push_back(stored);
  return relatives;
}

void SilentChanges::VerifyUntilEqual(PartitionId pid) {
  world_.After(kAskAgain, EventKind::kCheck, [this, pid] {
    bool are_equal = true;
    for (const PartitionConfiguration& stored : RelativesOf(pid)) {
      // Runs are numbered, so that two answers about one run count once.
      if (found_equal_[stored.pid].size() >= kFoundEqualTimes) continue;
      are_equal = false;
      Verify(stored);
    }
    if (!are_equal) VerifyUntilEqual(pid);
  });
}

void SilentChanges::Verify(const PartitionConfiguration& stored) {
  for (const auto& server : lives_.servers()) {
    // Only a primary verifies. It is told directly: no trouble of the network keeps the question
    // away.
    if (server->endpoint != stored.primary || !server->IsUp() || !server->server) continue;
    // First what became of the last run, then the next.
    for (const VerifyAction action : {VerifyAction::kQuery, VerifyAction::kStart})
      server->server->Handle(
          {.header = {.name = kRpcVerifyReplicas},
           .body = EncodeWrapped(VerifyReplicasRequest{.pid = stored.pid, .action = action}),
           .responder = Responder([this, pid = stored.pid](ErrorCode, const ReplyBody& body) {
             const auto answer = DecodeWrapped<VerifyReplicasResponse>(body.bytes);
             if (answer.ok()) OnVerified(pid, *answer);
           })});
  }
}

void SilentChanges::OnVerified(PartitionId pid, const VerifyReplicasResponse& answer) {
  if (answer.verdict == ContentVerdictKind::kMajority)
    checkers_.coverage.Hit(Probe::kDifferingFound);
  if (answer.verdict == ContentVerdictKind::kEqual && answer.run != 0)
    found_equal_[pid].insert(answer.run);
}

}  // namespace arion::sim
