// A copy that changes silently under a SimCluster, and how that is mended.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/log.h"
#include "disks/replica_directory.h"
#include "rpc/thrift_codec.h"
#include "sim_cluster/sim_cluster.h"
#include "verification/content_count.h"

namespace arion::sim {
namespace {

constexpr absl::Duration kAskAgain = absl::Seconds(1);
constexpr absl::Duration kLooked = absl::Seconds(3);  // then what is set aside is not removed yet
constexpr absl::Duration kMendedWithin = absl::Seconds(45);
constexpr size_t kFoundEqualTimes = 2;  // the first may have begun before the change

}  // namespace

// Else no member is counted.
bool SimCluster::WallClocksAgree() const {
  std::vector<int64_t> walls;
  for (const auto& server : servers_) walls.push_back(server->node->WallMicros() / 1000000);
  const auto [first, last] = std::minmax_element(walls.begin(), walls.end());
  return *last - *first < ContentCount::kClocksApartSeconds / 2;
}

void SimCluster::ChangeSilently(Server& server) {
  SimRandom& random = world_.random();
  std::vector<std::pair<std::string, PartitionId>> candidates;
  std::vector<std::string> directories;
  if (server.memory != nullptr) directories = server.memory->OpenDirectories();
  for (const std::string& directory : directories) {
    const auto name = ParseReplicaDirectoryName(BaseName(ParentDirectory(directory)));
    const auto stored = name ? stored_.find(name->pid) : stored_.end();
    if (stored != stored_.end() && IsWanted(name->pid) && stored->second.MemberCount() >= 3 &&
        stored->second.IsSecondary(server.endpoint))
      candidates.emplace_back(directory, name->pid);
  }
  // Until it is found it must not lead: what it then answered would be wrong, as it would be to a
  // user. So nothing moves, nothing comes late, nothing else happens.
  const bool may_lead = options_.faults.balancer == FaultMix::Balancer::kOn ||
                        options_.faults.always_late_percent > 0 || !WallClocksAgree();
  if (lost_copy_ || !IsCalm() || may_lead || candidates.empty()) {
    --faults_[static_cast<size_t>(Fault::kSilentChange)];
    if (!lost_copy_ && !may_lead && !std::exchange(awaits_calm_, true)) AwaitCalm();
    return;
  }
  const auto& [directory, pid] = candidates[random.Below(candidates.size())];
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
  lost_copy_ = server.endpoint;
  server.lost_copy = true;
  calm_until_ = world_.now() + kMendedWithin;
  WatchWhoIsSetAside(server);
  VerifyUntilEqual(pid);
}

void SimCluster::AwaitCalm() {
  world_.After(kAskAgain, EventKind::kFault, [this] {
    if (!faults_on_ || lost_copy_) return;
    if (!IsCalm()) return AwaitCalm();
    awaits_calm_ = false;
    ++faults_[static_cast<size_t>(Fault::kSilentChange)];
    ChangeSilently(AnyServer());
  });
}

void SimCluster::WatchWhoIsSetAside(Server& server) {
  for (const auto& other : servers_) {
    if (other.get() == &server) continue;
    world_.After(kLooked, EventKind::kCheck,
                 [this, &server = *other, before = SetAsideAsFailed(other->node->disk())] {
                   for (const std::string& directory : SetAsideAsFailed(server.node->disk()))
                     if (!before.contains(directory))
                       Violate(absl::StrCat("sim_cluster/V1: ", server.name, " set ", directory,
                                            " aside, though another copy was changed"));
                 });
  }
}

void SimCluster::VerifyUntilEqual(PartitionId pid) {
  world_.After(kAskAgain, EventKind::kCheck, [this, pid] {
    if (found_equal_.size() >= kFoundEqualTimes) return;
    const Endpoint primary = stored_[pid].primary;
    for (const auto& server : servers_) {
      if (server->endpoint != primary || !server->node->alive() || !server->server ||
          server->stopping)
        continue;
      for (const VerifyAction action : {VerifyAction::kQuery, VerifyAction::kStart})
        server->server->Handle(
            {.header = {.name = kRpcVerifyReplicas},
             .body = EncodeWrapped(VerifyReplicasRequest{.pid = pid, .action = action}),
             .responder = Responder([this, pid](ErrorCode, const ReplyBody& body) {
               const auto answer = DecodeWrapped<VerifyReplicasResponse>(body.bytes);
               if (answer.ok()) OnVerified(pid, *answer);
             })});
    }
    VerifyUntilEqual(pid);
  });
}

void SimCluster::OnVerified(PartitionId pid, const VerifyReplicasResponse& answer) {
  if (answer.verdict == ContentVerdictKind::kMajority) coverage_.Hit(Probe::kDifferingFound);
  if (answer.verdict == ContentVerdictKind::kEqual && answer.run != 0)
    found_equal_.insert(answer.run);
}

}  // namespace arion::sim
