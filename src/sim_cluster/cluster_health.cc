// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/cluster_health.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/key_ownership.h"
#include "env/clock.h"
#include "replica/replica_snapshot.h"
#include "sim_checkers/index_content.h"
#include "sim_checkers/same_content.h"
#include "sim_workloads/split_workload.h"
#include "sim_workloads/workload.h"

namespace arion::sim {

ClusterHealth::ClusterHealth(const ClusterSettings& settings, SimWorld& world, ServerLives& lives,
                             const Groups& groups, const TableChurn& churn,
                             const OpenEngines& engines, RunCheckers& checkers)
    : settings_(settings),
      world_(world),
      lives_(lives),
      groups_(groups),
      churn_(churn),
      engines_(engines),
      checkers_(checkers) {}

bool ClusterHealth::MembersAreEqual() const {
  struct Pair {
    const Engine* first = nullptr;
    const Engine* second = nullptr;
    PartitionId pid;
  };
  std::vector<Pair> pairs;
  for (const auto& [pid, config] : groups_.stored()) {
    if (!groups_.IsWanted(pid)) continue;
    const Engine* first = nullptr;
    for (const auto& server : lives_.servers()) {
      if (!config.IsMember(server->endpoint)) continue;
      auto it = engines_.find({server->name, pid});
      // A member whose engine is not open yet.
      if (it == engines_.end()) return false;
      if (first == nullptr) first = it->second;
      if (it->second->last_applied() != first->last_applied()) return false;
      if (it->second != first) pairs.push_back({first, it->second, pid});
    }
  }
  uint32_t now = 0;  // by the clock that is most ahead
  for (const auto& server : lives_.servers()) now = std::max(now, ExpiryNow(*server->node));
  return std::all_of(pairs.begin(), pairs.end(), [this, now](const Pair& pair) {
    return HoldTheSame(*pair.first, *pair.second, now,
                       {.index = pair.pid.index, .count = groups_.CountOf(pair.pid.app_id)});
  });
}

std::string ClusterHealth::WhatIsWrongWithIndexes(const std::vector<NamedIndex>& indexes) const {
  for (const auto& [pid, config] : groups_.stored()) {
    if (!groups_.IsWanted(pid)) continue;
    for (const auto& server : lives_.servers()) {
      const auto open = engines_.find({server->name, pid});
      if (!config.IsMember(server->endpoint) || open == engines_.end()) continue;
      // Not ours: the server keeps it.
      const std::shared_ptr<const Engine> engine(std::shared_ptr<void>(), open->second);
      for (const NamedIndex& index : indexes) {
        const std::string what = WhatIsWrongWith(index, engine, *server->node);
        if (!what.empty())
          return absl::StrCat("cluster_health/H2: the index by ", index.definition.Text(), " of ",
                              pid.ToString(), " at ", server->name, " ", what);
      }
    }
  }
  return "";
}

std::string ClusterHealth::AwaitIndexes(const std::vector<NamedIndex>& indexes,
                                        absl::Duration limit) {
  const Instant end = world_.now() + limit;
  for (;;) {
    std::string what = WhatIsWrongWithIndexes(indexes);
    if (what.empty() || world_.now() >= end) return what;
    world_.RunFor(absl::Milliseconds(500));
  }
}

bool ClusterHealth::DroppedTablesAreGone() const {
  const auto& servers = lives_.servers();
  return churn_.IsIdle() && std::none_of(engines_.begin(), engines_.end(), [&](const auto& open) {
           // A 2.5.0 server's config sync leaves learners alone.
           const bool is_older =
               std::any_of(servers.begin(), servers.end(), [&open](const auto& server) {
                 return server->is_older && server->name == open.first.first;
               });
           return !is_older && churn_.dropped().contains(open.first.second.app_id);
         });
}

// A learner of 2.5.0 that had learned everything when its primary died waits for that one for ever:
// its config syncs leave learners alone, and a later primary, of a larger ballot, does not know it.
bool ClusterHealth::IsForgottenLearner(const ReplicaInfo& replica, Endpoint server) const {
  const PartitionConfiguration* config = groups_.Find(replica.pid);
  return config != nullptr && replica.ballot < config->ballot && !config->IsMember(server);
}

std::string ClusterHealth::WhoLearns() {
  struct Tally {
    size_t left = 0;
    std::string learners;
  };
  auto tally = std::make_shared<Tally>();
  const auto note = [this, tally](const std::string& name, const auto& replica) {
    if (replica.status == PartitionStatus::kPotentialSecondary && groups_.IsWanted(replica.pid))
      absl::StrAppend(&tally->learners, " ", name, " ", replica.pid.ToString());
  };
  for (const auto& server : lives_.servers()) {
    if (server->old) {
      for (const ReplicaInfo& replica : server->old->Replicas())
        if (!IsForgottenLearner(replica, server->endpoint)) note(server->name, replica);
      continue;
    }
    if (!server->server) return absl::StrCat(" ", server->name, " is gone");
    ++tally->left;
    server->server->Snapshot([note, tally, name = server->name](auto replicas) {
      for (const ReplicaSnapshot& replica : replicas) note(name, replica);
      --tally->left;
    });
  }
  if (!world_.RunUntil([&tally] { return tally->left == 0; }, absl::Seconds(5)))
    return " a server does not tell what its replicas do";
  return tally->learners;
}

// Where acknowledged writes may be lost with the power, as those of 2.5.0 servers may, meta does
// not choose among members that contradict each other once nobody is left (meta/STATE.md 6.4): a
// person does. As where the last copy is lost: what the checkers refuse is an empty one in its
// place. A 2.5.0 meta server leaves to a person what its own rule does (replica/OLDER.md 6).
bool ClusterHealth::IsLeftToOperator() const {
  const auto& stored = groups_.stored();
  const OldMetaServer* old_meta = lives_.meta().old.get();
  return std::any_of(stored.begin(), stored.end(), [&](const auto& entry) {
    return groups_.IsWanted(entry.first) && entry.second.MemberCount() == 0 &&
           (settings_.server.durability == Durability::kOs || settings_.run.topology.older > 0 ||
            groups_.IsLostWithLastCopy(entry.first) ||
            (old_meta != nullptr && old_meta->IsLeftToPerson(entry.first)));
  });
}

std::string ClusterHealth::WhatIsMissing() const {
  std::string text;
  for (const auto& [pid, config] : groups_.stored()) {
    if (!groups_.IsWanted(pid)) continue;
    absl::StrAppend(&text, " [", pid.ToString(), " ballot ", config.ballot.value(), " primary ",
                    config.primary.ToString(), " members ", config.MemberCount());
    for (const auto& server : lives_.servers()) {
      auto it = engines_.find({server->name, pid});
      absl::StrAppend(&text, " ", server->name, "@",
                      it == engines_.end() ? std::string("none")
                                           : absl::StrCat(it->second->last_applied().value()));
    }
    absl::StrAppend(&text, "]");
  }
  if (!churn_.IsIdle()) absl::StrAppend(&text, " ", churn_.table(), " is not dropped");
  for (const auto& [where, engine] : engines_)
    if (churn_.dropped().contains(where.second.app_id))
      absl::StrAppend(&text, " ", where.first, " still has ", where.second.ToString());
  return text;
}

// A disk that was slow may still cost its server members, and give them back: but not for ever.
bool ClusterHealth::IsAtRest() {
  // A copy: the world runs on below.
  const Groups::Stored before = groups_.stored();
  world_.RunFor(absl::Seconds(10));
  return groups_.IsWhole() && std::all_of(before.begin(), before.end(), [this](const auto& entry) {
           return !groups_.IsWanted(entry.first) ||
                  groups_.Find(entry.first)->ballot == entry.second.ballot;
         });
}

void ClusterHealth::StartWhoIsDown() {
  for (const auto& server : lives_.servers())
    if (!server->node->alive()) lives_.StartServer(*server);
  lives_.StartMeta();
}

// Polls every 100 ms: starts what is down, verifies all keys once the groups are whole, compares
// members, and last waits for ten seconds without a change. Each of these may fail and be tried
// again within kLimit.
void ClusterHealth::Await(Workload& workload, const SplitWorkload* splits) {
  const auto being_split = [splits] {
    return splits == nullptr ? std::string() : splits->WhatIsNotOver();
  };
  Instant begin = world_.now();
  // What was to last longer ends now; restarts that were planned find their server alive.
  world_.RunFor(absl::Seconds(3));
  workload.Stop();
  bool is_verified = false, is_verifying = false;
  std::string learners;
  while (world_.now() - begin < kLimit) {
    StartWhoIsDown();
    const bool is_whole = groups_.IsWhole() && being_split().empty();
    if (is_whole && !is_verified && !is_verifying) {
      is_verifying = true;
      workload.Verify([&is_verified, &is_verifying](bool ok) {
        is_verified = ok;
        is_verifying = false;
      });
    }
    if (is_verified && groups_.IsWhole() && MembersAreEqual() && DroppedTablesAreGone()) {
      healed_after_ = std::min(healed_after_, world_.now() - begin);
      world_.RunFor(absl::Seconds(3));
      learners = WhoLearns();
      if (learners.empty() && IsAtRest()) return;
    }
    world_.RunFor(absl::Milliseconds(100));
  }
  if (IsLeftToOperator()) return;
  constexpr const char* kLate = "cluster_health/H1: 60 s after all faults ended ";
  if (!learners.empty()) checkers_.Violate(absl::StrCat(kLate, "somebody learns:", learners));
  if (const std::string split = being_split(); !split.empty())
    checkers_.Violate(absl::StrCat(kLate, "a table is still being split:", split));
  checkers_.Violate(absl::StrCat(kLate,
                                 !groups_.IsWhole() ? "members are missing:"
                                 : !is_verified     ? "not every key can be read and written:"
                                 : !DroppedTablesAreGone() ? "a dropped table is still there:"
                                 : !MembersAreEqual()      ? "members differ:"
                                                           : "it was not at rest:",
                                 WhatIsMissing()));
}

}  // namespace arion::sim
